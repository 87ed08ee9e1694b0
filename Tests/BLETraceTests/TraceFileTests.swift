import BLEHCI
import BLEWire
import TestSupport
import Testing

@testable import BLETrace

/// The formats of packet traces: the same packets in each give the same records.
struct TraceFileTests {
  /// A command, its answer, and a frame of ATT in each direction, the second one in two fragments.
  static let records = [
    record([0x01, 0x03, 0x0C, 0x00], .hostToController, 0),
    record([0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00], .controllerToHost, 1_500),
    record([0x02, 0x40, 0x00, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00], .hostToController, 2_000_001),
    record([0x02, 0x40, 0x20, 0x05, 0x00, 0x02, 0x00, 0x04, 0x00, 0x0B], .controllerToHost, 2_000_002),
    record([0x02, 0x40, 0x10, 0x01, 0x00, 0x64], .controllerToHost, 2_000_003),
  ]

  private static func record(
    _ packet: [UInt8], _ direction: HCIPacketDirection, _ time: Int64
  ) -> BTSnoopRecord {
    BTSnoopRecord(packet: packet[...], direction: direction, microseconds: 1_750_000_000_000_000 + time)
  }

  /// What a file gives, of which `part` octets arrive at a time.
  private struct Content: Equatable {
    var records: [BTSnoopRecord] = []
    var fault: TraceFault?
    var incomplete: Int?
  }

  private func read(_ octets: [UInt8], inPartsOf part: Int = 65_536) -> Content {
    var (file, content) = (TraceFile(), Content())
    var rest = octets[...]
    repeat {
      file.append(rest.prefix(part))
      rest = rest.dropFirst(part)
      if rest.isEmpty { file.end() }
      do throws(TraceFault) {
        while let record = try file.next() { content.records.append(record) }
      } catch {
        content.fault = error
        return content
      }
    } while !rest.isEmpty
    content.incomplete = file.incompleteRecord
    return content
  }

  @Test(arguments: TraceWriter.all)
  func thePacketsOfEachFormatAreTheSame(writer: TraceWriter) {
    let file = writer.file(Self.records)
    #expect(read(file) == Content(records: Self.records))
    #expect(read(file, inPartsOf: 1) == Content(records: Self.records))
  }

