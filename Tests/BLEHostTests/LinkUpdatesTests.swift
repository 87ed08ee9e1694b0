import BLEGATT
import BLEWire
import Testing

@testable import BLEHost

struct LinkUpdatesTests {
  private let peer = LinkID(rawValue: 3)
  private let attribute = AttributeID(rawValue: 11)

  private func update(_ token: UInt64, of owner: UInt32 = 1) -> LinkUpdates.Entry {
    LinkUpdates.Entry(owner: OwnerID(rawValue: owner), token: UpdateToken(rawValue: token))
  }

  private func counted(of owner: UInt32) -> LinkUpdates.Entry {
    LinkUpdates.Entry(owner: OwnerID(rawValue: owner), token: .counted)
  }

  /// The events of notifications that were sent, as "owner token" or "owner xcount".
  private func sent(_ count: Int, _ updates: inout LinkUpdates) -> [String] {
    var events: [AddressedEvent<HostEvent>] = []
    updates.notificationsSent(count, on: peer, into: &events)
    return events.map { addressed in
      switch addressed.event {
      case .server(peer, .updateFinished(let token)): "\(addressed.recipient) \(token.rawValue)"
      case .server(peer, .updatesFinished(let count)): "\(addressed.recipient) x\(count)"
      default: "another event"
      }
    }
  }

  @Test func notificationsAreFinishedInTheirOrder() {
    var updates = LinkUpdates(limit: 8)
    for token in 1...3 as ClosedRange<UInt64> {
      let isTaken = updates.beginNotification(update(token))
      #expect(isTaken)
    }
    #expect(
      sent(2, &updates) == ["\(Recipient.owner(OwnerID(rawValue: 1))) 1", "\(Recipient.owner(OwnerID(rawValue: 1))) 2"])
    // The controller says that it has sent more than it was given.
    #expect(sent(5, &updates).count == 1)
    #expect(sent(1, &updates).isEmpty && updates.count == 0)
  }

  @Test func countedValuesOfOneOwnerHaveOneEvent() {
    var updates = LinkUpdates(limit: 8)
    for update in [counted(of: 1), counted(of: 1), counted(of: 2), update(5, of: 2), counted(of: 2)] {
      let isTaken = updates.beginNotification(update)
      #expect(isTaken)
    }
    let (one, two) = (Recipient.owner(OwnerID(rawValue: 1)), Recipient.owner(OwnerID(rawValue: 2)))
    #expect(sent(5, &updates) == ["\(one) x2", "\(two) x1", "\(two) 5", "\(two) x1"])
  }

  /// A client that confirms nothing keeps the room of its own link, and what is notified keeps no memory.
  @Test func indicationsThatAreNotConfirmedCountForTheLimit() {
    var updates = LinkUpdates(limit: 8)
    for token in 1...7 as ClosedRange<UInt64> { updates.beginIndication(of: attribute, update(token)) }
    for token in 8..<10_000 as Range<UInt64> {
      let isTaken = updates.beginNotification(update(token))
      #expect(isTaken && !updates.hasRoom)
      let beyond = updates.beginNotification(update(token + 1))
      #expect(!beyond)
      #expect(sent(1, &updates).count == 1)
    }
    #expect(updates.entries == (1...7).map { update($0) })
  }

  @Test func theFirstIndicationIsConfirmedAndTheLastDiscarded() {
    var updates = LinkUpdates(limit: 8)
    for token in 1...3 as ClosedRange<UInt64> { updates.beginIndication(of: attribute, update(token)) }
    let discarded = updates.lastIndicationDiscarded(of: attribute)
    let confirmed = updates.indicationEnded(of: attribute)
    let other = updates.indicationEnded(of: AttributeID(rawValue: 99))
    #expect(discarded == update(3) && confirmed == update(1) && other == nil)
    #expect(updates.entries == [update(2)])
  }
}
