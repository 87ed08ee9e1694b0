import BLEATT
import BLEGATT
import BLEWire

/// The subscriptions of the owners that share the client of a link.
///
/// The server has one Client Characteristic Configuration descriptor for the whole link (Vol 3, Part G, 3.3.3.3). It is
/// given the bits that any owner wants, so the end of one owner's subscription leaves those of others. A value goes to
/// the owners that subscribed to it.
struct LinkSubscriptions: Sendable {
  /// How an operation continues.
  enum Decision: Equatable, Sendable {
    /// It is sent, with the bits of all owners if it configures a characteristic.
    case send(GATTClient.Operation.Kind)
    /// Other owners stay subscribed: it has its result, and nothing is sent.
    case finish(GATTClient.Outcome)
  }

  /// A change on its way to the server.
  private struct Change {
    var owner: OwnerID
    var value: AttributeHandle
    var before: Subscription?
  }

  /// The bits that each owner wants, by the handle of the value.
  private var subscribers: [AttributeHandle: [OwnerID: Subscription]] = [:]
  /// The value of each descriptor that is known.
  private var values: [AttributeHandle: AttributeHandle] = [:]
  private var changes: [GATTClient.OperationID: Change] = [:]
  /// The values whose descriptors are searched.
  private var searches: [GATTClient.OperationID: AttributeHandle] = [:]

  /// The owners that subscribed to a value; empty where none did.
  func owners(of value: AttributeHandle) -> [OwnerID] {
    (subscribers[value] ?? [:]).filter { !$0.value.isEmpty }.keys.sorted { $0.rawValue < $1.rawValue }
  }

  mutating func perform(_ operation: GATTClient.Operation, for owner: OwnerID) -> Decision {
    switch operation.kind {
    case .discoverDescriptors(let range):
      searches[operation.id] = Self.value(before: range)
    case .configure(let wanted, let range):
      guard let value = Self.value(before: range) else { break }
      let descriptor = values.first { $0.value == value }?.key
      guard let union = change(value, of: owner, to: wanted, by: operation.id) else {
        return .finish(descriptor.map(GATTClient.Outcome.configured) ?? .done)
      }
      // One PDU, so that it leaves before the link that a program ends next.
      if union.isEmpty, let descriptor { return .send(.write(descriptor, Self.octets(union))) }
      return .send(.configure(union, in: range))
    case .write(let handle, let octets):
      guard let value = values[handle], octets.count == 2 else { break }
      let wanted = Subscription(rawValue: UInt16(octets[0]) | UInt16(octets[1]) << 8)
      guard let union = change(value, of: owner, to: wanted, by: operation.id) else { return .finish(.done) }
      return .send(.write(handle, Self.octets(union)))
    default: break  // No other operation writes a configuration.
    }
    return .send(operation.kind)
  }

  /// - Returns: the bits that the server is to have; nil where it has them because of other owners.
  private mutating func change(
    _ value: AttributeHandle, of owner: OwnerID, to wanted: Subscription, by id: GATTClient.OperationID
  ) -> Subscription? {
    let (before, old) = (subscribers[value]?[owner], union(value))
    subscribers[value, default: [:]][owner] = wanted
    let new = union(value)
    // A subscription is sent even where the server has it: its answer is the result.
    if wanted.isEmpty, !new.isEmpty, new == old { return nil }
    changes[id] = Change(owner: owner, value: value, before: before)
    return new
  }

  private func union(_ value: AttributeHandle) -> Subscription {
    (subscribers[value] ?? [:]).values.reduce(into: Subscription()) { $0.formUnion($1) }
  }

  mutating func finished(_ id: GATTClient.OperationID, _ result: Result<GATTClient.Outcome, GATTClientError>) {
    if let value = searches.removeValue(forKey: id), case .success(.descriptors(let found)) = result.map({ $0.found }) {
      for descriptor in found where descriptor.uuid == .clientCharacteristicConfiguration {
        values[descriptor.handle] = value
      }
    }
    guard let change = changes.removeValue(forKey: id) else { return }
    switch result {
    case .success(.configured(let descriptor)): values[descriptor] = change.value
    case .success: break
    case .failure: subscribers[change.value]?[change.owner] = change.before
    }
  }

  /// Ends the subscriptions of an owner that leaves the link to others.
  ///
  /// - Returns: the descriptors to be written, in the order of their handles.
  mutating func remove(_ owner: OwnerID) -> [(descriptor: AttributeHandle, value: [UInt8])] {
    var writes: [(descriptor: AttributeHandle, value: [UInt8])] = []
    for value in subscribers.keys.sorted() {
      let old = union(value)
      guard subscribers[value]?.removeValue(forKey: owner) != nil, union(value) != old,
        let descriptor = values.first(where: { $0.value == value })?.key
      else { continue }
      writes.append((descriptor, Self.octets(union(value))))
    }
    changes = changes.filter { $0.value.owner != owner }
    return writes
  }

  /// Attributes of the server have changed, and with them the handles.
  mutating func removeAll(in range: ClosedRange<AttributeHandle>) {
    subscribers = subscribers.filter { !range.contains($0.key) }
    values = values.filter { !range.contains($0.key) && !range.contains($0.value) }
    changes = changes.filter { !range.contains($0.value.value) }
    searches = searches.filter { !range.contains($0.value) }
  }

  private static func octets(_ subscription: Subscription) -> [UInt8] {
    [UInt8(truncatingIfNeeded: subscription.rawValue), UInt8(truncatingIfNeeded: subscription.rawValue >> 8)]
  }

  /// The descriptors of a characteristic begin after its value (Vol 3, Part G, 3.3.3).
  private static func value(before descriptors: ClosedRange<AttributeHandle>) -> AttributeHandle? {
    let first = descriptors.lowerBound.rawValue
    return first > 1 ? AttributeHandle(rawValue: first - 1) : nil
  }
}
