import BLEKit
import Glibc
import Synchronization
import ToolCore

/// The questions of pairings, on standard error, with answers from standard input.
enum PairingQuestions {
  /// Whether a user can see the questions and answer them.
  static let isInteractive = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1

  /// After this time the other device has ended the pairing (Vol 3, Part H, 3.4).
  private static let pairingTime = Duration.seconds(30)

  /// Asks questions until the task is cancelled, one after the other. A new question of a device ends an open one of
  /// the same device, which is void then.
  ///
  /// - Parameters:
  ///   - requests: those of an adapter, taken before a device can pair: questions without a reader are rejected.
  ///   - showsPasskeys: whether passkeys are displayed; false if the user has them from another source.
  static func answer(_ requests: AsyncStream<PairingRequest>, showsPasskeys: Bool = true) async {
    var last: (device: RemoteDevice, task: Task<Void, Never>)?
    for await request in requests {
      let before = last
      if before?.device == request.device { before?.task.cancel() }
      let task = Task {
        await before?.task.value
        await answer(request, showsPasskeys: showsPasskeys)
      }
      last = (request.device, task)
    }
    last?.task.cancel()
  }

  static func answer(_ request: PairingRequest, showsPasskeys: Bool = true) async {
    let (device, reply) = (request.device.address, request.reply)
    switch request.question {
    case .consent, .replaceBond: await confirm("Pair with \(device)?", request)
    case .compare(let number): await confirm("Does \(device) show \(number)?", request)
    case .display(let passkey):
      if showsPasskeys { Output.error("Passkey: enter \(passkey) on \(device)") }
    case .enterPasskey:
      switch await ask("The six digits that \(device) shows:", request, answer: passkey) {
      case .value(let passkey): reply.enter(passkey: passkey)
      case .rejection: reply.reject()
      case .void: break
      }
    }
  }

  private static func confirm(_ question: String, _ request: PairingRequest) async {
    switch await ask("\(question) [y/N]", request, answer: confirmation) {
    case .value(true): request.reply.accept()
    case .value(false), .rejection: request.reply.reject()
    case .void: break
    }
  }

  /// How a question has ended.
  enum End<Value: Equatable & Sendable>: Equatable, Sendable {
    case value(Value)
    /// The user has rejected it, or no user is left to answer.
    case rejection
    /// Nobody waits for an answer: the pairing, the link or the program has ended, or the device asks anew.
    case void
  }

  private struct OpenQuestions {
    var lastNumber = 0
    var rejections: [Int: AsyncStream<Void>.Continuation] = [:]
  }

  /// The questions that are being asked: one of each adapter.
  private static let open = Mutex(OpenQuestions())

  /// Rejects the open questions, as the answer no does (Control-C in `ble shell`).
  ///
  /// - Returns: whether there were any.
  static func rejectAll() -> Bool {
    let rejections = open.withLock { open in
      defer { open.rejections = [:] }
      return open.rejections.values.map { $0 }
    }
    for rejection in rejections { rejection.yield() }
    return !rejections.isEmpty
  }

  /// An answer that is understood, or the reason why the question is repeated.
  enum Answer<Value: Equatable & Sendable>: Equatable, Sendable {
    case value(Value)
    case again(String)
  }

  /// A passkey has six digits, which spaces may divide; an empty line is a rejection.
  static func passkey(_ line: String) -> Answer<UInt32?> {
    if line.allSatisfy({ $0 == " " }) { return .value(nil) }
    return PasskeyText.number(line).map { .value($0) } ?? .again("A passkey has six digits.")
  }

  /// Yes or no; an empty line is no.
  static func confirmation(_ line: String) -> Answer<Bool?> {
    switch line.filter({ $0 != " " }).lowercased() {
    case "y", "yes": .value(true)
    case "n", "no", "": .value(false)
    default: .again("Please answer y or n.")
    }
  }

  private static func ask<Value: Sendable>(
    _ question: String, _ request: PairingRequest, answer: @escaping @Sendable (String) -> Answer<Value?>
  ) async -> End<Value> {
    await ask(question, answer: answer) {
      await withTaskGroup { group in
        group.addTask { _ = try? await request.device.waitUntilDisconnected() }
        group.addTask { try? await Task.sleep(for: pairingTime) }
        defer { group.cancelAll() }
        await group.next()
      }
    }
  }

  /// Repeats a question until the answer is understood.
  ///
  /// - Parameter isVoid: returns when the question is void: the device has asked again or has ended the link, or the
  ///   time is over.
  static func ask<Value: Sendable>(
    _ question: String, answer: @escaping @Sendable (String) -> Answer<Value?>,
    until isVoid: @escaping @Sendable () async -> Void
  ) async -> End<Value> {
    let (rejections, rejection) = AsyncStream.makeStream(of: Void.self)
    let number = open.withLock { open in
      open.lastNumber += 1
      open.rejections[open.lastNumber] = rejection
      return open.lastNumber
    }
    defer { open.withLock { $0.rejections[number] = nil } }
    return await withTaskGroup(of: End<Value>.self) { group in
      group.addTask {
        for await _ in rejections { return .rejection }
        return .void
      }
      group.addTask {
        var reason = ""
        while !Task.isCancelled {
          Output.error(reason + question)
          // The end of the input rejects.
          guard let line = await StandardInput.nextLine() else { break }
          switch answer(line) {
          case .value(let value?): return .value(value)
          case .value(nil): return .rejection
          case .again(let text): reason = text + " "
          }
        }
        return Task.isCancelled ? .void : .rejection
      }
      group.addTask {
        await isVoid()
        return .void
      }
      defer { group.cancelAll() }
      return await group.next() ?? .void
    }
  }
}
