internal import CLinux
internal import Glibc
import Synchronization

/// Lines for a descriptor that may be slow, full, closed or non-blocking, such as standard error. A write never blocks.
///
/// ```
///   write ──► queue ──thread──► descriptor: the thread waits until it is writable, and ends with the last line
///      └───► no room: the line is dropped and counted; a line with the number follows in its place
/// ```
///
/// A descriptor that belongs to other programs as well, such as a terminal, cannot be made non-blocking. Therefore a
/// thread writes. At `exit` the lines that wait are written, unless nobody reads them.
package final class LineOutput: Sendable {
  /// The lines that wait, in octets; a line beyond it is dropped.
  package static let queueLimit = 256 << 10
  /// How long a flush waits for a descriptor that is not writable.
  package static let blockedTime = 100
  /// How long a flush waits for a thread that has no time to write.
  private static let longestFlush = 2_000

  package static let standardError = LineOutput(STDERR_FILENO)

  fileprivate struct State {
    var lines: [[UInt8]] = []
    /// The first line that was not taken.
    var next = 0
    var octets = 0
    var dropped = 0
    /// Whether a thread writes.
    var isWriting = false
    /// Lines that were taken, to see whether the thread advances.
    var taken = 0
    /// Whether a flush has ended without success since the last line was written.
    var isStuck = false
  }

  private let descriptor: Int32
  private let limit: Int
  /// The line about dropped lines.
  private let note: @Sendable (_ dropped: Int) -> String
  private let failed: @Sendable (_ number: Int32) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - descriptor: belongs to the caller, and stays open.
  ///   - limit: the lines that wait, in octets.
  ///   - failed: called on the thread when the descriptor cannot be written, with the error number. The line is
  ///     dropped.
  package init(
    _ descriptor: Int32, limit: Int = queueLimit, failed: @escaping @Sendable (_ number: Int32) -> Void = { _ in }
  ) {
    (self.descriptor, self.limit, self.failed) = (descriptor, limit, failed)
    note = { "[BluetoothLE] \($0) lines were left out here: they were not read in time\n" }
  }

  /// Queues text, usually a line with its end. It may be called on any thread.
  package func write(_ text: String) {
    _ = Self.flushAtExit
    let octets = Array(text.utf8)
    let begins = state.withLock { state in
      guard state.octets + octets.count <= limit else {
        state.dropped += 1
        return false
      }
      state.append(note)
      state.append(octets)
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if begins { begin() }
  }

  /// The octets that no thread has taken.
  var waitingOctets: Int { state.withLock { $0.octets } }

  /// Waits until everything is written, unless the descriptor is not writable.
  ///
  /// - Returns: whether everything is written.
  @discardableResult
  package func flush() -> Bool {
    var (blocked, taken) = (0, -1)
    for _ in 0..<Self.longestFlush {
      let (isIdle, isStuck, now) = state.withLock { (!$0.isWriting, $0.isStuck, $0.taken) }
      if isIdle || isStuck { return isIdle }
      if now != taken { (blocked, taken) = (0, now) }
      var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      if unsafe Glibc.poll(&poll, 1, 0) == 0 { blocked += 1 }
      if blocked >= Self.blockedTime { break }
      _ = Glibc.poll(nil, 0, 1)
    }
    state.withLock { $0.isStuck = $0.isWriting }
    return false
  }

  private static let flushAtExit: Void = {
    // A variable is initialized at its first use, which must not be during the exit.
    _ = standardError
    atexit {
      BluetoothLog.summarizeAll()
      LineOutput.standardError.flush()
    }
  }()

  private func begin() {
    do throws(SystemError) { try LoopThread.start { [self] in writeAll() } } catch {
      // The next line tries again.
      state.withLock { $0.isWriting = false }
    }
  }

  /// On the thread, which ends with the last line.
  private func writeAll() {
    while let line = state.withLock({ $0.take(note) }) { write(line) }
  }

  private func write(_ line: [UInt8]) {
    // It is closed, or its disk is full.
    if let number = Self.write(line, to: descriptor) { failed(number) }
  }

  /// Writes all octets, and waits where the descriptor takes no more.
  ///
  /// - Returns: the error number of a write that fails; nil after the last octet.
  package static func write(_ octets: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = octets[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: break
      case EAGAIN:
        var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe Glibc.poll(&poll, 1, -1)
      case let number: return number
      }
    }
    return nil
  }
}

extension LineOutput.State {
  mutating func append(_ line: [UInt8]) {
    lines.append(line)
    octets += line.count
  }

  /// Appends the line about dropped lines, if there are any.
  mutating func append(_ note: (Int) -> String) {
    guard dropped > 0 else { return }
    append(Array(note(dropped).utf8))
    dropped = 0
  }

  /// The next line; nil if there is none.
  mutating func take(_ note: (Int) -> String) -> [UInt8]? {
    isStuck = false
    taken &+= 1
    if next == lines.count { append(note) }
    guard next < lines.count else {
      (lines, next, isWriting) = ([], 0, false)
      return nil
    }
    defer {
      next += 1
      // Half of the lines or more are written.
      if next >= 64, next * 2 >= lines.count { (lines, next) = (Array(lines[next...]), 0) }
    }
    octets -= lines[next].count
    return lines[next]
  }
}
