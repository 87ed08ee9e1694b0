package import BLEGATT
package import BLEHost
import BLELinux
import BLERuntime
import Dispatch
import Synchronization

/// The connection of one client to the host of its adapter. Programs use ``HostConnection``; tests use another one,
/// with a script instead of the host.
///
/// ``AdapterClient`` is its only user.
package protocol AdapterLink: AnyObject, Sendable {
  /// The destination of the client's commands.
  var commands: CommandPort { get }
  /// Attaches `sink`, which is called with the host's events, in batches and in order, on a thread of the host. The
  /// newest state of the adapter comes first. Called once.
  ///
  /// - Parameter sink: may exchange the array of a batch for another one, whose memory the host uses next. It returns
  ///   how many of the events it has taken; ``consumed(_:)`` has the others.
  func attach(_ sink: @escaping @Sendable (inout [HostEvent]) -> Int)
  /// The client has taken so many of the events that `sink` was called with.
  func consumed(_ count: Int)
  /// Ends the attachment: `sink` is no longer called, and the host withdraws what the client declared.
  func detach()
  /// Why there is no host; nil otherwise.
  var failure: AdapterError? { get }
  /// The state that the clients of the adapter share; nil before there is a host.
  var hub: AdapterHub? { get }
}

/// A client's attachment to the real host, which all clients of one transport share.
///
/// The transport is opened on a queue of its own, because a controller behind a wire may take seconds to be reached.
///
/// ```
/// idle ──attach──▶ opening ──▶ open ──detach──▶ detached    the host is there; commands that wait are posted
///                     └──────▶ failed                       the sink receives a state
/// ```
package final class HostConnection: AdapterLink {
  private let options: AdapterOptions
  private let phase = Mutex(Phase.idle(waiting: []))

  /// Commands kept while the transport is being opened. Further ones are dropped; clients post none that matter at that
  /// time.
  package static let waitingLimit = 64

  private enum Phase: Sendable {
    case idle(waiting: [HostCommand])
    /// The attachment retains the host.
    case open(HostAttachment, AdapterHub)
    case failed(AdapterError)
    case detached
  }

  private static let opener = DispatchQueue(label: "BluetoothLE.opening", attributes: .concurrent)

  package init(_ options: AdapterOptions) { self.options = options }

  /// How many commands wait for the transport.
  package var waitingCount: Int {
    if case .idle(let waiting) = phase.withLock({ $0 }) { waiting.count } else { 0 }
  }

  package var hub: AdapterHub? { opened?.hub }

  package var commands: CommandPort { CommandPort(to: self) }

  /// The attachment and the hub, while the transport is open.
  private var opened: (attachment: HostAttachment, hub: AdapterHub)? {
    phase.withLock { phase in
      if case .open(let attachment, let hub) = phase { (attachment, hub) } else { nil }
    }
  }

  private var attachment: HostAttachment? { opened?.attachment }

  package func attach(_ sink: @escaping @Sendable (inout [HostEvent]) -> Int) {
    Self.opener.async { [weak self, options] in
      let result = Result { () throws(TransportError) in try options.host() }
      // The client may have been released; the host ends with this reference then.
      self?.opened(result, sink)
    }
  }

  private func opened(
    _ result: Result<BLERuntime.Host, TransportError>, _ sink: @escaping @Sendable (inout [HostEvent]) -> Int
  ) {
    switch result {
    case .success(let host):
      // The bonds are loaded before the first command of a client.
      let hub = AdapterHub.shared(for: host, options, log: BluetoothLog.write)
      phase.withLock { phase in
        guard case .idle(let waiting) = phase else { return }
        // Attached first, so that the sink receives the answers.
        // While the process ends, the program is told nothing more: it would take the end of its links for a loss, and
        // connect again or end itself otherwise.
        let attachment = host.attachExchanging { events in OrderlyEnd.hasBegun ? events.count : sink(&events) }
        phase = .open(attachment, hub)
        for command in waiting { attachment.commands.post(command) }
      }
    case .failure(let error):
      let failure = AdapterError(error)
      let isAttached = phase.withLock { phase in
        guard case .idle = phase else { return false }
        phase = .failed(failure)
        return true
      }
      var events = [HostEvent.state(failure.state, nil)]
      if isAttached { _ = sink(&events) }
    }
  }

  package func consumed(_ count: Int) {
    // The lock is held while the sink is attached, so events find the attachment here.
    attachment?.consumed(count)
  }

  package func detach() {
    let ended = phase.withLock { phase in
      defer { phase = .detached }
      return phase
    }
    // The attachment, the hub and perhaps the host are released here, outside of the lock.
    _ = consume ended
  }

  package var failure: AdapterError? {
    if case .failed(let error) = phase.withLock({ $0 }) { error } else { nil }
  }
}

extension HostConnection: CommandReceiver {
  package func enqueue(_ command: HostCommand, octets: Span<UInt8>) -> CommandAdmission {
    let (attachment, isTaken) = phase.withLock { phase -> (HostAttachment?, Bool) in
      switch phase {
      case .open(let attachment, _): return (attachment, true)
      case .idle(var waiting):
        guard waiting.count < Self.waitingLimit else { return (nil, false) }
        waiting.append(octets.isEmpty ? command : command.value(octets))
        phase = .idle(waiting: waiting)
        return (nil, true)
      // The client has received the state, or has left.
      case .failed, .detached: return (nil, true)
      }
    }
    // Not under the lock, which the thread of the host needs as soon as it is woken.
    return attachment?.enqueue(command, octets: octets) ?? CommandAdmission(isTaken: isTaken, wakesHost: false)
  }

  package func enqueueUpdate(of attribute: AttributeID, octets: Span<UInt8>, to peers: [LinkID]) -> CommandAdmission {
    if let attachment { return attachment.enqueueUpdate(of: attribute, octets: octets, to: peers) }
    return enqueue(.update(HostIDs.update(), attribute, [], to: peers), octets: octets)
  }

  package func wake() { attachment?.wake() }
}
