import Dispatch
import Glibc
import Synchronization
import ToolCore

/// The lines of standard input, which a thread of its own reads, because the call blocks. A line that no call waits for
/// is dropped.
enum StandardInput {
  private struct State {
    var isReading = false
    var hasEnded = false
    var waiting: CheckedContinuation<String?, Never>?
  }

  private static let state = Mutex(State())

  /// Waits for a line.
  ///
  /// - Returns: the line without its end; nil at the end of the input, and when the task is cancelled.
  static func nextLine() async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isOver, starts) = state.withLock { state in
          guard !state.hasEnded, !Task.isCancelled else { return (true, false) }
          state.waiting = continuation
          defer { state.isReading = true }
          return (false, !state.isReading)
        }
        if isOver { continuation.resume(returning: nil) }
        if starts { DispatchQueue(label: "ble.input").async { read() } }
      }
    } onCancel: {
      take()?.resume(returning: nil)
    }
  }

  /// The octets until the end of the input, or as many as `limit`; the thread is blocked in the meantime.
  ///
  /// - Throws: ``ToolError`` if it cannot be read.
  static func octets(atMost limit: Int = .max) throws(ToolError) -> [UInt8] {
    var octets: [UInt8] = []
    while octets.count < limit {
      let part = try nextPart(atMost: min(4_096, limit - octets.count))
      if part.isEmpty { break }
      octets += part
    }
    return octets
  }

  /// The available octets, once there are some; none at the end of the input.
  private static func nextPart(atMost limit: Int) throws(ToolError) -> [UInt8] {
    var part = [UInt8](repeating: 0, count: limit)
    while true {
      let count = part.withUnsafeMutableBytes { room in unsafe Glibc.read(STDIN_FILENO, room.baseAddress, room.count) }
      if count >= 0 { return Array(part[..<count]) }
      guard errno == EINTR else {
        throw .input("standard input cannot be read: \(Output.text(ofError: errno))")
      }
    }
  }

  private static func take() -> CheckedContinuation<String?, Never>? {
    state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting
    }
  }

  /// Not with `readLine`: it holds the lock of `stdin` while it waits, and `exit` of the C library 2.43 waits for that
  /// lock.
  private static func read() {
    var line: [UInt8] = []
    func end() {
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      take()?.resume(returning: String(decoding: line, as: UTF8.self))
      line = []
    }
    while let part = try? nextPart(atMost: 4_096), !part.isEmpty {
      for octet in part {
        if octet == UInt8(ascii: "\n") { end() } else if line.count < 4_096 { line.append(octet) }
      }
    }
    if !line.isEmpty { end() }
    state.withLock { $0.hasEnded = true }
    take()?.resume(returning: nil)
  }
}
