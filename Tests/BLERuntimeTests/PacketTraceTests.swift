import BLECrypto
import BLEHCI
import BLELinux
import BLEWire
import Foundation
import Testing

@testable import BLERuntime

/// A reader of btsnoop files, as small as the format is.
struct TraceReader {
  struct Record: Equatable {
    let octets: [UInt8]
    let flags: UInt32
    let microseconds: Int64
  }

  let header: [UInt8]
  private(set) var records: [Record] = []
  /// Octets behind the last whole record.
  let rest: Int

  init(_ path: String) throws {
    let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    header = Array(file.prefix(16))
    func number(_ at: Int, _ count: Int) -> UInt64 { file[at..<at + count].reduce(0) { $0 << 8 | UInt64($1) } }
    var at = 16
    while at + 24 <= file.count, at + 24 + Int(number(at + 4, 4)) <= file.count {
      let length = Int(number(at + 4, 4))
      try #require(number(at, 4) == UInt64(length), "nothing is cut")
      try #require(number(at + 12, 4) == 0, "nothing was dropped")
      records.append(
        Record(
          octets: Array(file[at + 24..<at + 24 + length]), flags: UInt32(number(at + 8, 4)),
          microseconds: Int64(number(at + 16, 8))))
      at += 24 + length
    }
    rest = file.count - at
  }
}

@Suite struct PacketTraceTests {
  /// btsnoop, version 1, HCI UART (H4).
  static let header: [UInt8] = Array("btsnoop".utf8) + [0, 0, 0, 0, 1, 0, 0, 0x03, 0xEA]

  @Test func recordsEveryPacket() throws {
    let folder = try TemporaryFolder()
    // 2000-01-01 00:00 UTC, which is 0x00E03AB44A676000 on btsnoop's time line.
    var trace = try PacketTrace(at: folder.file("t")) { 946_684_800_000_000 }
    let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
    let complete: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
    let data: [UInt8] = [0x02, 0x40, 0x20, 0x02, 0x00, 0xAA, 0xBB]
    try trace.record(reset.span, .hostToController)
    try trace.record(complete.span, .controllerToHost)
    try trace.record(data.span, .hostToController)
    try trace.record(data.span, .controllerToHost)
    try trace.flush()
    let file = try TraceReader(folder.file("t"))
    #expect(file.header == Self.header)
    let time: Int64 = 0x00E0_3AB4_4A67_6000
    // Bit 0: from the controller; bit 1: command or event.
    #expect(
      file.records == [
        .init(octets: reset, flags: 2, microseconds: time), .init(octets: complete, flags: 3, microseconds: time),
        .init(octets: data, flags: 0, microseconds: time), .init(octets: data, flags: 1, microseconds: time),
      ])
    #expect(file.rest == 0)
    let mode = try FileManager.default.attributesOfItem(atPath: folder.file("t"))[.posixPermissions] as? Int
    #expect(mode == 0o600, "others may not read what was said")
  }

  @Test func writesTheHeaderFirstAndWholeRecords() throws {
    let folder = try TemporaryFolder()
    var trace = try PacketTrace(at: folder.file("t"))
    #expect(try TraceReader(folder.file("t")).header == Self.header)
    // The longest packet of H4, more than the buffer holds.
    let long = [0x02, 0x40, 0x20, 0xFF, 0xFF] + [UInt8](repeating: 0x5A, count: 65_535)
    for _ in 0..<3 {
      try trace.record(long.span, .controllerToHost)
      #expect(try TraceReader(folder.file("t")).rest == 0)
    }
    try trace.flush()
    let file = try TraceReader(folder.file("t"))
    #expect(file.records.map(\.octets) == [long, long, long])
    #expect(file.rest == 0)
  }

  /// Each record has 24 octets before its packet.
  @Test func recordsWaitUpToTheLimitOfTheBuffer() throws {
    let folder = try TemporaryFolder()
    var trace = try PacketTrace(at: folder.file("t"))
    let packet = [UInt8](repeating: 0x02, count: 1_000)
    let last = [UInt8](repeating: 0x02, count: PacketTrace.bufferLimit % 1_024 + 1_000)
    for _ in 0..<PacketTrace.bufferLimit / 1_024 - 1 { try trace.record(packet.span, .controllerToHost) }
    try trace.record(last.span, .controllerToHost)
    #expect(try TraceReader(folder.file("t")).records.isEmpty, "exactly the limit")
    try trace.record([0x02].span, .controllerToHost)
    #expect(try TraceReader(folder.file("t")).records.count == PacketTrace.bufferLimit / 1_024)
    // One octet more than fits is not kept together with the rest.
    try trace.flush()
    for _ in 0..<PacketTrace.bufferLimit / 1_024 - 1 { try trace.record(packet.span, .controllerToHost) }
    let before = try TraceReader(folder.file("t")).records.count
    try trace.record((last + [0x02]).span, .controllerToHost)
    #expect(try TraceReader(folder.file("t")).records.count == before + PacketTrace.bufferLimit / 1_024 - 1)
  }

  @Test func reportsAFullDisk() throws {
    let error = try #require(throws: TransportError.self) { _ = try PacketTrace(at: "/dev/full") }
    #expect(error.cause?.description.contains("ENOSPC") == true && error.place == "/dev/full")
    let missing = try #require(throws: TransportError.self) { _ = try PacketTrace(at: "/no/such/folder/t") }
    #expect(missing.exitCode == 74 && !missing.remedy.isEmpty)
  }

  /// Others could read the file before, or lead the trace to a file of theirs or ours.
  @Test func permitsTheOwnerOnly() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("t")
    _ = FileManager.default.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: 0o644])
    do { _ = try PacketTrace(at: path) }
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let target = folder.file("precious")
    _ = FileManager.default.createFile(atPath: target, contents: Data("precious".utf8))
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: target)
    let error = try #require(throws: TransportError.self) { _ = try PacketTrace(at: folder.file("link")) }
    #expect(error.what.contains("symbolic link") && error.exitCode == 74 && !error.remedy.isEmpty)
    #expect(FileManager.default.contents(atPath: target) == Data("precious".utf8))
  }

  @Test func reportsAPipeWithoutAReader() throws {
    let folder = try TemporaryFolder()
    #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
    let error = try #require(throws: TransportError.self) { _ = try PacketTrace(at: folder.file("pipe")) }
    #expect(error.remedy.contains("reads this pipe"))
  }

  @Test func numbersASecondTraceOfTheSameName() {
    var taken: Set<String> = []
    let names = ["demo.btsnoop", "demo.btsnoop", "demo.btsnoop", "a.b/trace", "a.b/trace", "a/.hidden", "a/.hidden"]
    #expect(
      names.map { PacketTrace.unused($0, in: &taken) } == [
        "demo.btsnoop", "demo.2.btsnoop", "demo.3.btsnoop", "a.b/trace", "a.b/trace.2", "a/.hidden", "a/.hidden.2",
      ])
  }
}

