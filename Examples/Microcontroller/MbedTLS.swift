import BLECrypto
import MbedTLSPrimitives

/// The primitives by mbedTLS, which a firmware has instead of libcrypto.
struct MbedTLS: Cryptography {
  func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128 {
    var ciphertext = [UInt8](repeating: 0, count: 16)
    try check("mbedtls_aes_crypt_ecb", primitives_encrypt(key.bigEndianOctets, plaintext.bigEndianOctets, &ciphertext))
    return number(ciphertext)
  }

  func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128 {
    var mac = [UInt8](repeating: 0, count: 16)
    let status = message.withUnsafeBufferPointer { octets in
      primitives_cmac(key.bigEndianOctets, octets.baseAddress, octets.count, &mac)
    }
    try check("mbedtls_cipher_cmac", status)
    return number(mac)
  }

  func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey {
    var key = [UInt8](repeating: 0, count: 64)
    try check("mbedtls_ecp_mul", primitives_public_key(privateKey.scalar.bigEndianOctets, &key))
    return P256PublicKey(x: coordinate(key.prefix(32)), y: coordinate(key.suffix(32)))
  }

  func sharedSecret(_ privateKey: P256PrivateKey, with peer: P256PublicKey) throws(CryptographyError) -> UInt256 {
    var secret = [UInt8](repeating: 0, count: 32)
    let status = primitives_shared_secret(
      privateKey.scalar.bigEndianOctets, peer.x.bigEndianOctets + peer.y.bigEndianOctets, &secret)
    guard status != PRIMITIVES_NOT_ON_CURVE else { throw .notOnCurve }
    try check("mbedtls_ecp_mul", status)
    return coordinate(secret[...])
  }

  func areEqual(_ a: UInt128, _ b: UInt128) -> Bool {
    let difference = a ^ b
    return UInt64(truncatingIfNeeded: difference >> 64) | UInt64(truncatingIfNeeded: difference) == 0
  }

  private func check(_ function: String, _ status: Int32) throws(CryptographyError) {
    guard status == 0 else { throw .library(function: function, code: UInt(status.magnitude)) }
  }

  private func number(_ octets: [UInt8]) -> UInt128 { UInt128(bigEndian: octets) ?? 0 }

  private func coordinate(_ octets: ArraySlice<UInt8>) -> UInt256 {
    UInt256(bigEndian: octets) ?? UInt256(high: 0, low: 0)
  }
}
