import AdapterFixtures
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import BLEAdapter

@Suite struct AdapterClientTests {
  /// A host that says what the test wants.
  private struct Link: Sendable {
    private let performed: Performed
    let connection: ScriptedConnection

    private final class Performed: Sendable {
      let commands = Mutex<[HostCommand]>([])
    }

    init(failure: AdapterError? = nil) {
      let performed = Performed()
      self.performed = performed
      connection = ScriptedConnection(
        hub: AdapterHub(BondStorage(MemoryBondStore(), log: { _ in }), log: { _ in }), failure: failure,
        perform: { command in performed.commands.withLock { $0.append(command) } })
    }

    func say(_ events: HostEvent...) { connection.say(events) }
    func makeRoom(_ room: Int?) { connection.makeRoom(room) }
    var commands: [HostCommand] { performed.commands.withLock { $0 } }
    var commandCount: Int { commands.count }
    var taken: Int { connection.taken }
    var detachments: Int { connection.detachments }
  }

  private static func number(_ event: HostEvent) -> Int? {
    if case .link(_, .mtu(let mtu)) = event { mtu } else { nil }
  }

  private static func event(_ number: Int) -> HostEvent { .link(LinkID(rawValue: 1), .mtu(number)) }

  @Test func handsOutBatchesInOrderAndCountsThemAsTaken() {
    let link = Link()
    let client = AdapterClient(over: link.connection, log: { _ in })
    let seen = Mutex<[Int]>([])
    client.start { events in seen.withLock { $0 += events.compactMap(Self.number) } }
    for number in 0..<100 { link.say(Self.event(2 * number), Self.event(2 * number + 1)) }
    client.queue.sync {}
    #expect(seen.withLock { $0 } == Array(0..<200) && link.taken == 200)
  }

  /// What the client puts on its queue has one order with the events.
  @Test func ownWorkKeepsItsPlaceAmongTheEvents() {
    let link = Link()
    let target = DispatchQueue(label: "application")
    let client = AdapterClient(over: link.connection, target: target, log: { _ in })
    let seen = Mutex<[Int]>([])
    client.start { events in seen.withLock { $0 += events.compactMap(Self.number) } }
    target.suspend()
    link.say(Self.event(1))
    client.queue.async { seen.withLock { $0.append(2) } }
    link.say(Self.event(3))
    target.resume()
    client.queue.sync {}
    #expect(seen.withLock { $0 } == [1, 2, 3])
  }

  private static let channel = OpenedChannel(
    id: L2CAPChannelID(rawValue: 3), peer: LinkID(rawValue: 1), spsm: SPSM(rawValue: 0x80), isIncoming: true,
    localMTU: 2048, remoteMTU: 100)

  /// The application's queue may be one that waits for the channel.
  @Test func reportsOfAChannelDoNotWaitForTheQueue() throws {
    let link = Link()
    let target = DispatchQueue(label: "application")
    let client = AdapterClient(over: link.connection, target: target, log: { _ in })
    let seen = Mutex<[Int]>([])
    client.start { events in seen.withLock { $0 += events.compactMap(Self.number) } }
    target.suspend()
    link.say(
      Self.event(1), .channels(.opened(Self.channel)), .channel(Self.channel.id, .received([1, 2])), Self.event(2))
    let stream = try #require(client.stream(of: Self.channel))
    #expect(stream.read(atMost: 9) == [1, 2] && stream.write([7]) == 1 && link.taken == 1)
    link.say(.channel(Self.channel.id, .sent(octets: 1)), .channel(Self.channel.id, .closed(.peer)))
    #expect(stream.end == .closedByPeer && link.taken == 3)
    target.resume()
    client.queue.sync {}
    #expect(seen.withLock { $0 } == [1, 2] && link.taken == 6)
    guard case .channel(Self.channel.id, .didRead) = link.commands.first,
      case .channel(Self.channel.id, .send([7])) = link.commands.last
    else { return #expect(Bool(false), "\(link.commands)") }
  }

  @Test func aChannelHasOneUser() throws {
    let link = Link()
    let client = AdapterClient(over: link.connection, log: { _ in })
    client.start { _ in }
    link.say(.channels(.opened(Self.channel)))
    _ = try #require(client.stream(of: Self.channel))
    #expect(client.stream(of: Self.channel) == nil)
  }

  @Test func aChannelFollowsTheMTUOfItsPeer() throws {
    let link = Link()
    let client = AdapterClient(over: link.connection, log: { _ in })
    client.start { _ in }
    link.say(.channels(.opened(Self.channel)), .channel(Self.channel.id, .resized(remoteMTU: 3_000)))
    #expect(try #require(client.stream(of: Self.channel)).maximumLength == 3_000)
  }

  @Test func aChannelThatHasEndedIsStillHandedOut() throws {
    let link = Link()
    let client = AdapterClient(over: link.connection, log: { _ in })
    client.start { _ in }
    link.say(
      .channels(.opened(Self.channel)), .channel(Self.channel.id, .received([1])),
      .channel(Self.channel.id, .closed(.linkEnded(.connectionTimeout))))
    let stream = try #require(client.stream(of: Self.channel))
    #expect(
      stream.end == .linkEnded(.connectionTimeout) && stream.read(atMost: 9) == [1]
        && client.stream(of: Self.channel) == nil)
  }

