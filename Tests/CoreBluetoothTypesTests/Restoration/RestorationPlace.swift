import AdapterFixtures
import BLELinux
import BluetoothLE
import Synchronization
import Testing

@testable import BLEAdapter

/// The place of the states of managers, and the ends of the processes that they are for.
final class RestorationPlace {
  let folder: BondFixtures.Folder
  let lines = Lines()
  private let timers = Timers()

  init() throws { folder = try BondFixtures.Folder() }

  /// What stores do later.
  private final class Timers: Sendable {
    private let due = Mutex<[@Sendable () -> Void]>([])
    func append(_ body: @escaping @Sendable () -> Void) { due.withLock { $0.append(body) } }
    func fire() {
      let all = due.withLock { due in
        defer { due = [] }
        return due
      }
      for body in all { body() }
    }
  }

  /// The time passes after which a change is saved.
  func passTime() { timers.fire() }

  func open(_ role: RestorationStore.Role, _ identifier: String = "main") -> RestorationStore? {
    .open(
      identifier, role, beside: folder.file, "virtual", log: { [lines] in lines.append($0.text) },
      later: { [timers] in timers.append($0) })
  }

  /// The file of a state.
  func file(_ role: RestorationStore.Role) -> String? {
    let name = folder.names.first { $0.hasPrefix("bonds.\(role)-") && $0.hasSuffix(".json") }
    return name.map { "\(folder.path)/\($0)" }
  }

  /// A process is killed a while after its last change: `release` releases its manager, and the file stays as it was.
  func kill(_ role: RestorationStore.Role, _ release: () -> Void) throws {
    passTime()
    let left = try file(role).map { ($0, try Data(contentsOf: URL(fileURLWithPath: $0))) }
    release()
    if let (path, octets) = left { try write(octets, to: path) }
  }

  /// A file that only the owner may read or write.
  func write(_ octets: Data, to path: String) throws {
    try octets.write(to: URL(fileURLWithPath: path))
    chmod(path, 0o600)
  }
}
