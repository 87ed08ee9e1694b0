internal import BLEHost
internal import BLELinux
internal import BLEWire
internal import Synchronization

/// The hosts of the process, one for each transport.
final class HostRegistry: Sendable {
  static let shared = HostRegistry()

  private struct Entry {
    weak var host: Host?
    let desk: HostDesk<HostCommand, HostEvent>
  }

  private struct State {
    var entries: [TransportSpec: Entry] = [:]
    var tracePaths: Set<String> = []
  }

  private let state = Mutex(State())

  /// The host of `transport`: the one that is there, or the one that `open` makes.
  ///
  /// One that is just ending is waited for, so that it has let go of the device.
  func host(
    of transport: TransportSpec, patience: Duration, open: (inout Set<String>) throws(TransportError) -> Host
  ) throws(TransportError) -> Host {
    let result: Result<Host, TransportError> = state.withLock { state in
      if let entry = state.entries[transport] {
        if let host = entry.host, !entry.desk.isEnding { return .success(host) }
        entry.desk.shutDown()
        entry.desk.waitUntilEnded(atMost: patience)
        state.entries[transport] = nil
      }
      do throws(TransportError) {
        let host = try open(&state.tracePaths)
        state.entries[transport] = Entry(host: host, desk: host.desk)
        return .success(host)
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  func shutDownAll(atMost patience: Duration) -> Bool {
    let desks = state.withLock { $0.entries.values.map(\.desk) }
    for desk in desks { desk.shutDown() }
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    return desks.allSatisfy { $0.waitUntilEnded(atMost: deadline - clock.now()) }
  }
}
