import Synchronization

/// A list that any thread may write to.
package final class Lines: Sendable {
  private let lines = Mutex<[String]>([])
  package init() {}
  package func append(_ line: String) { lines.withLock { $0.append(line) } }
  package func take() -> [String] {
    lines.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }
}
