import BLEGAP
import Testing

@testable import BLEProfiles

struct BeaconTests {
  private static func octets(_ hexadecimal: String) throws -> [UInt8] {
    try #require([UInt8](hexadecimal: hexadecimal))
  }

  /// AirLocate, the example of the Proximity Beacon Specification.
  @Test func iBeaconsAreManufacturerDataOfApple() throws {
    let octets = try Self.octets("1aff4c000215e2c56db5dffb48d2b060d0f5a71096e000010002c5")
    let beacon = IBeacon(region: "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", major: 1, minor: 2, measuredPower: -59)
    #expect(IBeacon(AdvertisedData(advertisingData: octets[...])) == beacon)
    let payload = try beacon.advertisement.payload(under: .full)
    #expect(payload.advertisingData == [2, 1, 6] + octets && payload.scanResponse.isEmpty)
  }

  @Test func otherManufacturerDataIsNoIBeacon() throws {
    let data = IBeacon(region: "180D", major: 1, minor: 2, measuredPower: 0).manufacturerData
    #expect(throws: CodecError.invalid(field: "Company ID")) {
      try IBeacon(decoding: ManufacturerData(company: .internalUse, data: data.data))
    }
    for count in 0..<23 {
      #expect(throws: CodecError.truncated(field: "Measured Power")) {
        try IBeacon(decoding: ManufacturerData(company: .apple, data: data.data.prefix(count)))
      }
    }
    #expect(throws: CodecError.trailing(count: 1)) {
      try IBeacon(decoding: ManufacturerData(company: .apple, data: data.data + [0]))
    }
    #expect(throws: CodecError.invalid(field: "Beacon Type")) {
      try IBeacon(decoding: ManufacturerData(company: .apple, data: [0x10, 0x05]))
    }
  }

  /// Octets of the Eddystone Protocol Specification's formats.
  private static let frames: [(String, EddystoneFrame)] = [
    (
      "00ee000102030405060708090a0b0c0d0e0f0000",
      .uid(power: -18, namespace: Array(0...9), instance: Array(10...15))
    ),
    ("10f8036578616d706c6507", .url(power: -8, "https://example.com")),
    ("10ee00676f6f676c6500", .url(power: -18, "http://www.google.com/")),
    ("10ee03676f6f2e676c2f6162", .url(power: -18, "https://goo.gl/ab")),
    (
      "20000bb81540000000640000012c",
      .telemetry(
        .init(batteryMillivolts: 3000, temperature256: 0x1540, advertisements: 100, tenthsOfSeconds: 300))
    ),
    (
      "20000000800000000001ffffffff",
      .telemetry(.init(advertisements: 1, tenthsOfSeconds: .max))
    ),
    (
      "2001000102030405060708090a0b12345678",
      .encryptedTelemetry(Array(0...11), salt: 0x1234, integrityCheck: 0x5678)
    ),
    ("30ee0001020304050607", .ephemeralIdentifier(power: -18, Array(0...7))),
  ]

  @Test(arguments: frames) func framesHaveTheFieldsOfTheirType(octets: String, frame: EddystoneFrame) throws {
    let octets = try Self.octets(octets)
    #expect(try EddystoneFrame(decoding: octets[...]) == frame)
    #expect(try frame.encoded() == octets)
    if case .url = frame { return }
    for count in 0..<octets.count where !(octets[0] == 0 && count == 18) {
      #expect(throws: CodecError.self) { try EddystoneFrame(decoding: octets[..<count]) }
    }
    #expect(throws: CodecError.self) { try EddystoneFrame(decoding: octets + [0]) }
  }

  @Test func framesAreServiceData() throws {
    let frame = EddystoneFrame.url(power: -8, "https://swift.org/")
    let payload = try frame.advertisement().payload(under: .full)
    #expect(payload.advertisingData.hexadecimal == "0201060303aafe0c16aafe10f803737769667401")
    #expect(EddystoneFrame.frames(in: payload.contents) == [frame])
  }

  @Test func uidWithoutReservedOctetsIsAccepted() throws {
    let octets = try Self.octets("00ee000102030405060708090a0b0c0d0e0f")
    #expect(try EddystoneFrame(decoding: octets[...]) == Self.frames[0].1)
  }

  @Test(arguments: ["10ee04", "10ee03 20", "10ee", "10ee03 0e", "2002", "20", "40ee", "", "10ee037f"])
  func malformedFramesAreRejected(octets: String) throws {
    let octets = try Self.octets(octets)
    #expect(throws: CodecError.self) { try EddystoneFrame(decoding: octets[...]) }
  }

  @Test func framesThatCannotBeSentAreRejected() {
    #expect(throws: EddystoneError.address) { try EddystoneFrame.url(power: 0, "ftp://x").encoded() }
    #expect(throws: EddystoneError.address) { try EddystoneFrame.url(power: 0, "https://ä").encoded() }
    #expect(throws: EddystoneError.addressTooLong) {
      try EddystoneFrame.url(power: 0, "https://abcdefghijklmnopqr").encoded()
    }
    #expect(throws: Never.self) { try EddystoneFrame.url(power: 0, "https://abcdefghijklmnopq").encoded() }
    #expect(throws: EddystoneError.identifierLength) {
      try EddystoneFrame.uid(power: 0, namespace: [], instance: []).encoded()
    }
    #expect(throws: EddystoneError.identifierLength) {
      try EddystoneFrame.ephemeralIdentifier(power: 0, [1]).encoded()
    }
  }
}
