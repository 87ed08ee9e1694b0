import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

@Suite("Links and the channels on them")
struct LinkTests {
  let counter = AttributeID(rawValue: 1)
  let peer = LinkID(rawValue: 1)

  /// A host with one dynamic, notifying and indicating characteristic at handles 0x… found by discovery.
  private func serving(_ controller: ScriptedController = ScriptedController()) throws -> (Bench, value: UInt16) {
    var bench = Bench(controller)
    bench.perform(
      .services(
        .add(
          ServiceDefinition(
            id: ServiceID(rawValue: 1), uuid: 0xFFF0.uuid,
            characteristics: [
              CharacteristicDefinition(
                id: counter, uuid: 0xFFF1.uuid, properties: [.read, .write, .notify, .indicate],
                permissions: .readableAndWritable, value: .dynamic)
            ]))))
    var handle: UInt16?
    for event in bench.takeEvents() {
      if case .services(.added(_, .success(let handles))) = event { handle = handles.attributes[counter]?.rawValue }
    }
    bench.receive(ScriptedController.connected(0x40))
    return (bench, try #require(handle))
  }

  @Test func aLinkIsAnnouncedWithItsPeer() {
    var bench = Bench()
    bench.receive(ScriptedController.connected(0x40, from: "C0:00:00:00:00:01"))
    guard case .connected(let connection) = bench.events.last else { Issue.record("no link"); return }
    #expect(connection.role == .peripheral)
    #expect(connection.address.description == "C0:00:00:00:00:01 (random)")
    #expect(connection.timing == LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500))
  }

  @Test func aReadOfADynamicValueGoesToTheApplicationAndBack() throws {
    var (bench, value) = try serving()
    #expect(bench.att(0x40, [0x0A, UInt8(value), 0]).isEmpty)
    guard case .server(peer, .read(let token, counter, offset: 0)) = bench.events.last else {
      Issue.record("not asked"); return
    }
    let before = bench.data.count
    bench.perform(.respond(peer, token, .success([1, 2, 3])))
    #expect(bench.attPayloads(from: before) == [[0x0B, 1, 2, 3]])
  }

  @Test func anUnansweredReadBecomesUnlikelyErrorBeforeTheClientGivesUp() throws {
    var (bench, value) = try serving()
    _ = bench.att(0x40, [0x0A, UInt8(value), 0])
    let before = bench.data.count
    bench.run(for: .seconds(30))
    #expect(bench.attPayloads(from: before) == [[0x01, 0x0A, UInt8(value), 0, 0x0E]])
  }

  @Test func aNotificationFinishesWhenTheControllerHasSentIt() throws {
    var (bench, value) = try serving()
    #expect(bench.att(0x40, [0x12, UInt8(value + 1), 0, 1, 0]) == [[0x13]])
    bench.completesPackets = false
    _ = bench.takeEvents()
    let before = bench.data.count
    bench.perform(.update(UpdateToken(rawValue: 9), counter, [5], to: bench.peers))
    #expect(bench.attPayloads(from: before) == [[0x1B, UInt8(value), 0, 5]])
    #expect(bench.takeEvents().isEmpty)
    bench.receive(ScriptedController.completedPackets(0x40, 1))
    guard case .server(peer, .updateFinished(UpdateToken(rawValue: 9))) = bench.events.last else {
      Issue.record("not finished"); return
    }
  }

  @Test func aNotificationNobodyWantsIsFinishedAtOnce() throws {
    var (bench, _) = try serving()
    bench.perform(.update(UpdateToken(rawValue: 9), counter, [5], to: bench.peers))
    guard case .server(_, .updateFinished) = bench.events.last else { Issue.record("not finished"); return }
  }

  @Test func anIndicationFinishesWithItsConfirmation() throws {
    var (bench, value) = try serving()
    _ = bench.att(0x40, [0x12, UInt8(value + 1), 0, 2, 0])
    _ = bench.takeEvents()
    let before = bench.data.count
    bench.perform(.update(UpdateToken(rawValue: 1), counter, [5], to: [peer]))
    bench.perform(.update(UpdateToken(rawValue: 2), counter, [6], to: [peer]))
    #expect(bench.attPayloads(from: before) == [[0x1D, UInt8(value), 0, 5]])
    #expect(bench.takeEvents().isEmpty)
    #expect(bench.att(0x40, [0x1E]) == [[0x1D, UInt8(value), 0, 6]])
    guard case .server(peer, .updateFinished(UpdateToken(rawValue: 1))) = bench.events.last else {
      Issue.record("not finished"); return
    }
  }

  @Test func anIndicationNeverConfirmedEndsTheLinkAfterThirtySeconds() throws {
    var (bench, value) = try serving()
    _ = bench.att(0x40, [0x12, UInt8(value + 1), 0, 2, 0])
    bench.perform(.update(UpdateToken(rawValue: 1), counter, [5], to: [peer]))
    bench.run(for: .seconds(31))
    #expect(bench.controller.commands.last?.opcode == .disconnect)
    bench.receive(ScriptedController.disconnected(0x40, .terminatedByLocalHost))
    let isFinished = bench.events.contains { if case .server(_, .updateFinished) = $0 { true } else { false } }
    #expect(isFinished)
  }

  @Test func aDisconnectionUnsubscribesAndTellsTheReason() throws {
    var (bench, value) = try serving()
    _ = bench.att(0x40, [0x12, UInt8(value + 1), 0, 1, 0])
    _ = bench.takeEvents()
    bench.receive(ScriptedController.disconnected(0x40, .connectionTimeout))
    let events = bench.takeEvents()
    guard case .server(peer, .subscription(counter, [])) = events.first else {
      Issue.record("still subscribed"); return
    }
    guard case .link(peer, .disconnected(.connectionTimeout)) = events.last else { Issue.record("no reason"); return }
  }

  @Test func requestsSplitOverACLPacketsAreOneRequest() throws {
    var (bench, _) = try serving()
    let frame = ScriptedController.frame(0x40, cid: 4, [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]).dropFirst(5)
    var first: [UInt8] = [0x02, 0x40, 0x20, 3, 0]
    first += frame.prefix(3)
    var rest: [UInt8] = [0x02, 0x40, 0x10, UInt8(frame.count - 3), 0]
    rest += frame.dropFirst(3)
    let before = bench.data.count
    bench.receive(first)
    bench.receive(rest)
    #expect(bench.attPayloads(from: before).first?.first == 0x11)
  }

  @Test func answersAreSplitToTheControllersLength() throws {
    var controller = ScriptedController()
    controller.aclLength = 27
    controller.aclCount = 1
    var (bench, value) = try serving(controller)
    _ = bench.att(0x40, [0x02, 0x05, 0x02])
    _ = bench.att(0x40, [0x0A, UInt8(value), 0])
    guard case .server(_, .read(let token, _, _)) = bench.events.last else { Issue.record("not asked"); return }
    let before = bench.data.count
    bench.perform(.respond(peer, token, .success([UInt8](repeating: 7, count: 400))))
    #expect(bench.attPayloads(from: before) == [[0x0B] + [UInt8](repeating: 7, count: 400)])
    #expect(bench.data.dropFirst(before).allSatisfy { $0.count <= 5 + 27 })
  }

  @Test func twoLinksKeepTheirOwnMTUAndSubscriptions() throws {
    var (bench, value) = try serving()
    bench.receive(ScriptedController.connected(0x41, from: "C0:00:00:00:00:02"))
    #expect(bench.att(0x40, [0x02, 0xB9, 0x00]) == [[0x03, 0x05, 0x02]])
    #expect(bench.att(0x40, [0x12, UInt8(value + 1), 0, 1, 0]) == [[0x13]])
    #expect(bench.att(0x41, [0x0A, UInt8(value + 1), 0]) == [[0x0B, 0, 0]])
    let before = bench.data.count
    bench.perform(.update(UpdateToken(rawValue: 1), counter, [UInt8](repeating: 1, count: 100), to: bench.peers))
    #expect(bench.attPayloads(from: before).map(\.count) == [103])
  }

  @Test func pairingIsRefusedInTheProtocolsWords() throws {
    var (bench, _) = try serving()
    let before = bench.data.count
    bench.receive(ScriptedController.frame(0x40, cid: 6, [0x01, 0x03, 0x00, 0x01, 0x10, 0x07, 0x07]))
    #expect(bench.attPayloads(from: before) == [[0x05, 0x05]])
  }

  @Test func aKeyOfAForgottenBondIsRefused() throws {
    var (bench, _) = try serving()
    var request: [UInt8] = []
    request.append(hci: HCI.LELongTermKeyRequest { $0.connectionHandle = ConnectionHandle(rawValue: 0x40) })
    bench.receive(request)
    #expect(bench.controller.commands.last?.opcode == .leLongTermKeyRequestNegativeReply)
  }

  @Test func aPeripheralAsksForParametersBySignalling() throws {
    var (bench, _) = try serving()
    let before = bench.data.count
    bench.perform(.link(peer, .updateConnection(ConnectionParameters(interval: 24...40))))
    let request = bench.attPayloads(from: before)
    #expect(request == [[0x12, 0x01, 0x08, 0x00, 24, 0, 40, 0, 0, 0, 0x58, 0x02]])
    bench.receive(ScriptedController.frame(0x40, cid: 5, [0x13, 0x01, 0x02, 0x00, 0x01, 0x00]))
    guard case .link(peer, .connectionUpdateRefused(.peerRefused)) = bench.events.last else {
      Issue.record("not told"); return
    }
  }

  @Test func invalidParametersNeverLeaveTheHost() throws {
    var (bench, _) = try serving()
    let before = bench.data.count
    bench.perform(.link(peer, .updateConnection(ConnectionParameters(interval: 1...2))))
    #expect(bench.data.count == before)
    guard case .link(peer, .connectionUpdateRefused(.invalidParameters)) = bench.events.last else {
      Issue.record("not refused"); return
    }
  }

  @Test func unknownChannelsAreIgnored() throws {
    var (bench, _) = try serving()
    let before = bench.data.count
    bench.receive(ScriptedController.frame(0x40, cid: 0x3E, [1, 2, 3]))
    #expect(bench.data.count == before)
  }

  @Test func dataOfAnUnknownLinkIsIgnored() {
    var bench = Bench()
    bench.receive(ScriptedController.frame(0x99, cid: 4, [0x0A, 1, 0]))
    #expect(bench.data.isEmpty)
  }

  @Test func theStrengthOfTheSignalIsRead() throws {
    var (bench, _) = try serving()
    bench.perform(.link(peer, .readRSSI))
    guard case .link(peer, .rssi(.success(-42))) = bench.events.last else { Issue.record("no RSSI"); return }
  }

  @Test func anAnswerWithoutItsParametersIsMalformed() throws {
    var (bench, _) = try serving()
    bench.controller.silent = [.readRSSI]
    bench.perform(.link(peer, .readRSSI))
    bench.receive(ScriptedController.complete(.readRSSI, [0, 0x40, 0x00]))
    guard case .link(peer, .rssi(.failure(.malformedAnswer(.readRSSI)))) = bench.events.last else {
      Issue.record("\(bench.events.suffix(1))")
      return
    }
  }

  /// Answers that the peer does not take, on a channel whose frames nothing else looks at; nothing comes from the
  /// controller.
  @Test(arguments: [5, 6] as [UInt16]) func aFullQueueEndsTheLinkAtOnce(channel: UInt16) {
    // An Information Request, which LE has not; a Pairing Request, while pairing is off.
    let request: [UInt8] = channel == 5 ? [0x0A, 1, 0, 0] : [1, 3, 0, 0, 16, 0, 0]
    var configuration = HostConfiguration()
    configuration.linkQueue.frames = 8
    var bench = Bench(configuration: configuration)
    bench.receive(ScriptedController.connected(0x40))
    bench.completesPackets = false
    for _ in 0..<16 { bench.receive(ScriptedController.frame(0x40, cid: channel, request)) }
    #expect(bench.controller.commands.filter { $0.opcode == .disconnect }.count == 1)
  }

  @Test func anOversizedBacklogOfValuesIsRefusedAndTheLinkLives() throws {
    var (bench, value) = try serving()
    _ = bench.att(0x40, [0x12, UInt8(value + 1), 0, 1, 0])
    bench.completesPackets = false
    let limit = HostConfiguration().maximumPendingUpdates
    for number in 0...limit {
      bench.perform(.update(UpdateToken(rawValue: UInt64(number)), counter, [1], to: bench.peers))
    }
    let refused = bench.events.filter { if case .refused(.tooMany) = $0 { true } else { false } }
    #expect(refused.count == 1)
    #expect(!bench.controller.commands.contains { $0.opcode == .disconnect })
  }
}

extension Int {
  fileprivate var uuid: BluetoothUUID { BluetoothUUID(UInt16(truncatingIfNeeded: self)) }
}
