import BLEATT
import BLEGATT
import BLEWire
import Testing

@testable import BLEHost

/// One Client Characteristic Configuration descriptor for the owners of a link (Vol 3, Part G, 3.3.3.3).
@Suite struct LinkSubscriptionsTests {
  private let first = OwnerID(rawValue: 1)
  private let second = OwnerID(rawValue: 2)
  private let value = AttributeHandle(rawValue: 3)
  private let descriptor = AttributeHandle(rawValue: 5)
  private let range = AttributeHandle(rawValue: 4)...AttributeHandle(rawValue: 6)
  private var subscriptions = LinkSubscriptions()
  private var operations: UInt32 = 0

  private mutating func perform(
    _ kind: GATTClient.Operation.Kind, for owner: OwnerID
  ) -> (decision: LinkSubscriptions.Decision, id: GATTClient.OperationID) {
    operations += 1
    let id = GATTClient.OperationID(rawValue: operations)
    return (subscriptions.perform(GATTClient.Operation(id: id, kind), for: owner), id)
  }

  /// The operation as it is sent; nil where it is finished at once.
  private func sent(_ decision: LinkSubscriptions.Decision) -> GATTClient.Operation.Kind? {
    if case .send(let kind) = decision { kind } else { nil }
  }

  private mutating func subscribe(_ owner: OwnerID, _ subscription: Subscription = .notify) {
    let (_, id) = perform(.configure(subscription, in: range), for: owner)
    subscriptions.finished(id, .success(.configured(descriptor)))
  }

  @Test mutating func sendsWhatOneOwnerAsksFor() {
    #expect(sent(perform(.configure(.notify, in: range), for: first).decision) == .configure(.notify, in: range))
    #expect(sent(perform(.configure([], in: range), for: first).decision) == .configure([], in: range))
    #expect(sent(perform(.write(descriptor, [1, 0]), for: first).decision) == .write(descriptor, [1, 0]))
    #expect(sent(perform(.read(value), for: first).decision) == .read(value))
  }

  /// One PDU, so that a program that ends the link next has ended the subscription.
  @Test mutating func writesADescriptorThatIsKnownAtTheEnd() {
    subscribe(first)
    #expect(sent(perform(.configure([], in: range), for: first).decision) == .write(descriptor, [0, 0]))
  }

  @Test mutating func sendsTheBitsOfAllOwners() {
    subscribe(first)
    let indicate = perform(.configure(.indicate, in: range), for: second)
    #expect(sent(indicate.decision) == .configure([.notify, .indicate], in: range))
    let end = perform(.write(descriptor, [0, 0]), for: first)
    #expect(sent(end.decision) == .write(descriptor, [2, 0]))
    #expect(subscriptions.owners(of: value) == [second])
  }

  @Test mutating func finishesAnUnsubscriptionWhileAnotherOwnerIsSubscribed() {
    subscribe(first)
    subscribe(second)
    #expect(perform(.configure([], in: range), for: first).decision == .finish(.configured(descriptor)))
    #expect(sent(perform(.write(descriptor, [0, 0]), for: second).decision) == .write(descriptor, [0, 0]))
    #expect(subscriptions.owners(of: value).isEmpty)
  }

  @Test mutating func findsTheValueOfADescriptorThatWasDiscovered() {
    let (_, id) = perform(.discoverDescriptors(range), for: first)
    let found = DiscoveredDescriptor(handle: descriptor, uuid: .clientCharacteristicConfiguration)
    subscriptions.finished(id, .success(.descriptors([found])))
    _ = perform(.write(descriptor, [1, 0]), for: first)
    #expect(subscriptions.owners(of: value) == [first])
  }

  @Test mutating func aRejectedSubscriptionIsNone() {
    let (_, id) = perform(.configure(.notify, in: range), for: first)
    subscriptions.finished(id, .failure(.timedOut))
    #expect(subscriptions.owners(of: value).isEmpty)
    subscribe(first)
    let (_, end) = perform(.configure([], in: range), for: first)
    subscriptions.finished(end, .failure(.timedOut))
    #expect(subscriptions.owners(of: value) == [first])
  }

  @Test mutating func anOwnerThatLeavesIsUnsubscribedFromWhatNobodyElseWants() {
    subscribe(first)
    subscribe(second, .indicate)
    let writes = subscriptions.remove(first)
    #expect(writes.map(\.descriptor) == [descriptor] && writes.map(\.value) == [[2, 0]])
    #expect(subscriptions.remove(first).isEmpty)
  }

  @Test mutating func forgetsTheSubscriptionsOfAChangedDatabase() {
    subscribe(first)
    subscriptions.removeAll(in: AttributeHandle(value.rawValue + 2) ... .last)
    #expect(subscriptions.owners(of: value) == [first], "it has not changed")
    subscriptions.removeAll(in: value...value)
    #expect(subscriptions.owners(of: value).isEmpty)
  }
}
