import BLEATT
import BLEAdapter
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire

/// One link, for as long as it is up.
struct LinkState: Sendable {
  var address: DeviceAddress
  var isCentral: Bool
  /// The name that the device advertised before this one connected to it.
  var name: String?
  var mtu = ATT.defaultMTU
  var timing: LinkTiming
  var subrating = ConnectionSubrating.none
  var dataLength = ConnectionDataLength()
  /// At most one: the transmit power and the path loss, in memory of their own, because most links have none.
  var powerStates: [DevicePower] = []
  var security = SecurityState()
  /// Why the link could not be encrypted with the key of its bond.
  var bondLoss: BondLoss?
  /// Why the last pairing failed; nil after one that did not.
  var pairingFailure: PairingFailure?
  /// Whether something that was received on the link proves that it is established.
  var isProven = true

  // Our server (Peripheral).
  /// The value from which the parts of the last long read are cut.
  var snapshot: ValueSnapshot?
  var subscriptions: [AttributeID: SubscriptionTask] = [:]

  // Our client (Central).
  var discovered: [BluetoothUUID: [RemoteService]] = [:]
  var watchesServices = false
  var changes = ServiceChanges()
  var discoveryFaults: [RemoteDevice.DiscoveryFault] = []
  /// The readers of the values of characteristics, by the handles of the values.
  var values: [AttributeHandle: SubscribedCharacteristic] = [:]
  /// Those of characteristics that are being found again after a change of the services.
  var displaced: [SubscribedCharacteristic] = []
  var allValues = ValueStreams<AttributeValue>()
  var earlyValues = EarlyValues()
  /// The ends of subscriptions on their way to the device; a program that ends the link waits for them.
  var withdrawals: Set<GATTClient.OperationID> = []

  /// The link has a key: what has failed before explains no later error.
  mutating func forgetFailures() { (bondLoss, pairingFailure) = (nil, nil) }
}

/// The last value of each characteristic that arrived before anything subscribed to it on this link. A device that is
/// bonded keeps the subscriptions of the link before, and may send as soon as the link is encrypted.
struct EarlyValues: Sendable {
  /// Values of more characteristics are not kept.
  private static let limit = 16

  private var values: [AttributeHandle: [UInt8]] = [:]
  /// The characteristics that were subscribed to.
  private var claimed: Set<AttributeHandle> = []

  mutating func add(_ value: [UInt8], at handle: AttributeHandle) {
    guard !claimed.contains(handle), values[handle] != nil || values.count < Self.limit else { return }
    values[handle] = value
  }

  /// The value, for the first reader of the characteristic.
  mutating func claim(_ handle: AttributeHandle) -> [UInt8]? {
    claimed.insert(handle)
    return values.removeValue(forKey: handle)
  }

  /// The attributes at these handles have changed.
  mutating func remove(in range: ClosedRange<AttributeHandle>) {
    values = values.filter { !range.contains($0.key) }
  }
}

/// How the last links ended: an operation that begins after the end of its link throws the reason.
struct EndedLinks: Sendable {
  private static let limit = 32
  private var links: [(peer: LinkID, name: String?, end: BLEError, error: BLEError)] = []

  mutating func add(_ peer: LinkID, _ name: String?, _ end: BLEError, _ error: BLEError) {
    if links.count == Self.limit { links.removeFirst() }
    links.append((peer, name, end, error))
  }

  /// The name that the device had.
  func name(of peer: LinkID) -> String? { links.last { $0.peer == peer }?.name }

  /// The end of the link, for those who wait for it; of kind ``BLEError/Kind/disconnected``.
  func end(of peer: LinkID) -> BLEError { links.last { $0.peer == peer }?.end ?? .notConnected }

  /// Why the link is not up, for those who use it.
  func error(of peer: LinkID) -> BLEError { links.last { $0.peer == peer }?.error ?? .notConnected }
}

extension AdapterSession.State {
  mutating func connected(_ connection: ConnectedLink, of session: AdapterSession, into actions: inout Actions) {
    let device = RemoteDevice(
      session: session, peer: connection.peer, address: connection.address, isCentral: connection.role == .peripheral)
    if links[connection.peer] == nil {
      links[connection.peer] = LinkState(
        address: connection.address, isCentral: connection.role == .peripheral, timing: connection.timing,
        isProven: connection.role == .peripheral)
      clients[connection.peer] = ServedClient(
        address: connection.address, isCentral: connection.role == .peripheral)
      // A device that connected to this one; those that this one connects to are the results of `connect`.
      if connection.role == .peripheral { connectionStreams.yield(device, into: &actions) }
    }
    guard let request = connection.request else { return }
    waits.answer(.connection(request), .success(device), into: &actions)
    // The link came up while its task gave up: the host had no request to cancel any more. A link that the device has
    // made stays, because the device uses it. The request may also be that of another owner, which is reported to
    // everyone.
    let isAbandoned = abandonedConnects.remove(request) != nil
    if isAbandoned, connection.role == .central { actions.commands.append(.link(connection.peer, .release)) }
  }

  /// The device has sent something on the link.
  mutating func proven(_ peer: LinkID, into actions: inout Actions) {
    guard links[peer]?.isProven == false else { return }
    links[peer]?.isProven = true
    waits.answer(.linkProof(peer), .success(()), into: &actions)
  }

