import BLEATT
import BLEEngine
import BLEGATT
import BLEHCI
import BLEHost

extension PeripheralRole {
  /// One event of the host, which concerns this manager or everyone.
  mutating func receive(_ event: HostEvent, into effects: inout PeripheralEffects) {
    switch event {
    case .serviceAdded(let id, let result): serviceAdded(id, result, into: &effects)
    case .serviceRemoved(let id, let result): serviceRemoved(id, result, into: &effects)
    case .advertisingStarted(let id, let result): advertisingStarted(id, result, into: &effects)
    case .advertisingPaused(let id, let status):
      guard advertising == .on(id) else { return }
      effects.calls.append(.advertisingPaused(status.map { DisconnectReason(rawValue: $0.rawValue) }))
    case .advertisingResumed(let id):
      guard advertising == .on(id) else { return }
      effects.calls.append(.advertisingResumed)
    case .connected(let connection): connected(connection, into: &effects)
    case .identified(let peer, let identity): identified(peer, identity, into: &effects)
    case .disconnected(let peer, let reason):
      disconnected(peer, DisconnectReason(rawValue: reason.rawValue), into: &effects)
    case .mtu(let peer, let mtu): links[peer]?.central.update(mtu: mtu)
    case .connectionUpdated(let peer, let timing): connectionUpdated(peer, .success(timing), into: &effects)
    case .connectionUpdateRefused(let peer, let error): connectionUpdated(peer, .failure(error), into: &effects)
    case .security(let peer, let security): links[peer]?.central.update(security: security)
    case .rssi(let peer, let result): rssi(peer, result, into: &effects)
    case .read(let peer, let token, let attribute, let offset):
      read(peer, token, attribute, offset: offset, into: &effects)
    case .write(let peer, let token, let parts): write(peer, token, parts, into: &effects)
    case .stored(let peer, let attribute, let value): stored(peer, attribute, value, into: &effects)
    case .requestTimedOut(let peer, let token): requestTimedOut(peer, token, into: &effects)
    case .subscription(let peer, let attribute, let subscription):
      subscriptionChanged(peer, attribute, subscription, into: &effects)
    case .updateFinished(let token): updates.remove(token)
    case .pairing, .pairingQuestionWithdrawn, .paired, .pairingFailed, .keypress: break
    case .bondChanged, .bondRemoved, .bondReplaced, .bondLost: break
    case .state, .refused, .discovered, .scanStopped, .connectionFailed, .client, .diagnostic: break
    }
  }

  /// The adapter went below powered on: links are gone, advertising rests. Below powered off the host's memory of what
  /// was published is taken to be gone too, so that the application builds it anew.
  mutating func fell(to state: CBManagerState, into effects: inout PeripheralEffects) {
    for peer in links.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      disconnected(peer, .connectionTerminatedByLocalHost, into: &effects)
    }
    pending = [:]
    updates = []
    owesReady = false
    guard state.rawValue < CBManagerState.poweredOff.rawValue else { return }
    let cancelled = CBError(
      .operationCancelled, "the adapter is \(state): publish and advertise again when it is powered on")
    adds.failAll(cancelled)
    starts.failAll(cancelled)
    giveUpAdvertising(into: &effects)
    for id in published.keys.sorted(by: { $0.rawValue > $1.rawValue }) { withdraw(id, into: &effects) }
    flushAnswers(into: &effects)
  }

  /// All events of a batch have been received: the delegate is called once if there is room again.
  mutating func finishBatch(into effects: inout PeripheralEffects) {
    guard owesReady, updates.count < limits.pendingUpdates else { return }
    owesReady = false
    effects.calls.append(.isReady)
  }

  mutating func flushAnswers(into effects: inout PeripheralEffects) {
    while let (service, error) = adds.next() { effects.calls.append(.didAdd(service, error)) }
    while let (_, error) = starts.next() { effects.calls.append(.didStartAdvertising(error)) }
  }
}
