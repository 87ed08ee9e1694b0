import Glibc
import Synchronization

/// The log of the stack: misused commands, requests without an answer, faults of peers and controllers.
///
/// Without a handler the lines go to standard error. If standard error is closed, they are dropped.
///
/// ```swift
/// BluetoothLog.setHandler { level, text in print(level, text) }
/// ```
public enum BluetoothLog {
  /// The levels of a line.
  public enum Level: String, Sendable {
    /// The program used the API in a way that has no effect.
    case misuse
    /// A peer, the controller or the transport did something that concerns the program, or a command of the program has
    /// an effect that it may not expect.
    case notice
  }

  /// A function that receives each line of the log, without a line break. It can be called on any thread.
  public typealias Handler = @Sendable (Level, String) -> Void

  private static let handler = Mutex<Handler?>(nil)

  /// Replaces the handler of the whole process; nil restores the default. It may be called on any thread.
  public static func setHandler(_ new: Handler?) { handler.withLock { $0 = new } }

  package static func write(_ level: Level, _ text: String) {
    if let handler = handler.withLock({ $0 }) {
      handler(level, text)
    } else {
      let line = Array("[BluetoothLE] \(text)\n".utf8)
      // One call, so that lines of several threads do not mix. A failure cannot be reported anywhere else.
      _ = line.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }
}

/// The log of one client, which tests replace.
package typealias Log = BluetoothLog.Handler
