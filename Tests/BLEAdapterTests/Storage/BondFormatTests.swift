import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

@testable import BLEAdapter

/// The content of a file of bonds, version 1.
@Suite struct BondFormatTests {
  /// A file as version 1 of the format has it; it is read and written without a difference.
  static let file = """
    {
      "bonds" : [
        {
          "address" : "C0:11:22:33:44:55",
          "addressIsRandom" : true,
          "configurations" : [
            {
              "descriptor" : 42,
              "value" : 1
            }
          ],
          "databaseHash" : "000102030405060708090a0b0c0d0e0f",
          "identityResolvingKey" : "00112233445566778899aabbccddeeff",
          "lastUse" : 3,
          "ownSignCounter" : 7,
          "peerSignCounter" : 9,
          "peripheralKey" : {
            "ediv" : 513,
            "key" : "0f0e0d0c0b0a09080706050403020100",
            "rand" : 72623859790382856,
            "strength" : {
              "authenticated" : true,
              "secureConnections" : false,
              "size" : 16
            }
          },
          "strength" : {
            "authenticated" : true,
            "secureConnections" : false,
            "size" : 16
          },
          "supportedFeatures" : 1
        }
      ],
      "identityResolvingKey" : "ffeeddccbbaa99887766554433221100",
      "program" : "BluetoothLE 0.1.0",
      "version" : 1
    }
    """

  @Test func readsAndWritesVersion1() throws {
    let record = try BondRecord(decoding: [UInt8](Self.file.utf8))
    #expect(record.identityResolvingKey == SecretKey(0xFFEE_DDCC_BBAA_9988_7766_5544_3322_1100))
    let bond = try #require(record.bonds.first)
    #expect(
      record.bonds.count == 1 && bond.identity.kind == .random && "\(bond.identity.octets)" == "C0:11:22:33:44:55")
    #expect(bond.identityResolvingKey == SecretKey(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF))
    let key = try #require(bond.peripheralKey)
    #expect(key.value == SecretKey(0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100))
    #expect(key.ediv == 0x0201 && key.rand == 0x0102_0304_0506_0708)
    #expect(bond.strength.isAuthenticated && bond.strength.size == 16 && !bond.strength.isSecureConnections)
    #expect(bond.ownSignCounter == 7 && bond.peerSignCounter == 9 && bond.lastUse == 3)
    #expect(bond.client.configurations.map(\.descriptor) == [42] && bond.client.databaseHash == [UInt8](0..<16))
    #expect(String(decoding: try record.encoded(), as: UTF8.self) == Self.file)
  }
}
