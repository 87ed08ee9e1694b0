internal import BLEHost
internal import BLELinux
internal import BLEWire
internal import Synchronization

/// The hosts of the process, one for each transport.
final class HostRegistry: Sendable {
  static let shared = HostRegistry()

  private struct OpenHost {
    weak var host: Host?
    let desk: HostDesk<HostCommand, HostEvent>
  }

  private enum Entry {
    /// Somebody opens it; the latch tells when that has ended, well or not.
    case opening(Latch)
    case open(OpenHost)
  }

  /// What there is to do for who asks.
  private enum Turn {
    case take(Host)
    case wait(Latch)
    /// Open it, after the one that is ending has let go of the device.
    case open(after: HostDesk<HostCommand, HostEvent>?)
  }

  private let entries = Mutex<[TransportSpec: Entry]>([:])
  private let tracePaths = Mutex<Set<String>>([])

  /// The host of `transport`: the one that is there, or the one that `open` makes.
  ///
  /// Whoever asks while it is opened waits for the outcome; other transports are not held up.
  func host(
    of transport: TransportSpec, patience: Duration, open: () throws(TransportError) -> Host
  ) throws(TransportError) -> Host {
    let latch: Latch
    do throws(SystemError) {
      latch = try Latch()
    } catch {
      throw TransportError(.inputOutput, at: "\(transport)", "no host can be made", cause: error)
    }
    while true {
      switch turn(for: transport, latch) {
      case .take(let host): return host
      case .wait(let other): other.wait(atMost: patience)
      case .open(let ending):
        ending?.shutDown()
        ending?.waitUntilEnded(atMost: patience)
        defer { latch.open() }
        do throws(TransportError) {
          let host = try open()
          entries.withLock { $0[transport] = .open(OpenHost(host: host, desk: host.desk)) }
          return host
        } catch {
          entries.withLock { $0[transport] = nil }
          throw error
        }
      }
    }
  }

  private func turn(for transport: TransportSpec, _ latch: Latch) -> Turn {
    entries.withLock { entries in
      var ending: HostDesk<HostCommand, HostEvent>?
      switch entries[transport] {
      case .opening(let other): return .wait(other)
      case .open(let open):
        if let host = open.host, !open.desk.isEnding { return .take(host) }
        ending = open.desk
      case nil: break
      }
      entries[transport] = .opening(latch)
      return .open(after: ending)
    }
  }

  /// `path`, or the path with a number before its suffix where a trace of this process has that name already.
  func tracePath(_ path: String) -> String {
    tracePaths.withLock { PacketTrace.unused(path, in: &$0) }
  }

  func shutDownAll(atMost patience: Duration) -> Bool {
    let desks = entries.withLock { entries in
      entries.values.compactMap { if case .open(let open) = $0 { open.desk } else { nil } }
    }
    for desk in desks { desk.shutDown() }
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    return desks.allSatisfy { $0.waitUntilEnded(atMost: deadline - clock.now()) }
  }
}
