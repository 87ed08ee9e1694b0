import Glibc
import Synchronization

/// Progress of work: one line on standard error that is written again each second, only on a terminal.
final class ProgressLine: Sendable {
  private let task: Mutex<Task<Void, Never>?>

  /// - Parameter text: returns nil when there is nothing more to say.
  init(_ text: @escaping @Sendable () -> String?) {
    task = Mutex(nil)
    guard isatty(STDERR_FILENO) == 1 else { return }
    let task = Task {
      while !Task.isCancelled, let text = text() {
        Output.progress(text)
        try? await Task.sleep(for: .seconds(1))
      }
    }
    self.task.withLock { $0 = task }
  }

  /// Erases the line, after its last text.
  func end() async {
    guard let task = task.withLock({ $0.take() }) else { return }
    task.cancel()
    await task.value
    Output.progress("")
  }
}
