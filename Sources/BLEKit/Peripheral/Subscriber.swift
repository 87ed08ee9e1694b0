import BLEATT
import BLEGATT
import BLEHost
public import BLEWire

/// A client that is subscribed to a characteristic of this device.
public struct Subscriber: Sendable {
  /// The client.
  public let device: RemoteDevice
  /// The type of the characteristic.
  public let characteristic: BluetoothUUID
  let attribute: AttributeID

  /// The longest value that one notification or indication holds, in octets: ATT_MTU - 3 (Vol 3, Part F, 3.4.7.1), and at most the 512
  /// of an attribute value (Vol 3, Part F, 3.2.9).
  public var maximumLength: Int { min(device.mtu - 3, ATT.maximumValueLength) }

  /// Sends a value to this client.
  ///
  /// It returns when a notification was handed to the controller or an indication was confirmed, so a loop that sends goes as
  /// fast as the link. A longer value than ``maximumLength`` is cut; the client can read the rest.
  ///
  /// - Throws: ``BLEError/Kind/disconnected``, ``BLEError/Kind/cancelled`` when the subscription ends.
  public func send(_ value: some GATTValue) async throws(BLEError) {
    try await device.session.sendUpdate(of: attribute, value.octets, to: device.peer)
  }
}

/// The handler of one subscription, while it runs.
struct SubscriptionTask: Sendable {
  private let task: Task<Void, Never>?

  init(_ subscriber: Subscriber, _ handler: (@Sendable (Subscriber) async throws -> Void)?) {
    task = handler.map { handler in
      Task {
        do {
          try await handler(subscriber)
        } catch is CancellationError {
        } catch let error as BLEError where error.kind == .cancelled || error.kind == .disconnected {
        } catch {
          BluetoothLog.write(
            .notice, "the subscription handler of characteristic \(subscriber.characteristic) threw: \(error)")
        }
      }
    }
  }

  func end(into actions: inout Actions) { actions.later { [task] in task?.cancel() } }
}

/// Values that wait until the host has room.
struct UpdateQueue: Sendable {
  var waiting: [(UpdateToken, HostCommand)] = []
  var sent: Set<UpdateToken> = []

  /// Values that the host has at a time.
  static let window = 16
  /// Values that may wait here; one more is refused.
  static let limit = 256
}

extension AdapterSession {
  /// Notifies or indicates a value; returns when it has left.
  ///
  /// - Parameter peer: nil sends it to every subscriber.
  func sendUpdate(of attribute: AttributeID, _ value: [UInt8], to peer: PeerID?) async throws(BLEError) {
    guard value.count <= ATT.maximumValueLength else {
      throw BLEError(.invalidArgument, "the value has \(value.count) octets; an attribute holds at most 512")
    }
    let token = HostNames.update()
    let command = HostCommand.update(token, attribute, value, to: peer.map { [$0] })
    try await wait(in: \.updates, for: token) { state, actions throws(BLEError) in
      guard state.attributes[attribute] != nil else {
        throw BLEError(.cancelled, "the service of the characteristic was withdrawn")
      }
      if let peer { _ = try state.requireLink(peer) }
      try state.queuedUpdates.append(token, command, into: &actions)
      return nil
    } abandon: { state, actions in
      // A value that the host has is on its way and cannot be taken back.
      state.queuedUpdates.waiting.removeAll { $0.0 == token }
    }
  }
}

extension UpdateQueue {
  mutating func append(_ token: UpdateToken, _ command: HostCommand, into actions: inout Actions) throws(BLEError) {
    guard waiting.count < Self.limit else {
      throw BLEError(
        .limitExceeded,
        "more than \(Self.limit) values wait to be sent: wait for send(_:) to return before the next one")
    }
    waiting.append((token, command))
    advance(into: &actions)
  }

  mutating func finished(_ token: UpdateToken, into actions: inout Actions) {
    sent.remove(token)
    advance(into: &actions)
  }

  private mutating func advance(into actions: inout Actions) {
    while sent.count < Self.window, let (token, command) = waiting.first {
      waiting.removeFirst()
      sent.insert(token)
      actions.commands.append(command)
    }
  }
}

extension AdapterSession.State {
  mutating func updateFinished(_ token: UpdateToken, into actions: inout Actions) {
    queuedUpdates.finished(token, into: &actions)
    updates.answer(token, .success(()), into: &actions)
  }

  mutating func subscriptionChanged(
    _ peer: PeerID, _ attribute: AttributeID, _ subscription: Subscription, of session: AdapterSession,
    into actions: inout Actions
  ) {
    guard let device = device(peer, of: session), let published = attributes[attribute] else { return }
    if subscription.isEmpty {
      links[peer]?.subscriptions.removeValue(forKey: attribute)?.end(into: &actions)
    } else if links[peer]?.subscriptions[attribute] == nil {
      let subscriber = Subscriber(device: device, characteristic: published.characteristic.uuid, attribute: attribute)
      links[peer]?.subscriptions[attribute] = SubscriptionTask(subscriber, published.characteristic.handlers?.updates)
      actions.later { published.requests.subscribed(subscriber) }
    }
  }
}
