import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

@testable import BLEPeripheral

@Suite("Encoded bonds") struct EncodedBondTests {
  private static func bond(full: Bool) -> Bond {
    let strength = KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)
    let address = DeviceAddress(octets: BD_ADDR(0xC0_1122_3344_55), kind: .random)
    var bond = Bond(identity: address, strength: strength)
    let key = LongTermKey(value: SecretKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10), strength: strength)
    bond.peripheralKey = key
    guard full else { return bond }
    bond.addressOnAir = DeviceAddress(octets: BD_ADDR(0xD0_1122_3344_55), kind: .random)
    bond.ownIdentity = DeviceAddress(octets: BD_ADDR(0x00_1122_3344_55), kind: .public)
    bond.identityResolvingKey = SecretKey(7)
    bond.centralKey = LongTermKey(
      value: SecretKey(8), ediv: 0x1234, rand: 0x0102_0304_0506_0708,
      strength: KeyStrength(size: 7, isAuthenticated: false, isSecureConnections: false))
    (bond.peerCSRK, bond.peerSignCounter) = (SecretKey(9), 10)
    (bond.ownCSRK, bond.ownSignCounter) = (SecretKey(11), 12)
    bond.lastUse = 13
    bond.client = ClientRecord(
      configurations: [.init(descriptor: AttributeHandle(rawValue: 0x0012), value: .notify)],
      supportedFeatures: .robustCaching, databaseHash: [UInt8](repeating: 0xAB, count: 16))
    return bond
  }

  @Test func hasTheOctetsOfItsTable() {
    let fields =
      "08 01 5544332211c0 10 03 100f0e0d0c0b0a090807060504030201 0000 0000000000000000 10 03 00000000 00 00 00"
    let octets = [UInt8](hexadecimal: fields) ?? []
    let encoded = Self.bond(full: false).encoded
    #expect(encoded[0..<3] == [1, UInt8(octets.count), 0])
    #expect(encoded.dropFirst(3).dropLast(4) == octets[...])
    // zlib.crc32 of the octets before.
    #expect(encoded.suffix(4).hexadecimal == "054d256c")
  }

  @Test(arguments: [false, true]) func returnsAsItWas(full: Bool) throws {
    let bond = Self.bond(full: full)
    #expect(try Bond(encoded: bond.encoded.span) == bond)
    // A page of flash is longer.
    #expect(try Bond(encoded: (bond.encoded + [0xFF, 0xFF]).span) == bond)
  }

  @Test func isNotLongerThanTheMaximum() {
    #expect(Self.bond(full: true).encoded.count == Bond.maximumEncodedOctets(subscriptions: 1))
  }

  @Test func isDamagedIfItEndsTooEarly() {
    let octets = Self.bond(full: true).encoded
    for count in octets.indices {
      #expect(throws: BondDecodingError.damaged, "\(count)") { try Bond(encoded: Array(octets[..<count]).span) }
    }
  }

  @Test func isDamagedWithAnyOtherBit() {
    let octets = Self.bond(full: true).encoded
    for bit in 8..<octets.count * 8 {
      var changed = octets
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: BondDecodingError.damaged, "\(bit)") { try Bond(encoded: changed.span) }
    }
  }

  @Test func isOfNoVersionInErasedMemory() {
    #expect(throws: BondDecodingError.unknownVersion(0xFF)) {
      try Bond(encoded: [UInt8](repeating: 0xFF, count: 512).span)
    }
  }

  @Test func isMalformedWithFieldsOutOfRange() {
    var fields = BondFields(Self.bond(full: false))
    fields.strength.size = 6
    #expect(throws: CodecError.invalid(field: "Key Size")) { try Bond(fields) }
    fields = BondFields(Self.bond(full: false))
    fields.identity.kind = .anonymous
    #expect(throws: CodecError.invalid(field: "Address Type")) { try Bond(fields) }
    fields = BondFields(Self.bond(full: false))
    fields.databaseHash = [1]
    #expect(throws: CodecError.invalid(field: "Database Hash")) { try Bond(fields) }
  }

  @Test func fieldsReturnAsTheyWere() throws {
    var random = RandomNumbers()
    for _ in 0..<500 {
      let fields = BondFields.random(from: &random)
      #expect(try BondFields(decoding: fields.encoded[...]) == fields)
    }
  }

  private struct RandomNumbers: RandomNumberGenerator {
    var state: UInt64 = 1
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }
}