  /// The device at the other end of a link; nil where the link has ended.
  func device(_ peer: LinkID, of session: AdapterSession) -> RemoteDevice? {
    clients[peer].map { RemoteDevice(session: session, peer: peer, address: $0.address, isCentral: $0.isCentral) }
  }

  mutating func disconnected(_ peer: LinkID, _ reason: HCIErrorCode, into actions: inout Actions) {
    let end = BLEError(
      .disconnected, "the link ended: \(reason)", disconnectReason: DisconnectReason(rawValue: reason.rawValue))
    // A link that could not be encrypted ends for a reason that has a remedy.
    let error = links[peer]?.bondLoss.map { BLEError($0) } ?? end
    if let failure = links[peer]?.pairingFailure, failure.origin == .linkLost {
      pairingEnded(
        peer, .failure(BLEError(failure, DisconnectReason(rawValue: reason.rawValue))), into: &actions)
    }
    endedLinks.add(peer, links.lend(peer) { $0.name }, end, error)
    linkEnded(peer, end, error, into: &actions)
  }

  /// Everything that waits for the end of the link has `end`, and everything that uses it ends with `error`.
  mutating func linkEnded(_ peer: LinkID, _ end: BLEError, _ error: BLEError, into actions: inout Actions) {
    guard let link = links.removeValue(forKey: peer) else { return }
    clients[peer] = nil
    updatesEnded(of: peer, end, into: &actions)
    if let requests = requestQueues.removeValue(forKey: peer) { actions.later { requests.finish() } }
    for subscription in link.subscriptions.values { subscription.end(into: &actions) }
    for it in link.values.values { it.readers.finish(throwing: error, into: &actions) }
    for it in link.displaced { it.readers.finish(throwing: error, into: &actions) }
    link.allValues.finish(throwing: error, into: &actions)
    link.powerStates.first?.changes.finish(throwing: error, into: &actions)
    link.powerStates.first?.zones.finish(throwing: error, into: &actions)
    rssiReads[peer] = nil
    waits.linkEnded(peer, end, error, into: &actions)
  }

  mutating func securityChanged(_ peer: LinkID, _ security: SecurityState, into actions: inout Actions) {
    links[peer]?.security = security
    if security.level > .none { proven(peer, into: &actions) }
    if security.isBondProven { links[peer]?.forgetFailures() }
    // The link is encrypted with a new key before the keys are distributed (Vol 3, Part H, 2.4.3): `paired` reports the
    // end of that.
    guard security.isBondProven else { return }
    pairingEnded(peer, upTo: security.level, .success(()), into: &actions)
  }

  /// A pairing is complete. One that made a bond is reported once more, as a change of the security of the link.
  mutating func paired(_ peer: LinkID, _ device: PairedDevice, into actions: inout Actions) {
    links[peer]?.forgetFailures()
    guard !device.isBonded, let level = links[peer]?.security.level else { return }
    pairingEnded(peer, upTo: level, .success(()), into: &actions)
  }

  /// Ends the waits for pairings that have to reach a level up to `level`.
  mutating func pairingEnded(
    _ peer: LinkID, upTo level: SecurityLevel = .secureConnections, _ result: Result<Void, BLEError>,
    into actions: inout Actions
  ) {
    for number in 0...level.rawValue {
      guard let reached = SecurityLevel(rawValue: number) else { continue }
      waits.answer(.pairing(peer, reached), result, into: &actions)
    }
  }

  mutating func rssi(_ peer: LinkID, _ result: Result<Int8, HostError>, into actions: inout Actions) {
    guard let first = rssiReads[peer]?.first else { return }
    rssiReads[peer]?.removeFirst()
    waits.answer(.rssi(peer, read: first), result.map(Int.init).mapError(BLEError.init), into: &actions)
  }

  mutating func phyChanged(_ peer: LinkID, _ result: Result<ConnectionPHY, HostError>, into actions: inout Actions) {
    waits.answer(.phy(peer), result.mapError(BLEError.init), into: &actions)
  }

  mutating func timingChanged(_ peer: LinkID, _ timing: LinkTiming, into actions: inout Actions) {
    links[peer]?.timing = timing
    waits.answer(.timing(peer), .success(ConnectionTiming(timing)), into: &actions)
  }

  mutating func subratingChanged(
    _ peer: LinkID, _ result: Result<LinkSubrating, HostError>, into actions: inout Actions
  ) {
    if case .success(let subrating) = result {
      links[peer]?.subrating = ConnectionSubrating(subrating)
      links[peer]?.timing.latency = subrating.latency
      links[peer]?.timing.supervisionTimeout = subrating.supervisionTimeout
    }
    waits.answer(.subrating(peer), result.map { ConnectionSubrating($0) }.mapError(BLEError.init), into: &actions)
  }

  mutating func connectionRateChanged(
    _ peer: LinkID, _ result: Result<LinkRate, HostError>, into actions: inout Actions
  ) {
    if case .success(let rate) = result {
      links[peer]?.subrating = ConnectionSubrating(rate.subrating)
      links[peer]?.timing = LinkTiming(rate)
    }
    waits.answer(
      .connectionRate(peer), result.map { ConnectionTiming(LinkTiming($0)) }.mapError(BLEError.init), into: &actions)
  }

  /// - Throws: why the link is not up: ``BLEError/Kind/disconnected``, or ``BLEError/Kind/security`` after the loss of
  ///   its bond.
  func requireLink(_ peer: LinkID) throws(BLEError) {
    guard links.contains(peer) else { throw endedLinks.error(of: peer) }
  }
}
