import BLEGAP
import BLEKit
import BLEProfiles
import BLETrace
import BLEWire

/// The values of BLEProfiles, as a device sends them and as an application makes them.
///
/// It requires that
/// - a decoded value is encoded and decoded as the same, and has a description;
/// - a quantity is in the range of its characteristic, and its number is encoded to the same octets;
/// - a medical float is made again from its number;
/// - a beacon is encoded in no more octets than it was received in, and decoded as the same, at most 1,650 octets of
///   advertising data included;
/// - no argument of an application ends the process: times of day, numbers, texts.
func fuzzProfiles(_ input: inout FuzzInput) {
  switch input.index(8) {
  case 0, 1, 2: decode(input.element(of: values), input.rest())
  case 3: decode(input.element(of: quantities), input.rest())
  case 4: decodeFloats(&input)
  case 5: decodeBeacons(&input)
  case 6: makeValues(&input)
  default: describeDevice(&input)
  }
}

private let values: [any ProfileValue.Type] = [
  BatteryLevel.self, BatteryLevelStatus.self, BodySensorLocation.self, ConsumerReport.self, CurrentTimeValue.self,
  DateTime.self, EnvironmentalMeasurement.self, EnvironmentalTrigger.self, ExactTime.self, HeartRateCommand.self,
  HeartRateMeasurement.self, HIDInformation.self, HIDReportReference.self, KeyboardLEDs.self, KeyboardReport.self,
  LocalTimeInformation.self, MagneticFluxDensity.self, MedicalDeviceIdentifier.self, PnPID.self,
  ReferenceTimeInformation.self, SystemID.self, TemperatureMeasurement.self, TemperatureType.self,
]

private let quantities: [any EnvironmentalQuantity.Type] = [
  ApparentWindDirection.self, ApparentWindSpeed.self, BarometricPressureTrend.self, DewPoint.self, Elevation.self,
  GustFactor.self, HeatIndex.self, Humidity.self, Irradiance.self, MagneticDeclination.self, PollenConcentration.self,
  Pressure.self, Rainfall.self, Temperature.self, TrueWindDirection.self, TrueWindSpeed.self, UVIndex.self,
  WindChill.self,
]

private func decode(_ type: any ProfileValue.Type, _ octets: [UInt8]) {
  func decode<Value: ProfileValue>(_ type: Value.Type) {
    guard let value = Value(octets: octets) else {
      return require((try? Value(decoding: octets[...])) == nil, "\(type): one of two decoders accepts the octets")
    }
    let encoded = value.octets
    require(Value(octets: encoded) == value, "\(type): \(octets.hexadecimal) is encoded as \(encoded.hexadecimal)")
    require(!"\(value)".isEmpty, "\(type): no description")
    require(!value.fieldLines.isEmpty, "\(type): no fields")
    if let measurement = value as? TemperatureMeasurement, case .fahrenheit = measurement.temperature {
      plantedFault(
        measurement.timeStamp != nil && measurement.type != nil, "a temperature in °F with a time and a type")
    }
  }
  decode(type)
}

private func decode(_ quantity: any EnvironmentalQuantity.Type, _ octets: [UInt8]) {
  func decode<Quantity: EnvironmentalQuantity>(_ quantity: Quantity.Type) {
    let format = Quantity.format
    guard let value = EnvironmentalValue<Quantity>(octets: octets) else { return }
    require(octets.count == format.octets, "\(quantity): \(octets.count) octets")
    require(value.octets == octets, "\(quantity): \(octets.hexadecimal) is encoded as \(value.octets.hexadecimal)")
    guard let integer = value.rawValue, let number = value.value else { return }
    require(format.range.contains(integer), "\(quantity): \(integer) is not in \(format.range)")
    require(EnvironmentalValue<Quantity>(number).octets == octets, "\(quantity): \(number) has other octets")
    require("\(value)".hasSuffix(format.unit), "\(quantity): \(value) has no unit")
  }
  decode(quantity)
}

private func decodeFloats(_ input: inout FuzzInput) {
  func check<Number: DecimalFloat>(_ number: Number) {
    require(
      !number.description.isEmpty && number.description.utf8.count <= 160, "the description of \(number.rawValue)")
    if let special = number.special {
      return require(!number.value.isFinite && Number(special) == number, "\(number.rawValue) is \(special)")
    }
    require(number.value.isFinite, "\(number.rawValue) is \(number.value)")
    guard Number(mantissa: number.mantissa, exponent: number.exponent) != nil else { return }
    let again = Number(number.value, decimals: -number.exponent)
    require(again == number, "\(number.rawValue) is \(number.value), which is \(again.rawValue)")
  }
  let bits = input.next()
  check(MedicalFloat(rawValue: UInt32(truncatingIfNeeded: bits)))
  check(MedicalShortFloat(rawValue: UInt16(truncatingIfNeeded: bits >> 32)))
  let number = Double(bitPattern: bits)
  let decimals = Int(truncatingIfNeeded: input.next())
  let made = MedicalFloat(number, decimals: decimals)
  require(
    !number.isNaN || made.special == .notANumber, "\(number) with \(decimals) decimals is \(made.rawValue)")
  _ = MedicalShortFloat(number, decimals: decimals)
}

