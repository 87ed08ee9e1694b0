import BluetoothLE

/// The services and characteristics of the Heart Rate Profile (Bluetooth SIG, HRS 1.0) that both ends use.
enum HeartRateProfile {
  static let heartRate: BluetoothUUID = "180D"
  static let measurement: BluetoothUUID = "2A37"
  static let bodySensorLocation: BluetoothUUID = "2A38"
  static let controlPoint: BluetoothUUID = "2A39"

  static let battery: BluetoothUUID = "180F"
  static let batteryLevel: BluetoothUUID = "2A19"

  static let deviceInformation: BluetoothUUID = "180A"
  static let manufacturerName: BluetoothUUID = "2A29"
  static let modelNumber: BluetoothUUID = "2A24"

  /// The command of the control point: reset the energy expended to 0.
  static let resetEnergyExpended: UInt8 = 0x01
  /// The answer to any other command: Control Point Not Supported.
  static let controlPointNotSupported = ATTErrorCode(rawValue: 0x80)

  static let bodySensorLocations = ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
}

/// The value of the Heart Rate Measurement characteristic: flags, the rate, and the energy expended.
struct HeartRateMeasurement: GATTValue {
  var beatsPerMinute: UInt16
  /// In kilojoules; nil where the value does not contain it.
  var energyExpended: UInt16?

  init(beatsPerMinute: UInt16, energyExpended: UInt16? = nil) {
    self.beatsPerMinute = beatsPerMinute
    self.energyExpended = energyExpended
  }

  /// Flags: bit 0 a rate of two octets, bits 1 and 2 skin contact detected, bit 3 energy expended present.
  var octets: [UInt8] {
    var flags: UInt8 = 0b110
    if beatsPerMinute > 255 { flags |= 0b1 }
    if energyExpended != nil { flags |= 0b1000 }
    let rate = beatsPerMinute > 255 ? beatsPerMinute.octets : [UInt8(truncatingIfNeeded: beatsPerMinute)]
    return [flags] + rate + (energyExpended?.octets ?? [])
  }

  /// - Returns: nil where the octets end too early.
  init?(octets: [UInt8]) {
    var rest = octets[...]
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
