import BLECrypto
import BLEWire
import Testing

/// No test has a `UInt128` as an argument. It would come by an asynchronous call, and a debug build of Swift 6.2.3 for
/// arm64 passes it in other registers (x2 and x4) than the called function reads (x2 and x3).
struct LibCryptoTests {
  let crypto = LibCrypto()

  /// FIPS-197, appendix B and C.1.
  @Test func encryptsTheBlocksOfFIPS197() throws {
    let blocks: [(key: UInt128, plaintext: UInt128, ciphertext: UInt128)] = [
      (
        0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C, 0x3243_F6A8_885A_308D_3131_98A2_E037_0734,
        0x3925_841D_02DC_09FB_DC11_8597_196A_0B32
      ),
      (
        0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F, 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF,
        0x69C4_E0D8_6A7B_0430_D8CD_B780_70B4_C55A
      ),
    ]
    for (key, plaintext, ciphertext) in blocks {
      #expect(try crypto.encrypt(plaintext, key: key) == ciphertext)
    }
  }

  /// RFC 4493, section 4: the four examples, which are the samples of Vol 3, Part H, appendix D.1 too.
  @Test func computesTheMACsOfRFC4493() throws {
    let examples: [(length: Int, result: UInt128)] = [
      (0, 0xBB1D_6929_E959_3728_7FA3_7D12_9B75_6746),
      (16, 0x070A_16B4_6B4D_4144_F79B_DD9D_D04A_287C),
      (40, 0xDFA6_6747_DE9A_E630_30CA_3261_1497_C827),
      (64, 0x51F0_BEBF_7E3B_9D92_FC49_7417_7936_3CFE),
    ]
    let message = try #require(
      [UInt8](
        hexadecimal: """
          6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
          30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710
          """))
    let key: UInt128 = 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C
    for (length, result) in examples {
      #expect(try crypto.cmac(Array(message.prefix(length)), key: key) == result)
    }
  }

  /// The debug key pair of Vol 3, Part H, 2.3.5.6.1.
  static let debugPublicKey = P256PublicKey(
    x: UInt256(high: 0x20B0_03D2_F297_BE2C_5E2C_83A7_E9F9_A5B9, low: 0xEFF4_9111_ACF4_FDDB_CC03_0148_0E35_9DE6),
    y: UInt256(high: 0xDC80_9C49_652A_EB6D_6332_9ABF_5A52_155C, low: 0x7663_45C2_8FED_3024_741C_8ED0_1589_D28B))

  @Test func derivesThePublicKeyOfTheDebugKey() throws {
    #expect(try crypto.publicKey(of: .debug) == Self.debugPublicKey)
  }

  /// Vol 2, Part G, 7.1.2.1: the P-256 sample, from both sides.
  @Test func bothSidesComputeTheDHKeyOfTheSample() throws {
    let b = try P256PrivateKey(
      UInt256(high: 0x5518_8B3D_32F6_BB9A_900A_FCFB_EED4_E72A, low: 0x59CB_9AC2_F19D_7CFB_6B4F_DD49_F47F_C5FD))
    let secret = UInt256(
      high: 0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B, low: 0x9979_6B13_B4F8_66F1_868D_34F3_73BF_A698)
    #expect(try crypto.sharedSecret(b, with: Self.debugPublicKey) == secret)
    #expect(try crypto.sharedSecret(.debug, with: crypto.publicKey(of: b)) == secret)
  }

  @Test func rejectsPublicKeyThatIsNotOnTheCurve() {
    let good = Self.debugPublicKey
    let keys = [
      // One wrong bit in y; the point at infinity in the form of some stacks; coordinates above the field prime.
      P256PublicKey(x: good.x, y: UInt256(high: good.y.high, low: good.y.low ^ 1)),
      P256PublicKey(x: UInt256(high: 0, low: 0), y: UInt256(high: 0, low: 0)),
      P256PublicKey(x: UInt256(high: .max, low: .max), y: UInt256(high: .max, low: .max)),
      // The attack of CVE-2018-5383: y replaced by zero.
      P256PublicKey(x: good.x, y: UInt256(high: 0, low: 0)),
    ]
    for key in keys {
      #expect(throws: CryptographyError.notOnCurve) { try crypto.sharedSecret(.debug, with: key) }
    }
  }

  @Test func rejectsPrivateKeyOutOfRange() throws {
    let order = UInt256(
      high: 0xFFFF_FFFF_0000_0000_FFFF_FFFF_FFFF_FFFF, low: 0xBCE6_FAAD_A717_9E84_F3B9_CAC2_FC63_2551)
    #expect(throws: CryptographyError.privateKeyOutOfRange) { try P256PrivateKey(UInt256(high: 0, low: 0)) }
    #expect(throws: CryptographyError.privateKeyOutOfRange) { try P256PrivateKey(order) }
    _ = try crypto.publicKey(of: P256PrivateKey(UInt256(high: order.high, low: order.low - 1)))
    _ = try crypto.publicKey(of: P256PrivateKey(UInt256(high: 0, low: 1)))
  }

  /// Two pairs from one source differ; both sides of a pairing compute the same secret.
  @Test func randomKeyPairsShareASecret() throws {
    var random = RandomSource.seeded(1)
    let a = try crypto.keyPair(from: &random)
    let b = try crypto.keyPair(from: &random)
    #expect(a != b)
    #expect(
      try crypto.sharedSecret(a.privateKey, with: b.publicKey) == crypto.sharedSecret(b.privateKey, with: a.publicKey))
  }

  /// The first 32 octets of the list are not a private key (zero); the next 32 are used.
  @Test func discardsRandomPrivateKeyOutOfRange() {
    var zeroes = RandomSource.listed([UInt8](repeating: 0, count: 32) + [UInt8](repeating: 1, count: 32))
    let ones: UInt128 = 0x0101_0101_0101_0101_0101_0101_0101_0101
    #expect(P256PrivateKey.random(from: &zeroes).scalar == UInt256(high: ones, low: ones))
  }

  @Test func comparesSecrets() {
    #expect(crypto.areEqual(1 << 127, 1 << 127))
    #expect(!crypto.areEqual(1 << 127, 1 << 126))
    #expect(!crypto.areEqual(0, 1))
  }

  /// Keys are never written to logs.
  @Test func descriptionHidesThePrivateKey() {
    #expect("\(P256PrivateKey.debug)" == "P256PrivateKey")
  }
}
