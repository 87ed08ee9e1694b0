import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The table of links, and the tree of their deadlines.
@Suite("Link table") struct LinkTableTests {
  private func link(_ peer: LinkID, _ handle: UInt16) -> Link {
    let address = DeviceAddress(octets: BD_ADDR(UInt64(handle)), kind: .public)
    return Link(peer: peer, handle: handle, device: PeerIdentity(address: address, identity: address))
  }

  private func table(_ handles: [UInt16]) -> LinkTable {
    var table = LinkTable()
    for handle in handles { _ = table.append(link(table.nextPeer(), handle)) }
    return table
  }

  @Test func findsLinksByHandleAndByNameAlsoAfterOthersHaveEnded() {
    var table = table([5, 3, 9])
    let names = table.map(\.peer)
    #expect(names.map(\.rawValue) == [1, 2, 3])
    let ended = table.remove(at: 0)
    #expect(ended.peer == names[0])
    #expect(table.index(of: names[0]) == nil && table.index(of: ended.handle) == nil)
    #expect(table.index(of: names[2]) == 1 && table.index(of: ConnectionHandle(rawValue: 9)) == 1)
    #expect(table.map(\.peer) == [names[1], names[2]])
    // A name is not given twice.
    let next = table.nextPeer()
    #expect(next.rawValue == 4)
  }

  @Test func remembersTheHandleOfASupersededLinkOnce() {
    var table = table([5])
    _ = table.remove(at: 0, endingFrom: .start)
    var packets = PacketBuffer()
    let handle = ConnectionHandle(rawValue: 5)
    let first = table.endingCompleted(handle, into: &packets)
    let second = table.endingCompleted(handle, into: &packets)
    #expect(first && !second)
  }

  @Test func takesTheDeadlineOfALinkThatChanges() {
    var table = table([1, 2, 3])
    #expect(table.deadline == nil)
    let (early, late) = (Instant.start + .seconds(1), Instant.start + .seconds(2))
    var output = LinkClient.Output()
    table[2].client.start(encryptedUntil: early, now: .start, into: &output)
    table[1].client.start(encryptedUntil: late, now: .start, into: &output)
    #expect(table.deadline == early)
    #expect(table.due(early) == [LinkID(rawValue: 3)])
    #expect(table.due(late) == [LinkID(rawValue: 2), LinkID(rawValue: 3)])
    table[2].client.bondLost(queuesOperations: true, now: .start, into: &output)
    #expect(table.deadline == late)
    _ = table.remove(at: 1)
    #expect(table.deadline == nil)
  }

  @Test func aClientGoesOnWhenEnoughFramesHaveLeft() {
    var configuration = HostConfiguration()
    configuration.congestion = (from: 2, below: 1)
    var table = LinkTable(configuration)
    table.setBuffers(length: 27, count: 1)
    _ = table.append(link(table.nextPeer(), 5))
    var (packets, turn) = (PacketBuffer(), LinkTurn(SecurityToolbox(LibCrypto())))
    for _ in 0..<3 {
      let refusal = table.send([1, 2].span, on: 0, .attributeProtocol, into: &packets)
      #expect(refusal == nil)
    }
    table.noteCongestion(of: table[0].peer, &turn)
    #expect(table[0].client.isCongested)
    var (faults, events): ([String], [AddressedEvent<HostEvent>]) = ([], [])
    func completed(_ handle: UInt8) -> [UInt32] {
      if let fault = table.completed([1, handle, 0, 1, 0].span, into: &packets) { faults.append(fault) }
      table.finishTransmitted(into: &events)
      return table.takeRelieved().map(\.rawValue)
    }
    #expect(completed(5).isEmpty && table.isCongested)
    #expect(completed(5) == [1] && !table.isCongested)
    #expect(faults.isEmpty)
    // Packets that were not sent are a fault of the controller.
    #expect(completed(6).isEmpty && faults.count == 1)
  }

  @Test(arguments: [0, 1, 2, 3, 8, 31, 32, 33]) func theTreeKnowsTheEarliestOfAnyNumberOfDeadlines(count: Int) {
    var choices = Choices(seed: UInt64(count))
    var deadlines: [Instant?] = (0..<count).map { _ in nil }
    var tree = DeadlineTree(deadlines)
    for _ in 0..<200 where count > 0 {
      let number = choices.number(below: count)
      deadlines[number] = choices.chance(30) ? nil : .start + .seconds(choices.number(below: 50))
      tree.set(number, deadlines[number])
      #expect(tree.earliest == deadlines.compactMap { $0 }.min())
      let now = Instant.start + .seconds(choices.number(below: 50))
      #expect(tree.due(now) == deadlines.indices.filter { deadlines[$0].map { $0 <= now } ?? false })
    }
    #expect(DeadlineTree(deadlines).earliest == tree.earliest)
    tree.set(count + 64, .start)
    tree.set(-1, .start)
    #expect(tree.earliest == deadlines.compactMap { $0 }.min())
  }

  @Test func theTreeGrowsByOneDeadlineAtATime() {
    var choices = Choices(seed: 7)
    var (tree, deadlines) = (DeadlineTree(), [Instant?]())
    for count in 0..<70 {
      let deadline: Instant? = choices.chance(30) ? nil : .start + .seconds(choices.number(below: 50))
      tree.append(deadline, count: count)
      deadlines.append(deadline)
      #expect(tree.earliest == deadlines.compactMap { $0 }.min())
      let now = Instant.start + .seconds(choices.number(below: 50))
      #expect(tree.due(now) == deadlines.indices.filter { deadlines[$0].map { $0 <= now } ?? false })
    }
  }
}
