public import BLEAdapter
import BLEGAP
import BLEHost
import BLEL2CAP
package import BLELinux
import BLEWire
public import Dispatch
public import Foundation
import Synchronization

/// Publishes services, advertises them and answers the centrals that connect; mirrors `CBPeripheralManager`.
///
/// ```swift
/// final class Thermometer: NSObject, CBPeripheralManagerDelegate {
///   var manager: CBPeripheralManager?
///
///   func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
///     guard peripheral.state == .poweredOn else { return print(peripheral.stateReason ?? "not on yet") }
///     let temperature = CBMutableCharacteristic(
///       type: "2A6E", properties: [.read], value: Data([0x98, 0x08]), permissions: [.readable])
///     let service = CBMutableService(type: "181A", primary: true)
///     service.characteristics = [temperature]
///     peripheral.add(service)
///     peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
///   }
/// }
/// ```
///
/// The delegate is called on the given queue. Without one it is called on the main queue, and the program runs
/// `dispatchMain()` or a run loop. Commands are accepted only in the state ``CBManagerState/poweredOn``; in other
/// states they are dropped with a line in the log. The services and the advertisement of a manager end with it.
///
/// The locks are `machine` and those of ``CBManager``.
open class CBPeripheralManager: CBManager, @unchecked Sendable {
  final let machine: Mutex<PeripheralRole>
  /// The lock is `delegateLock`.
  private weak var heldDelegate: (any CBPeripheralManagerDelegate)?

  /// Creates a manager without a delegate. Its delegate calls come on the main queue.
  public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

