/// A Bluetooth UUID of 16, 32 or 128 bits (Vol 3, Part B, 2.5.1).
///
/// Equality and hashing use the 128-bit value. ``size`` is the form in which the UUID is sent.
///
/// ```swift
/// let heartRate: BluetoothUUID = "180D"
/// let same = BluetoothUUID("0000180D-0000-1000-8000-00805F9B34FB")
/// // heartRate == same
/// ```
public struct BluetoothUUID: Sendable {
  /// The form in which a UUID is sent; the raw value is its length in octets.
  public enum Size: Int, Sendable {
    /// Two octets: a value in the range of the Bluetooth Base UUID, below 0x10000.
    case uuid16 = 2
    /// Four octets: a value in the range of the Bluetooth Base UUID.
    case uuid32 = 4
    /// Sixteen octets.
    case uuid128 = 16
  }

  @usableFromInline let number: UnalignedUInt128

  /// The 128-bit value; a short UUID is expanded with the Bluetooth Base UUID.
  @inlinable public var value: UInt128 { number.value }

  /// The form in which the UUID is sent.
  public let size: Size

  /// 00000000-0000-1000-8000-00805F9B34FB
  @usableFromInline static let base: UInt128 = 0x0000_0000_0000_1000_8000_0080_5F9B_34FB

  /// A 16-bit UUID.
  @inlinable public init(_ uuid16: UInt16) {
    self.init(UInt128(uuid16) << 96 | Self.base, .uuid16)
  }

  /// A 32-bit UUID.
  public init(uuid32: UInt32) {
    self.init(UInt128(uuid32) << 96 | Self.base, .uuid32)
  }

  /// A 128-bit UUID. It keeps 16 octets even if a shorter form exists.
  public init(uuid128: UInt128) { self.init(uuid128, .uuid128) }

  @usableFromInline init(_ value: UInt128, _ size: Size) {
    number = UnalignedUInt128(value)
    self.size = size
  }

  /// Reads `180D`, `0x180D`, `0000180D` or `E20A39F4-73F5-4BC4-A12F-17D1AD07A961`, in either case.
  ///
  /// - Returns: nil for text in any other form.
  public init?(_ text: some StringProtocol) {
    var digits = Substring(text).utf8
    if digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8) { digits = digits.dropFirst(2) }
    var number: UInt128 = 0
    var groups = [0]
    for octet in digits {
      if octet == UInt8(ascii: "-") {
        groups.append(0)
      } else {
        guard let digit = UInt8(hexadecimalDigit: octet) else { return nil }
        number = number &<< 4 | UInt128(digit)
        groups[groups.count - 1] += 1
      }
    }
    switch groups {
    case [4]: self.init(UInt16(truncatingIfNeeded: number))
    case [8]: self.init(uuid32: UInt32(truncatingIfNeeded: number))
    case [8, 4, 4, 4, 12]: self.init(uuid128: number)
    default: return nil
    }
  }

  /// Reads 2, 4 or 16 octets, least significant first, as ATT, SMP and advertising data carry them.
  ///
  /// - Returns: nil for any other number of octets.
  @inlinable public init?(littleEndian octets: some Collection<UInt8>) {
    var number: UInt128 = 0
    var shift: UInt128 = 0
    for octet in octets {
      number |= UInt128(octet) &<< shift
      shift &+= 8
    }
    switch octets.count {
    case 2: self.init(UInt16(truncatingIfNeeded: number))
    case 4: self.init(uuid32: UInt32(truncatingIfNeeded: number))
    case 16: self.init(uuid128: number)
    default: return nil
    }
  }

  /// Reads 2, 4 or 16 octets, most significant first.
  ///
  /// - Returns: nil for any other number of octets.
  public init?(bigEndian octets: some Collection<UInt8>) {
    self.init(littleEndian: Array(octets.reversed()))
  }

  /// The 16-bit or 32-bit value; nil for a value outside the range of the Bluetooth Base UUID.
  public var shortValue: UInt32? {
    value & ~(UInt128(UInt32.max) << 96) == Self.base ? UInt32(truncatingIfNeeded: value >> 96) : nil
  }

  /// The octets in the form of ``size``, least significant first.
  public var littleEndian: [UInt8] {
    var octets: [UInt8] = []
    append(to: &octets)
    return octets
  }

  /// Appends the octets in the form of ``size``, least significant first.
  public func append(to buffer: inout [UInt8]) {
    switch size {
    case .uuid16: buffer.append(littleEndian: UInt16(truncatingIfNeeded: value >> 96))
    case .uuid32: buffer.append(littleEndian: UInt32(truncatingIfNeeded: value >> 96))
    case .uuid128: buffer.append(littleEndian: value)
    }
  }

  /// The same UUID in the form of an ATT attribute type: a 32-bit UUID becomes one of 128 bits (Vol 3, Part F, 3.2.1).
  public var attributeType: Self { size == .uuid32 ? Self(uuid128: value) : self }

  /// Upper-case text: four or eight digits for a value in the range of the Bluetooth Base UUID, otherwise 36
  /// characters.
  public var uuidString: String {
    if let shortValue { return UInt16(exactly: shortValue)?.hexadecimalDigits ?? shortValue.hexadecimalDigits }
    var groups: [Substring] = []
    var rest = value.hexadecimalDigits[...].utf8
    for count in [8, 4, 4, 4, 12] {
      groups.append(Substring(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return groups.joined(separator: "-")
  }
}

extension BluetoothUUID: Hashable {
  /// Whether both have the same 128-bit value, in any form.
  public static func == (a: Self, b: Self) -> Bool { a.number == b.number }
  /// Hashes the 128-bit value.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

extension BluetoothUUID: CustomStringConvertible {
  /// The text of ``uuidString``.
  public var description: String { uuidString }
}

extension BluetoothUUID: ExpressibleByStringLiteral {
  /// A UUID that is written in the source, in a form that ``init(_:)-(StringProtocol)`` reads. Any other literal is an
  /// error of the program, and ends it.
  public init(stringLiteral text: String) {
    guard let uuid = Self(text) else {
      fatalError("'\(text)' is not a UUID. Write 4 or 8 hexadecimal digits, or 36 characters with hyphens")
    }
    self = uuid
  }
}
