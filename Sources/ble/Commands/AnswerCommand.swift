import BLELinux
import BLEWire
import Glibc
import Synchronization
import ToolCore

/// `ble answer`: a person answers the questions of the pairings of `ble proxy --answers`.
enum AnswerCommand {
  static let declaration = CommandDeclaration(
    name: "answer", summary: "answers pairings of a running proxy: passkeys and compared numbers",
    details: [
      "The proxy runs with --answers SOCKET, as ble-proxy.service does. Start ble answer first, then begin the pairing "
        + "in Home Assistant: while it runs, devices are paired with passkeys and compared numbers where they can be. "
        + "A question has to be answered within 30 seconds; an empty line rejects it. It prints the outcome of each "
        + "pairing, and ends with Control-C."
    ],
    operands: [
      .init(name: "SOCKET", help: "the socket of the proxy (\(defaultPath))", isRequired: false, isFile: true)
    ],
    examples: [.init(commandLine: "sudo ble answer", effect: "answers the pairings of ble-proxy.service")],
    run: run)

  /// The socket of ble-proxy.service.
  static let defaultPath = "/run/ble-proxy/answers"

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    guard PairingQuestions.isInteractive else {
      throw ToolError.usage("passkeys are entered on a terminal: run it on one", of: declaration)
    }
    let path = arguments.operand(0) ?? defaultPath
    let connection = try AnswerConnection(path)
    defer { connection.end() }
    var open: [UInt32: OpenQuestion] = [:]
    var last: Task<Void, Never>?
    defer { last?.cancel() }
    for await notice in connection.notices {
      switch notice {
      case .greeting(let proxy):
        Output.error("Pairings of \(String(printable: proxy)) are asked here. Begin one; Control-C ends.")
      case .question(let asked, _):
        let question = OpenQuestion(asked)
        open[asked.id] = question
        last = Task { [last] in
          await last?.value
          await answer(question, connection)
        }
      case .ended(let id, let reason):
        guard let question = open.removeValue(forKey: id) else { continue }
        question.end()
        if let text = text(of: reason, question) { Output.error("\(question.device): \(text)") }
      case .result(let device, let failure):
        let outcome = failure.map { "not paired: \(String(printable: $0))" } ?? "paired"
        Output.line("\(String(printable: device)): \(outcome)")
      case .refusal(let reason): throw ToolError.unavailable("the proxy refuses answers: \(String(printable: reason))")
      }
    }
    try Task.checkCancellation()
    throw ToolError.unavailable("the proxy at \(path) has ended. Start it again, then ble answer")
  }

  private static func answer(_ question: OpenQuestion, _ connection: AnswerConnection) async {
    guard !question.hasEnded else { return }
    let (device, isVoid) = (question.device, question.waitUntilEnded)
    let answer: PersonalAnswer
    switch question.asked.kind {
    case .display(let number): return Output.error("Passkey: enter \(String(printable: number)) on \(device)")
    case .compare(let number):
      let text = "Does \(device) show \(String(printable: number))? [y/N]"
      answer =
        await PairingQuestions.ask(text, answer: PairingQuestions.confirmation, until: isVoid) == .value(true)
        ? .accept : .reject
    case .passkey:
      let text = "The six digits that \(device) shows:"
      switch await PairingQuestions.ask(text, answer: PairingQuestions.passkey, until: isVoid) {
      case .value(let passkey): answer = .passkey(passkey)
      case .rejection, .void: answer = .reject
      }
    }
    guard question.noteAnswer() else { return }
    connection.send(AnswerLine(id: question.asked.id, answer: answer))
  }

  /// What a person has to know of the end of a question.
  private static func text(of reason: AnswerNotice.End, _ question: OpenQuestion) -> String? {
    switch (reason, question.isAnswered) {
    case (.answered, true), (.over, true), (.disconnected, true): nil
    case (.answered, false): "another person has answered"
    case (.expired, _): "the question was not answered within 30 seconds: begin the pairing again"
    case (.disconnected, false): "the question has ended, because the device has disconnected: begin the pairing again"
    case (.replaced, _): "the question has ended, because the device asks anew"
    case (.over, false): "the question has ended with the pairing: begin it again"
    }
  }
}