  /// Creates a manager of the default adapter.
  ///
  /// - Parameters:
  ///   - delegate: is not retained.
  ///   - queue: the queue of the delegate calls; nil is the main queue.
  public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// - Parameters:
  ///   - delegate: is not kept alive.
  ///   - queue: the queue of the delegate calls; nil is the main queue. Even on a concurrent queue, the calls come one
  ///     at a time.
  ///   - options: CoreBluetooth's ``CBPeripheralManagerOptionRestoreIdentifierKey``, and
  ///     ``CBManagerOptionTransportKey`` and the other keys of its group.
  public init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
  ) {
    machine = Mutex(PeripheralRole())
    heldDelegate = delegate
    super.init(
      options: options, of: "CBPeripheralManager", restoring: CBPeripheralManagerOptionRestoreIdentifierKey,
      as: .peripheral,
      queue: queue)
    begin()
  }

  /// Creates a manager of one of several adapters. CoreBluetooth has only one.
  ///
  /// - Parameter restoreIdentifier: see ``CBPeripheralManagerOptionRestoreIdentifierKey``.
  public convenience init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, adapter: AdapterOptions,
    restoreIdentifier: String? = nil
  ) {
    self.init(
      delegate: delegate, queue: queue, link: HostConnection(adapter),
      restoration: restoreIdentifier.flatMap { .open($0, .peripheral, adapter) })
  }

  /// A manager over `link`; the tests play the host there.
  init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, link: any AdapterLink,
    limits: PeripheralLimits = PeripheralLimits(), restoration: RestorationStore? = nil,
    log: @escaping Log = BluetoothLog.write, later: @escaping ChannelStream.Timer = ChannelStream.wait
  ) {
    machine = Mutex(PeripheralRole(limits: limits))
    heldDelegate = delegate
    super.init(link: link, queue: queue, log: log, restoration: restoration, later: later)
    begin()
  }

  /// A manager of a device of `BLETesting`.
  package convenience init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, over link: any AdapterLink,
    restoration: RestorationStore?, log: @escaping Log, later: @escaping ChannelStream.Timer
  ) {
    self.init(delegate: delegate, queue: queue, link: link, restoration: restoration, log: log, later: later)
  }

  private func begin() {
    if let restored = restoration?.restored(RestoredServices.self), !restored.isEmpty {
      machine.withLock { $0.restoration = .init(restored) }
    }
    examine(heldDelegate)
    listen()
  }

  private func examine(_ delegate: (any CBPeripheralManagerDelegate)?) {
    examine(delegate, "CBPeripheralManagerDelegate") { $0 is any CBPeripheralManagerDelegate.Type }
  }

  deinit { restoration?.settle(content: restorable) }

  /// The state for the next run to restore; nil while the adapter's state, not the application, decides what is active.
  private var restorable: RestoredServices? { state == .poweredOn ? machine.withLock { $0.restorable } : nil }

  /// The delegate. The manager does not retain it.
  open var delegate: (any CBPeripheralManagerDelegate)? {
    get {
      var found: (any CBPeripheralManagerDelegate)?
      delegateLock.withLock { _ in found = heldDelegate }
      return found
    }
    set {
      delegateLock.withLock { _ in heldDelegate = newValue }
      // The new delegate may have the method.
      run { $0.setReportsStoredWrites(true, into: &$1) }
      examine(newValue)
    }
  }

  /// Whether the manager advertises. Advertising is paused while the adapter is not powered on.
  open var isAdvertising: Bool {
    guard state == .poweredOn else { return false }
    return machine.withLock { if case .on = $0.advertising { true } else { false } }
  }

  /// The connected centrals, in the order of their connections. CoreBluetooth does not report them.
  public final var connectedCentrals: [CBCentral] { machine.withLock { $0.connectedCentrals } }

  /// The authorization of the process: always granted.
  @available(*, deprecated, message: "Use CBManager.authorization.")
  open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus { .authorized }

  /// Publishes a service, with everything in it. ``CBPeripheralManagerDelegate/peripheralManager(_:didAdd:error:)``
  /// answers.
  ///
  /// The service takes the place of an equal restored service that the program does not hold: centrals keep their
  /// handles and subscriptions.
  ///
  /// Services it includes must be published before. Errors: ``CBError/invalidParameters``, with a text that says
  /// which object is at fault and what to do; ``CBError/uuidNotAllowed`` for the stack's own services 1800 and
  /// 1801; ``CBError/outOfSpace`` when the handles are used up.
  ///
  /// Permissions protect reads and writes, not updates. A characteristic whose reads are protected and which notifies
  /// or indicates without ``CBCharacteristicProperties/notifyEncryptionRequired`` or
  /// ``CBCharacteristicProperties/indicateEncryptionRequired`` sends its value to any central that subscribes, as in
  /// CoreBluetooth. It is published, and a line in the log names the characteristic and the property to add.
  open func add(_ service: CBMutableService) {
    guard accepts("add") else { return }
    run { $0.add(service, into: &$1) }
  }

  /// Withdraws a service. Connected centrals receive Service Changed; the subscriptions end.
  ///
  /// A service that another one includes is kept, with a line in the log: remove the other one first.
  open func remove(_ service: CBMutableService) {
    guard accepts("remove") else { return }
    run { $0.remove(service, into: &$1) }
  }

  /// Withdraws all services of this manager.
  open func removeAllServices() {
    guard accepts("removeAllServices") else { return }
    run { $0.removeAll(into: &$1) }
  }

  /// Advertises until ``stopAdvertising()``; a restored advertisement ends.
  /// ``CBPeripheralManagerDelegate/peripheralManagerDidStartAdvertising(_:error:)`` answers.
  ///
  /// - Parameter advertisementData: ``CBAdvertisementDataLocalNameKey`` with a `String` and
  ///   ``CBAdvertisementDataServiceUUIDsKey`` with UUIDs, or neither. Any other key is ignored, with a line in the log:
  ///   ``startAdvertising(_:options:)`` takes everything else. Data that does not fit is laid out as on Apple's systems
  ///   (`AdvertisingPolicy.coreBluetooth`). The name is also the Device Name of the GAP service, unless the program has
  ///   set another one.
  open func startAdvertising(_ advertisementData: [String: Any]?) {
    guard accepts("startAdvertising") else { return }
    let advertisement = Result { () throws(CBError) in
      try Advertisement(dictionary: advertisementData ?? [:]) { misuse("startAdvertising: \($0)") }
    }
    run { $0.startAdvertising(advertisement, into: &$1) }
  }

  /// Ends the advertisement. Links stay up.
  open func stopAdvertising() {
    guard accepts("stopAdvertising") else { return }
    run { $0.giveUpAdvertising(into: &$1) }
  }

  /// Answers a request; exactly once for each delegate call, on any thread.
  ///
  /// A read with ``CBATTError/success`` sends the request's value, which starts at its offset. Several writes are
  /// answered through the first of them. A second answer changes nothing and is logged.
  open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    // A Write Command needs no answer, but every application gives one.
    guard let token = request.token else { return }
    run { $0.respond(to: request, token, result, into: &$1) }
  }

  /// Sends a value as a notification or an indication, depending on each central's subscription.
  ///
  /// - Parameters:
  ///   - value: cut to the ``CBCentral/maximumUpdateValueLength`` of each central.
  ///   - centrals: nil for all subscribers; centrals without a subscription are ignored.
  /// - Returns: false if 32 values are already pending for one of these centrals. The value was not accepted then, and
  ///   ``CBPeripheralManagerDelegate/peripheralManagerIsReady(toUpdateSubscribers:)`` follows once there is room. It is
  ///   also false below powered on, and no call follows.
  ///
  /// Each central has room for 32 values of its own. A central that has not taken a quarter of them when another one
  /// has taken all no longer delays the others: it misses values while it has no room. To lose none, send to one
  /// central at a time.
  @discardableResult
  open func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    guard accepts("updateValue") else { return false }
    return send(value, for: characteristic, to: centrals)
  }

  /// Requests a shorter or longer connection interval from a central; the central decides.
  open func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
    requestConnectionParameters(latency.request, for: central)
  }

  /// Publishes a PSM that centrals may open channels to, until ``unpublishL2CAPChannel(_:)``.
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:didPublishL2CAPChannel:error:)`` reports the number that the
  /// host has assigned, 0x0080 to 0x00FF. Centrals learn it from the program, usually as the value of a characteristic
  /// of the type ``CBUUIDL2CAPPSMCharacteristicString``, two octets, least significant first.
  ///
  /// - Parameter encryptionRequired: whether a link must be encrypted before a channel is opened on it.
  open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
    guard accepts("publishL2CAPChannel") else { return }
    run { $0.publishChannel(isEncrypted: encryptionRequired, into: &$1) }
  }

  /// Withdraws a PSM and closes its channels;
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:didUnpublishL2CAPChannel:error:)`` answers.
  open func unpublishL2CAPChannel(_ psm: CBL2CAPPSM) {
    guard accepts("unpublishL2CAPChannel") else { return }
    run { $0.unpublishChannel(SPSM(rawValue: psm), into: &$1) }
  }

  /// Runs the machine and performs its effects: commands under the lock, so that they are sent in the order of the
  /// changes, and delegate calls on the queue. The host is woken after the lock is released, because its thread needs
  /// the lock.
  final func run<Result: Sendable, Failure: Error>(
    _ body: (inout PeripheralRole, inout PeripheralEffects) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let (result, hasCalls) = try step(body)
    if hasCalls { scheduleCalls() }
    return result
  }

  private func step<Result: Sendable, Failure: Error>(
    _ body: (inout PeripheralRole, inout PeripheralEffects) throws(Failure) -> Result
  ) throws(Failure) -> (Result, hasCalls: Bool) {
    let (result, outcome) = try client.commands.batch { batch throws(Failure) in
      try machine.withLock { state throws(Failure) -> (Result, StepOutcome) in
        var effects = PeripheralEffects()
        swap(&effects, &state.spareEffects)
        let result = try body(&state, &effects)
        // Under the lock, so that commands are sent in the order of the changes.
        effects.appendCommands(of: &state, to: &batch)
        append(effects.calls) { .peripheral($0) }
        var outcome = StepOutcome(hasCalls: !effects.calls.isEmpty, hasCommands: !effects.commands.isEmpty)
        if effects.misuses.isEmpty, effects.warnings.isEmpty {
          effects.removeAll()
          swap(&effects, &state.spareEffects)
        } else {
          outcome.lines = effects
        }
        return (result, outcome)
      }
    }
    if let lines = outcome.lines {
      for line in lines.misuses { misuse(line) }
      for line in lines.warnings { warn(line) }
    }
    if outcome.hasCalls || outcome.hasCommands, let restoration {
      restoration.schedule { [weak self] in self?.restorable }
    }
    return (result, outcome.hasCalls)
  }

  private struct StepOutcome {
    var hasCalls: Bool
    var hasCommands: Bool
    /// Effects with lines for the log.
    var lines: PeripheralEffects?
  }

  override func peer(named name: LinkID) -> CBPeer? {
    machine.withLock { role in
      guard let link = role.links[name], link.isCentral else { return nil }
      return link.central
    }
  }

  override func receive(_ event: HostEvent) {
    switch event {
    case .state(let state, let reason): stateChanged(CBManagerState(state), reason)
    case .refused(let error): log(.notice("\(error)"))
    case .address, .capabilities, .diagnostic, .services, .advertising, .scanning, .synchronizing, .connected,
      .connectionFailed,
      .foreignLink, .link, .client, .server, .pairing, .bonds, .channels, .channel:
      _ = step { $0.receive(event, into: &$1) }
    }
  }

  override func updatesFinished(_ events: [HostEvent]) { finishUpdates(events) }

  override func make(_ call: ManagerCall) {
    switch call {
    case .stateChanged: delegate?.peripheralManagerDidUpdateState(self)
    case .peripheral(let call): make(call)
    case .central, .pairing: super.make(call)
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
    append(ends) { .peripheral($0) }
  }
}

