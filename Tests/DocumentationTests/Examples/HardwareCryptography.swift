import BLECrypto

/// The driver of a processor's AES unit.
protocol AESEngine: Sendable {
  /// Encrypts one block of 16 octets, most significant octet first, with AES-128.
  func encrypt(_ block: [UInt8], key: [UInt8]) -> [UInt8]
}

/// AES by the hardware, and P-256 by libcrypto.
struct HardwareCryptography: Cryptography {
  let engine: any AESEngine
  private let software = LibCrypto()

  init(engine: any AESEngine) { self.engine = engine }

  func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128 {
    let block = engine.encrypt(plaintext.bigEndianOctets, key: key.bigEndianOctets)
    guard let ciphertext = UInt128(bigEndian: block) else { throw .library(function: "AESEngine.encrypt", code: 0) }
    return ciphertext
  }

  /// AES-CMAC (RFC 4493) in terms of `encrypt`.
  func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128 {
    func doubled(_ number: UInt128) -> UInt128 { number << 1 ^ (number >> 127 == 1 ? 0x87 : 0) }
    let subkey = doubled(try encrypt(0, key: key))
    let blocks = max(1, (message.count + 15) / 16)
    var mac: UInt128 = 0
    for block in 0..<blocks {
      var input: UInt128 = 0
      for index in block * 16..<block * 16 + 16 {
        // The octet 0x80 and zeros pad an incomplete block.
        let octet = index < message.count ? message[index] : index == message.count ? 0x80 : 0
        input = input << 8 | UInt128(octet)
      }
      if block == blocks - 1 { input ^= message.count == blocks * 16 ? subkey : doubled(subkey) }
      mac = try encrypt(mac ^ input, key: key)
    }
    return mac
  }

  func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey {
    try software.publicKey(of: privateKey)
  }

  func sharedSecret(_ privateKey: P256PrivateKey, with peer: P256PublicKey) throws(CryptographyError) -> UInt256 {
    try software.sharedSecret(privateKey, with: peer)
  }

  func areEqual(_ a: UInt128, _ b: UInt128) -> Bool { software.areEqual(a, b) }
}
