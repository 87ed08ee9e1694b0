import BLEKit
import BLEWire
import Synchronization
import ToolCore

/// The search of a command for its device, with a line on the terminal that shows its progress.
final class SearchProgress: Sendable {
  private let name: String
  private let timeout: Duration
  private let start = ContinuousClock.now
  private let search: Mutex<DeviceSearch>
  private let connected = Mutex<DeviceAddress?>(nil)
  private let line = Mutex<ProgressLine?>(nil)

  init(_ target: String, with adapter: Adapter, timeout: Duration) {
    (name, self.timeout) = (target, timeout)
    search = Mutex(DeviceSearch(target, bonds: adapter.bonds.map(\.identity)))
    let line = ProgressLine { [weak self] in self?.text }
    self.line.withLock { $0 = line }
  }

  /// The device, as ``DeviceSearch`` decides.
  var target: DeviceSelector {
    .matching(describedAs: "device '\(String(printable: name))'") { [self] result in search.withLock { $0.add(result) }
    }
  }

  /// The device that was connected to, or that attempts were made to connect to; nil for none.
  var device: DeviceAddress? {
    connected.withLock { $0 } ?? search.withLock { $0.isConnectable ? $0.found : nil }
  }

  /// The error of a search without a device.
  func notFound(scan: String) -> ToolError { search.withLock { $0.notFound(after: timeout, scan: scan) } }

  private var text: String {
    let left = max(.zero, timeout - (ContinuousClock.now - start)).components.seconds
    let (count, found) = search.withLock { ($0.count, $0.found) }
    let name = String(printable: name)
    return found.map { "connecting to '\(name)' at \($0.word), \(left) s left" }
      ?? "searching for '\(name)': \(count) \(count == 1 ? "device" : "devices") in range, \(left) s left"
  }

  /// Erases the line, after its last text.
  func end(connectedTo device: DeviceAddress? = nil) async {
    if let device { connected.withLock { $0 = device } }
    await line.withLock { $0.take() }?.end()
  }
}
