import BLEHCI
import BLEWire
import TestSupport
import Testing

/// The btsnoop format: big-endian numbers, records of 24 octets of header and a packet.
@Suite struct BTSnoopTests {
  static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
  static let answer: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]

  /// 2024-01-01 00:00 UTC.
  static let time: Int64 = 1_704_067_200_000_000

  /// The reset and its answer, as the writer records them.
  static func file() -> [UInt8] {
    var octets = BTSnoopFile.header
    BTSnoopFile.append(reset.span, .hostToController, at: time, to: &octets)
    BTSnoopFile.append(answer.span, .controllerToHost, at: time + 1500, to: &octets)
    return octets
  }

  @Test func `the writer's octets are those of the format`() throws {
    let expected = try #require(
      [UInt8](
        hexadecimal: "6274736e6f6f7000 00000001 000003ea"
          + "00000004 00000004 00000002 00000000 00e2eb8a1f50a000 01030c00"
          + "00000007 00000007 00000003 00000000 00e2eb8a1f50a5dc 040e0401030c00"))
    #expect(Self.file() == expected)
  }

  @Test func `the reader returns what the writer recorded`() throws {
    let file = try BTSnoopFile(Self.file()[...])
    #expect(
      Array(file) == [
        BTSnoopRecord(packet: Self.reset[...], direction: .hostToController, microseconds: Self.time),
        BTSnoopRecord(packet: Self.answer[...], direction: .controllerToHost, microseconds: Self.time + 1500),
      ])
    #expect(file.unread.isEmpty)
  }

  @Test func `every truncation ends before the incomplete record`() throws {
    let octets = Self.file()
    for length in 0..<8 { #expect(throws: BTSnoopError.notBTSnoop) { try BTSnoopFile(octets.prefix(length)) } }
    for length in 8..<16 { #expect(throws: BTSnoopError.truncatedHeader) { try BTSnoopFile(octets.prefix(length)) } }
    for length in 16..<octets.count {
      let file = try BTSnoopFile(octets.prefix(length))
      let complete = length < 16 + 28 ? 0 : 1
      #expect(Array(file).count == complete)
      #expect(file.unread.count == length - 16 - complete * 28)
    }
  }

  @Test func `other versions and data link types are rejected`() {
    var octets = Self.file()
    octets[11] = 2
    #expect(throws: BTSnoopError.unsupportedVersion(2)) { try BTSnoopFile(octets[...]) }
    octets[11] = 1
    octets[15] = 0xEB
    #expect(throws: BTSnoopError.unsupportedDataLink(1003)) { try BTSnoopFile(octets[...]) }
    #expect("\(BTSnoopError.unsupportedDataLink(1003))".contains("1003"))
  }

  @Test func `H1 captures get the indicator from the flags`() throws {
    let records = [
      (0, "4020 0400 00000400", HCIPacketType.aclData, HCIPacketDirection.hostToController),
      (1, "4020 0400 00000400", .aclData, .controllerToHost), (2, "030c00", .command, .hostToController),
      (3, "0e0401030c00", .event, .controllerToHost),
    ]
    var octets = try #require([UInt8](hexadecimal: "6274736e6f6f7000 00000001 000003e9"))
    for (flags, packet, _, _) in records { octets += try record(packet, flags: flags) }
    let found = try Array(BTSnoopFile(octets[...]))
    #expect(found.map(\.packet.first) == records.map { $0.2.rawValue })
    #expect(found.map(\.direction) == records.map(\.3))
    for record in found { #expect(throws: Never.self) { try HCIPacket(decoding: record.packet) } }
  }

  @Test func `of Linux monitor captures the HCI packets are returned`() throws {
    let types: [(Int, HCIPacketType?)] = [
      (0, nil), (1, nil), (2, .command), (3, .event), (4, .aclData), (5, .aclData), (6, .synchronousData),
      (7, .synchronousData), (8, nil), (12, nil), (18, .isoData), (19, .isoData),
    ]
    var octets = try #require([UInt8](hexadecimal: "6274736e6f6f7000 00000001 000007d1"))
    for (type, _) in types { octets += try record("0102", flags: 3 << 16 | type) }
    let found = try Array(BTSnoopFile(octets[...]))
    #expect(found.map(\.packet.first) == types.compactMap { $0.1?.rawValue })
    #expect(found.allSatisfy { $0.originalLength == 3 })
  }

  @Test func `a capture with a length limit keeps the original length`() throws {
    var octets = BTSnoopFile.header
    octets += try record("02 4020 ff00", flags: 0, original: 260, drops: 7)
    let found = try #require(Array(BTSnoopFile(octets[...])).first)
    #expect(found.originalLength == 260 && found.packet.count == 5 && found.drops == 7)
  }

  @Test func `no octets make the reader trap`() {
    var source = SplitMix64(seed: 11)
    for _ in 0..<2000 {
      let octets = BTSnoopFile.header.prefix(15) + [0xEA] + source.octets(0...80)
      guard let file = try? BTSnoopFile(Bytes(octets)) else { continue }
      for record in file { _ = try? HCIPacket(decoding: record.packet) }
    }
  }

  private func record(
    _ packet: String, flags: Int, original: Int? = nil, drops: UInt8 = 0
  ) throws -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    let octets = try #require([UInt8](hexadecimal: packet))
    return number(original ?? octets.count) + number(octets.count) + number(flags) + number(Int(drops))
      + [UInt8](repeating: 0, count: 8) + octets
  }
}
