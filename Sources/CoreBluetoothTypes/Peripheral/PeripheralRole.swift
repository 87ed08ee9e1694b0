import BLEATT
import BLEAdapter
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Foundation

/// The state of a peripheral manager: its services, its advertisement, its links and what it waits for.
///
/// A machine like those of the layers below, without calls to the delegate. The manager protects it with its lock,
/// passes it the application's calls and the host's events, and performs the effects: commands immediately, delegate
/// calls on the queue.
struct PeripheralRole: Sendable {
  let limits: PeripheralLimits

  // The database (PeripheralRole+Services).
  var published: [ServiceID: Publication] = [:]
  var serviceIDs: [ObjectIdentifier: ServiceID] = [:]
  var attributes = IdentifierTable<AttributeID, CBAttribute>()
  var attributeIDs: [ObjectIdentifier: AttributeID] = [:]
  /// Attributes of services that were removed here but not yet by the host: requests for them still arrive.
  var retiring: [ServiceID: Set<AttributeID>] = [:]
  var adds = OrderedAnswers<ServiceID, CBMutableService>()

  // Links (PeripheralRole+Links).
  var links = IdentifierTable<LinkID, Link>()

  // Requests.
  var pending = PendingRequests()

  // Updates (PeripheralRole+Updates).
  /// The values on their way to each central; ``PeripheralLimits/pendingUpdates`` at most. A central that is late
  /// misses values without a line in the log.
  var updateWindows: UpdateWindows
  /// The centrals for whose room the application waits.
  var awaitedRoom: Set<LinkID> = []
  /// The characteristic whose value was sent last, and its subscribers; nil after each change of these.
  var updateTarget: UpdateTarget?

  /// Whether the host reports what centrals write to stored values.
  var reportsStoredWrites = true

  /// The effects of the last step without lines for the log, whose memory the next step reuses.
  var spareEffects = PeripheralEffects()

  // L2CAP channels (PeripheralRole+Channels).
  var channels: [ListenID: PublishedChannel] = [:]

  // Advertising (PeripheralRole+Advertising).
  var starts = OrderedAnswers<AdvertisingID, Void>()
  var advertising = Advertising.off
  /// The advertisement, if a dictionary described it.
  var declared: RestoredServices.Advertisement?

  // State restoration (PeripheralRole+Restoration).
  var restoration: Restoration?
  /// The state that the delegate is about to receive.
  var report: Restoration?
  /// The services that an earlier run published, until the program takes one back or adds it itself.
  var restoredServices: Set<ServiceID> = []
  /// Those that the host has not confirmed yet. They have no delegate call.
  var unansweredServices: Set<ServiceID> = []
  /// The advertisement that an earlier run started, until the program starts one.
  var restoredAdvertising: AdvertisingID?

  init(limits: PeripheralLimits = PeripheralLimits()) {
    self.limits = limits
    updateWindows = UpdateWindows(size: limits.pendingUpdates, resumingRoom: max(1, limits.pendingUpdates / 4))
  }

  struct Publication: Sendable {
    var service: CBMutableService
    var attributes: [AttributeID]
    var includes: [ServiceID]
    /// The service as it was when it was published.
    var record: RestoredServices.Service
  }

  struct Link: Sendable {
    var central: CBCentral
    /// Whether the other side made the connection: only then is it reported to the application.
    var isCentral: Bool
    /// The characteristics it is subscribed to, in the order of its subscriptions.
    var subscriptions: [AttributeID] = []
  }

  enum Advertising: Equatable, Sendable {
    case off
    case starting(AdvertisingID)
    case on(AdvertisingID)
  }
}

extension PeripheralRole {
  /// Receives an event of the host, for this manager or for all.
  mutating func receive(_ event: HostEvent, into effects: inout PeripheralEffects) {
    switch event {
    case .services(.added(let id, let result)): serviceAdded(id, result, into: &effects)
    case .services(.removed(let id, let result)): serviceRemoved(id, result, into: &effects)
    case .advertising(let id, let event): receive(event, of: id, into: &effects)
    case .connected(let connection): connected(connection, into: &effects)
    case .link(let peer, let event): receive(event, of: peer, into: &effects)
    case .server(let peer, let event): receive(event, from: peer, into: &effects)
    case .channels(let event): receive(event, into: &effects)
    // The manager handles its state and what was refused; CBManager the address, pairing and bonds.
    case .state, .refused, .address, .pairing, .bonds: break
    // Of the central role.
    case .scanning, .connectionFailed, .foreignLink, .client: break
    // CoreBluetooth has no periodic advertising.
    case .synchronizing: break
    // The adapter's client, and its hub, handle these.
    case .channel, .capabilities, .diagnostic: break
    }
  }

  private mutating func receive(
    _ event: HostEvent.Advertising, of id: AdvertisingID, into effects: inout PeripheralEffects
  ) {
    switch event {
    case .started(let result): advertisingStarted(id, result, into: &effects)
    case .paused(let status):
      guard advertising == .on(id) else { return }
      effects.calls.append(.advertisingPaused(status.map { DisconnectReason(rawValue: $0.rawValue) }))
    case .resumed:
      guard advertising == .on(id) else { return }
      effects.calls.append(.advertisingResumed)
    case .ended(let error):
      guard advertising == .on(id) else { return }
      advertising = .off
      effects.calls.append(.advertisingEnded(CBError(error)))
    // CoreBluetooth has no periodic advertising.
    case .trainUpdated, .transferred: break
    }
  }

