import Dispatch
import Glibc
import Synchronization
import ToolCore

/// The lines of standard input, which a thread of its own reads, because the call blocks.
///
/// A line that no call waits for is dropped: it is no answer to a later question. `ble shell` keeps lines, which are
/// commands. Of several calls that wait, the last one gets the next line: a question comes before the next command.
enum StandardInput {
  private struct State {
    var isReading = false
    var hasEnded = false
    var keepsLines = false
    var waiting: [(number: Int, continuation: CheckedContinuation<String?, Never>)] = []
    var lastNumber = 0
  }

  /// The octets of a line at most. A longer one is cut after one more.
  static let lineLimit = 4_096

  private static let state = Mutex(State())
  /// Counts the calls that wait, for a thread that has a line to keep.
  private static let calls = DispatchSemaphore(value: 0)

  /// Keeps each line until a call waits for it. The lines after it stay where they are, in a file or a pipe.
  static func keepLines() { state.withLock { $0.keepsLines = true } }

  /// Waits for a line.
  ///
  /// - Returns: the line without its end; nil at the end of the input, and when the task is cancelled.
  static func nextLine() async -> String? {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isOver, starts) = state.withLock { state in
          guard !state.hasEnded, !Task.isCancelled else { return (true, false) }
          state.waiting.append((number, continuation))
          defer { state.isReading = true }
          return (false, !state.isReading)
        }
        if isOver { return continuation.resume(returning: nil) }
        calls.signal()
        if starts { DispatchQueue(label: "ble.input").async { read() } }
      }
    } onCancel: {
      let cancelled = state.withLock { state in
        let index = state.waiting.firstIndex { $0.number == number }
        return index.map { state.waiting.remove(at: $0).continuation }
      }
      cancelled?.resume(returning: nil)
    }
  }

  /// The octets until the end of the input, or as many as `limit`; the thread is blocked in the meantime.
  ///
  /// - Throws: ``ToolError`` if it cannot be read.
  static func octets(atMost limit: Int) throws(ToolError) -> [UInt8] {
    var octets: [UInt8] = []
    while octets.count < limit {
      let part = try nextPart(atMost: min(4_096, limit - octets.count))
      if part.isEmpty { break }
      octets += part
    }
    return octets
  }

  /// The available octets, once there are some; none at the end of the input.
  ///
  /// - Parameters:
  ///   - descriptor: that of standard input, or of a file.
  ///   - name: that of the input in an error.
  static func nextPart(
    atMost limit: Int, of descriptor: Int32 = STDIN_FILENO, named name: String = "standard input"
  ) throws(ToolError) -> [UInt8] {
    var part = [UInt8](repeating: 0, count: limit)
    while true {
      let count = part.withUnsafeMutableBytes { room in unsafe Glibc.read(descriptor, room.baseAddress, room.count) }
      if count >= 0 { return Array(part[..<count]) }
      guard errno == EINTR else { throw .input("\(name) cannot be read: \(ToolError.text(ofError: errno))") }
    }
  }

  /// Gives a line to the last call that waits.
  ///
  /// - Returns: whether one does.
  private static func give(_ line: String) -> Bool {
    let waiting = state.withLock { $0.waiting.popLast() }
    waiting?.continuation.resume(returning: line)
    return waiting != nil
  }

  /// Not with `readLine`: it holds the lock of `stdin` while it waits, and `exit` of the C library 2.43 waits for that
  /// lock.
  private static func read() {
    var line: [UInt8] = []
    func end() {
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      let text = String(decoding: line, as: UTF8.self)
      line = []
      while !give(text), state.withLock({ $0.keepsLines }) { calls.wait() }
    }
    while let part = try? nextPart(atMost: 4_096), !part.isEmpty {
      for octet in part {
        if octet == UInt8(ascii: "\n") { end() } else if line.count <= lineLimit { line.append(octet) }
      }
    }
    if !line.isEmpty { end() }
    let waiting = state.withLock { state in
      state.hasEnded = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for call in waiting { call.continuation.resume(returning: nil) }
  }
}
