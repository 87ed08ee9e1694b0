import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

@testable import BLETrace

/// The sessions of centrals in traces: those of two hosts on a virtual radio, and others packet by packet.
struct SessionRecorderTests {
  private func session(
    _ records: [BTSnoopRecord], _ number: Int? = nil
  ) throws(SessionFault) -> RecordedSession {
    var recorder = SessionRecorder(choosing: number)
    for record in records { recorder.add(record) }
    return try recorder.finish()
  }

  private func fault(_ records: [BTSnoopRecord], _ number: Int? = nil) -> SessionFault? {
    do throws(SessionFault) { _ = try session(records, number) } catch { return error }
    return nil
  }

  /// The actions with the octets of the responses.
  private func actions(_ session: RecordedSession) -> [String] {
    session.steps.map { step in
      switch step.action {
      case .request(let request, let response):
        "\(request[...].hexadecimal) -> \(response.map { $0.pdu[...].hexadecimal } ?? "none")"
      case .command(let pdu): "command \(pdu[...].hexadecimal)"
      case .value(let handle, let value): "value \(handle) \(value[...].hexadecimal)"
      case .encryption(let isAuthenticated): "encryption \(isAuthenticated)"
      }
    }
  }

  // MARK: Hosts

  /// The capture of the peripheral has the same session as that of the central, in other directions.
  @Test func eachEndOfALinkRecordsTheSameSession() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.perform(.discoverPrimaryServices)
    radio.read(TracedRadio.short)
    let stream = try #require(radio.handles[TracedRadio.stream])
    radio.perform(.configure(.notify, in: AttributeHandle(stream.rawValue + 1)...AttributeHandle(stream.rawValue + 1)))
    radio.perform(.writeWithoutResponse(try #require(radio.handles[TracedRadio.short]), [1, 2]))
    radio.read(TracedRadio.encrypted)
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    radio.read(TracedRadio.encrypted)
    radio.disconnect()
    let (peripheral, central) = (try session(radio.records[0]), try session(radio.records[1]))
    #expect(actions(peripheral) == actions(central))
    let texts = actions(central)
    #expect(texts.first?.hasPrefix("02") == true, "Exchange MTU Request")
    #expect(texts.contains("encryption false"))
    #expect(texts.contains { $0.hasPrefix("command 52") })
    #expect(texts.filter { $0.hasPrefix("0a") }.count >= 3)
    #expect(central.end?.isByServer == false && peripheral.end?.isByServer == false)
    #expect(central.omissions.isEmpty && peripheral.omissions.isEmpty, "\(central.omissions)")
    #expect(central.peer != nil && central.clientCount == texts.count - 1)
    // The packets are those of each trace.
    for (session, records) in [(peripheral, radio.records[0]), (central, radio.records[1])] {
      for step in session.steps {
        guard case .request(let pdu, let response) = step.action else { continue }
        #expect(records[step.number - 1].packet.suffix(pdu.count) == pdu[...])
        let answer = try #require(response)
        #expect(records[answer.number - 1].packet.suffix(answer.pdu.count) == answer.pdu[...])
      }
    }
  }

  @Test func anAuthenticatedPairingIsRecognized() throws {
    var radio = TracedRadio(host: { index, host in
      host.pairing = TracedRadio.pairing(index == 0 ? .displayOnly : .keyboardOnly)
    })
    radio.connect()
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(5))
    radio.disconnect(0)
    for host in 0...1 {
      let session = try session(radio.records[host])
      #expect(actions(session).contains("encryption true"), "\(actions(session))")
      #expect(session.end?.isByServer == true)
    }
  }