  private mutating func receive(_ event: HostEvent.Link, of peer: LinkID, into effects: inout PeripheralEffects) {
    switch event {
    case .identified(let identity): identified(peer, identity, into: &effects)
    case .disconnected(let reason):
      disconnected(peer, DisconnectReason(rawValue: reason.rawValue), into: &effects)
    case .mtu(let mtu):
      updateTarget = nil
      links[peer]?.central.update(mtu: mtu)
    case .connectionUpdated(let timing): connectionUpdated(peer, .success(timing), into: &effects)
    case .connectionUpdateRefused(let error): connectionUpdated(peer, .failure(error), into: &effects)
    case .security(let security): links[peer]?.central.update(security: security)
    case .rssi(let result): rssi(peer, result, into: &effects)
    case .phy(let result): phyUpdated(peer, result, into: &effects)
    case .connectionRate(let result): connectionUpdated(peer, result.map { LinkTiming($0) }, into: &effects)
    // CoreBluetooth reports no length of packets, no subrating and no power.
    case .dataLength, .subrating, .power: break
    }
  }

  private mutating func receive(_ event: HostEvent.Server, from peer: LinkID, into effects: inout PeripheralEffects) {
    switch event {
    case .read(let token, let attribute, let offset):
      read(peer, token, attribute, offset: offset, into: &effects)
    case .write(let token, let parts): write(peer, token, parts, into: &effects)
    case .command(let attribute, let value): command(peer, attribute, value, into: &effects)
    case .stored(let attribute, let value): stored(peer, attribute, value, into: &effects)
    case .requestTimedOut(let token): requestTimedOut(peer, token, into: &effects)
    case .subscription(let attribute, let subscription):
      subscriptionChanged(peer, attribute, subscription, into: &effects)
    // The manager counts them at once: `finishUpdates(_:)`.
    case .updateFinished, .updatesFinished: break
    }
  }

  private mutating func receive(_ event: HostEvent.Channels, into effects: inout PeripheralEffects) {
    switch event {
    case .listening(let id, let result): listening(id, result, into: &effects)
    case .stoppedListening(let psm): stoppedListening(psm, into: &effects)
    case .opened(let channel): channelOpened(channel, into: &effects)
    // Of the central role.
    case .openFailed: break
    }
  }

  /// The adapter went below powered on: links have ended, advertising is paused. Below powered off the host is assumed
  /// to have lost what was published too, so the application publishes it again.
  mutating func fell(
    to state: CBManagerState, because reason: AdapterError?, into effects: inout PeripheralEffects
  ) {
    awaitedRoom = []
    // This side ends the links when it is switched off. Otherwise they end with the controller that has lost them.
    let end: DisconnectReason = state == .poweredOff ? .connectionTerminatedByLocalHost : .hardwareFailure
    for peer in links.keys { disconnected(peer, end, into: &effects) }
    pending.removeAll()
    guard state.rawValue < CBManagerState.poweredOff.rawValue else { return }
    let cancelled = CBError(
      .operationCancelled,
      "\(state.cause(reason)); publish and advertise again when it is powered on")
    adds.failAll(cancelled)
    starts.failAll(cancelled)
    giveUpAdvertising(into: &effects)
    for id in published.keys.sorted(by: { $0.rawValue > $1.rawValue }) { withdraw(id, into: &effects) }
    withdrawChannels(cancelled, into: &effects)
    flushAnswers(into: &effects)
  }

  mutating func flushAnswers(into effects: inout PeripheralEffects) {
    while let (service, error) = adds.next() { effects.calls.append(.didAdd(service, error)) }
    while let (_, error) = starts.next() { effects.calls.append(.didStartAdvertising(error)) }
  }
}

/// The limits of one peripheral manager.
struct PeripheralLimits: Sendable {
  /// Values that may be pending for one central. If each subscriber has as many,
  /// ``CBPeripheralManager/updateValue(_:for:onSubscribedCentrals:)`` returns false.
  var pendingUpdates = 32
}

/// The effects of the machine, each kind in order.
struct PeripheralEffects: Sendable {
  var commands: [HostCommand] = []
  /// The read that the last command answers. Its value is not in the command, which would need a copy.
  var answered: CBATTRequest?
  var calls: [PeripheralManagerCall] = []
  /// Lines for the log about calls without effect.
  var misuses: [String] = []
  /// Lines for the log about calls that took effect, but perhaps not as intended.
  var warnings: [String] = []

  mutating func takeCalls() -> [PeripheralManagerCall] {
    defer { calls = [] }
    return calls
  }

  mutating func removeAll() {
    commands.removeAll(keepingCapacity: true)
    calls.removeAll(keepingCapacity: true)
    answered = nil
  }
}

/// One call of the delegate, as a value.
enum PeripheralManagerCall: Sendable {
  /// The objects are in ``PeripheralRole/report``, because a call that was made may stay in the queue for a moment and
  /// would retain them.
  case willRestore
  indirect case didAdd(CBMutableService, CBError?)
  indirect case didStartAdvertising(CBError?)
  case advertisingEnded(CBError)
  case advertisingPaused(DisconnectReason?)
  case advertisingResumed
  case connected(CBCentral)
  case identified(CBCentral, CBCentral)
  case disconnected(CBCentral, DisconnectReason)
  indirect case connectionUpdated(CBCentral, ConnectionTiming?, CBError?)
  indirect case rssi(CBCentral, Int?, CBError?)
  indirect case phy(CBCentral, ConnectionPHY?, CBError?)
  case didSubscribe(CBCentral, CBMutableCharacteristic)
  case didUnsubscribe(CBCentral, CBMutableCharacteristic)
  case didReceiveRead(CBATTRequest)
  case didReceiveWrite([CBATTRequest])
  case stored(CBCentral, CBAttribute)
  case isReady
  indirect case didPublishL2CAPChannel(CBL2CAPPSM, CBError?)
  indirect case didUnpublishL2CAPChannel(CBL2CAPPSM, CBError?)
  indirect case openedChannel(OpenedChannel, CBCentral?)
}
