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
  private let line: Mutex<Task<Void, Never>?>

  init(_ target: String, with adapter: Adapter, timeout: Duration) {
    (name, self.timeout) = (target, timeout)
    search = Mutex(DeviceSearch(target, bonds: adapter.bonds.map(\.identity)))
    line = Mutex(nil)
    show()
    let line = Task { [weak self] in
      while (try? await Task.sleep(for: .seconds(1))) != nil { self?.show() }
    }
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

  private func show() {
    let left = max(.zero, timeout - (ContinuousClock.now - start)).components.seconds
    let (count, found) = search.withLock { ($0.count, $0.found) }
    let name = String(printable: name)
    Output.progress(
      found.map { "connecting to '\(name)' at \($0.word), \(left) s left" }
        ?? "searching for '\(name)': \(count) \(count == 1 ? "device" : "devices") in range, \(left) s left")
  }

  /// Erases the line, after its last text.
  func end(connectedTo device: DeviceAddress? = nil) async {
    if let device { connected.withLock { $0 = device } }
    guard let line = line.withLock({ $0.take() }) else { return }
    line.cancel()
    await line.value
    Output.progress("")
  }
}
