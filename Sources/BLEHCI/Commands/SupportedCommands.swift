public import BLEWire

extension HCI {
  /// The commands that a controller supports: 64 octets with one bit for each command (Vol 4, Part E, 6.27).
  ///
  /// ```swift
  /// if response.supportedCommands.contains(.leSetExtendedAdvertisingParameters) { … }
  /// ```
  public struct SupportedCommands: Packet {
    /// The place of one command in the parameter.
    public struct Bit: Hashable, Sendable {
      /// 0 to 63.
      public var octet: Int
      /// 0 to 7, the least significant bit first.
      public var bit: Int

      /// The place that the specification writes as an octet and a bit.
      public init(octet: Int, bit: Int) {
        self.octet = octet
        self.bit = bit
      }
    }

    var octets = Bytes(repeating: 0, count: 64)

    public init() {}

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.octets("Supported_Commands", count: 64, &octets)
    }

    /// Whether the controller supports the command; false for one without a bit.
    ///
    /// The declaration has the bit. A look-up by opcode needs the table of all commands.
    public func contains<Command: HCICommand>(_ command: Command.Type) -> Bool {
      guard let place = Command.supportedCommandsBit else { return false }
      return contains(octet: place.octet, bit: place.bit)
    }

    /// Whether the bit is set; false outside the 64 octets.
    public func contains(octet: Int, bit: Int) -> Bool {
      let index = octets.startIndex + octet
      guard octets.indices.contains(index), (0..<8).contains(bit) else { return false }
      return octets[index] >> UInt8(bit) & 1 == 1
    }
  }
}
