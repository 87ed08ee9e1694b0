import BluetoothLE

/// The services and characteristics of the Heart Rate Profile (Bluetooth SIG, HRS 1.0) that both ends use.
enum HeartRateProfile {
  static let heartRate: CBUUID = "180D"
  static let measurement: CBUUID = "2A37"
  static let bodySensorLocation: CBUUID = "2A38"
  static let controlPoint: CBUUID = "2A39"

  static let battery: CBUUID = "180F"
  static let batteryLevel: CBUUID = "2A19"

  static let deviceInformation: CBUUID = "180A"
  static let manufacturerName: CBUUID = "2A29"
  static let modelNumber: CBUUID = "2A24"

  /// What the control point knows: set the energy expended back to zero.
  static let resetEnergyExpended: UInt8 = 0x01
  /// What it answers to anything else.
  static let controlPointNotSupported = ATTError.Code._other(0x80)

  static let bodySensorLocations = ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
}

/// The value of the Heart Rate Measurement characteristic: flags, the rate, and the energy spent so far.
struct HeartRateMeasurement: Sendable {
  var beatsPerMinute: UInt16
  /// In kilojoules; nil where it is not told.
  var energyExpended: UInt16?

  init(beatsPerMinute: UInt16, energyExpended: UInt16? = nil) {
    self.beatsPerMinute = beatsPerMinute
    self.energyExpended = energyExpended
  }

  /// Flags: bit 0 a rate of two octets, bits 1 and 2 skin contact detected, bit 3 energy expended present.
  var octets: Data {
    var flags: UInt8 = 0b110
    if beatsPerMinute > 255 { flags |= 0b1 }
    if energyExpended != nil { flags |= 0b1000 }
    var octets = [flags, UInt8(truncatingIfNeeded: beatsPerMinute)]
    if beatsPerMinute > 255 { octets.append(UInt8(beatsPerMinute >> 8)) }
    if let energyExpended { octets += [UInt8(truncatingIfNeeded: energyExpended), UInt8(energyExpended >> 8)] }
    return Data(octets)
  }

  /// - Returns: nil where the octets end too early.
  init?(_ data: Data) {
    var rest = [UInt8](data)[...]
    guard let flags = rest.popFirst(), let low = rest.popFirst() else { return nil }
    beatsPerMinute = UInt16(low)
    if flags & 0b1 != 0 {
      guard let high = rest.popFirst() else { return nil }
      beatsPerMinute |= UInt16(high) << 8
    }
    guard flags & 0b1000 != 0 else { return }
    guard let low = rest.popFirst(), let high = rest.popFirst() else { return nil }
    energyExpended = UInt16(high) << 8 | UInt16(low)
  }
}
