import BLEATT
import BLEAdapter
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Foundation

/// The state of a central manager: its scan, its devices, its connections and what it waits for.
///
/// A machine like those of the layers below, without calls to the delegate. The manager protects it with its lock,
/// passes it the application's calls and the host's events, and performs the effects: commands immediately, delegate
/// calls on the queue.
struct CentralRole: Sendable {
  let limits: CentralLimits
  /// The manager of the peripherals that are created here.
  var owner = WeakObject<CBCentralManager>(nil)

  // Scanning (CentralRole+Scanning).
  var scan: ScanFilter?
  var scans: UInt64 = 0
  /// The arguments of the scan that runs.
  var declaredScan: RestoredConnections.Scan?
  var devices: ClientDevices<Device>
  /// Counts the times that everything found became invalid.
  var generation = 0

  // Connections (CentralRole+Connections).
  var pendingConnections: [ConnectID: DeviceAddress] = [:]
  var connections: [LinkID: PeripheralConnection] = [:]
  /// Links that this manager does not use: of other managers of this process, and of devices that connected to us.
  var otherLinks: [LinkID: OtherLink] = [:]
  var watchedEvents: WatchedEvents?

  /// What an earlier run declared (CentralRole+Restoration).
  var restoration: Restoration?
  /// The pending connections of an earlier run, until the program connects to the peripheral itself.
  var restoredConnections: Set<ConnectID> = []

  init(limits: CentralLimits = CentralLimits()) {
    self.limits = limits
    devices = ClientDevices(
      limit: limits.knownDevices, maximumOctets: limits.knownOctets, view: AdvertisementDictionary.self)
  }

  /// What the manager stores about a device.
  struct Device: Sendable {
    let address: DeviceAddress
    let identifier: UUID
    /// The application's object, which only the application retains.
    var object = WeakObject<CBPeripheral>(nil)
    var phase = Phase.disconnected
    /// The name of a device that advertises none: from its Device Name characteristic, or from another manager.
    var name: String?
  }

  /// How far a device is from being connected.
  ///
  /// ```
  ///   disconnected ─connect─► connecting ─────────► connected ─cancel─► disconnecting ─► disconnected
  ///                              └─cancel─► cancelling ──► disconnected, or (it came up all the same) disconnecting
  /// ```
  enum Phase: Equatable, Sendable {
    case disconnected
    /// `isPosted` is false while a start delay runs.
    case connecting(ConnectID, ConnectOptions, isPosted: Bool)
    /// `next`: connect again when it is over.
    case cancelling(ConnectID, next: ConnectOptions?)
    case connected(LinkID, ConnectOptions)
    case disconnecting(LinkID, next: ConnectOptions?)
  }

  /// A link of another manager, or one that a device made to us. A manager that connects to the device shares it.
  struct OtherLink: Sendable {
    var address: DeviceAddress
    /// Whether our central made it.
    var isOurs: Bool
    /// The services that the managers of the adapter had seen on the device when it connected.
    var services: [BluetoothUUID] = []
    var mtu = ATT.defaultMTU
  }

  /// The registration of ``CBCentralManager/registerForConnectionEvents(options:)``.
  struct WatchedEvents: Equatable, Sendable {
    static let serviceLimit = 4
    var services: [BluetoothUUID] = []
    var peripherals: [UUID] = []
  }
}

/// The limits of one central manager.
struct CentralLimits: Sendable {
  /// Devices remembered, besides those whose objects the application holds. The one not seen for the longest time is
  /// forgotten.
  var knownDevices = 32_768
  /// The octets of memory of what these devices have advertised, with the dictionaries for the delegate: 2 kB for each
  /// of ``knownDevices``. The device not seen for the longest time is forgotten; one whose object the application holds
  /// loses its advertisement.
  var knownOctets = 64 << 20
  /// The size of the operations of one peripheral that wait for their answer, and of its writes without response that
  /// have not left: 64 octets for each, and those that it writes. An operation that exceeds it fails with `outOfSpace`,
  /// and a write without response is dropped. More than programs ask for.
  var pendingOctets = 1 << 20
  /// Channels of one peripheral that are being opened, and readings of its signal strength and of its PHYs, each; one
  /// more fails with `outOfSpace`.
  var pendingRequests = 200
  /// Writes without response that are pending. From this number on,
  /// ``CBPeripheral/canSendWriteWithoutResponse`` is false.
  var pendingWrites = 16
}

/// The effects of the machine, each kind in order.
struct CentralEffects: Sendable {
  var commands: [HostCommand] = []
  var calls: [CentralManagerCall] = []
  /// Lines for the log about calls without effect.
  var misuses: [String] = []
  /// Lines for the log about what peers did.
  var notices: [String] = []
  /// For the managers of this adapter together.
  var facts: [AdapterDevices.Fact] = []
  /// The devices that were reported as before.
  var seenAgain: [DeviceAddress] = []

  mutating func takeCalls() -> [CentralManagerCall] {
    defer { calls = [] }
    return calls
  }
}

