import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEVirtual
import BLEWire
import TestSupport
import Testing
import ToolCore

@testable import BLETrace

/// The index of a trace has the text of `ble log`: that of the entries which a reader gives and a filter admits.
struct TraceIndexTests {
  /// A session with pairing, a failure and a second link, then a packet of each declared kind, and malformed ones.
  private static let records = session + kinds + malformed

  private static let session: [BTSnoopRecord] = {
    var radio = TracedRadio(pacing: .connectionEvents(packetsPerEvent: 4))
    radio.connect()
    radio.perform(.discoverPrimaryServices)
    radio.read(TracedRadio.encrypted)
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    radio.read(TracedRadio.encrypted)
    radio.disconnect()
    radio.connect()
    radio.read(TracedRadio.short)
    return radio.records[1]
  }()

  /// Packets with random fields. Those of the host and those of the controller alternate.
  private static let kinds: [BTSnoopRecord] = {
    var source = SplitMix64(seed: 1)
    var packets: [HCIPacket] = []
    func random<P: Packet>(_ type: P.Type) -> P { P.random(from: &source) }
    func command<Command: HCICommand>(_ type: Command.Type) {
      var packet = HCICommandPacket()
      (packet.opcode, packet.parameters) = (Command.opcode, random(type).encoded[...])
      packets.append(.command(packet))
      var complete = HCI.CommandComplete()
      (complete.opcode, complete.returnParameters) = (Command.opcode, random(Command.Response.self).encoded[...])
      packets.append(.event(HCIEventPacket(complete)))
    }
    func event(_ type: (some HCIEventParameters).Type) { packets.append(.event(HCIEventPacket(random(type)))) }
    func frame(_ channel: ChannelID, _ payload: [UInt8]) {
      var packet = HCIACLDataPacket()
      packet.connectionHandle = ConnectionHandle(rawValue: 0x41)
      packet.packetBoundaryFlag = packets.count % 2 == 0 ? .firstNonFlushable : .firstFlushable
      packet.data = BasicFrame(channel: channel, payload: payload[...]).encoded[...]
      packets.append(.aclData(packet))
    }
    func pdu(_ type: (some ATTPacket).Type) { frame(.attributeProtocol, random(type).encodedPDU) }
    func pdu(_ type: (some SMPPacket).Type) { frame(.securityManager, random(type).encodedPDU) }
    func pdu(_ type: (some SignallingPacket).Type) { frame(.signalling, random(type).encodedPDU(identifier: 1)) }
    for _ in 0..<5 {
      for (_, type) in HCI.commands.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { command(type) }
      for (_, type) in HCI.events.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { event(type) }
      for (_, type) in HCI.leEvents.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { event(type) }
      for type in ATT.packets { pdu(type) }
      for type in SMP.packets { pdu(type) }
      for type in SignallingPDU.packets { pdu(type) }
      frame(ChannelID(rawValue: 0x0040), [1, 2, 3])
    }
    return packets.enumerated().map { index, packet in
      BTSnoopRecord(
        packet: packet.encoded[...], direction: index % 2 == 0 ? .hostToController : .controllerToHost,
        microseconds: session[session.count - 1].microseconds + Int64(index) * 625)
    }
  }()

  /// Octets at random, some in place of those of the packets above.
  private static let malformed: [BTSnoopRecord] = {
    var source = SplitMix64(seed: 2)
    return (session + kinds).map { record in
      var record = record
      var packet = Array(record.packet)
      for _ in 0...1 { packet[Int.random(in: 1..<packet.count, using: &source)] = .random(in: 0...255, using: &source) }
      record.packet = packet.prefix(Int.random(in: 1...packet.count, using: &source))[...]
      record.originalLength = record.packet.count
      return record
    }
  }()

  private static let btsnoop = TraceWriter(.btsnoop, .big)
  private static let file = btsnoop.file(records)

  private static func index(_ octets: [UInt8], inPartsOf part: Int = 65_536) -> TraceIndex {
    var index = TraceIndex()
    var rest = octets[...]
    while !rest.isEmpty {
      index.add(rest.prefix(part))
      rest = rest.dropFirst(part)
    }
    index.finish()
    return index
  }

  /// The entries of a file, as `ble log` gets them.
  private struct Entries {
    var entries: [TraceEntry] = []
    var fault: String?

    init(_ octets: [UInt8]) {
      var (file, reader) = (TraceFile(), TraceReader())
      file.append(octets[...])
      file.end()
      do throws(TraceFault) {
        while let record = try file.next() { entries.append(reader.anyEntry(for: record)) }
        fault = file.incompleteness
      } catch { fault = "\(error)" }
    }
  }

  /// What a filter shows.
  private struct Log: Equatable {
    var lines: [String] = []
    var numbers: [Int] = []
    var diagram = ""
    var explanation: [String] = []
    var fault: String?

    init(_ trace: Entries, _ filter: TraceFilter) {
      var explainer = TraceExplainer(filter)
      for entry in trace.entries { explainer.add(entry) }
      let shown = trace.entries.filter { entry in
        if case .fragment = entry.content { false } else { filter.admits(entry) }
      }
      lines = shown.map(\.line)
      numbers = shown.map(\.number)
      diagram = LadderDiagram(shown).svg
      explanation = explainer.finish().lines.map(\.text)
      fault = trace.fault
    }

    init(_ index: TraceIndex, _ filter: TraceFilter) {
      let rows = index.indices(from: 0, filter).map { Int($0) }
      lines = rows.map { row in
        var octets: [UInt8] = []
        index.appendLine(at: row, to: &octets)
        return String(decoding: octets, as: UTF8.self)
      }
      numbers = rows.map { index.number(at: $0) }
      diagram = LadderDiagram(rows.map { index.line(at: $0) }).svg
      explanation = index.explanation(filter).lines.map(\.text)
      fault = index.fault
    }
  }

