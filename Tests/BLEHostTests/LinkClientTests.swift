import BLEATT
import BLECrypto
import BLEGATT
import BLEL2CAP
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The client of a link without a link: the peer's server and the security of the link are played by the test.
@Suite("Link client") struct LinkClientTests {
  private let owner = OwnerID(rawValue: 1)
  private let other = OwnerID(rawValue: 2)
  private var client = LinkClient(peer: LinkID(rawValue: 1), users: [], maximumMTU: 23)
  private var output = LinkClient.Output()
  private var operations: UInt32 = 0
  private let now = Instant.start

  private mutating func read(queuesAfterBondLoss: Bool = false, for owner: OwnerID? = nil) {
    operations += 1
    client.perform(
      GATTClient.Operation(id: .init(rawValue: operations), .read(AttributeHandle(rawValue: 3))),
      for: owner ?? self.owner, pairsOnDemand: true, queuesAfterBondLoss: queuesAfterBondLoss, now: now, into: &output)
  }

  private mutating func receive(_ pdu: [UInt8]) { client.receive(pdu.span, now: now, into: &output) }

  /// The PDUs and the effects since the last call, as a router takes them.
  private mutating func take() -> (pdus: [UInt8?], effects: [String]) {
    defer { output.removeAll() }
    var opcodes: [UInt8?] = []
    for index in 0..<output.gatt.pdus.count { opcodes.append(Array(output.gatt.pdus[index]).first) }
    client.translate(now: .start, into: &output)
    let effects = output.effects.map { effect in
      switch effect {
      case .event(.client(_, .finished(let id, .success)), let recipient): "done \(id.rawValue) \(name(recipient))"
      case .event(.client(_, .finished(let id, .failure)), let recipient): "failed \(id.rawValue) \(name(recipient))"
      case .event(.client(_, .notification), let recipient): "notification \(name(recipient))"
      case .event(.link(_, .mtu), _): "mtu"
      case .report: "report"
      case .own(.securityWanted(let operation, _)): "security for \(operation.id.rawValue)"
      case .own(.mtuChanged(let mtu)): "mtu \(mtu)"
      case .own(.violated(_, let recipient)): "violated \(name(recipient))"
      case .own(.failed): "failed"
      default: "other"
      }
    }
    return (opcodes, effects)
  }

  private func name(_ recipient: Recipient) -> String {
    switch recipient {
    case .everyone: "everyone"
    case .owner(let owner): "\(owner.rawValue)"
    case .owners(let owners): "\(owners.map(\.rawValue))"
    }
  }

  private mutating func start(until: Instant? = nil) {
    client.start(encryptedUntil: until, now: now, into: &output)
    guard until == nil else { return }
    receive([0x03, 23, 0])
    _ = take()
  }

  @Test mutating func aClientThatWasNotUsedTakesNoMemoryOfItsOwn() {
    client.setMTU(100)
    client.setCongested(false, now: now, into: &output)
    client.forgetBond()
    client.resume(now: now, into: &output)
    client.releaseParked(now: now, into: &output)
    client.tick(now: now, into: &output)
    _ = client.removeUser(owner, now: now, into: &output)
    client.linkEnded(into: &output)
    #expect(client.isUnused && output.isEmpty)
    #expect(client.mtu == 100 && !client.isCongested && client.deadline == nil && client.attributeCache == nil)
  }

  @Test mutating func theFirstUseHasTheMTUOfTheLink() {
    client.setMTU(100)
    read()
    #expect(!client.isUnused && client.mtu == 100)
    client.setMTU(50)
    #expect(client.mtu == 50)
  }

  /// The application reads handle 5 again and again, so that the first bearer always has an operation, and the peer
  /// closes the bearer of another read as soon as it has opened the next one.
  @Test mutating func aPeerThatReopensBearersKeepsNoReadFromEnding() {
    client.bearers.isEnabled = true
    start()
    func read(_ id: UInt32, _ handle: UInt16) {
      client.perform(
        GATTClient.Operation(id: .init(rawValue: id), .read(AttributeHandle(rawValue: handle))), for: owner,
        pairsOnDemand: false, queuesAfterBondLoss: false, now: now, into: &output)
    }
    read(1, 5)
    client.bearers.add(ChannelID(rawValue: 0x40), mtu: 64)
    read(2, 3)
    #expect(output.frames.map(\.channel) == [ChannelID(rawValue: 0x40)])
    var steps = 0
    var results: [String] = []
    while steps < 100, !results.contains("done 2 1") {
      steps += 1
      let channel = 0x40 + UInt16(steps)
      client.bearers.add(ChannelID(rawValue: channel), mtu: 64)
      client.bearerClosed(ChannelID(rawValue: channel - 1), now: now, into: &output)
      read(100 + UInt32(steps), 5)
      var requests = take()
      results += requests.effects
      while requests.pdus == [0x0A], !results.contains("done 2 1") {
        receive([0x0B, 7])
        requests = take()
        results += requests.effects
      }
    }
    #expect(steps == 1 && results.contains("done 2 1"))
  }

