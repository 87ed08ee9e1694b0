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

  /// The maximum length of one notification or indication, in octets: ATT_MTU - 3 (Vol 3, Part F, 3.4.7.1), and
  /// at most the 512 of an attribute value (Vol 3, Part F, 3.2.9).
  public var maximumLength: Int { min(device.mtu - 3, ATT.maximumValueLength) }

  /// Sends a value to this client.
  ///
  /// It returns when the controller has sent the notification, or the client has confirmed the indication. A loop that
  /// sends is thus never ahead of the link, and sends a value in one or two connection intervals; ``send(contentsOf:)``
  /// is as fast as the link. A longer value than ``maximumLength`` is cut; the client can read the rest.
  ///
  /// - Throws: ``BLEError/Kind/disconnected``, ``BLEError/Kind/cancelled`` when the subscription ends.
  public func send(_ value: some GATTValue) async throws(BLEError) {
    try await device.session.sendUpdate(of: attribute, value.octets, to: device.peer)
  }

  /// Sends values to this client in order, as fast as the link takes them.
  ///
  /// While 16 of them are on their way, the next one is taken from the sequence when one has left. The controller
  /// therefore has a value whenever a connection event has time for one. ``RemoteDevice/packetFillingLength`` is the
  /// length that leaves no packet partly empty.
  ///
  /// ```swift
  /// LocalCharacteristic(samples).notify { subscriber in
  ///   let length = subscriber.device.packetFillingLength
  ///   try await subscriber.send(contentsOf: recording.blocks(of: length))
  /// }
  /// ```
  ///
  /// It returns when the last value has left, as ``send(_:)`` does. Indications are sent one after the other.
  ///
  /// - Throws: ``BLEError/Kind/disconnected``, ``BLEError/Kind/cancelled`` when the subscription ends. The first values
  ///   may have been sent.
  public func send<Values: Sequence>(contentsOf values: Values) async throws(BLEError) where Values.Element: GATTValue {
    var iterator = values.makeIterator()
    guard var value = iterator.next() else { return }
    while let next = iterator.next() {
      if Task.isCancelled { throw .cancelled }
      try await device.session.sendUpdate(of: attribute, value.octets, to: device.peer, isLast: false)
      value = next
    }
    try await send(value)
  }
}

/// The handler of one subscription, while it runs.
struct SubscriptionTask: Sendable {
  private let task: Task<Void, Never>?

  init(_ subscriber: Subscriber, _ handler: (@Sendable (Subscriber) async throws -> Void)?) {
    task = handler.map { handler in
      Task(executorPreference: subscriber.device.session.clock.executor) {
        do {
          try await handler(subscriber)
        } catch is CancellationError {
        } catch let error as BLEError where error.kind == .cancelled || error.kind == .disconnected {
        } catch {
          BluetoothLog.write(
            .notice("the subscription handler of characteristic \(subscriber.characteristic) threw: \(error)"))
        }
      }
    }
  }

  func end(into actions: inout Actions) { actions.later { [task] in task?.cancel() } }
}

extension AdapterSession {
  /// Notifies or indicates a value to one subscriber; returns when it has left, or when the host has it if it is not
  /// the last one of several.
  func sendUpdate(
    of attribute: AttributeID, _ value: [UInt8], to peer: LinkID, isLast: Bool = true
  ) async throws(BLEError) {
    try await sendUpdate(of: attribute, value, isLast: isLast) { state throws(BLEError) in
      try state.requireLink(peer)
      return [peer]
    }
  }

  /// Notifies or indicates a value to every subscriber that has room for it; returns when it has left for the first of
  /// them.
  func sendUpdate(of attribute: AttributeID, _ value: [UInt8]) async throws(BLEError) {
    try await sendUpdate(of: attribute, value) { state in state.subscribers(of: attribute) }
  }

  private func sendUpdate(
    of attribute: AttributeID, _ value: [UInt8], isLast: Bool = true,
    to recipients: @Sendable (borrowing State) throws(BLEError) -> [LinkID]
  ) async throws(BLEError) {
    guard value.count <= ATT.maximumValueLength else {
      throw BLEError(.invalidArgument, "the value has \(value.count) octets; an attribute holds at most 512")
    }
    let token = HostIDs.update()
    try await wait(for: .update(token)) { state, actions throws(BLEError) in
      guard state.attributes[attribute] != nil else {
        throw BLEError(.cancelled, "the service of the characteristic was withdrawn")
      }
      let peers = try recipients(state)
      if peers.isEmpty { return () }
      let commands = try state.waitingUpdates.append(
        WaitingUpdates.Value(attribute: attribute, octets: value), token, to: peers)
      state.handOver(commands, into: &actions)
      if isLast { return nil }
      if commands.contains(where: { $0.updateToken == token }) { return () }
      state.updatesToHandOver.insert(token)
      return nil
    } abandon: { state, actions in
      // A value that the host has is on its way and cannot be withdrawn.
      state.updatesToHandOver.remove(token)
      state.handOver(state.waitingUpdates.cancel(token), into: &actions)
    }
  }
}

extension AdapterSession.State {
  /// The links whose clients are subscribed to a characteristic, in the order in which they came up.
  func subscribers(of attribute: AttributeID) -> [LinkID] {
    links.keys.filter { peer in links.lend(peer) { $0.subscriptions[attribute] } != nil }
  }

  /// A value has left on a link. A value for several has then been sent.
  mutating func updateFinished(_ token: UpdateToken, on peer: LinkID, into actions: inout Actions) {
    handOver(waitingUpdates.finished(on: peer), into: &actions)
    waits.answer(.update(token), .success(()), into: &actions)
  }

  /// A link has ended: the values that waited for it alone are not sent.
  mutating func updatesEnded(of peer: LinkID, _ error: BLEError, into actions: inout Actions) {
    let (lost, commands) = waitingUpdates.remove(peer)
    handOver(commands, into: &actions)
    for token in lost {
      updatesToHandOver.remove(token)
      waits.answer(.update(token), .failure(error), into: &actions)
    }
  }

  /// Gives values to the host. Tasks that wait for no more than that go on.
  mutating func handOver(_ commands: [HostCommand], into actions: inout Actions) {
    actions.commands += commands
    if updatesToHandOver.isEmpty { return }
    for token in commands.lazy.compactMap(\.updateToken) where updatesToHandOver.remove(token) != nil {
      waits.answer(.update(token), .success(()), into: &actions)
    }
  }

  mutating func subscriptionChanged(
    _ peer: LinkID, _ attribute: AttributeID, _ subscription: Subscription, of session: AdapterSession,
    into actions: inout Actions
  ) {
    guard let device = device(peer, of: session), let published = attributes[attribute] else { return }
    if subscription.isEmpty {
      links[peer]?.subscriptions.removeValue(forKey: attribute)?.end(into: &actions)
    } else if links[peer]?.subscriptions[attribute] == nil {
      let subscriber = Subscriber(device: device, characteristic: published.characteristic.uuid, attribute: attribute)
      links[peer]?.subscriptions[attribute] = SubscriptionTask(
        subscriber, published.characteristic.handlers?.values.updates)
      actions.later { published.requests.subscribed(subscriber) }
    }
  }
}

extension HostCommand {
  /// The value that the command sends; nil for other commands.
  fileprivate var updateToken: UpdateToken? { if case .update(let token, _, _, _) = self { token } else { nil } }
}