extension CentralRole {
  /// Receives an event of the host, for this manager or for all.
  mutating func receive(_ event: HostEvent, into effects: inout CentralEffects) {
    switch event {
    case .scanning(.discovered(let discoveries)): discovered(discoveries, into: &effects)
    case .scanning(.stopped(let error)):
      guard scan != nil else { return }
      endScan(into: &effects)
      if let error { effects.notices.append("the scan ended: \(error)") }
    case .connected(let connection): connected(connection, advertising: [], into: &effects)
    case .connectionFailed(let id, let error): connectionFailed(id, error, into: &effects)
    case .link(let peer, let event): receive(event, of: peer, into: &effects)
    case .client(let peer, let event): client(peer, event, into: &effects)
    case .bonds(.lost(let peer, _, let loss)): connections[peer]?.bondLoss = loss
    case .channels(.opened(let channel)): channelOpened(channel, into: &effects)
    case .channels(.openFailed(let id, let error)): channelNotOpened(id, error, into: &effects)
    // The manager handles its state, what was refused and the links of others; CBManager the address, pairing and the
    // other events of bonds.
    case .state, .refused, .foreignLink, .address, .pairing, .bonds(.changed), .bonds(.removed), .bonds(.replaced):
      break
    // Of the peripheral role.
    case .services, .advertising, .server, .channels(.listening), .channels(.stoppedListening): break
    // CoreBluetooth has no periodic advertising.
    case .synchronizing: break
    // The adapter's client, and its hub, handle these.
    case .channel, .capabilities, .diagnostic: break
    }
  }

  private mutating func receive(_ event: HostEvent.Link, of peer: LinkID, into effects: inout CentralEffects) {
    switch event {
    case .identified(let identity): otherLinks[peer]?.address = identity.identity
    case .mtu(let mtu): mtuChanged(peer, mtu)
    case .rssi(let result): rssi(peer, result, into: &effects)
    case .phy(let result): phyUpdated(peer, result, into: &effects)
    case .connectionRate(let result): rateUpdated(peer, result, into: &effects)
    // The manager handles the end, with what the hub knows of the link; CBManager the level.
    case .disconnected, .security: break
    // CoreBluetooth reports none of these to a central.
    case .connectionUpdated, .connectionUpdateRefused, .dataLength, .subrating, .power: break
    }
  }

  /// The adapter went below powered on: scans and links have ended. Below powered off every peripheral is
  /// invalid and must be found or retrieved anew.
  mutating func fell(to state: CBManagerState, because reason: AdapterError?, into effects: inout CentralEffects) {
    if scan != nil {
      scan = nil
      effects.commands.append(.scanning(.stop))
    }
    let cause = state.cause(reason)
    for peer in connections.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      linkEnded(peer, CBError(.notConnected, "the link has ended: \(cause)"), reconnects: false, into: &effects)
    }
    for (_, link) in otherLinks.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where link.isOurs {
      tell(.peerDisconnected, of: link.address, link.services, into: &effects)
    }
    otherLinks = [:]
    for (id, _) in pendingConnections.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      effects.commands.append(.initiating(.cancel(id)))
      let error = CBError(.operationCancelled, "\(cause); connect again when it is powered on")
      connectionEnded(id, error, into: &effects)
    }
    guard state.rawValue < CBManagerState.poweredOff.rawValue else { return }
    generation += 1
    for address in devices.all { devices[address]?.object = WeakObject(nil) }
    devices.removeRecords()
  }

  /// The device of a valid peripheral of this manager.
  func device(of peripheral: CBPeripheral) -> Device? {
    guard let address = devices.address(of: PeerIdentifier(peripheral.identifier)), let device = devices[address],
      device.object.object === peripheral
    else { return nil }
    return device
  }

  /// As ``device(of:)``, with a line in the log where there is none.
  func device(of peripheral: CBPeripheral, for command: StaticString, into effects: inout CentralEffects) -> Device? {
    guard let device = device(of: peripheral) else {
      effects.misuses.append(
        "\(command): \(peripheral) is not a valid peripheral of this manager: find or retrieve it again")
      return nil
    }
    return device
  }

  /// The application's object for a device; a new one where it holds none.
  mutating func peripheral(at address: DeviceAddress) -> CBPeripheral? {
    guard let device = devices[address] else { return nil }
    if let object = device.object.object { return object }
    let object = CBPeripheral(identifier: device.identifier, manager: owner)
    object.update(name: devices.record(of: address).name ?? device.name)
    devices[address]?.object = WeakObject(object)
    return object
  }

  /// Stores a device, and removes another one where there is no room.
  ///
  /// - Returns: its place in ``devices``.
  @discardableResult
  mutating func slot(of address: DeviceAddress) -> Int {
    devices.slot(of: address, isNeeded: Self.isNeeded) { identifier in
      Device(address: address, identifier: identifier.uuid)
    }
  }

  /// Whether a device has to stay.
  static func isNeeded(_ device: Device) -> Bool { device.phase != .disconnected || device.object.object != nil }

  /// Remembers a device that the managers of this adapter know.
  mutating func remember(_ known: AdapterDevices.Device, into effects: inout CentralEffects) {
    let slot = slot(of: known.address)
    guard let name = known.name else { return }
    devices[slot: slot].name = name
    guard let object = devices[slot: slot].object.object, object.name == nil else { return }
    object.update(name: name)
    effects.calls.append(.peripheral(object, .updatedName))
  }

  /// The manager ends: its peripherals are disconnected.
  func end() {
    for connection in connections.values { connection.forgetNotifying() }
    for address in devices.all { devices[address]?.object.object?.update(state: .disconnected) }
  }

  /// The application released its object: its connection is cancelled.
  mutating func released(_ identifier: UUID, into effects: inout CentralEffects) {
    guard let address = devices.address(of: PeerIdentifier(identifier)), let device = devices[address],
      device.object.object == nil
    else {
      return
    }
    switch device.phase {
    case .connecting(let id, _, _):
      effects.misuses.append(
        "cancelling the connection to \(address): the program holds no reference to the peripheral")
      pendingConnections[id] = nil
      devices[address]?.phase = .disconnected
      effects.commands.append(.initiating(.cancel(id)))
    case .connected(let peer, _):
      effects.misuses.append("ending the connection to \(address): the program holds no reference to the peripheral")
      devices[address]?.phase = .disconnecting(peer, next: nil)
      effects.commands.append(.link(peer, .release))
    case .disconnected, .cancelling, .disconnecting: break
    }
  }
}
