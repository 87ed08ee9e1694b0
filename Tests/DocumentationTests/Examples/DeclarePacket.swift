import BLEWire

/// A message of a sensor protocol: a number, then readings of three octets each.
struct SensorReport: Packet {
  struct Reading: FieldGroup {
    var sensor: UInt8 = 0
    /// In units of 0.1 °C.
    var temperature: Int16 = 0

    init() {}
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Sensor", &sensor)
      try field.integer("Temperature", &temperature)
    }
  }

  var sequence: UInt16 = 0
  var readings: [Reading] = []

  init() {}
  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Sequence", &sequence)
    try field.counted("Number of Readings", &readings)
  }
}

/// The warmest reading of a message, and the message as text.
func warmest(in octets: Bytes) throws(CodecError) -> (temperature: Int16?, text: [String]) {
  let report = try SensorReport(decoding: octets)
  return (report.readings.map(\.temperature).max(), report.fieldLines)
}