  @Test func theEncryptionWithABondIsNoted() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    radio.disconnect()
    radio.connect()
    radio.read(TracedRadio.encrypted)
    radio.disconnect()
    #expect(fault(radio.records[1])?.reason == .several)
    let second = try session(radio.records[1], 2)
    #expect(actions(second).first == "encryption false")
    #expect(second.omissions.contains { $0.name == "the encryption with the key of an earlier bond" })
  }

  // MARK: Packets

  private var time: Int64 { 0 }

  private func record(_ packet: [UInt8], isSent: Bool = false, at time: Int64 = 0) -> BTSnoopRecord {
    BTSnoopRecord(
      packet: packet[...], direction: isSent ? .hostToController : .controllerToHost, microseconds: time)
  }

  /// LE Connection Complete: this host is the central.
  private func connected(_ handle: UInt8) -> BTSnoopRecord {
    record([4, 0x3E, 19, 1, 0, handle, 0, 0, 0, handle, 0x22, 0x33, 0x44, 0x55, 0x66, 24, 0, 0, 0, 72, 0, 0])
  }

  private func disconnected(_ handle: UInt8, _ reason: UInt8 = 0x13) -> BTSnoopRecord {
    record([4, 5, 4, 0, handle, 0, reason])
  }

  private func frame(
    _ pdu: [UInt8], _ handle: UInt8 = 1, channel: UInt16 = 4, isSent: Bool
  ) -> BTSnoopRecord {
    func number(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8)] }
    let start: UInt8 = isSent ? 0 : 0x20
    let data = number(pdu.count) + number(Int(channel)) + pdu
    return record([2, handle, start] + number(data.count) + data, isSent: isSent)
  }

  private func request(_ handle: UInt8 = 1) -> BTSnoopRecord { frame([0x0A, 3, 0], handle, isSent: true) }
  private func response(_ handle: UInt8 = 1) -> BTSnoopRecord { frame([0x0B, 7], handle, isSent: false) }

  @Test func aTraceWithoutASessionIsAnError() {
    #expect(fault([])?.reason == .noLink)
    #expect(fault([connected(1)])?.reason == .noAttributes)
    #expect(fault([connected(1), frame([0x1B, 3, 0, 1], isSent: false)])?.reason == .noRequests(nil))
    #expect(fault([connected(1), request()], 2)?.reason == .noSuchLink(2))
    #expect(fault([connected(1), connected(2), request(2)], 1)?.reason == .noRequests(1))
    #expect(fault([connected(1), request(), connected(2), request(2)])?.reason == .several)
    #expect(fault([connected(1), request()]) == nil)
    let text = fault([connected(1), request(), connected(2), request(2)])?.description ?? ""
    #expect(text.contains("1: link 0x0001 with 66:55:44:33:22:01"), "\(text)")
  }

  @Test func aTraceThatBeginsWithinTheLinkHasTheRest() throws {
    let session = try session([response(), request(), response()])
    #expect(actions(session) == ["0a0300 -> 0b07"])
    #expect(session.omissions.contains { $0.name == "the trace begins within the link" })
  }

  @Test func whatIsSentOnALinkThatHasEndedIsNotOfTheNext() throws {
    let records = [
      connected(1), request(), response(), disconnected(1), request(), connected(1), request(), response(),
    ]
    #expect(actions(try session(records, 1)) == ["0a0300 -> 0b07"])
    #expect(actions(try session(records, 2)) == ["0a0300 -> 0b07"])
    #expect(try session(records, 1).end?.isByServer == true)
  }

  /// Another opcode than that of the request, an Error Response to another request, and one too many.
  @Test func aResponseBelongsToItsRequest() throws {
    let wrong = [frame([0x13], isSent: false), frame([1, 0x12, 3, 0, 1], isSent: false)]
    let found = try session([connected(1), request()] + wrong + [response(), response()])
    #expect(actions(found) == ["0a0300 -> 0b07"])
    #expect(found.omissions.count == 3)
    let open = try session([connected(1), request(), request(), response()])
    #expect(actions(open) == ["0a0300 -> none", "0a0300 -> 0b07"])
    #expect(open.omissions.contains { $0.name.hasPrefix("a request before the answer") })
    let cut = try session([connected(1), request()])
    #expect(actions(cut) == ["0a0300 -> none"])
    #expect(cut.omissions.contains { $0.name == "the answer to the request" })
    let ended = try session([connected(1), request(), disconnected(1)])
    #expect(actions(ended) == ["0a0300 -> none"] && ended.omissions.isEmpty)
  }

  @Test func whatAReplayLeavesOutIsNamed() throws {
    var records = [connected(1), request(), response()]
    // LE Credit Based Connection Request, and data on its channel.
    records.append(
      frame([0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 0x40, 0, 0x40, 0, 1, 0], channel: 5, isSent: true))
    records += [frame([1, 2], channel: 0x40, isSent: true), frame([3, 4], channel: 0x40, isSent: false)]
    // A signed write, an unknown opcode, a truncated request, and a request of the peripheral.
    records += [
      frame([0xD2, 3, 0] + [UInt8](repeating: 1, count: 13), isSent: true), frame([0x3F], isSent: true),
      frame([0x0A, 3], isSent: true), frame([0x0A, 9, 0], isSent: false),
    ]
    // Pairing Failed, changes of the interval, and a packet that the capture has cut.
    records += [frame([5, 8], channel: 6, isSent: false), record([4, 0x3E, 10, 3, 0, 1, 0, 24, 0, 0, 0, 72, 0])]
    records.append(record([4, 0x3E, 14, 0x37, 0, 1, 0, 8, 0, 1, 0, 0, 0, 0, 0, 72, 0]))
    var cut = request()
    cut.originalLength += 1
    records.append(cut)
    let found = try session(records)
    let names = found.omissions.map(\.name)
    let expected = [
      "LE Credit Based Connection Request", "data on channel", "Signed Write Command", "a malformed packet",
      "Read Request of the peripheral", "Pairing Failed", "a change of the connection interval",
      "a change of the connection rate",
      "1 packets of the trace are cut",
    ]
    for name in expected { #expect(names.contains { $0.hasPrefix(name) }, "\(name): \(names)") }
    #expect(found.omissions.first { $0.name.hasPrefix("data on channel") }?.count == 2)
    #expect(actions(found) == ["0a0300 -> 0b07"])
    #expect(found.omissions.map(\.number) == found.omissions.map(\.number).sorted())
  }

  @Test func valuesOfOneNotificationAreSeveral() throws {
    let several = frame([0x23, 3, 0, 1, 0, 7, 5, 0, 2, 0, 8, 9], isSent: false)
    let records = [connected(1), request(), response(), several, frame([0x1D, 3, 0, 1], isSent: false)]
    let found = try session(records)
    #expect(actions(found).dropFirst() == ["value 0x0003 07", "value 0x0005 0809", "value 0x0003 01"])
    #expect(found.omissions.isEmpty)
    let confirmed = try session(records + [frame([0x1E], isSent: true), disconnected(1)])
    #expect(confirmed.omissions.isEmpty)
    let ended = try session(records + [disconnected(1)])
    #expect(ended.omissions.map(\.name) == ["the indication in packet 5 without a confirmation"])
  }

  // MARK: Limits

  @Test func aTraceHasALimitOfLinks() throws {
    let limit = SessionRecorder.linkLimit
    let others = (1..<limit).flatMap { _ in [connected(1), disconnected(1)] }
    #expect(try session(others + [connected(1), request()]).number == limit)
    let error = fault(others + [connected(1), disconnected(1), connected(1), request()])
    #expect(error?.reason == .noAttributes || error?.reason == .noRequests(nil))
    #expect(error?.hasMore == true)
  }

  @Test func anErrorNamesLinksUpToItsLimit() {
    let limit = SessionFault.linkLimit
    for count in [limit, limit + 1] {
      let error = fault((0..<count).flatMap { _ in [connected(1), request(), response(), disconnected(1)] })
      #expect(error?.reason == .several && error?.links.count == limit)
      #expect(error?.hasMore == (count > limit))
      #expect(error?.description.hasSuffix("; and others") == (count > limit))
    }
  }

  @Test func aSessionHasALimitOfSteps() throws {
    let limit = SessionRecorder.stepLimit
    let commands = [BTSnoopRecord](repeating: frame([0x52, 3, 0, 1], isSent: true), count: limit)
    var recorder = SessionRecorder()
    recorder.add(connected(1))
    for command in commands { recorder.add(command) }
    var whole = recorder
    let session = try whole.finish()
    #expect(session.steps.count == limit && session.omissions.isEmpty)
    recorder.add(commands[0])
    let longer = try recorder.finish()
    #expect(longer.steps.count == limit)
    #expect(longer.omissions.map(\.name) == ["the rest of the link"])
  }

  /// While no link has a request, a link that will have one is not known.
  @Test func theValuesBeforeTheFirstRequestAreLimited() throws {
    let limit = SessionRecorder.leadLimit
    for count in [limit, limit + 1] {
      let values = [BTSnoopRecord](repeating: frame([0x1B, 3, 0, 1], isSent: false), count: count)
      let found = try session([connected(1)] + values + [request(), response()])
      #expect(found.steps.count == limit + 1)
      #expect(found.omissions.count == (count > limit ? 1 : 0))
    }
  }

  @Test func aSessionHasALimitOfOctets() throws {
    let (limit, size) = (SessionRecorder.octetLimit, 1 << 15)
    let command = frame([0x52, 3, 0] + [UInt8](repeating: 1, count: size - 3), isSent: true)
    let records = [connected(1)] + [BTSnoopRecord](repeating: command, count: limit / size)
    #expect(try session(records).omissions.isEmpty)
    let longer = try session(records + [frame([0x52, 3, 0, 1], isSent: true)])
    #expect(longer.steps.count == limit / size)
    #expect(longer.omissions.map(\.name) == ["the rest of the link"])
  }

  @Test func theKindsOfOmissionsAreLimited() throws {
    let limit = SessionRecorder.omissionLimit
    for count in [limit, limit + 1] {
      let others = (0..<count).map { frame([1], channel: 0x40 + UInt16($0), isSent: true) }
      #expect(try session([connected(1), request(), response()] + others).omissions.count == limit)
    }
  }
}