extension CBPeripheralManager {
  /// Calls the delegate; on its queue only.
  func make(_ call: PeripheralManagerCall) {
    let delegate = delegate
    switch call {
    case .willRestore: reportRestoration(to: delegate)
    case .didAdd(let service, let error): delegate?.peripheralManager(self, didAdd: service, error: error)
    case .didStartAdvertising(let error): delegate?.peripheralManagerDidStartAdvertising(self, error: error)
    case .advertisingEnded(let error): delegate?.peripheralManager(self, didEndAdvertising: error)
    case .advertisingPaused(let reason): delegate?.peripheralManager(self, didPauseAdvertising: reason)
    case .advertisingResumed: delegate?.peripheralManagerDidResumeAdvertising(self)
    case .connected(let central): delegate?.peripheralManager(self, didConnect: central)
    case .identified(let central, let identified):
      delegate?.peripheralManager(self, didIdentify: central, as: identified)
    case .disconnected(let central, let reason):
      delegate?.peripheralManager(self, didDisconnect: central, reason: reason)
    case .connectionUpdated(let central, let timing, let error):
      delegate?.peripheralManager(self, didUpdateConnectionOf: central, timing: timing, error: error)
    case .phy(let central, let phy, let error):
      delegate?.peripheralManager(self, central: central, didUpdatePHY: phy, error: error)
    case .rssi(let central, let rssi, let error):
      delegate?.peripheralManager(self, didReadRSSI: rssi, of: central, error: error)
    case .didSubscribe(let central, let characteristic):
      delegate?.peripheralManager(self, central: central, didSubscribeTo: characteristic)
    case .didUnsubscribe(let central, let characteristic):
      delegate?.peripheralManager(self, central: central, didUnsubscribeFrom: characteristic)
    case .didReceiveRead(let request):
      if let delegate {
        delegate.peripheralManager(self, didReceiveRead: request)
      } else {
        respond(to: request, withResult: .requestNotSupported)
      }
    case .didReceiveWrite(let requests):
      if let delegate {
        delegate.peripheralManager(self, didReceiveWrite: requests)
      } else if let first = requests.first {
        respond(to: first, withResult: .requestNotSupported)
      }
    case .stored(let central, let attribute):
      delegate?.peripheralManager(self, central: central, didStoreValueOf: attribute)
    case .isReady: delegate?.peripheralManagerIsReady(toUpdateSubscribers: self)
    case .didPublishL2CAPChannel(let psm, let error):
      delegate?.peripheralManager(self, didPublishL2CAPChannel: psm, error: error)
    case .didUnpublishL2CAPChannel(let psm, let error):
      delegate?.peripheralManager(self, didUnpublishL2CAPChannel: psm, error: error)
    case .openedChannel(let channel, let central): make(opened: channel, by: central)
    }
  }
}