private func decodeBeacons(_ input: inout FuzzInput) {
  switch input.index(3) {
  case 0:
    let octets = input.rest()
    guard let frame = try? EddystoneFrame(decoding: octets[...]) else { return }
    check(frame, octets)
  case 1:
    let octets = input.rest()
    let data = ManufacturerData(company: .apple, data: octets[...])
    guard let beacon = try? IBeacon(decoding: data) else { return }
    require(beacon.manufacturerData == data, "an iBeacon: \(octets.hexadecimal)")
  default:
    let contents = AdvertisedData(advertisingData: input.rest()[...])
    for frame in EddystoneFrame.frames(in: contents) { _ = try? frame.encoded() }
    if let beacon = IBeacon(contents) {
      require(contents.manufacturerData.contains(beacon.manufacturerData), "an iBeacon that was not received")
    }
  }
}

private func check(_ frame: EddystoneFrame, _ octets: [UInt8]) {
  let encoded: [UInt8]
  do throws(EddystoneError) {
    encoded = try frame.encoded()
  } catch {
    // An address of more octets than a beacon can send.
    return require(error == .addressTooLong && octets.count > 20, "\(octets.hexadecimal): \(error)")
  }
  require((try? EddystoneFrame(decoding: encoded[...])) == frame, "\(octets.hexadecimal) is decoded as another frame")
  // Early beacons leave out two reserved octets.
  require(encoded.count <= max(octets.count, 20), "\(octets.hexadecimal) is encoded as \(encoded.hexadecimal)")
}

/// Values that an application makes.
private func makeValues(_ input: inout FuzzInput) {
  func check<Value: ProfileValue>(_ value: Value) {
    require(Value(octets: value.octets) != nil, "\(value) is sent as \(value.octets.hexadecimal), which is no value")
  }
  let seconds = Int64(bitPattern: input.next())
  check(DateTime(secondsSince1970: seconds))
  // Years 1582 to 9999.
  check(DateTime(secondsSince1970: seconds % 250_000_000_000))
  let number = Double(bitPattern: input.next())
  for quantity in quantities {
    func make<Quantity: EnvironmentalQuantity>(_ quantity: Quantity.Type) {
      check(EnvironmentalValue<Quantity>(number))
      check(EnvironmentalValue<Quantity>(rawValue: Int(truncatingIfNeeded: seconds)))
    }
    make(quantity)
  }
  check(BatteryLevel(percent: input.octet()))
  check(
    HeartRateMeasurement(beatsPerMinute: input.uint16(), energyExpended: input.uint16(), rrIntervals: [input.uint16()]))
  check(
    DateTime(
      year: input.uint16(), month: input.octet(), day: input.octet(), hours: input.octet(), minutes: input.octet(),
      seconds: input.octet()))
  check(LocalTimeInformation(timeZone: Int8(bitPattern: input.octet()), daylightSaving: .oneHour))
  let text = String(decoding: input.rest(), as: UTF8.self)
  for report in KeyboardReport.typing(text) {
    require(KeyboardReport(octets: report.octets) == report, "another report is received than typed")
  }
  if let octets = try? EddystoneFrame.url(power: 0, text).encoded() {
    require(
      (try? EddystoneFrame(decoding: octets[...])) == .url(power: 0, text), "another address: \(octets.hexadecimal)")
  }
}

/// Device Information of any octets can be served again.
private func describeDevice(_ input: inout FuzzInput) {
  var information = DeviceInformation()
  while !input.isEmpty {
    let number = input.element(of: [0x2A23, 0x2A24, 0x2A25, 0x2A26, 0x2A27, 0x2A28, 0x2A29, 0x2A2A, 0x2A50, 0x2BFF])
    information.set(BluetoothUUID(UInt16(number)), input.counted())
  }
  var again = DeviceInformation()
  if let system = information.systemID { again.set("2A23", system.octets) }
  if let pnp = information.pnpID { again.set("2A50", pnp.octets) }
  if let device = information.deviceIdentifier { again.set("2BFF", device.octets) }
  if let model = information.modelNumber { again.set("2A24", model.octets) }
  require(again.systemID == information.systemID && again.pnpID == information.pnpID, "other identifiers")
  require(again.deviceIdentifier == information.deviceIdentifier, "another device identifier")
  require(again.modelNumber == information.modelNumber, "another model: \(information.modelNumber ?? "")")
  _ = information.localService()
}
