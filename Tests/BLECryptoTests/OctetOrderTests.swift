import BLECrypto
import Testing

struct OctetOrderTests {
  @Test func readsAndWritesNumbersOf128BitsInBothOrders() {
    let octets = (0..<16).map(UInt8.init)
    let number: UInt128 = 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F
    #expect(UInt128(bigEndian: octets) == number)
    #expect(UInt128(littleEndian: octets.reversed()) == number)
    #expect(number.bigEndianOctets == octets)
    #expect(number.littleEndianOctets == octets.reversed())
    #expect(UInt128(bigEndian: octets.dropLast()) == nil)
    #expect(UInt128(littleEndian: octets + [0]) == nil)
  }

  @Test func readsAndWritesNumbersOf256BitsInBothOrders() {
    let octets = (0..<32).map(UInt8.init)
    let number = UInt256(
      high: 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F, low: 0x1011_1213_1415_1617_1819_1A1B_1C1D_1E1F)
    #expect(UInt256(bigEndian: octets) == number)
    #expect(UInt256(littleEndian: octets.reversed()) == number)
    #expect(number.bigEndianOctets == octets)
    #expect(number.littleEndianOctets == octets.reversed())
    #expect(UInt256(bigEndian: octets.dropLast()) == nil)
    #expect(UInt256(littleEndian: octets + [0]) == nil)
    #expect(UInt256(high: 0, low: .max) < UInt256(high: 1, low: 0))
  }

  /// x before y, each least significant octet first.
  @Test func publicKeyHasXBeforeY() {
    let octets = (0..<64).map(UInt8.init)
    let key = P256PublicKey(littleEndian: octets)
    #expect(key?.x.littleEndianOctets == Array(octets.prefix(32)))
    #expect(key?.y.littleEndianOctets == Array(octets.suffix(32)))
    #expect(key?.littleEndianOctets == octets)
    #expect(P256PublicKey(littleEndian: octets.dropLast()) == nil)
  }
}

struct RandomSourceTests {
  @Test func seededSequenceRepeats() {
    var (a, b, c) = (RandomSource.seeded(5), RandomSource.seeded(5), RandomSource.seeded(6))
    let first = a.octets(33)
    #expect(first.count == 33)
    #expect(first == b.octets(33))
    #expect(first != c.octets(33))
    #expect(a.octets(33) != first)
  }

  /// The published first outputs of SplitMix64 with seed 1234567.
  @Test func seededSequenceIsSplitMix() {
    var random = RandomSource.seeded(1_234_567)
    #expect([random.next(), random.next()] == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973])
  }

  @Test func listedOctetsAreReturnedInOrder() {
    var random = RandomSource.listed([1, 2, 3] + (0..<16).map(UInt8.init) + [9])
    #expect(random.octets(3) == [1, 2, 3])
    #expect(random.uint128() == 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100)
    let last = random.octets(5)
    var seeded = RandomSource.seeded(0)
    #expect(last.first == 9)
    #expect(last.dropFirst().elementsEqual((0..<4).map { _ in UInt8(truncatingIfNeeded: seeded.next()) }))
  }

  @Test func systemSourceDiffersFromItself() {
    var random = RandomSource.system
    #expect(random.uint128() != random.uint128())
    #expect(random.octets(0).isEmpty)
  }
}
