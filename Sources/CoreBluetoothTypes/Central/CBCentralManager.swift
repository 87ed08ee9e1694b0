public import BLEAdapter
import BLEHost
package import BLELinux
import BLEWire
public import Foundation
import Synchronization

/// Scans for peripherals and connects to them; mirrors `CBCentralManager`.
///
/// ```swift
/// final class Finder: NSObject, CBCentralManagerDelegate {
///   var manager: CBCentralManager?
///   var found: CBPeripheral?
///
///   func centralManagerDidUpdateState(_ central: CBCentralManager) {
///     guard central.state == .poweredOn else { return print(central.stateReason ?? "not on yet") }
///     central.scanForPeripherals(withServices: ["180D"])
///   }
///
///   func centralManager(
///     _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
///     rssi: NSNumber
///   ) {
///     found = peripheral
///     central.stopScan()
///     central.connect(peripheral)
///   }
/// }
/// ```
///
/// The delegates of the manager and of its peripherals are called on the given queue. Without one they are called on
/// the main queue, and the program runs `dispatchMain()` or a run loop. Commands are accepted only in the state
/// ``CBManagerState/poweredOn``; in other states they are dropped with a line in the log. A manager that is released
/// ends its scan and its links.
///
/// The locks are `machine` and those of ``CBManager``.
open class CBCentralManager: CBManager, @unchecked Sendable {
  private let machine: Mutex<CentralRole>
  /// The number of the scan in the machine, 0 for none: reports of another scan that wait for their call are dropped.
  let activeScan = Atomic<UInt64>(0)
  /// The lock is `delegateLock`.
  private weak var heldDelegate: (any CBCentralManagerDelegate)?

  /// Creates a manager without a delegate. Its delegate calls come on the main queue.
  public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

