public import BLEWire

/// An ATT PDU: an opcode, then the parameters that ``FieldGroup/layout(_:)`` declares (Vol 3, Part F, 3.3.1).
public protocol ATTPacket: Packet {
  static var opcode: ATTOpcode { get }
}

extension ATTPacket {
  /// Appends the PDU to `buffer`: the opcode, then the parameters.
  @inlinable public func encodePDU(to buffer: inout [UInt8]) {
    buffer.append(Self.opcode.rawValue)
    encode(to: &buffer)
  }

  /// The PDU as octets: the opcode, then the parameters.
  @inlinable public var encodedPDU: [UInt8] {
    var buffer: [UInt8] = []
    encodePDU(to: &buffer)
    return buffer
  }
}

/// The numbers that hold for all of ATT on an LE link.
public enum ATT {
  /// The ATT_MTU before any exchange, and the least one there is (Vol 3, Part G, 5.2.1).
  public static let defaultMTU = 23
  /// The largest ATT_MTU that makes sense: a 512-octet value and its Prepare Write header.
  public static let maximumMTU = 517
  /// The longest attribute value, in octets (Vol 3, Part F, 3.2.9).
  public static let maximumValueLength = 512
  /// How long a request or an indication may wait for its answer (Vol 3, Part F, 3.3.3).
  public static let transactionTimeout: Duration = .seconds(30)
}
