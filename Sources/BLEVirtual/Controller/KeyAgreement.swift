internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The P-256 key pair of a controller, for LE Read Local P-256 Public Key and LE Generate DHKey (Vol 4, Part E, 7.8.36
/// and 7.8.37).
struct KeyAgreement: Sendable {
  private var keyPair: P256KeyPair?

  var hasKeyPair: Bool { keyPair != nil }

  /// Generates a key pair.
  mutating func generateKeyPair(
    from random: inout RandomSource, _ cryptography: any Cryptography
  ) -> HCI.LEReadLocalP256PublicKeyComplete {
    keyPair = try? cryptography.keyPair(from: &random)
    let key = keyPair?.publicKey
    return .init {
      $0.status = key == nil ? .hardwareFailure : .success
      $0.keyXCoordinate = key?.x.littleEndianOctets[...] ?? []
      $0.keyYCoordinate = key?.y.littleEndianOctets[...] ?? []
    }
  }

  /// Computes the shared secret with a peer's public key. A key that is not on the curve returns 0x12 (Vol 4, Part E,
  /// 7.8.37).
  func generateDHKey(_ command: HCI.LEGenerateDHKey, _ cryptography: any Cryptography) -> HCI.LEGenerateDHKeyComplete {
    var event = HCI.LEGenerateDHKeyComplete()
    event.dhKey = Bytes(repeating: 0xFF, count: 32)
    do throws(CryptographyError) {
      guard let keyPair,
        let peer = P256PublicKey(littleEndian: command.keyXCoordinate + command.keyYCoordinate)
      else { throw .notOnCurve }
      event.dhKey = try cryptography.sharedSecret(keyPair.privateKey, with: peer).littleEndianOctets[...]
    } catch {
      event.status = error == .notOnCurve ? .invalidCommandParameters : .hardwareFailure
    }
    return event
  }
}