  /// Creates a manager of the default adapter.
  ///
  /// - Parameters:
  ///   - delegate: is not retained.
  ///   - queue: the queue of the delegate calls; nil is the main queue.
  public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// - Parameters:
  ///   - delegate: is not kept alive.
  ///   - queue: the queue of the delegate calls; nil is the main queue. Even on a concurrent queue, the calls come one
  ///     at a time.
  ///   - options: CoreBluetooth's ``CBCentralManagerOptionRestoreIdentifierKey``, and ``CBManagerOptionTransportKey``
  ///     and the other keys of its group.
  public init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
    machine = Mutex(CentralRole())
    heldDelegate = delegate
    super.init(
      options: options, of: "CBCentralManager", restoring: CBCentralManagerOptionRestoreIdentifierKey, as: .central,
      queue: queue)
    begin()
  }

  /// Creates a manager of one of several adapters. CoreBluetooth has only one.
  ///
  /// - Parameter restoreIdentifier: see ``CBCentralManagerOptionRestoreIdentifierKey``.
  public convenience init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, adapter: AdapterOptions,
    restoreIdentifier: String? = nil
  ) {
    self.init(
      delegate: delegate, queue: queue, link: HostConnection(adapter),
      restoration: restoreIdentifier.flatMap { .open($0, .central, adapter) })
  }

  /// A manager over `link`; the tests play the host there.
  init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, link: any AdapterLink,
    limits: CentralLimits = CentralLimits(), restoration: RestorationStore? = nil,
    log: @escaping Log = BluetoothLog.write, later: @escaping ChannelStream.Timer = ChannelStream.wait
  ) {
    machine = Mutex(CentralRole(limits: limits))
    heldDelegate = delegate
    super.init(link: link, queue: queue, log: log, restoration: restoration, later: later)
    begin()
  }

  /// A manager of a device of `BLETesting`.
  package convenience init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, over link: any AdapterLink,
    restoration: RestorationStore?, log: @escaping Log, later: @escaping ChannelStream.Timer
  ) {
    self.init(delegate: delegate, queue: queue, link: link, restoration: restoration, log: log, later: later)
  }

  private func begin() {
    let restored = restoration?.restored(RestoredConnections.self)
    machine.withLock { state in
      state.owner = WeakObject(self)
      if let restored, !restored.isEmpty { state.restoration = .init(restored) }
    }
    examine(heldDelegate)
    listen()
  }

  private func examine(_ delegate: (any CBCentralManagerDelegate)?) {
    examine(delegate, "CBCentralManagerDelegate") { $0 is any CBCentralManagerDelegate.Type }
  }

  deinit {
    restoration?.settle(content: restorable)
    machine.withLock { $0.end() }
  }

  /// The state for the next run to restore; nil while the adapter's state, not the application, decides what is active.
  private var restorable: RestoredConnections? { state == .poweredOn ? machine.withLock { $0.restorable } : nil }

  /// The delegate. The manager does not retain it.
  open var delegate: (any CBCentralManagerDelegate)? {
    get {
      var found: (any CBCentralManagerDelegate)?
      delegateLock.withLock { _ in found = heldDelegate }
      return found
    }
    set {
      delegateLock.withLock { _ in heldDelegate = newValue }
      examine(newValue)
    }
  }

  /// Whether a scan runs.
  open var isScanning: Bool { state == .poweredOn && machine.withLock { $0.scan != nil } }

  /// A feature of Apple's hardware; mirrors `CBCentralManager.Feature`.
  public struct Feature: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Extended advertisements are found and connected to.
    public static let extendedScanAndConnect = Self(rawValue: 0x01)
  }

  /// Whether the adapters of this process have these features. It is false before an adapter is powered on, because an
  /// adapter reports its features then.
  open class func supports(_ features: Feature) -> Bool {
    supports(features, on: AdapterHub.capabilities)
  }

  static func supports(_ features: Feature, on adapters: [ControllerCapabilities]) -> Bool {
    if features.isEmpty { return true }
    guard !adapters.isEmpty, features == .extendedScanAndConnect else { return false }
    return adapters.allSatisfy(\.scansByExtendedCommands)
  }

  /// Scans for devices until ``stopScan()``;
  /// ``CBCentralManagerDelegate/centralManager(_:didDiscover:advertisementData:rssi:)`` reports each of them once, and
  /// once more when its scan response adds something. It replaces a running scan.
  ///
  /// - Parameters:
  ///   - serviceUUIDs: report devices that have one of these, in their list or, perhaps, in Apple's overflow area; nil
  ///     reports all.
  ///   - options: CoreBluetooth's ``CBCentralManagerScanOptionAllowDuplicatesKey`` and
  ///     ``CBCentralManagerScanOptionSolicitedServiceUUIDsKey``, and ``CBCentralManagerScanOptionPassiveKey`` and the
  ///     other keys of its group.
  open func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
    guard accepts("scanForPeripherals") else { return }
    reportIgnored(
      options, of: "scanForPeripherals",
      known: [
        CBCentralManagerScanOptionAllowDuplicatesKey, CBCentralManagerScanOptionSolicitedServiceUUIDsKey,
        CBCentralManagerScanOptionPassiveKey, CBCentralManagerScanOptionIntervalKey,
        CBCentralManagerScanOptionWindowKey, CBCentralManagerScanOptionPHYsKey,
        CBCentralManagerScanOptionWaitsForScanResponseKey,
      ])
    let allowsDuplicates = isTrue(options?[CBCentralManagerScanOptionAllowDuplicatesKey])
    let solicited = BluetoothUUID.list(options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey]) ?? []
    let parameters = ScanParameters(options) { misuse($0) }
    let declared = RestoredConnections.Scan(serviceUUIDs, options)
    run {
      $0.startScan(
        (serviceUUIDs ?? []).map(\.value), solicited: solicited, allowsDuplicates: allowsDuplicates, parameters,
        into: &$1)
      $0.declaredScan = declared
    }
  }

  /// Stops the scan of this manager.
  open func stopScan() {
    guard accepts("stopScan") else { return }
    run { $0.stopScan(into: &$1) }
  }

  /// The devices with these identifiers: those that a manager of this adapter has reported, those that the program has
  /// connected to, in this run or an earlier one (`AdapterOptions.deviceStorage`), and the bonded ones. A connection to
  /// a bonded device finds it under any private address.
  open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
    guard accepts("retrievePeripherals") else { return [] }
    let bonded = bonds.filter { identifiers.contains($0.id) }
    let known = identifiers.compactMap { client.hub?.devices.device(of: PeerIdentifier($0)) }
    return run { state, effects in
      for bond in bonded { state.slot(of: bond.identity) }
      for device in known { state.remember(device, into: &effects) }
      return state.retrieve(identifiers)
    }
  }

  /// Devices that any manager of this process is connected to and that are known to have one of the services: they
  /// advertise it, or it was discovered (for a bonded device, on an earlier link as well). On an adapter that the
  /// kernel runs, the list includes devices that other programs are connected to.
  ///
  /// This manager has to ``connect(_:options:)`` to them as well. A device that another program is connected to becomes
  /// connected when that link has ended.
  open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
    guard accepts("retrieveConnectedPeripherals") else { return [] }
    let known = client.connectedDevices(with: serviceUUIDs.map(\.value))
    return run { state, effects in state.retrieve(known, into: &effects) }
  }

  /// The device with an address, found or not. CoreBluetooth does not report addresses.
  ///
  /// - Parameter address: such as `C0:11:22:33:44:55`, most significant octet first.
  /// - Returns: nil if `address` is not an address.
  public final func retrievePeripheral(withAddress address: String, isRandom: Bool) -> CBPeripheral? {
    guard accepts("retrievePeripheral"), let address = DeviceAddress(address, kind: isRandom ? .random : .public)
    else { return nil }
    return run { state, _ in
      state.slot(of: address)
      return state.peripheral(at: address)
    }
  }

  /// Connects, without a timeout; ``CBCentralManagerDelegate/centralManager(_:didConnect:)`` or
  /// ``CBCentralManagerDelegate/centralManager(_:didFailToConnect:error:)`` reports the result. Keep `peripheral`: a
  /// connection whose peripheral is released is cancelled.
  ///
  /// - Parameter options: CoreBluetooth's ``CBConnectPeripheralOptionStartDelayKey`` and
  ///   ``CBConnectPeripheralOptionEnableAutoReconnect``, and ``CBConnectPeripheralOptionParametersKey`` and
  ///   ``CBConnectPeripheralOptionPHYsKey``.
  open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
    guard accepts("connect") else { return }
    reportIgnored(
      options, of: "connect",
      known: [
        CBConnectPeripheralOptionStartDelayKey, CBConnectPeripheralOptionEnableAutoReconnect,
        CBConnectPeripheralOptionParametersKey, CBConnectPeripheralOptionPHYsKey, CBConnectPeripheralOptionRequiresANCS,
      ])
    switch Result(catching: { () throws(CBError) in try ConnectOptions(options) }) {
    case .success(let options): run { $0.connect(peripheral, options, into: &$1) }
    case .failure(let error):
      if error.code == .operationNotSupported { warnOnce("connect: \(error.localizedDescription)") }
      run { $1.calls.append(.failedToConnect(peripheral, error)) }
    }
  }

  /// Ends a link or cancels a pending connection; the delegate is called without an error.
  open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
    guard accepts("cancelPeripheralConnection") else { return }
    run { $0.cancel(peripheral, into: &$1) }
  }

  /// Registers for the links of certain devices with any manager of this process and, on an adapter that the kernel
  /// runs, with other programs; nil ends the registration.
  ///
  /// - Parameter options: the devices, by services that they advertise or that were discovered (at most four UUIDs),
  ///   and by identifiers. Invalid options are logged and change nothing.
  open func registerForConnectionEvents(options: [CBConnectionEventMatchingOption: Any]? = nil) {
    guard accepts("registerForConnectionEvents") else { return }
    let watched = options.map { CentralRole.WatchedEvents($0) { misuse("registerForConnectionEvents: \($0)") } }
    if let watched, watched.services.count > CentralRole.WatchedEvents.serviceLimit {
      return misuse(
        "registerForConnectionEvents: \(watched.services.count) service UUIDs are too many: four at most")
    }
    run { state, _ in state.watchedEvents = watched }
  }

  /// Runs the machine and performs its effects: commands under the lock, so that they are sent in the order of the
  /// changes, and delegate calls on the queue.
  @discardableResult
  final func run<Result: Sendable>(
    _ body: (inout CentralRole, inout CentralEffects) -> Result
  ) -> Result {
    let (result, hasCalls) = step(body)
    if hasCalls { scheduleCalls() }
    return result
  }

  private func step<Result: Sendable>(
    _ body: (inout CentralRole, inout CentralEffects) -> Result
  ) -> (Result, hasCalls: Bool) {
    let (result, effects) = client.commands.batch { batch in
      machine.withLock { state in
        var effects = CentralEffects()
        let result = body(&state, &effects)
        // Under the lock, so that commands are sent in the order of the changes.
        var index = 0
        while index < effects.commands.count {
          let command = effects.commands[index]
          if !batch.append(command), let refusal = command.refusal { state.receive(refusal, into: &effects) }
          index += 1
        }
        activeScan.store(state.scan?.number ?? 0, ordering: .releasing)
        append(effects.calls) { .central($0) }
        return (result, effects)
      }
    }
    if !effects.facts.isEmpty || !effects.seenAgain.isEmpty, let hub = client.hub {
      for fact in effects.facts { hub.note(fact) }
      hub.devices.noteAgain(effects.seenAgain)
    }
    for line in effects.misuses { misuse(line) }
    for line in effects.notices { log(.notice(line, .peer)) }
    if !effects.commands.isEmpty || !effects.calls.isEmpty {
      restoration?.schedule { [weak self] in self?.restorable }
    }
    return (result, !effects.calls.isEmpty)
  }

  /// Whether the call for more writes without response is made now.
  final func takeReadyCall(of peripheral: CBPeripheral) -> Bool {
    machine.withLock { $0.takeReadyCall(of: peripheral) }
  }

  override func peer(named name: LinkID) -> CBPeer? {
    machine.withLock { state in
      guard let connection = state.connections[name] else { return nil }
      return state.devices[connection.address]?.object.object
    }
  }

  /// Encrypts the link to a peripheral with the keys of an earlier pairing, or pairs. The ``CBManager/pairingDelegate``
  /// receives the result. CoreBluetooth pairs only when an attribute requires it, and has no such call.
  ///
  /// The call is the application's consent to an unauthenticated pairing: `PairingOptions.asksConsent` does not ask
  /// again.
  public final func pair(with peripheral: CBPeripheral) { pair(with: peripheral, .requestSecurity) }

  /// Encrypts the link to a peripheral with the keys of an earlier pairing that has the level, or pairs. A pairing that
  /// cannot reach the level fails (Vol 3, Part H, 2.3.5.1): the ``CBManager/pairingDelegate`` receives the error.
  ///
  /// - Parameters:
  ///   - level: encrypted, authenticated or Secure Connections; `none` does nothing.
  ///   - asksConsent: whether the delegate is asked before a pairing without authentication (Just Works), although the
  ///     program has requested the pairing. The user then learns that the devices could not be authenticated.
  public final func pair(with peripheral: CBPeripheral, level: PeerSecurity.Level, asksConsent: Bool = false) {
    guard let demand = PeerSecurity.demand(level, asksConsent: asksConsent) else { return }
    pair(with: peripheral, .secure(demand))
  }

  private func pair(with peripheral: CBPeripheral, _ command: HostCommand.Link) {
    guard accepts("pair") else { return }
    let name = machine.withLock { state in
      state.connections.first { state.devices[$0.value.address]?.object.object === peripheral }?.key
    }
    guard let name else { return misuse("pair: \(peripheral) is not connected") }
    client.commands.post(.link(name, command))
  }

  override func receive(_ event: HostEvent) {
    switch event {
    case .state(let state, let reason): stateChanged(CBManagerState(state), reason)
    case .refused(let error): log(.notice("\(error)"))
    case .link(let peer, .disconnected(let reason)):
      // The host tells this manager alone that its use of a link has ended; the link is then still up.
      let isUp = client.hub?.devices.isUp(peer) ?? false
      _ = step { $0.disconnected(peer, reason, isUp: isUp, into: &$1) }
    case .connected(let connection):
      let services = client.knownServices(of: connection.address.identity)
      _ = step { $0.connected(connection, advertising: services, into: &$1) }
    case .foreignLink(let device, let isUp):
      let services = client.knownServices(of: device)
      _ = step { $0.tell(isUp ? .peerConnected : .peerDisconnected, of: device, services, into: &$1) }
    case .address, .capabilities, .diagnostic, .services, .advertising, .scanning, .synchronizing, .connectionFailed,
      .link(_, .identified), .link(_, .mtu), .link(_, .connectionUpdated), .link(_, .connectionUpdateRefused),
      .link(_, .dataLength), .link(_, .phy), .link(_, .subrating), .link(_, .connectionRate), .link(_, .rssi),
      .link(_, .power), .link(_, .security), .client, .server, .pairing, .bonds,
      .channels, .channel:
      _ = step { $0.receive(event, into: &$1) }
    }
  }

  override func make(_ call: ManagerCall) {
    switch call {
    case .stateChanged: delegate?.centralManagerDidUpdateState(self)
    case .central(let call): make(call)
    case .peripheral, .pairing: super.make(call)
    }
  }

  private func stateChanged(_ new: CBManagerState, _ reason: HostError?) {
    let reason = client.reason(reason)
    guard update(state: new, reason: reason) else { return }
    // What is restored is reported before the state, and what ends with the state after it.
    let (ends, _) = step { state, effects in
      if new != .poweredOn { state.fell(to: new, because: reason, into: &effects) }
      return effects.takeCalls()
    }
    _ = step { $0.restore(isPoweredOn: new == .poweredOn, into: &$1) }
    append(.stateChanged)
    append(ends) { .central($0) }
  }

  /// A peripheral of this manager was released, on any thread, possibly with the lock held.
  final func released(_ identifier: UUID) {
    client.queue.async { [weak self] in self?.run { $0.released(identifier, into: &$1) } }
  }
}