  /// An SDU that the host has no room for leaves a gap: nothing follows it, and the channel is closed.
  @Test func anSDUThatTheHostRefusesEndsTheChannel() async throws {
    let link = Link()
    let client = AdapterClient(over: link.connection, log: { _ in })
    client.start { _ in }
    link.say(.channels(.opened(Self.channel)))
    let stream = try #require(client.stream(of: Self.channel))
    link.makeRoom(1)
    #expect(stream.write([1]) == 1 && stream.write([2]) == 1)
    link.makeRoom(nil)
    _ = stream.write([3])
    try await until { stream.end != nil }
    #expect(stream.end == .overloaded)
    try await until { link.commandCount >= 2 }
    guard case .channel(Self.channel.id, .send([1])) = link.commands[0],
      case .channel(Self.channel.id, .close) = link.commands[1]
    else { return #expect(Bool(false), "\(link.commands)") }
  }

  @Test func detachingEndsTheChannels() throws {
    let link = Link()
    let client = AdapterClient(over: link.connection, log: { _ in })
    client.start { _ in }
    link.say(.channels(.opened(Self.channel)))
    let stream = try #require(client.stream(of: Self.channel))
    client.detach()
    #expect(stream.end == .detached)
  }

  @Test func handsOutNothingAfterDetach() {
    let link = Link()
    let target = DispatchQueue(label: "application")
    let client = AdapterClient(over: link.connection, target: target, log: { _ in })
    let count = Mutex(0)
    client.start { events in count.withLock { $0 += events.count } }
    target.suspend()
    link.say(Self.event(1))
    client.detach()
    client.detach()
    target.resume()
    client.queue.sync {}
    #expect(count.withLock { $0 } == 0 && link.detachments == 1)
  }

  @Test func detachesWithItsEnd() {
    let link = Link()
    AdapterClient(over: link.connection, log: { _ in }).start { _ in }
    #expect(link.detachments == 1)
  }

  /// A batch was under way when the client was detached. Otherwise each question would wait for the client's answer.
  @Test func aClientThatHasLeftIsAskedNothing() {
    let link = BatchUnderWay()
    let client = AdapterClient(over: link, log: { _ in })
    client.start { _ in }
    client.detach()
    link.deliver([Self.event(1)])
    let question = DeclinedQuestions.Question(
      id: PairingQuestionID(rawValue: 1), peer: LinkID(rawValue: 1), kind: .consent)
    link.questions.joined(0)
    #expect(link.questions.declined(question, by: 0, isConcerned: true))
  }

  /// A connection whose host still calls the sink after the end of the attachment.
  private final class BatchUnderWay: AdapterLink {
    private let connection: ScriptedConnection
    private let sink = Mutex<(@Sendable (inout [HostEvent]) -> Int)?>(nil)

    let failure: AdapterError? = nil
    let hub: AdapterHub?
    let questions: DeclinedQuestions

    init() {
      let hub = AdapterHub(BondStorage(MemoryBondStore(), log: { _ in }), log: { _ in })
      (self.hub, questions) = (hub, hub.questions)
      connection = ScriptedConnection(hub: hub, perform: { _ in })
    }

    var commands: CommandPort { connection.commands }

    func attach(_ sink: @escaping @Sendable (inout [HostEvent]) -> Int) { self.sink.withLock { $0 = sink } }
    func consumed(_ count: Int) {}
    func detach() {}
    func deliver(_ events: [HostEvent]) {
      var batch = events
      _ = sink.withLock { $0 }?(&batch)
    }
  }

  /// Of more questions than the limit the oldest is left to its time limit.
  @Test func rejectsQuestionsThatNoClientAnswers() {
    let questions = DeclinedQuestions()
    let peer = LinkID(rawValue: 1)
    func question(_ number: Int) -> DeclinedQuestions.Question {
      DeclinedQuestions.Question(id: PairingQuestionID(rawValue: UInt64(number)), peer: peer, kind: .consent)
    }
    questions.joined(1)
    #expect(questions.declined(question(1), by: 1, isConcerned: true))
    #expect(!questions.declined(question(2), by: 1, isConcerned: false), "nobody uses the link")
    questions.joined(2)
    #expect(!questions.declined(question(3), by: 1, isConcerned: true))
    #expect(questions.declined(question(3), by: 2, isConcerned: false))
    #expect(!questions.declined(question(4), by: 1, isConcerned: true))
    questions.withdrawn(PairingQuestionID(rawValue: 4), of: peer)
    #expect(questions.left(2).isEmpty)
    questions.joined(2)
    for number in 0...DeclinedQuestions.limit {
      _ = questions.declined(question(100 + number), by: 1, isConcerned: true)
    }
    #expect(questions.left(2).map(\.id.rawValue) == (1...DeclinedQuestions.limit).map { UInt64(100 + $0) })
  }

  @Test func namesTheReasonOfTheStateInWordsForTheApplication() {
    let plain = AdapterClient(over: Link().connection, log: { _ in })
    #expect(plain.reason(nil) == nil)
    #expect(plain.reason(.unsupported("LE"))?.kind == .unsupported)
    let failure = AdapterError(HostError.transport("gone"))
    #expect(AdapterClient(over: Link(failure: failure).connection, log: { _ in }).reason(nil) == failure)
  }
}
