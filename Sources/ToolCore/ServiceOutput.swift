import BLELinux
import Glibc

/// The lines of a service: it never waits for their reader (``LineOutput``).
public enum ServiceOutput {
  private static let events = LineOutput(STDOUT_FILENO)

  /// Writes a line to standard error.
  public static func error(_ text: String) { LineOutput.standardError.write(text + "\n") }

  /// Writes a line to standard output.
  public static func event(_ text: String) { events.write(text + "\n") }

  /// Waits for the lines that are not written, unless nobody reads them. To be called before `_exit`, and before `exit`
  /// if the last line is an event.
  public static func flush() {
    LineOutput.standardError.flush()
    events.flush()
  }
}
