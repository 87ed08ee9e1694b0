package import BLEHost
package import BLELinux
import BLERuntime
import BLEWire
import Synchronization

/// The state that the clients of one adapter share: the storage of its bonds, the devices that it knows, the questions
/// of its pairings, and its lines in the log.
///
/// It is attached to the host before the first client, and lives as long as a client holds it.
package final class AdapterHub: Sendable {
  package let bonds: BondStorage
  package let questions = DeclinedQuestions()
  package let devices: AdapterDevices
  private let log: Log
  /// The capabilities of the controller; nil before it is up.
  private let heldCapabilities = Mutex<ControllerCapabilities?>(nil)
  private let attachment = Mutex<HostAttachment?>(nil)
  /// Whether the host uses private addresses.
  private let isPrivate: Bool

  private struct Reference: Sendable { weak var hub: AdapterHub? }
  private static let hubs = Mutex<[ObjectIdentifier: Reference]>([:])

  /// - Parameter isPrivate: whether the host uses private addresses.
  package init(
    _ bonds: BondStorage, devices: AdapterDevices = AdapterDevices(), isPrivate: Bool = false, log: @escaping Log
  ) {
    (self.bonds, self.devices, self.isPrivate, self.log) = (bonds, devices, isPrivate, log)
  }

  /// The hub of a host, made for the first client; `options` count only then.
  static func shared(for host: BLERuntime.Host, _ options: AdapterOptions, log: @escaping Log) -> AdapterHub {
    hubs.withLock { hubs in
      hubs = hubs.filter { $0.value.hub != nil }
      if let hub = hubs[ObjectIdentifier(host)]?.hub {
        if options.privacy.usesPrivateAddress, !hub.isPrivate {
          log(
            .notice,
            "\(host.transport): a manager asks for a private address, but another one opened the adapter without it: "
              + "the identity address is used. Set PrivacyOptions.usesPrivateAddress in all managers"
          )
        }
        return hub
      }
      let bonds = BondStorage(options.pairing.storage.store(transport: "\(host.transport)", log: log), log: log)
      let file = options.deviceStorage.path(beside: options.pairing.storage.path(transport: "\(host.transport)"))
      let devices = AdapterDevices(file.map { DeviceFile(path: $0, log: log) })
      let hub = AdapterHub(bonds, devices: devices, isPrivate: options.privacy.usesPrivateAddress, log: log)
      hub.begin(host, options)
      hubs[ObjectIdentifier(host)] = Reference(hub: hub)
      return hub
    }
  }

  /// Shuts down every host of the process, waits for it, and saves what is not saved yet: advertising is disabled,
  /// links and transports are closed.
  ///
  /// - Returns: whether all have ended in time.
  package static func shutDownAll(atMost patience: Duration) -> Bool {
    let patience = patience.waitable
    RestorationStore.endAll()
    let isInTime = BLERuntime.Host.shutDownAll(atMost: patience)
    for hub in hubs.withLock({ $0.values.compactMap(\.hub) }) {
      hub.bonds.settle(isLast: true)
      hub.devices.remembered?.settle()
    }
    return BondStorage.waitForSaves(atMost: patience) && isInTime
  }

  /// The capabilities of the controllers of this process that have been powered on.
  package static var capabilities: [ControllerCapabilities] {
    hubs.withLock { $0.values.compactMap(\.hub) }.compactMap { hub in hub.heldCapabilities.withLock { $0 } }
  }

  private func begin(_ host: BLERuntime.Host, _ options: AdapterOptions) {
    if isPrivate { bonds.shareKey() }
    if let warning = options.privacy.warning(options.pairing) { log(.notice, "\(host.transport): \(warning)") }
    let attached = attachment.withLock { attachment in
      let attached = host.attach { [weak self] events in
        self?.receive(events)
        // The lock is held while the sink is attached, so events find the attachment here.
        self?.attachment.withLock { $0 }?.consumed(events.count)
      }
      attachment = attached
      return attached
    }
    attached.commands.post(.reportCapabilities)
    for command in bonds.commands(options.pairing, options.privacy) { attached.commands.post(command) }
    bonds.report { [weak attached] in attached?.commands.post($0) }
  }

  /// Receives the events for all clients, before the clients receive them, and the rejections of the hub's own
  /// commands.
  package func receive(_ events: [HostEvent]) {
    for event in events {
      devices.receive(event)
      switch event {
      case .capabilities(let capabilities): heldCapabilities.withLock { $0 = capabilities }
      case .refused(let error): log(.notice, "\(error)")
      case .diagnostic(let diagnostic): log(.notice, "\(diagnostic)")
      case .bondChanged, .bondRemoved: bonds.receive(event)
      case .pairingQuestionWithdrawn(let peer, let id): questions.withdrawn(id, of: peer)
      default: break
      }
    }
  }
}