  /// What was not sent on a bearer moves with it, in its order.
  @Test mutating func theOperationsOfAClosedBearerFollowInTheirOrder() {
    client.bearers.isEnabled = true
    start()
    read()
    client.bearers.add(ChannelID(rawValue: 0x40), mtu: 64)
    let handle = AttributeHandle(rawValue: 9)
    for (id, kind) in [(11, .read(handle)), (12, .write(handle, [1])), (13, .read(handle))]
      as [(UInt32, GATTClient.Operation.Kind)]
    {
      client.perform(
        GATTClient.Operation(id: .init(rawValue: id), kind), for: owner, pairsOnDemand: false,
        queuesAfterBondLoss: false, now: now, into: &output)
    }
    #expect(output.frames.map { $0.pdu.first } == [0x0A])
    client.bearers.add(ChannelID(rawValue: 0x41), mtu: 64)
    client.bearerClosed(ChannelID(rawValue: 0x40), now: now, into: &output)
    var sent = take().pdus
    for response in [[0x0B, 1], [0x0B, 1], [0x13], [0x0B, 1]] as [[UInt8]] {
      receive(response)
      let next = take()
      sent += next.pdus
      #expect(next.effects.count == 1)
    }
    #expect(sent == [0x0A, 0x0A, 0x12, 0x0A] && output.frames.isEmpty)
  }

  @Test mutating func exchangesTheMTUFirstAndTellsTheServer() {
    client.start(encryptedUntil: nil, now: now, into: &output)
    read()
    #expect(take().pdus == [0x02])
    receive([0x03, 100, 0])
    let (pdus, effects) = take()
    #expect(pdus == [0x0A] && effects == ["mtu 23", "mtu"])
  }

  @Test mutating func sendsNothingToABondedPeripheralBeforeTheLinkIsEncrypted() {
    start(until: now + .seconds(42))
    read()
    #expect(take().pdus.isEmpty)
    #expect(client.deadline == now + .seconds(42))
    // What the peripheral sends in the clear is dropped.
    receive([0x1B, 3, 0, 7])
    #expect(take().effects == ["report"])
    client.resume(now: now, into: &output)
    #expect(take().pdus == [0x02])
    #expect(client.reconnection == .none)
  }

  @Test(arguments: [false, true]) mutating func aLostBondEndsOperationsOrKeepsThem(isQueued: Bool) {
    start(until: now + .seconds(42))
    read()
    client.bondLost(queuesOperations: isQueued, now: now, into: &output)
    let (pdus, effects) = take()
    #expect(pdus.isEmpty && effects == (isQueued ? [] : ["failed 1 1"]))
    read(queuesAfterBondLoss: isQueued)
    #expect(take().effects == (isQueued ? [] : ["failed 2 1"]))
    // A new pairing has encrypted the link.
    client.resume(now: now, into: &output)
    #expect(take().pdus == [0x02])
  }

  @Test mutating func anOperationRefusedForWantOfSecurityIsAskedAgainOnce() {
    start()
    read()
    _ = take()
    receive([0x01, 0x0A, 3, 0, 0x05])
    var wanted: (GATTClient.Operation, GATTClient.Event)?
    client.translate(now: .start, into: &output)
    for case .own(.securityWanted(let operation, let refusal)) in output.effects { wanted = (operation, refusal) }
    output.removeAll()
    guard let wanted else {
      Issue.record("nothing was wanted")
      return
    }
    client.park(wanted.0, wanted.1)
    client.repeatParked(now: now, into: &output)
    #expect(take().pdus == [0x0A])
    receive([0x01, 0x0A, 3, 0, 0x05])
    #expect(take().effects == ["failed 1 1"])
  }

  @Test mutating func aParkedRefusalIsReportedWhereTheLinkIsNotSecured() {
    start()
    read()
    read()
    _ = take()
    receive([0x01, 0x0A, 3, 0, 0x0F])
    client.translate(now: .start, into: &output)
    for case .own(.securityWanted(let operation, let refusal)) in output.effects { client.park(operation, refusal) }
    output.removeAll()
    client.releaseParked(now: now, into: &output)
    // The read after it goes on.
    let (pdus, effects) = take()
    #expect(pdus == [0x0A] && effects == ["failed 1 1"])
    // It was requested before the failure, and wants no security.
    receive([0x01, 0x0A, 3, 0, 0x0F])
    #expect(take().effects == ["failed 2 1"])
    client.releaseParked(now: now, into: &output)
    #expect(take().effects.isEmpty)
    read()
    #expect(take().pdus == [0x0A])
  }

