import BLEAssignedNumbers
import BLEProfiles
package import BLEWire
import ToolCore

/// The value of a characteristic or descriptor in plain words (GATT Specification Supplement).
///
/// A value that does not have the format of its type is shown as octets.
package enum ValueText {
  /// The decoded value; without a decoder, the octets, as ``plain(_:)``.
  package static func text(_ octets: Bytes, of uuid: BluetoothUUID?) -> String {
    if let uuid, uuid.isTextType { return string(octets) }
    return uuid?.number.flatMap { decoded(octets, of: $0) } ?? plain(octets)
  }

  /// The text of a value with the format of its type; nil for other octets, and without a decoder.
  package static func decoded(_ octets: Bytes, of number: UInt16) -> String? { decoders[number]?(octets) }

  /// `empty`, or hexadecimal octets, which are followed by the text in quotation marks if they are text.
  ///
  /// The octets come first in any case: a counter whose octets are letters for once has the form of the values before.
  package static func plain(_ octets: Bytes) -> String {
    if octets.isEmpty { return "empty" }
    return spaced(octets) + (text(in: octets).map { " \"\($0)\"" } ?? "")
  }

  /// The text in `octets`: at least four, all of them printable characters in UTF-8, and not only spaces; otherwise
  /// nil. Numbers have control characters and NULs.
  private static func text(in octets: Bytes) -> String? {
    guard octets.count > 3, let text = String(validating: octets, as: UTF8.self) else { return nil }
    let scalars = text.unicodeScalars
    return scalars.allSatisfy(String.isPrintable) && scalars.contains { !$0.properties.isWhitespace } ? text : nil
  }

  /// Pairs of hexadecimal digits, separated by spaces; the first 64 octets.
  package static func spaced(_ octets: Bytes) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(3 * min(octets.count, 64))
    for octet in octets.prefix(64) {
      if !text.isEmpty { text.append(UInt8(ascii: " ")) }
      text += [digits[Int(octet >> 4)], digits[Int(octet & 15)]]
    }
    return String(decoding: text, as: UTF8.self) + (octets.count > 64 ? " … (\(octets.count) octets)" : "")
  }

  /// The value of a text characteristic, in quotation marks. Text with invalid octets is followed by the octets.
  private static func string(_ octets: Bytes) -> String {
    let text = DeviceText(octets)
    if text.isEmpty { return octets.isEmpty ? "empty" : "\"\"" }
    let shown = "\"\(String(printable: text.repaired))\""
    return text.valid == nil ? "\(shown) (\(spaced(octets)))" : shown
  }

  private typealias Decode = @Sendable (Bytes) -> String?

  private static let decoders: [UInt16: Decode] = {
    var table = Quantities(decoders: others)
    visitQuantities(with: &table)
    return table.decoders
  }()

  private struct Quantities: EnvironmentalQuantityVisitor {
    var decoders: [UInt16: Decode]

    mutating func visit<Quantity: EnvironmentalQuantity>(_ quantity: Quantity.Type) {
      guard let number = Quantity.format.uuid.number, decoders[number] == nil else { return }
      decoders[number] = { EnvironmentalValue<Quantity>(octets: Array($0)).map { "\($0)" } }
    }
  }

  private static let others: [UInt16: Decode] = [
    0x2A01: { $0.exactly(2)?.uint16(at: 0).map { AssignedNames.appearance($0) ?? "appearance \($0)" } },
    0x2A04: connectionParameters,
    0x2A05: { octets in
      guard octets.count == 4, let first = octets.uint16(at: 0), let last = octets.uint16(at: 2) else { return nil }
      return "attributes \(hex(first)) to \(hex(last)) have changed"
    },
    0x2A06: { octets in
      octets.exactly(1)?.first.flatMap { ["no alert", "mild alert", "high alert"][ifPresent: Int($0)] }
    },
    0x2A07: { $0.exactly(1)?.first.map { "\(Int8(bitPattern: $0)) dBm" } },
    0x2A08: { DateTime(octets: Array($0)).map { "\($0)" } },
    0x2A19: { BatteryLevel(octets: Array($0)).map { "\($0.percent) %" } },
    0x2A23: systemID,
    0x2A2B: { CurrentTimeValue(octets: Array($0)).map { "\($0.time.dateTime)" } },
    0x2A37: heartRate,
    0x2A38: { BodySensorLocation(octets: Array($0))?.name?.lowercased() },
    0x2A0F: localTime,
    0x2A14: { ReferenceTimeInformation(octets: Array($0)).map { "source: \($0.source)" } },
    0x2A1C: temperatureMeasurement,
    0x2A1D: { TemperatureType(octets: Array($0))?.name },
    0x2A1E: temperatureMeasurement,
    0x2A21: { UInt16(octets: Array($0)).map { $0 == 0 ? "no periodic measurement" : "every \($0) s" } },
    0x2A22: { KeyboardReport(octets: Array($0)).map(keyboard) },
    0x2A32: { KeyboardLEDs(octets: Array($0)).map { "lights: \($0)" } },
    0x2A4A: hidInformation,
    0x2A4C: { HIDControl(octets: Array($0)).map { $0 == .suspend ? "suspend" : "exit suspend" } },
    0x2A4E: { HIDProtocolMode(octets: Array($0)).map { $0 == .boot ? "boot protocol" : "report protocol" } },
    0x2A50: pnpIdentifier,
    0x2908: { HIDReportReference(octets: Array($0)).map { "\($0.kind.word) report \($0.id)" } },
    0x2BED: batteryStatus,
    0x2AA6: { $0.exactly(1)?.first.map { $0 == 0 ? "resolution is not supported" : "resolution is supported" } },
    0x2B29: { $0.first.map { "client features: \(flags($0, ["robust caching", "EATT", "multiple notifications"]))" } },
    0x2B3A: { $0.first.map { "server features: \(flags($0, ["EATT"]))" } },
    0x2900: {
      $0.exactly(2)?.uint16(at: 0).map {
        flags(UInt8(truncatingIfNeeded: $0), ["reliable write", "writable auxiliaries"])
      }
    },
    0x2902: { octets in
      octets.exactly(2)?.uint16(at: 0).flatMap {
        $0 > 3 ? nil : flags(UInt8($0), ["notifications", "indications"], none: "off")
      }
    },
    0x2803: declaration,
    0x2A8D: { $0.exactly(1)?.first.map { "\($0) bpm" } },
  ]

  private static func connectionParameters(_ octets: Bytes) -> String? {
    guard octets.count == 8, let minimum = octets.uint16(at: 0), let maximum = octets.uint16(at: 2),
      let latency = octets.uint16(at: 4), let timeout = octets.uint16(at: 6)
    else { return nil }
    func interval(_ value: UInt16) -> String { value == 0xFFFF ? "any" : "\(Double(value) * 1.25) ms" }
    let end = timeout == 0xFFFF ? "any" : "\(Int(timeout) * 10) ms"
    return "interval \(interval(minimum)) to \(interval(maximum)), latency \(latency), timeout \(end)"
  }

  private static func heartRate(_ octets: Bytes) -> String? {
    guard let value = HeartRateMeasurement(octets: Array(octets)) else { return nil }
    var text = "\(value.beatsPerMinute) bpm"
    switch value.contact {
    case .notSupported: break
    case .notDetected: text += ", no skin contact"
    case .detected: text += ", skin contact"
    }
    if let energy = value.energyExpended { text += ", \(energy) kJ" }
    if !value.rrIntervals.isEmpty {
      text += ", RR " + value.rrIntervals.map { "\(Int($0) * 1000 / 1024)" }.joined(separator: " ") + " ms"
    }
    return text
  }

  private static func temperatureMeasurement(_ octets: Bytes) -> String? {
    guard let value = TemperatureMeasurement(octets: Array(octets)) else { return nil }
    let (number, unit) =
      switch value.temperature {
      case .celsius(let number): (number, "°C")
      case .fahrenheit(let number): (number, "°F")
      }
    var text = number.special == nil ? "\(number) \(unit)" : "\(number)"
    if let time = value.timeStamp { text += ", \(time)" }
    if let type = value.type { text += ", \(type.name ?? "\(type)")" }
    return text
  }

  private static func localTime(_ octets: Bytes) -> String? {
    guard let value = LocalTimeInformation(octets: Array(octets)) else { return nil }
    guard value.timeZone != -128 else { return "unknown time zone" }
    let minutes = Int(value.timeZone.magnitude) * 15
    let sign = value.timeZone < 0 ? "-" : "+"
    return "UTC\(sign)\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)"
  }

  private static func systemID(_ octets: Bytes) -> String? {
    guard let value = SystemID(octets: Array(octets)) else { return nil }
    func digits(_ number: UInt64, _ count: Int) -> String {
      let text = String(number, radix: 16, uppercase: true)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return
      "OUI \(digits(UInt64(value.organizationallyUniqueIdentifier), 6)), \(digits(value.manufacturerIdentifier, 10))"
  }

  private static func batteryStatus(_ octets: Bytes) -> String? {
    guard let value = BatteryLevelStatus(octets: Array(octets)) else { return nil }
    return "\(value.powerState.chargeState.word), charge \(value.powerState.chargeLevel.word)"
      + (value.level.map { ", \($0) %" } ?? "")
  }

  private static func keyboard(_ report: KeyboardReport) -> String {
    let keys = report.keys.map { "\($0)" }.joined(separator: ", ")
    return "modifiers: \(report.modifiers), keys: \(keys.isEmpty ? "none" : keys)"
  }

  private static func hidInformation(_ octets: Bytes) -> String? {
    guard let value = HIDInformation(octets: Array(octets)) else { return nil }
    return "version \(String(value.version >> 8, radix: 16)).\(String(value.version & 0xFF, radix: 16)), \(value.flags)"
  }

  private static func pnpIdentifier(_ octets: Bytes) -> String? {
    guard let value = PnPID(octets: Array(octets)) else { return nil }
    let company = value.source == .bluetooth ? AssignedNames.company(value.vendor) ?? hex(value.vendor) : nil
    let name = company ?? "USB vendor \(hex(value.vendor))"
    return "\(name), product \(hex(value.product)), version \(hex(value.version))"
  }

  /// A Characteristic Declaration (Vol 3, Part G, 3.3.1).
  private static func declaration(_ octets: Bytes) -> String? {
    guard octets.count >= 5, let handle = octets.uint16(at: 1),
      let uuid = BluetoothUUID(littleEndian: octets.dropFirst(3))
    else { return nil }
    return "\(AssignedNames.uuid(uuid) ?? uuid.uuidString) at \(hex(handle))"
  }

  private static func flags(_ octet: UInt8, _ names: [String], none: String = "none") -> String {
    let set = names.indices.filter { octet >> UInt8($0) & 1 == 1 }.map { names[$0] }
    return set.isEmpty ? none : set.joined(separator: ", ")
  }

  private static func hex(_ number: UInt16) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

extension BluetoothUUID {
  /// The assigned number of 16 bits; nil for another UUID.
  package var number: UInt16? { shortValue.flatMap { UInt16(exactly: $0) } }
}

extension Bytes {
  /// The number in the two octets at `offset`, least significant first; nil past the end.
  func uint16(at offset: Int) -> UInt16? { span.uint16(at: offset) }

  /// Self if there are `count` octets; otherwise nil.
  fileprivate func exactly(_ count: Int) -> Bytes? { self.count == count ? self : nil }
}

extension Array {
  /// The element at `index`; nil past the end.
  fileprivate subscript(ifPresent index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

extension BatteryLevelStatus.PowerState.ChargeState {
  fileprivate var word: String {
    switch self {
    case .unknown: "unknown"
    case .charging: "charging"
    case .discharging: "discharging"
    case .idle: "idle"
    }
  }
}

extension BatteryLevelStatus.PowerState.ChargeLevel {
  fileprivate var word: String {
    switch self {
    case .unknown: "unknown"
    case .good: "good"
    case .low: "low"
    case .critical: "critical"
    }
  }
}

extension HIDReportReference.Kind {
  fileprivate var word: String {
    switch self {
    case .input: "input"
    case .output: "output"
    case .feature: "feature"
    }
  }
}
