import BLEKit
import BLETwin
import BLEWire
import CLinux
import Dispatch
import Glibc
import Synchronization
import ToolCore

/// The value of a characteristic that a command of the description prints (`"exec"`).
///
/// The command runs in a shell of its own, once for all that want the value at a time. Its output without the white
/// space at the end has the forms of ``TypedValue``.
final class CommandValue: Sendable {
  /// A command that runs longer is ended.
  static let limit: Duration = .seconds(10)
  /// The octets of output at most.
  static let outputLimit = 4_096

  private struct State {
    var latest: (octets: [UInt8], time: ContinuousClock.Instant)?
    var running: Task<Result<[UInt8], ToolError>, Never>?
    /// The last failure, which is reported once.
    var failure: String?
  }

  private let command: String
  private let uuid: BluetoothUUID
  private let limit: Duration
  private let report: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - uuid: the type of the characteristic.
  ///   - report: receives why there is no value, once for each reason until there is one.
  init(
    _ command: String, of uuid: BluetoothUUID, limit: Duration = limit, report: @escaping @Sendable (String) -> Void
  ) {
    (self.command, self.uuid, self.limit, self.report) = (command, uuid, limit, report)
  }

  /// The value: the latest if it is not older than `age`, otherwise that of another run.
  ///
  /// - Throws: Unlikely Error, the answer of a read.
  func octets(notOlderThan age: Duration) async throws(ATTErrorCode) -> [UInt8] {
    let (latest, task) = state.withLock { state -> ([UInt8]?, Task<Result<[UInt8], ToolError>, Never>?) in
      if let latest = state.latest, .now - latest.time <= age { return (latest.octets, nil) }
      if let running = state.running { return (nil, running) }
      let task = Task { await self.run() }
      state.running = task
      return (nil, task)
    }
    if let latest { return latest }
    if case .success(let octets)? = await task?.value { return octets }
    throw .unlikelyError
  }

  private func run() async -> Result<[UInt8], ToolError> {
    let (command, uuid, limit) = (command, uuid, limit)
    let result: Result<[UInt8], ToolError> = await withCheckedContinuation { continuation in
      DispatchQueue(label: "ble.exec").async {
        do throws(ToolError) {
          let text = try Self.output(of: command, within: limit)
          continuation.resume(returning: .success(try TypedValue.octets(text, of: uuid)))
        } catch { continuation.resume(returning: .failure(error)) }
      }
    }
    let failure: String? =
      switch result {
      case .success: nil
      case .failure(let error):
        "\(uuid.uuidString) has no value: the command '\(String(printable: command.prefix(64)))': \(error)"
      }
    let isNew = state.withLock { state in
      defer { state.failure = failure }
      state.running = nil
      if case .success(let octets) = result { state.latest = (octets, .now) }
      return failure != state.failure
    }
    if let failure, isNew { report(failure) }
    return result
  }

  /// The output of a command without the white space at its end. The thread is blocked in the meantime.
  static func output(of command: String, within limit: Duration) throws(ToolError) -> String {
    let deadline = ContinuousClock.now + limit
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe2(&ends, O_CLOEXEC) == 0 else { throw .unavailable("no pipe: \(ToolError.text(ofError: errno))") }
    let (input, output) = (ends[0], ends[1])
    defer { close(input) }
    var process: pid_t = 0
    let number = unsafe ble_spawn_shell(command, output, &process)
    close(output)
    guard number == 0 else { throw .unavailable("it cannot be started: \(ToolError.text(ofError: number))") }
    let octets: [UInt8]
    let status: Int32
    do throws(ToolError) {
      octets = try Self.octets(of: input, until: deadline, limit)
      status = try Self.status(of: process, until: deadline, limit)
    } catch {
      // The commands of the shell are in its process group. The number is its own until it was waited for.
      kill(-process, SIGKILL)
      waitpid(process, nil, 0)
      throw error
    }
    guard status == 0 else {
      let signal = status & 0x7F
      throw .unavailable(signal == 0 ? "exit status \(status >> 8 & 0xFF)" : "ended by signal \(signal)")
    }
    guard let text = String(validating: octets, as: UTF8.self) else {
      throw .unavailable("its output is not UTF-8. Print pairs of hexadecimal digits for octets")
    }
    return String(text.reversed().drop(while: \.isWhitespace).reversed())
  }

  private static func octets(
    of input: Int32, until deadline: ContinuousClock.Instant, _ limit: Duration
  ) throws(ToolError) -> [UInt8] {
    var octets: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1_024)
    while true {
      try wait(for: input, until: deadline, limit)
      let length = part.withUnsafeMutableBytes { room in unsafe Glibc.read(input, room.baseAddress, room.count) }
      if length == 0 { return octets }
      if length < 0 { if errno == EINTR { continue } else { throw .unavailable(ToolError.text(ofError: errno)) } }
      octets += part[..<length]
      guard octets.count <= outputLimit else { throw .unavailable("it prints more than \(outputLimit) octets") }
    }
  }

  /// The status of waitpid(2). A command that has closed its output may still run.
  private static func status(
    of process: pid_t, until deadline: ContinuousClock.Instant, _ limit: Duration
  ) throws(ToolError) -> Int32 {
    let end = ble_pidfd_open(process)
    guard end >= 0 else { throw .unavailable(ToolError.text(ofError: errno)) }
    defer { close(end) }
    try wait(for: end, until: deadline, limit)
    var status: Int32 = 0
    while unsafe waitpid(process, &status, 0) != process {
      guard errno == EINTR else { throw .unavailable(ToolError.text(ofError: errno)) }
    }
    return status
  }

  /// Waits until a descriptor is readable, or at its end.
  private static func wait(
    for descriptor: Int32, until deadline: ContinuousClock.Instant, _ limit: Duration
  ) throws(ToolError) {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      let left = (deadline - .now).components
      guard left.seconds >= 0, left.attoseconds > 0 || left.seconds > 0 else { throw late(limit) }
      let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1
      let count = unsafe poll(&watched, 1, Int32(clamping: milliseconds))
      if count > 0 { return }
      if count < 0, errno != EINTR { throw .unavailable(ToolError.text(ofError: errno)) }
    }
  }

  private static func late(_ limit: Duration) -> ToolError {
    .unavailable("it runs for more than \(limit.formattedSeconds)")
  }
}