@Suite struct KeyRedactorTests {
  static let key = [UInt8](1...16)
  static let zeros = [UInt8](repeating: 0, count: 16)
  static let other = [UInt8](0xC0...0xCF)

  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let octets: [UInt8]
    let erased: [UInt8]
    var testDescription: String { name }
  }

  static let rows: [Row] = [
    // Vol 4, Part E, 7.8.24: handle, random number, diversifier, key.
    Row(
      name: "LE Enable Encryption", octets: [0x01, 0x19, 0x20, 28, 0x40, 0x00] + other[..<10] + key,
      erased: [0x01, 0x19, 0x20, 28, 0x40, 0x00] + other[..<10] + zeros),
    Row(
      name: "LE Long Term Key Request Reply", octets: [0x01, 0x1A, 0x20, 18, 0x40, 0x00] + key,
      erased: [0x01, 0x1A, 0x20, 18, 0x40, 0x00] + zeros),
    // Vol 4, Part E, 7.8.38: type, address, peer's IRK, own IRK.
    Row(
      name: "LE Add Device To Resolving List", octets: [0x01, 0x27, 0x20, 39, 0x01] + other[..<6] + key + key,
      erased: [0x01, 0x27, 0x20, 39, 0x01] + other[..<6] + zeros + zeros),
    Row(
      name: "LE Encrypt", octets: [0x01, 0x17, 0x20, 32] + key + other, erased: [0x01, 0x17, 0x20, 32] + zeros + other),
    Row(
      name: "LE Encrypt's result", octets: [0x04, 0x0E, 20, 0x01, 0x17, 0x20, 0x00] + key,
      erased: [0x04, 0x0E, 20, 0x01, 0x17, 0x20, 0x00] + zeros),
    Row(
      name: "LE Generate DHKey Complete", octets: [0x04, 0x3E, 34, 0x09, 0x00] + key + key,
      erased: [0x04, 0x3E, 34, 0x09, 0x00] + zeros + zeros),
    // Vol 3, Part H, 3.6.2, 3.6.4, 3.6.6 on CID 6.
    Row(
      name: "SMP Encryption Information", octets: [0x02, 0x40, 0x00, 21, 0, 17, 0, 6, 0, 0x06] + key,
      erased: [0x02, 0x40, 0x00, 21, 0, 17, 0, 6, 0, 0x06] + zeros),
    Row(
      name: "SMP Identity Information", octets: [0x02, 0x40, 0x20, 21, 0, 17, 0, 6, 0, 0x08] + key,
      erased: [0x02, 0x40, 0x20, 21, 0, 17, 0, 6, 0, 0x08] + zeros),
    Row(
      name: "SMP Signing Information", octets: [0x02, 0x40, 0x00, 21, 0, 17, 0, 6, 0, 0x0A] + key,
      erased: [0x02, 0x40, 0x00, 21, 0, 17, 0, 6, 0, 0x0A] + zeros),
    // No secrets: what both sides show each other, and data of other channels.
    Row(same: "SMP Pairing Random", [0x02, 0x40, 0x00, 21, 0, 17, 0, 6, 0, 0x04] + key),
    Row(same: "ATT on CID 4", [0x02, 0x40, 0x00, 21, 0, 17, 0, 4, 0, 0x06] + key),
    Row(same: "LE Rand's result", [0x04, 0x0E, 12, 0x01, 0x18, 0x20, 0x00] + key[..<8]),
    Row(same: "LE Set Random Address", [0x01, 0x05, 0x20, 6] + key[..<6]),
    // Cut ones do not trap.
    Row(
      name: "half a key", octets: [0x01, 0x1A, 0x20, 4, 0x40, 0x00, 1, 2],
      erased: [0x01, 0x1A, 0x20, 4, 0x40, 0x00, 0, 0]),
    Row(same: "no parameters", [0x01, 0x27, 0x20, 0]),
    Row(same: "no opcode", [0x01, 0x27]),
    Row(same: "no data", [0x02, 0x40, 0x20]),
    Row(same: "an unknown type", [0x99, 0x01]),
    Row(same: "nothing", []),
  ]

  @Test(arguments: rows) func redactsKeysAndNothingElse(_ row: Row) {
    var redactor = KeyRedactor()
    var octets: [UInt8] = [0xEE, 0xEE] + row.octets
    redactor.erase(&octets, from: 2, isReceived: false)
    #expect(octets == [0xEE, 0xEE] + row.erased)
  }

  /// The frame in two fragments, cut at each place; the other direction's fragments lie between them.
  @Test(arguments: 1..<21) func redactsKeysInFragments(_ cut: Int) {
    let frame: [UInt8] = [17, 0, 6, 0, 0x06] + Self.key
    func fragment(_ flag: UInt8, _ data: some Collection<UInt8>) -> [UInt8] {
      [0x02, 0x40, flag << 4, UInt8(data.count), 0] + data
    }
    var redactor = KeyRedactor()
    var first = fragment(0b00, frame[..<cut])
    var second = fragment(0b01, frame[cut...])
    var between = fragment(0b01, Self.other)
    redactor.erase(&first, from: 0, isReceived: false)
    redactor.erase(&between, from: 0, isReceived: true)
    redactor.erase(&second, from: 0, isReceived: false)
    #expect(Array(first[5...] + second[5...]) == [17, 0, 6, 0, 0x06] + Self.zeros)
    #expect(between == fragment(0b01, Self.other))
    // The frame is over: what follows is left alone.
    var after = fragment(0b01, Self.other)
    redactor.erase(&after, from: 0, isReceived: false)
    #expect(after == fragment(0b01, Self.other))
  }

  @Test func keepsTheLengthOfAnyOctets() {
    var redactor = KeyRedactor()
    var random = RandomSource.seeded(42)
    for _ in 0..<20_000 {
      var octets = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      if !octets.isEmpty { octets[0] = UInt8.random(in: 0...5, using: &random) }
      // Often a channel and a length that matter.
      if octets.count > 9, octets[0] == 2 { octets.replaceSubrange(5..<9, with: [17, 0, 6, 0]) }
      let before = octets
      redactor.erase(&octets, from: 0, isReceived: Bool.random(using: &random))
      #expect(octets.count == before.count)
      #expect(zip(octets, before).allSatisfy { $0 == $1 || $0 == 0 }, "only zeros are written")
    }
  }

  @Test func keepsKeysOnRequest() throws {
    let folder = try TemporaryFolder()
    let reply: [UInt8] = [0x01, 0x1A, 0x20, 18, 0x40, 0x00] + Self.key
    for keepingKeys in [true, false] {
      var trace = try PacketTrace(at: folder.file("t"), keepingKeys: keepingKeys)
      try trace.record(reply.span, .hostToController)
      try trace.flush()
      let octets = try TraceReader(folder.file("t")).records.first?.octets
      #expect(octets == (keepingKeys ? reply : Array(reply.dropLast(16)) + Self.zeros))
    }
  }
}

extension KeyRedactorTests.Row {
  init(same name: String, _ octets: [UInt8]) { self.init(name: name, octets: octets, erased: octets) }
}