  private static let filters: [TraceFilter] = {
    var filters: [TraceFilter] = []
    let devices = index(file).links.compactMap { $0.link.peer?.word }
    for word in ["", "65", "0x0123"] + devices.prefix(2) {
      for layers in [[], [.att], [.hci, .smp], [.l2cap]] as [Set<TraceEntry.Layer>] {
        var filter = TraceFilter()
        filter.showsAll = layers.isEmpty
        (filter.layers, filter.link) = (layers, TraceFilter.Link(word))
        filters.append(filter)
      }
    }
    return filters + [TraceFilter()]
  }()

  @Test func eachFilterShowsTheTextOfTheLog() {
    let (index, entries) = (Self.index(Self.file), Entries(Self.file))
    #expect(index.count > 4_096, "more than one block")
    for filter in Self.filters { #expect(Log(index, filter) == Log(entries, filter), "\(filter)") }
    #expect(Self.filters.contains { !Log(index, $0).lines.isEmpty && $0.link != nil })
  }

  @Test(arguments: TraceWriter.all)
  func theOctetsOfAFileArriveInPartsOfAnyLength(writer: TraceWriter) {
    let file = writer.file(Array(Self.session.prefix(60)))
    var filter = TraceFilter()
    filter.showsAll = true
    let whole = Log(Entries(file), filter)
    #expect(whole.lines.count > 50 && whole.fault == nil)
    for part in Array(1...64) + [255, 256, 1_000, file.count - 1, file.count] {
      #expect(Log(Self.index(file, inPartsOf: part), filter) == whole, "\(part) octets")
    }
  }

  @Test(arguments: TraceWriter.all)
  func aFileThatEndsEarlyHasTheLinesBeforeAndItsFault(writer: TraceWriter) {
    let file = writer.file(Array(Self.session.prefix(12)))
    for length in 0..<file.count {
      let octets = Array(file.prefix(length))
      #expect(
        Log(Self.index(octets, inPartsOf: 100), TraceFilter()) == Log(Entries(octets), TraceFilter()),
        "\(length) octets")
    }
    let malformed = file + writer.malformed
    #expect(Self.index(malformed).fault?.hasPrefix("at octet \(file.count): ") == true)
    #expect(Log(Self.index(malformed), TraceFilter()) == Log(Entries(malformed), TraceFilter()))
  }

  @Test func rowsAreAddedWhileTheFileArrives() {
    var (index, rows) = (TraceIndex(), [UInt32]())
    var rest = Self.file[...]
    var seen = 0
    while !rest.isEmpty {
      index.add(rest.prefix(10_000))
      rest = rest.dropFirst(10_000)
      rows += index.indices(from: seen, TraceFilter())
      seen = index.count
    }
    #expect(rows == index.indices(from: 0, TraceFilter()) && rows.count > 1_000)
  }

  /// Links that are lost, each of which is a problem, without a connection before.
  private static func losses(_ handles: [UInt16]) -> [BTSnoopRecord] {
    handles.enumerated().map { number, handle in
      var end = HCI.DisconnectionComplete()
      (end.connectionHandle, end.reason) = (ConnectionHandle(rawValue: handle), .connectionTimeout)
      return BTSnoopRecord(
        packet: HCIPacket.event(HCIEventPacket(end)).encoded[...], direction: .controllerToHost,
        microseconds: Int64(number))
    }
  }

  @Test func findingsThatAreNotListedAreCountedForEachLink() {
    let file = Self.btsnoop.file(Self.losses((0..<600).map { $0 % 2 }))
    let index = Self.index(file)
    for (word, omitted) in [(nil, 344), ("0", 44), ("1", 44), ("2", 0)] {
      var filter = TraceFilter()
      filter.link = word.flatMap { TraceFilter.Link($0) }
      #expect(index.explanation(filter).omitted == omitted)
      #expect(Log(index, filter) == Log(Entries(file), filter))
    }
  }

  @Test func findingsOfAllLinksAreKeptUpToTheLimit() {
    var filter = TraceFilter()
    filter.link = .handle(ConnectionHandle(rawValue: 1))
    for (count, found) in [(TraceExplainer.undecidedLimit - 1, 1), (TraceExplainer.undecidedLimit, 0)] {
      let handles = [UInt16](repeating: 0, count: count) + [1]
      let explanation = Self.index(Self.btsnoop.file(Self.losses(handles))).explanation(filter)
      #expect(explanation.findings.count == found && explanation.omitted == 1 - found)
    }
  }

  @Test func aLinkThatTheTraceDoesNotHaveIsAnError() throws {
    let index = Self.index(Self.btsnoop.file(Self.session))
    var filter = TraceFilter()
    #expect(index.absence(of: "", filter) == nil)
    filter.link = .handle(ConnectionHandle(rawValue: 0x0123))
    #expect(index.absence(of: "0x0123", filter)?.hasPrefix("has no link '0x0123'. It has: 0x0") == true)
    let link = try #require(index.links.first { $0.link.handle != nil && $0.link.peer != nil })
    filter.link = TraceFilter.Link(try #require(link.link.peer).word)
    #expect(index.absence(of: "this", filter) == nil)
    #expect(link.packets > 10 && index.links.reduce(0) { $0 + $1.packets } == index.count)
  }

  /// The octets after a fault are not read.
  @Test func nothingIsAddedAfterAFault() {
    var index = TraceIndex()
    index.add(Array("hello, this is text\n".utf8)[...])
    let fault = index.fault
    index.add(Self.file[...])
    index.finish()
    #expect(fault?.hasPrefix("this is not a packet trace") == true && index.fault == fault && index.count == 0)
  }
}
