package import BLEHost
import BLELinux
import BLERuntime
import Dispatch
import Synchronization

/// A manager's way to the real host, which all managers of one transport share.
///
/// The transport is opened on a queue of its own, because a controller behind a wire may take seconds to be reached and
/// whoever makes a manager is not to wait for it.
///
/// ```
/// idle ──attach──▶ opening ──▶ open     the host is there; what was posted meanwhile is handed on
///                     └──────▶ failed   the sink hears of it as a state
/// ```
package final class HostConnection: AdapterLink {
  private let options: AdapterOptions
  private let phase = Mutex(Phase.idle(waiting: []))
  private let heldKeeper = Mutex<BondStorage?>(nil)

  /// Commands kept while the transport is being opened; further ones are dropped, for managers post none that matter then.
  package static let waitingLimit = 64

  private enum Phase: Sendable {
    case idle(waiting: [HostCommand])
    case open(BLERuntime.Host, HostAttachment)
    case failed(AdapterError)
  }

  private static let opener = DispatchQueue(label: "BluetoothLE.opening", attributes: .concurrent)

  /// The connections of each host, the oldest first: that one speaks for it.
  private static let connections = Mutex<[ObjectIdentifier: [ObjectIdentifier]]>([:])

  package init(_ options: AdapterOptions) { self.options = options }

  deinit {
    guard case .open(let host, _) = phase.withLock({ $0 }) else { return }
    let (name, connection) = (ObjectIdentifier(host), ObjectIdentifier(self))
    Self.connections.withLock { connections in
      connections[name]?.removeAll { $0 == connection }
      if connections[name]?.isEmpty == true { connections[name] = nil }
    }
  }

  /// How many commands wait for the transport.
  package var waitingCount: Int {
    if case .idle(let waiting) = phase.withLock({ $0 }) { waiting.count } else { 0 }
  }

  package var isSpeaker: Bool {
    guard case .open(let host, _) = phase.withLock({ $0 }) else { return true }
    return Self.connections.withLock { $0[ObjectIdentifier(host)]?.first } == ObjectIdentifier(self)
  }

  package var keeper: BondStorage? { heldKeeper.withLock { $0 } }

  package func post(_ command: HostCommand) {
    phase.withLock { phase in
      switch phase {
      case .idle(var waiting):
        guard waiting.count < Self.waitingLimit else { return }
        waiting.append(command)
        phase = .idle(waiting: waiting)
      case .open(_, let attachment): attachment.post(command)
      case .failed: break
      }
    }
  }

  package func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void) {
    Self.opener.async { [weak self, options] in
      let result = Result { () throws(TransportError) in try options.host() }
      // Whoever wanted the host may be gone; it ends with this reference then.
      self?.opened(result, sink)
    }
  }

  private func opened(
    _ result: Result<BLERuntime.Host, TransportError>, _ sink: @escaping @Sendable ([HostEvent]) -> Void
  ) {
    switch result {
    case .success(let host):
      Self.connections.withLock { $0[ObjectIdentifier(host), default: []].append(ObjectIdentifier(self)) }
      // The bonds are there before the first command of a manager.
      let keeper = BondStorage.shared(for: host, options, log: BluetoothLog.write)
      heldKeeper.withLock { $0 = keeper }
      phase.withLock { phase in
        var waiting: [HostCommand] = []
        if case .idle(let commands) = phase { waiting = commands }
        // Attached first, so that the answers find somebody.
        let attachment = host.attach(sink)
        phase = .open(host, attachment)
        for command in waiting { attachment.post(command) }
      }
    case .failure(let error):
      let failure = AdapterError(error)
      phase.withLock { $0 = .failed(failure) }
      sink([.state(failure.state, nil)])
    }
  }

  package func consumed(_ count: Int) {
    // The lock is held while the sink is attached, so events find the attachment here.
    guard case .open(_, let attachment) = phase.withLock({ $0 }) else { return }
    attachment.consumed(count)
  }

  package var failure: AdapterError? {
    if case .failed(let error) = phase.withLock({ $0 }) { error } else { nil }
  }
}