/// A question that a person answers now or later.
private final class OpenQuestion: Sendable {
  let asked: AskedQuestion
  private let ended: AsyncStream<Never>
  private let ending: AsyncStream<Never>.Continuation
  private let state = Mutex((hasEnded: false, isAnswered: false))

  init(_ asked: AskedQuestion) {
    self.asked = asked
    (ended, ending) = AsyncStream.makeStream()
  }

  var device: String { String(printable: asked.device) }
  var hasEnded: Bool { state.withLock { $0.hasEnded } }
  var isAnswered: Bool { state.withLock { $0.isAnswered } }

  func end() {
    state.withLock { $0.hasEnded = true }
    ending.finish()
  }

  @Sendable func waitUntilEnded() async { for await _ in ended {} }

  /// - Returns: false if the question has ended.
  func noteAnswer() -> Bool {
    state.withLock { state in
      state.isAnswered = !state.hasEnded
      return state.isAnswered
    }
  }
}

/// The connection of a person to a proxy.
private final class AnswerConnection: Sendable {
  /// Ends with the connection.
  let notices: AsyncStream<AnswerNotice>
  private let stream: ByteStream
  private let waker: Waker

  /// The octets of a notice; a longer one, and one that is not understood, ends the connection.
  private static let lineLimit = 4096
  /// Notices that wait. A proxy has few questions at a time.
  private static let noticeLimit = 256

  init(_ path: String) throws(ToolError) {
    do throws(TransportError) {
      var port = StreamPort(.unixClient(path: path))
      try port.open()
      guard let stream = try port.accept() else {
        throw TransportError(.busy, at: path, "the proxy does not accept connections", remedy: "Try again.")
      }
      self.stream = stream
    } catch { throw Self.error(error, path) }
    let continuation: AsyncStream<AnswerNotice>.Continuation
    (notices, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.noticeLimit))
    do throws(SystemError) {
      waker = try Waker()
      try LoopThread.start { [self] in
        try? receive(continuation)
        continuation.finish()
      }
    } catch { throw ToolError(description: "answers cannot be sent: \(error)", status: 71) }
  }

  /// Ends the thread; the connection is closed with the last reference.
  func end() { waker.wake() }

  func send(_ line: AnswerLine) {
    // It is shorter than what a socket takes; a failure is the end of the connection, which the thread reads.
    _ = try? stream.write(line.line.span)
  }

  private func receive(_ continuation: AsyncStream<AnswerNotice>.Continuation) throws(SystemError) {
    var poller = try Poller()
    try poller.watch(waker.descriptor, token: 0, for: .reading)
    try poller.watch(stream.descriptor, token: 1, for: .reading)
    var (buffer, line): ([UInt8], [UInt8]) = (Array(repeating: 0, count: 4096), [])
    let clock = MonotonicClock()
    while true {
      let count = try poller.wait(until: nil, on: clock)
      for index in 0..<count {
        if poller[index].token == 0 { return }
        switch try stream.read(into: &buffer) {
        case .nothing: continue
        case .end: return
        case .octets(let count):
          for octet in buffer[..<count] {
            guard octet == UInt8(ascii: "\n") else {
              guard line.count < Self.lineLimit else { return }
              line.append(octet)
              continue
            }
            guard let notice = AnswerNotice(line: line) else { return }
            continuation.yield(notice)
            line = []
          }
        }
      }
    }
  }

  private static func error(_ error: TransportError, _ path: String) -> ToolError {
    let (what, remedy): (String, String) =
      switch error.cause?.number {
      case ENOENT, ENOTDIR:
        (
          "no proxy waits for answers at \(path)",
          "Start the service (sudo systemctl start ble-proxy), or name the SOCKET of ble proxy --answers SOCKET"
        )
      case ECONNREFUSED: ("the proxy at \(path) has ended", "Start it again")
      case EACCES, EPERM:
        ("no permission to answer the pairings of \(path)", "Run as the user of the proxy, or: sudo ble answer \(path)")
      default: (error.what, error.remedy)
      }
    return ToolError(description: "\(what). \(remedy)", status: error.exitCode)
  }
}
