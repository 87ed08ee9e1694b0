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
  /// The transport, for the log.
  private let name: String?
  /// The capabilities of the controller; nil before it is up.
  private let heldCapabilities = Mutex<ControllerCapabilities?>(nil)
  private let attachment = Mutex<HostAttachment?>(nil)
  /// Those of the client that opened the adapter.
  private let options: AdapterOptions

  private struct Reference: Sendable { weak var hub: AdapterHub? }
  private static let hubs = Mutex<[ObjectIdentifier: Reference]>([:])

  /// - Parameters:
  ///   - options: those of the client that opens the adapter.
  ///   - name: the transport, for the log.
  package init(
    _ bonds: BondStorage, devices: AdapterDevices = AdapterDevices(), options: AdapterOptions = AdapterOptions(),
    name: String? = nil, log: @escaping Log
  ) {
    (self.bonds, self.devices, self.options, self.name, self.log) = (bonds, devices, options, name, log)
  }

  /// The hub of a host, made for the first client; `options` count only then. The lock is held while its files are
  /// read, so that a second client does not read them, too: the client of another adapter that is opened at the same
  /// time waits for that.
  static func shared(for host: BLERuntime.Host, _ options: AdapterOptions, log: @escaping Log) -> AdapterHub {
    hubs.withLock { hubs in
      hubs = hubs.filter { $0.value.hub != nil }
      if let hub = hubs[ObjectIdentifier(host)]?.hub {
        let members = options.membersWithoutEffect(beside: hub.options)
        if !members.isEmpty {
          let text =
            "the program has opened this adapter before, with other options: \(members.joined(separator: ", ")) of "
            + "the new AdapterOptions has no effect. Set it wherever the program opens the adapter"
          log(.notice("\(host.transport): \(text)", metadata: ["adapter": "\(host.transport)"]))
        }
        return hub
      }
      let bonds = BondStorage(options.pairing.storage.store(transport: "\(host.transport)", log: log), log: log)
      let file = options.deviceStorage.path(beside: options.pairing.storage.path(transport: "\(host.transport)"))
      let devices = AdapterDevices(file.map { DeviceFile(path: $0, log: log) })
      let hub = AdapterHub(
        bonds, devices: devices, options: options, name: "\(host.transport)", log: log)
      hub.begin(host)
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

  package var counters: AdapterCounters {
    var counters = AdapterCounters()
    counters.links = devices.linkCount
    guard let counted = attachment.withLock({ $0 })?.counters else { return counters }
    (counters.receivedPackets, counters.sentPackets) = (counted.receivedPackets, counted.sentPackets)
    (counters.refusedCommands, counters.readingPauses) = (counted.refusedCommands, counted.readingPauses)
    return counters
  }

  private func begin(_ host: BLERuntime.Host) {
    if options.privacy.usesPrivateAddress { bonds.shareKey() }
    if let warning = options.privacy.warning(options.pairing) { log(notice("\(host.transport): \(warning)")) }
    let attached = host.attachExchanging { [weak self] events in
      self?.receive(events)
      return events.count
    }
    attachment.withLock { $0 = attached }
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
      case .refused(let error): log(notice("\(error)"))
      case .diagnostic(let diagnostic): log(line(for: diagnostic))
      case .bonds(let event): bonds.receive(event)
      case .pairing(let peer, .questionWithdrawn(let id)): questions.withdrawn(id, of: peer)
      // The device may have paired with a private address, by which the link is still known.
      case .pairing(let peer, .succeeded(let paired)):
        if paired.isBonded, let name = devices.name(of: peer) { bonds.note(name: name, of: paired.identity) }
      case .link(let peer, .security): noteName(of: peer)
      // The others are for the clients.
      case .state, .address, .services, .advertising, .scanning, .synchronizing, .connected, .connectionFailed,
        .foreignLink, .link,
        .client, .server, .pairing, .channels, .channel:
        break
      }
    }
  }

  /// Records a fact that a client has found out; a new name of a bonded device also beside its bond.
  package func note(_ fact: AdapterDevices.Fact) {
    devices.note(fact)
    switch fact {
    case .named(let address, _): for peer in devices.links(to: address) { noteName(of: peer) }
    case .advertised(_, let peer): noteName(of: peer)
    // Any device can advertise the address of a bonded one: its name counts on a link that has proven the bond.
    case .seen, .connected, .discovered: break
    }
  }

  /// Stores the name of a device beside its bond, if the link has proven it.
  private func noteName(of peer: LinkID) {
    guard let device = devices.bonded(on: peer) else { return }
    bonds.note(name: device.name, of: device.address)
  }

  private func notice(_ text: String) -> BluetoothLog.Line {
    .notice(text, metadata: name.map { ["adapter": $0] } ?? [:])
  }

  private func line(for diagnostic: Diagnostic) -> BluetoothLog.Line {
    var line = notice("\(diagnostic)")
    line.category =
      switch diagnostic.origin {
      case .application: .application
      case .peer: .peer
      case .controller: .controller
      case .transport: .transport
      }
    if let peer = diagnostic.peer {
      line.metadata["link"] = "\(peer.rawValue)"
      line.metadata["device"] = devices.address(of: peer).map { "\($0)" }
    }
    return line
  }
}
