import BLEAssignedNumbers
import BLEWire

/// The value of a characteristic or descriptor in plain words (GATT Specification Supplement).
///
/// A value that does not have the format of its type is shown as octets.
enum ValueText {
  /// The decoded value; without a decoder, text in quotation marks where all octets are text, else hexadecimal octets.
  static func text(_ octets: Bytes, of uuid: BluetoothUUID?) -> String {
    if let uuid, let short = uuid.shortValue, let number = UInt16(exactly: short) {
      if strings.contains(number) { return quoted(octets) ?? plain(octets) }
      if let decoded = decoders[number]?(octets) { return decoded }
    }
    return plain(octets)
  }

  /// `empty`, text in quotation marks, or hexadecimal octets.
  static func plain(_ octets: Bytes) -> String {
    if octets.isEmpty { return "empty" }
    guard octets.count > 3, let text = quoted(octets) else { return spaced(octets) }
    return "\(text) (\(spaced(octets.prefix(16)))\(octets.count > 16 ? " …" : ""))"
  }

  /// Pairs of hexadecimal digits, separated by spaces; the first 64 octets.
  static func spaced(_ octets: Bytes) -> String {
    let shown = octets.prefix(64).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
    return shown.joined(separator: " ") + (octets.count > 64 ? " … (\(octets.count) octets)" : "")
  }

  private static func quoted(_ octets: Bytes) -> String? {
    ble.text(in: octets).map { "\"\(printable($0))\"" }
  }

  /// Device Name, System strings of Device Information, Characteristic User Description.
  private static let strings: Set<UInt16> = [
    0x2A00, 0x2A24, 0x2A25, 0x2A26, 0x2A27, 0x2A28, 0x2A29, 0x2901, 0x2AB5, 0x2ABE, 0x2AC9,
  ]

  private typealias Decode = @Sendable (Bytes) -> String?

  private static let decoders: [UInt16: Decode] = [
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
    0x2A19: { $0.exactly(1)?.first.map { "\($0) %" } },
    0x2A2B: currentTime,
    0x2A37: heartRate,
    0x2A38: { octets in
      octets.exactly(1)?.first.flatMap {
        ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"][ifPresent: Int($0)]
      }
    },
    0x2A1C: temperatureMeasurement,
    0x2A50: pnpIdentifier,
    0x2A6D: { $0.exactly(4)?.uint32.map { "\(fixed(Int64($0), digits: 1)) Pa" } },
    0x2A6E: { $0.exactly(2)?.uint16(at: 0).map { "\(fixed(Int64(Int16(bitPattern: $0)), digits: 2)) °C" } },
    0x2A6F: { $0.exactly(2)?.uint16(at: 0).map { "\(fixed(Int64($0), digits: 2)) %" } },
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

  /// Heart Rate Measurement: flags, the rate in 8 or 16 bits, energy in kJ, RR intervals in 1/1024 s.
  private static func heartRate(_ octets: Bytes) -> String? {
    guard let flags = octets.first else { return nil }
    var rest = octets.dropFirst()
    let rate: Int
    if flags & 1 == 0 {
      guard let octet = rest.popFirst() else { return nil }
      rate = Int(octet)
    } else {
      guard let number = rest.uint16(at: 0) else { return nil }
      rate = Int(number)
      rest = rest.dropFirst(2)
    }
    var text = "\(rate) bpm"
    if flags & 0b100 != 0 { text += flags & 0b10 != 0 ? ", skin contact" : ", no skin contact" }
    if flags & 0b1000 != 0 {
      guard let energy = rest.uint16(at: 0) else { return nil }
      text += ", \(energy) kJ"
      rest = rest.dropFirst(2)
    }
    if flags & 0b1_0000 != 0 {
      let intervals = stride(from: 0, to: rest.count - 1, by: 2).compactMap { rest.uint16(at: $0) }
      text += ", RR " + intervals.map { "\(Int($0) * 1000 / 1024)" }.joined(separator: " ") + " ms"
    }
    return text
  }

  /// Temperature Measurement: flags, then an IEEE 11073 32-bit float: 24 bits of mantissa, 8 bits of exponent.
  private static func temperatureMeasurement(_ octets: Bytes) -> String? {
    guard octets.count >= 5, let flags = octets.first, let number = octets.dropFirst().prefix(4).uint32 else {
      return nil
    }
    let mantissa = Int64(Int32(bitPattern: number << 8) / 256)
    guard mantissa != 0x7F_FFFF else { return "not a number" }
    let exponent = Int(Int8(bitPattern: UInt8(truncatingIfNeeded: number >> 24)))
    guard -6...3 ~= exponent else { return nil }
    let unit = flags & 1 == 0 ? "°C" : "°F"
    if exponent <= 0 { return "\(fixed(mantissa, digits: -exponent)) \(unit)" }
    return "\((0..<exponent).reduce(mantissa) { value, _ in value * 10 }) \(unit)"
  }

  private static func currentTime(_ octets: Bytes) -> String? {
    guard octets.count == 10, let year = octets.uint16(at: 0) else { return nil }
    let parts = octets.dropFirst(2).prefix(5).map { $0 < 10 ? "0\($0)" : "\($0)" }
    return "\(year)-\(parts[0])-\(parts[1]) \(parts[2]):\(parts[3]):\(parts[4])"
  }

  private static func pnpIdentifier(_ octets: Bytes) -> String? {
    guard octets.count == 7, let source = octets.first, let vendor = octets.uint16(at: 1),
      let product = octets.uint16(at: 3), let version = octets.uint16(at: 5)
    else { return nil }
    let name = source == 1 ? AssignedNames.company(vendor) ?? hex(vendor) : "USB vendor \(hex(vendor))"
    return "\(name), product \(hex(product)), version \(hex(version))"
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

  /// A number with `digits` digits after the point: 2150 with 2 digits is `21.50`.
  private static func fixed(_ number: Int64, digits: Int) -> String {
    guard digits > 0 else { return "\(number)" }
    let magnitude = String(number.magnitude)
    let padded = String(repeating: "0", count: max(0, digits + 1 - magnitude.count)) + magnitude
    return (number < 0 ? "-" : "") + padded.dropLast(digits) + "." + padded.suffix(digits)
  }
}

extension Bytes {
  /// The number in the two octets at `offset`, least significant first; nil past the end.
  func uint16(at offset: Int) -> UInt16? { span.uint16(at: offset) }

  /// Self where there are `count` octets; else nil.
  fileprivate func exactly(_ count: Int) -> Bytes? { self.count == count ? self : nil }

  /// The number in four octets, least significant first.
  fileprivate var uint32: UInt32? {
    guard count == 4, let low = uint16(at: 0), let high = uint16(at: 2) else { return nil }
    return UInt32(high) << 16 | UInt32(low)
  }
}

extension Array {
  /// The element at `index`; nil past the end.
  fileprivate subscript(ifPresent index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