  @Test(arguments: TraceWriter.all)
  func aFileThatEndsWithinARecordHasTheRecordsBefore(writer: TraceWriter) {
    let (header, ends) = writer.places(of: Self.records)
    let file = writer.file(Self.records)
    // Fewer octets do not identify a format.
    for length in max(header, 16)..<file.count {
      let complete = ends.count { $0 <= length }
      let begin = ([header] + ends).last { $0 <= length } ?? header
      let incomplete = begin == length ? nil : begin
      #expect(
        read(Array(file.prefix(length)))
          == Content(records: Array(Self.records.prefix(complete)), incomplete: incomplete),
        "\(length) octets")
    }
  }

  @Test(arguments: TraceWriter.all)
  func aMalformedRecordIsReportedWithItsPlaceAfterTheRecordsBefore(writer: TraceWriter) {
    let file = writer.file(Self.records)
    let content = read(file + writer.malformed)
    #expect(content.records == Self.records)
    #expect(
      content.fault?.offset == file.count && content.fault?.description.hasPrefix("at octet \(file.count): ") == true)
  }

  @Test(arguments: TraceWriter.all)
  func thePacketHasALongestLength(writer: TraceWriter) {
    let longest = TraceFile.maximumPacketLength
    // The data of a link, so that each format has the packet, without the octets that only some formats have.
    func record(_ length: Int) -> BTSnoopRecord {
      let head: [UInt8] = [0x02, 0x40, 0x00, 0xFF, 0xFF]
      return Self.record(head + [UInt8](repeating: 0, count: length - head.count), .hostToController, 0)
    }
    let room = longest - writer.overhead
    #expect(read(writer.file([Self.records[0], record(room)])).records.map(\.packet.count) == [4, room])
    let past = read(writer.file([Self.records[0], record(room + 4)]))
    #expect(past.records == [Self.records[0]])
    #expect(past.fault?.text.contains("octets; the longest one has \(longest)") == true)
  }

  @Test(arguments: [
    ([], "the file is empty"), (Array("hello, this is text\n".utf8), "this is not a packet trace"),
    (Array("btsnoop\0".utf8), "the btsnoop file ends inside its header"),
    (Array("btsnoop\0".utf8) + [0, 0, 0, 2, 0, 0, 3, 0xEA], "version 2 of the btsnoop format is not supported"),
    ([UInt8](repeating: 0, count: 40), "this is not a packet trace"),
  ])
  func saysWhyAFileIsNoTrace(octets: [UInt8], reason: String) {
    let content = read(octets)
    #expect(content.records.isEmpty && content.fault?.description.hasPrefix(reason) == true)
  }

  @Test(arguments: OctetOrder.allCases)
  func packetsOfOtherLinkTypesAreNotThoseOfBluetooth(order: OctetOrder) {
    let reason = "the packets are not those of Bluetooth HCI: their link type is 1, not 187, 201 or 254"
    let pcap = TraceWriter(.pcap(1, nanoseconds: false), order).file([])
    #expect(read(pcap).fault == TraceFault(reason))
    // Another interface of a capture is left out.
    let writer = TraceWriter(.pcapng(resolution: nil), order)
    let ethernet = writer.section + writer.interface(1)
    let packet = writer.enhancedPacket(Self.records[0], interface: 0)
    #expect(read(ethernet + packet).fault?.text == reason)
    let both = ethernet + writer.interface(201) + packet + writer.enhancedPacket(Self.records[1], interface: 1)
    #expect(read(both) == Content(records: [Self.records[1]]))
  }

  @Test func messagesThatAreNotPacketsAreLeftOut() {
    let packetLogger = TraceWriter(.packetLogger, .little)
    let note = packetLogger.packetLoggerRecord(0xFC, Array("a note".utf8), at: 0)
    #expect(read(note + packetLogger.file(Self.records) + note) == Content(records: Self.records))
    let pcapng = TraceWriter(.pcapng(resolution: nil), .little)
    // A block of names, and one that is longer than what is kept.
    let names = pcapng.block(4, [0, 0, 0, 0]) + pcapng.block(0x8000_0001, [UInt8](repeating: 7, count: 600_000))
    #expect(
      read(pcapng.section + names + pcapng.file(Self.records), inPartsOf: 4_096) == Content(records: Self.records))
  }

  @Test func sectionsHaveTheirOwnOrderAndInterfaces() {
    let files = OctetOrder.allCases.map { TraceWriter(.pcapng(resolution: nil), $0).file(Self.records) }
    #expect(read(files[0] + files[1] + files[0]) == Content(records: Self.records + Self.records + Self.records))
    let lost = TraceWriter(.pcapng(resolution: nil), .big)
    let content = read(files[0] + lost.section + lost.enhancedPacket(Self.records[0], interface: 0))
    #expect(content.fault?.text == "a packet of interface 0, which the section does not describe")
  }

  @Test func aSectionHasALimitOfInterfaces() {
    let writer = TraceWriter(.pcapng(resolution: nil), .little)
    let limit = PcapngFormat.interfaceLimit
    let most = writer.section + (0..<limit).flatMap { _ in writer.interface(201) }
    let packet = writer.enhancedPacket(Self.records[0], interface: UInt32(limit - 1))
    #expect(read(most + packet) == Content(records: [Self.records[0]]))
    #expect(read(most + writer.interface(201)).fault?.text == "a section with more than \(limit) interfaces")
  }

  @Test func aBlockHasALongestLength() {
    let writer = TraceWriter(.pcapng(resolution: nil), .little)
    let longest = PcapngFormat.maximumBlockLength
    func interface(ofBlock length: Int) -> [UInt8] {
      // Comments fill the block, which has 20 other octets.
      func comment(_ length: Int) -> [UInt8] { writer.option(1, [UInt8](repeating: 0x20, count: length - 4)) }
      let long = (0..<4).flatMap { _ in comment(65_536) }
      return writer.interface(201, options: long + comment(length - 20 - long.count))
    }
    let packet = writer.enhancedPacket(Self.records[0], interface: 0)
    #expect(interface(ofBlock: longest).count == longest)
    #expect(read(writer.section + interface(ofBlock: longest) + packet) == Content(records: [Self.records[0]]))
    let past = read(writer.section + interface(ofBlock: longest + 4) + packet)
    #expect(past.fault?.text == "a block of \(longest + 4) octets; the longest one that is read has \(longest)")
  }

  /// The ticks of a second in the option if_tsresol, and the seconds of if_tsoffset.
  @Test(
    arguments: [
      (6, 1_500_000, 0, 1_500_000), (3, 1_500, 0, 1_500_000), (0, 2, 0, 2_000_000), (9, 1_500_000_999, 0, 1_500_000),
      (0x80 | 10, 1_536, 0, 1_500_000), (0x80 | 63, 1 << 63, 0, 1_000_000), (6, 5, 10, 10_000_005),
      (6, 0, -1, -1_000_000),
      (127, .max, 0, 0), (0xFF, .max, 0, 0), (0x80, 3, 0, 3_000_000),
    ] as [(UInt8, UInt64, Int64, Int64)])
  func timesHaveTheResolutionOfTheirInterface(resolution: UInt8, ticks: UInt64, offset: Int64, time: Int64) {
    let writer = TraceWriter(.pcapng(resolution: nil), .big)
    let halves = [UInt32(truncatingIfNeeded: offset >> 32), UInt32(truncatingIfNeeded: offset)]
    let options = writer.option(9, [resolution]) + writer.option(14, halves.flatMap(writer.number)) + [0, 0, 0, 0]
    let file =
      writer.section + writer.interface(201, options: options)
      + writer.enhancedPacket(Self.records[0], interface: 0, ticks: ticks)
    #expect(read(file).records.map(\.microseconds) == [time])
  }

  /// H4 without directions: ACL data has them in its packet boundary flags.
  @Test func aFormatWithoutDirectionsTakesThemFromThePackets() {
    let writer = TraceWriter(.pcap(187, nanoseconds: false), .little)
    #expect(read(writer.file(Self.records)) == Content(records: Self.records))
    // A Simple Packet Block has no time and no flags; the interface has the length of a capture.
    let simple = TraceWriter(.pcapng(resolution: nil), .little)
    let packet = Array(Self.records[0].packet)
    let file = simple.section + simple.interface(187, captureLength: 3) + simple.block(3, simple.number(4) + packet)
    let found = read(file).records
    #expect(found.map(\.packet) == [packet.prefix(3)] && found.map(\.originalLength) == [4])
    #expect(found.map(\.direction) == [.hostToController] && found.map(\.microseconds) == [0])
  }

  @Test func theErrorAboutALinkHasALimitOfNames() throws {
    var links = TraceLinks()
    #expect("\(links)" == "It has no links")
    let peer = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    func add(_ handle: UInt16, _ peer: DeviceAddress?) {
      let link = ConnectionHandle(rawValue: handle)
      links.add(
        TraceEntry(time: 0, direction: .hostToController, layer: .att, link: link, peer: peer, name: "", details: ""),
        isSelected: handle == 0x4F)
    }
    add(0x40, peer)
    // An entry without the device is of the same link.
    add(0x40, nil)
    add(0x41, nil)
    #expect("\(links)" == "It has: 0x0040 with C0:11:22:33:44:55-random, 0x0041" && !links.hasSelected)
    for handle in UInt16(0x42)...0x4F { add(handle, nil) }
    #expect("\(links)".hasSuffix(", 0x004F") && links.hasSelected)
    add(0x50, nil)
    #expect("\(links)".hasSuffix(", 0x004F and others"))
  }

  @Test func readsRandomOctetsWithoutATrap() {
    var random = SplitMix64(seed: 7)
    for round in 0..<4_000 {
      let writer = TraceWriter.all[round % TraceWriter.all.count]
      var file = writer.file(Self.records)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        file[Int.random(in: 0..<file.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let whole = read(file)
      #expect(whole.records.count <= file.count / 12)
      #expect(read(file, inPartsOf: Int.random(in: 1...40, using: &random)) == whole)
    }
  }
}

/// Writes traces as the descriptions of the formats say.
struct TraceWriter: CustomTestStringConvertible {
  enum Format {
    case btsnoop
    case packetLogger
    case pcap(UInt32, nanoseconds: Bool)
    case pcapng(resolution: UInt8?)
  }

  static let all = [
    TraceWriter(.btsnoop, .big), TraceWriter(.packetLogger, .big), TraceWriter(.packetLogger, .little),
    TraceWriter(.pcap(201, nanoseconds: false), .big), TraceWriter(.pcap(201, nanoseconds: false), .little),
    TraceWriter(.pcap(201, nanoseconds: true), .little), TraceWriter(.pcap(254, nanoseconds: false), .little),
    TraceWriter(.pcap(187, nanoseconds: false), .big), TraceWriter(.pcapng(resolution: nil), .big),
    TraceWriter(.pcapng(resolution: nil), .little), TraceWriter(.pcapng(resolution: 9), .little),
  ]

  let format: Format
  let order: OctetOrder

  init(_ format: Format, _ order: OctetOrder) { (self.format, self.order) = (format, order) }

  var testDescription: String { "\(format), \(order)" }

  func number(_ number: UInt32) -> [UInt8] {
    let octets = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    return order == .big ? octets : octets.reversed()
  }

  func short(_ number: UInt16) -> [UInt8] {
    let octets = [8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    return order == .big ? octets : octets.reversed()
  }

  func file(_ records: [BTSnoopRecord]) -> [UInt8] { header + records.flatMap(record) }

  /// The length of the header, and the ends of the records.
  func places(of records: [BTSnoopRecord]) -> (header: Int, ends: [Int]) {
    var ends: [Int] = []
    for record in records { ends.append((ends.last ?? header.count) + self.record(record).count) }
    // An interface description is a block of its own, in which a file may end.
    return (header.count, ends)
  }

  /// A record whose length is not possible.
  var malformed: [UInt8] {
    switch format {
    case .btsnoop: number(0) + number(.max) + [UInt8](repeating: 0, count: 16)
    case .packetLogger: number(8) + [UInt8](repeating: 0, count: 9)
    case .pcap: number(0) + number(0) + number(.max) + number(.max)
    case .pcapng: number(6) + number(35) + [UInt8](repeating: 0, count: 28)
    }
  }

  /// The octets that the length of the longest packet has besides the packet.
  var overhead: Int {
    switch format {
    case .btsnoop: 0
    // The time and the type, which takes the place of the indicator.
    case .packetLogger: 8
    case .pcap(201, _): 4
    // The direction in the opcode, without the indicator.
    case .pcap(254, _): 3
    case .pcap: 0
    case .pcapng: 4
    }
  }

  var header: [UInt8] {
    switch format {
    case .btsnoop: return BTSnoopFile.header
    case .packetLogger: return []
    case .pcap(let link, let nanoseconds):
      let magic = number(nanoseconds ? 0xA1B2_3C4D : 0xA1B2_C3D4)
      return magic + short(2) + short(4) + number(0) + number(0) + number(0x40000) + number(link)
    case .pcapng(let resolution):
      return section + interface(201, options: resolution.map { option(9, [$0]) + [0, 0, 0, 0] } ?? [])
    }
  }

  func record(_ record: BTSnoopRecord) -> [UInt8] {
    switch format {
    case .btsnoop:
      var octets: [UInt8] = []
      BTSnoopFile.append(record.packet.span, record.direction, at: record.microseconds, to: &octets)
      return octets
    case .packetLogger:
      let isReceived = record.direction == .controllerToHost
      let type: UInt8 =
        switch record.packet.first {
        case 1: 0
        case 4: 1
        case 2: isReceived ? 3 : 2
        default: isReceived ? 9 : 8
        }
      return packetLoggerRecord(type, Array(record.packet.dropFirst()), at: record.microseconds)
    case .pcap(let link, let nanoseconds):
      let packet = captured(record, link)
      let (seconds, fraction) = record.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
      let length = number(UInt32(packet.count))
      return number(UInt32(seconds)) + number(UInt32(nanoseconds ? fraction * 1_000 + 999 : fraction)) + length + length
        + packet
    case .pcapng(let resolution):
      let ticks = UInt64(record.microseconds) * (resolution == 9 ? 1_000 : 1)
      return enhancedPacket(record, interface: 0, ticks: ticks)
    }
  }

  private func captured(_ record: BTSnoopRecord, _ link: UInt32) -> [UInt8] {
    let isReceived = record.direction == .controllerToHost
    switch link {
    case 187: return Array(record.packet)
    case 254:
      let code: UInt8 =
        switch record.packet.first {
        case 1: 2
        case 4: 3
        case 2: isReceived ? 5 : 4
        default: isReceived ? 7 : 6
        }
      return [0, 0, 0, code] + record.packet.dropFirst()
    default: return [0, 0, 0, isReceived ? 1 : 0] + record.packet
    }
  }

  func packetLoggerRecord(_ type: UInt8, _ payload: [UInt8], at time: Int64) -> [UInt8] {
    let (seconds, microseconds) = time.quotientAndRemainder(dividingBy: 1_000_000)
    return number(UInt32(payload.count + 9)) + number(UInt32(seconds)) + number(UInt32(microseconds)) + [type] + payload
  }

  // MARK: pcapng

  func block(_ type: UInt32, _ content: [UInt8]) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    let length = number(UInt32(content.count + padding.count + 12))
    return number(type) + length + content + padding + length
  }

  var section: [UInt8] {
    block(PcapngFormat.sectionHeader, number(0x1A2B_3C4D) + short(1) + short(0) + number(.max) + number(.max))
  }

  func interface(_ link: UInt16, captureLength: UInt32 = 0, options: [UInt8] = []) -> [UInt8] {
    block(1, short(link) + short(0) + number(captureLength) + options)
  }

  func option(_ code: UInt16, _ value: [UInt8]) -> [UInt8] {
    short(code) + short(UInt16(value.count)) + value + [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
  }

  func enhancedPacket(_ record: BTSnoopRecord, interface: UInt32, ticks: UInt64? = nil) -> [UInt8] {
    let packet = captured(record, 201)
    let ticks = ticks ?? UInt64(record.microseconds)
    let padding = [UInt8](repeating: 0, count: (4 - packet.count % 4) % 4)
    let length = number(UInt32(packet.count))
    return block(
      6,
      number(interface) + number(UInt32(truncatingIfNeeded: ticks >> 32)) + number(UInt32(truncatingIfNeeded: ticks))
        + length + length + packet + padding + option(2, number(record.direction == .controllerToHost ? 1 : 2))
        + [0, 0, 0, 0])
  }
}
