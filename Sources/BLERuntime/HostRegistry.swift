internal import BLEHost
internal import BLEKernel
internal import BLELinux
internal import BLEWire
internal import Synchronization

/// The hosts of the process: one for each transport, and one for each adapter of this machine, regardless of its name.
final class HostRegistry: Sendable {
  static let shared = HostRegistry()

  private struct OpenHost {
    weak var host: Host?
    let mailbox: HostMailbox<HostCommand, HostEvent>
  }

  private enum Entry {
    /// A thread opens the host. The latch opens when that has succeeded or failed.
    case opening(Latch)
    case open(OpenHost)
  }

  /// The next step for a request for a host.
  private enum Turn {
    case take(Host)
    case wait(Latch)
    /// Open a host, after the ending one has closed the device.
    case open(after: HostMailbox<HostCommand, HostEvent>?)
  }

  private struct State {
    var entries: [HostKey: Entry] = [:]
    /// The keys of transports that were requested. A string gives the same host even while its adapter is missing.
    var keys: [TransportSpec: HostKey] = [:]

    func isAlive(_ key: HostKey) -> Bool {
      switch entries[key] {
      case .opening: true
      case .open(let open): open.host != nil && !open.mailbox.isEnding
      case nil: false
      }
    }
  }

  private let state = Mutex(State())
  private let tracePaths = Mutex<Set<String>>([])
  private let find: @Sendable (TransportSpec) -> HostKey?

  init(find: @escaping @Sendable (TransportSpec) -> HostKey? = HostKey.found) { self.find = find }

  /// The host of `transport`: the existing one, or the one that `open` creates.
  ///
  /// Requests for a host that is being opened wait for it. Other transports do not wait.
  ///
  /// - Throws: ``TransportError``; of kind `busy` if this process already uses the adapter by the other kind of
  ///   transport.
  func host(
    of transport: TransportSpec, patience: Duration, open: () throws(TransportError) -> Host
  ) throws(TransportError) -> Host {
    let latch: Latch
    do throws(SystemError) {
      latch = try Latch()
    } catch {
      throw TransportError(.inputOutput, at: "\(transport)", "the host cannot be created", cause: error)
    }
    while true {
      let key = key(of: transport)
      switch turn(for: transport, key, latch) {
      case .take(let host):
        guard host.transport.goesWith(transport) else {
          throw TransportError(
            .busy, at: "\(transport)", "this process already uses the adapter as \(host.transport)",
            remedy: "Use the same transport string everywhere.")
        }
        return host
      case .wait(let other): other.wait(atMost: patience)
      case .open(let ending):
        ending?.shutDown()
        ending?.waitUntilEnded(atMost: patience)
        defer { latch.open() }
        do throws(TransportError) {
          let host = try open()
          state.withLock { $0.entries[key] = .open(OpenHost(host: host, mailbox: host.mailbox)) }
          return host
        } catch {
          state.withLock { $0.entries[key] = nil }
          throw error
        }
      }
    }
  }

  private func key(of transport: TransportSpec) -> HostKey {
    let known = state.withLock { state in state.keys[transport].flatMap { state.isAlive($0) ? $0 : nil } }
    if let key = known ?? find(transport) { return key }
    // The kernel does not list an adapter that was taken from it, possibly by this process.
    let other = state.withLock { state in
      transport.otherWay.flatMap { state.keys[$0] }.flatMap { state.isAlive($0) ? $0 : nil }
    }
    return other ?? .transport(transport)
  }

  private func turn(for transport: TransportSpec, _ key: HostKey, _ latch: Latch) -> Turn {
    state.withLock { state in
      var ending: HostMailbox<HostCommand, HostEvent>?
      switch state.entries[key] {
      case .opening(let other): return .wait(other)
      case .open(let open):
        if let host = open.host, !open.mailbox.isEnding {
          if host.transport.goesWith(transport) { state.keys[transport] = key }
          return .take(host)
        }
        ending = open.mailbox
      case nil: break
      }
      state.entries[key] = .opening(latch)
      state.keys[transport] = key
      return .open(after: ending)
    }
  }

  /// `path`; if a trace of this process already has that path, the path with a number before its suffix.
  func tracePath(_ path: String) -> String {
    tracePaths.withLock { PacketTrace.unused(path, in: &$0) }
  }

  func shutDownAll(atMost patience: Duration) -> Bool {
    let mailboxes = state.withLock { state in
      state.entries.values.compactMap { if case .open(let open) = $0 { open.mailbox } else { nil } }
    }
    for mailbox in mailboxes { mailbox.shutDown() }
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    return mailboxes.allSatisfy { $0.waitUntilEnded(atMost: deadline - clock.now()) }
  }
}

/// The key of a host. An adapter of this machine has several transport strings, but must not get several hosts.
enum HostKey: Hashable, Sendable {
  case transport(TransportSpec)
  case adapter(BD_ADDR)
  /// An adapter without a public address.
  case adapterWithoutAddress(index: UInt16)

  /// The key of the adapter that `transport` currently selects; nil for other transports, or if the kernel has no such
  /// adapter.
  static func found(_ transport: TransportSpec) -> Self? {
    let found: (index: UInt16, address: BD_ADDR?)?
    switch transport {
    case .linux(.address(let address)): return .adapter(address)
    case .linux(let choice): found = AdapterConfiguration.identify(choice, for: .sharing)
    case .hciSocket(let index): found = AdapterConfiguration.identify(.index(index), for: .takingOver)
    case .stream, .virtual: return nil
    }
    return found.map { index, address in
      address.map(Self.adapter) ?? .adapterWithoutAddress(index: index)
    }
  }
}

extension TransportSpec {
  /// Whether a host with one of the two transports can serve a request for the other, if both select the same adapter.
  func goesWith(_ other: Self) -> Bool {
    switch (self, other) {
    case (.linux, .linux): true
    default: self == other  // Every other transport matches only itself.
    }
  }

  /// The other kind of transport for the same adapter, if the string alone contains its index.
  var otherWay: Self? {
    switch self {
    case .linux(.index(let index)): .hciSocket(index: index)
    case .hciSocket(let index): .linux(.index(index))
    default: nil  // The others have no such index.
    }
  }
}