  @Test mutating func operationsWaitForTheOneThatWaitsForSecurity() {
    start()
    for _ in 0..<3 { read() }
    _ = take()
    receive([0x01, 0x0A, 3, 0, 0x05])
    client.translate(now: .start, into: &output)
    for case .own(.securityWanted(let operation, let refusal)) in output.effects { client.park(operation, refusal) }
    #expect(take().pdus.isEmpty)
    client.resume(now: now, into: &output)
    #expect(take().pdus == [0x0A])
    for operation in 1...3 {
      receive([0x0B, 1])
      let (pdus, effects) = take()
      #expect(effects == ["done \(operation) 1"] && pdus == (operation < 3 ? [0x0A] : []))
    }
  }

  /// The link is secured for no operation: the refusal is the result, and the next operation begins.
  @Test mutating func withoutSecurityTheNextOperationBegins() {
    start()
    read()
    read()
    _ = take()
    receive([0x01, 0x0A, 3, 0, 0x05])
    client.translate(now: .start, into: &output)
    for case .own(.securityWanted(_, let refusal)) in output.effects {
      output.effects = []
      client.refuse(refusal, now: now, into: &output)
    }
    let (pdus, effects) = take()
    #expect(pdus == [0x0A] && effects == ["failed 1 1"])
  }

  @Test mutating func whatIsSentUnaskedGoesToTheUsersOfTheLink() {
    start()
    receive([0x1B, 3, 0, 7])
    #expect(take().effects == ["notification everyone"])
    read()
    read(for: other)
    _ = take()
    receive([0x1B, 3, 0, 7])
    #expect(take().effects == ["notification [1, 2]"])
    let isRemoved = (
      client.removeUser(owner, now: now, into: &output), client.removeUser(owner, now: now, into: &output)
    )
    #expect(isRemoved == (true, false))
    receive([0x1B, 3, 0, 7])
    #expect(take().effects == ["notification 2"])
  }

  /// Subscribes to the value 3, whose descriptor is 4, or unsubscribes.
  private mutating func configure(_ subscription: Subscription, for owner: OwnerID) {
    operations += 1
    client.perform(
      GATTClient.Operation(
        id: .init(rawValue: operations),
        .configure(subscription, in: AttributeHandle(rawValue: 4)...AttributeHandle(rawValue: 5))),
      for: owner, pairsOnDemand: true, queuesAfterBondLoss: false, now: now, into: &output)
  }

  /// Answers Find Information Request and Write Request.
  private mutating func answerConfiguration() -> [String] {
    #expect(take().pdus == [0x04])
    receive([0x05, 0x01, 4, 0, 0x02, 0x29])
    #expect(take().pdus == [0x12])
    receive([0x13])
    return take().effects
  }

  @Test mutating func aValueGoesToTheOwnersThatSubscribed() {
    start()
    read(for: other)
    _ = take()
    receive([0x0B, 1])
    _ = take()
    configure(.notify, for: owner)
    #expect(answerConfiguration() == ["done 2 1"])
    receive([0x1B, 3, 0, 7])
    #expect(take().effects == ["notification 1"])
    receive([0x1B, 9, 0, 7])
    #expect(take().effects == ["notification [2, 1]"], "nobody subscribed to it")
    configure(.notify, for: other)
    #expect(answerConfiguration() == ["done 3 2"])
    receive([0x1B, 3, 0, 7])
    #expect(take().effects == ["notification [1, 2]"])
  }

  @Test mutating func theEndOfASubscriptionLeavesThoseOfOtherOwners() {
    start()
    for owner in [owner, other] {
      configure(.notify, for: owner)
      _ = answerConfiguration()
    }
    configure([], for: owner)
    let first = take()
    #expect(first.pdus.isEmpty && first.effects == ["done 3 1"])
    receive([0x1B, 3, 0, 7])
    #expect(take().effects == ["notification 2"])
    configure([], for: other)
    // The descriptor is known.
    #expect(Array(output.gatt.pdus[0]) == [0x12, 4, 0, 0, 0])
    #expect(take().pdus == [0x12])
    receive([0x13])
    #expect(take().effects == ["done 4 2"])
  }

  @Test mutating func anOwnerThatLeavesTheLinkIsUnsubscribed() {
    start()
    read(for: other)
    _ = take()
    receive([0x0B, 1])
    _ = take()
    configure(.notify, for: owner)
    _ = answerConfiguration()
    #expect(client.removeUser(owner, now: now, into: &output))
    #expect(Array(output.gatt.pdus[0]) == [0x12, 4, 0, 0, 0])
    #expect(take().pdus == [0x12])
    receive([0x13])
    #expect(take().effects.isEmpty)
  }

  @Test mutating func theEndOfTheLinkEndsEveryOperation() {
    start()
    read()
    read(for: other)
    _ = take()
    client.linkEnded(into: &output)
    #expect(take().effects == ["failed 1 1", "failed 2 2"])
  }
}