extension CBPeripheralManager {
  /// Calls the delegate with the restored objects. When it returns, only the program and the role refer to them.
  private func reportRestoration(to delegate: (any CBPeripheralManagerDelegate)?) {
    guard let restored = machine.withLock({ $0.report.take() }) else { return }
    if let delegate {
      delegate.peripheralManager(self, willRestoreState: restored.dictionary)
    } else {
      reportUnusedRestoration()
    }
  }
}

/// Whether the program may be a peripheral in the background; mirrors `CBPeripheralManagerAuthorizationStatus`, which
/// CoreBluetooth has deprecated.
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
  /// Not used on Linux.
  case notDetermined = 0
  /// Not used on Linux.
  case restricted = 1
  /// Not used on Linux.
  case denied = 2
  /// The program may be a peripheral.
  case authorized = 3
}

extension CBManagerState {
  /// The state and its reason, as the cause of an error.
  func cause(_ reason: AdapterError?) -> String {
    "the adapter is \(self)\(reason.map { " (\($0.text))" } ?? "")"
  }

  init(_ state: AdapterState) {
    self =
      switch state {
      case .unknown: .unknown
      case .resetting: .resetting
      case .unsupported: .unsupported
      case .unauthorized: .unauthorized
      case .poweredOff: .poweredOff
      case .poweredOn: .poweredOn
      }
  }
}
