public import BLECrypto
public import BLEWire

/// Signatures of ATT PDUs on a link in the clear (Vol 3, Part H, 2.4.5).
extension SecurityToolbox {
  /// How many octets a signature adds to a PDU.
  public static var signatureLength: Int { 12 }

  /// The signature of `message` (opcode, handle and value as they travel): the counter, four octets, then the upper half
  /// of the MAC, both least significant octet first.
  public func signature(of message: Bytes, csrk: UInt128, signCounter: UInt32) throws(CryptographyError) -> [UInt8] {
    var signed = Array(message)
    signed.append(littleEndian: signCounter)
    let mac = try cryptography.cmac(signed.reversed(), key: csrk)
    var signature: [UInt8] = []
    signature.append(littleEndian: signCounter)
    signature.append(littleEndian: UInt64(truncatingIfNeeded: mac >> 64))
    return signature
  }

  /// The counter of a signed PDU whose signature is right; nil where it is not.
  ///
  /// Whether the counter is newer than the last one is for the caller to see to: a repeated one is a replay.
  public func verifiedSignCounter(of pdu: Bytes, csrk: UInt128) throws(CryptographyError) -> UInt32? {
    guard pdu.count > Self.signatureLength else { return nil }
    let (message, signature) = (pdu.dropLast(Self.signatureLength), pdu.suffix(Self.signatureLength))
    let counter = signature.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let expected = try self.signature(of: message, csrk: csrk, signCounter: counter)
    let (a, b) = (
      UInt128(littleEndian: expected + [0, 0, 0, 0]), UInt128(littleEndian: Array(signature) + [0, 0, 0, 0])
    )
    guard let a, let b, cryptography.areEqual(a, b) else { return nil }
    return counter
  }
}
