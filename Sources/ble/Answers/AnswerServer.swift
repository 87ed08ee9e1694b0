import BLEKit
import BLELinux
import BLEWire
import Synchronization

/// The socket by which persons answer the questions of a proxy's pairings: one thread that waits for connections, lines
/// and deadlines.
final class AnswerServer: Sendable {
  private let mailbox: Mailbox
  private let hasEnded: Latch
  private let lastID = Atomic<UInt32>(0)

  /// Listens, and starts the thread.
  ///
  /// - Parameters:
  ///   - proxy: the name of the proxy.
  ///   - failed: is called once if the server ends because a system call has failed, on its thread.
  ///   - isAttended: is called when the first person has connected, before that person is greeted, and when the last
  ///     one has left.
  init(
    _ listener: consuming Listener, proxy: String, log: @escaping @Sendable (String) -> Void,
    failed: @escaping @Sendable (SystemError) -> Void, isAttended: @escaping @Sendable (Bool) -> Void
  ) throws(SystemError) {
    let (mailbox, hasEnded) = (try Mailbox(), try Latch())
    (self.mailbox, self.hasEnded) = (mailbox, hasEnded)
    let listener = OneShot(listener)
    try LoopThread.start {
      do throws(SystemError) {
        if let listener = listener.take() {
          var loop = try AnswerLoop(mailbox, listener, WaitingQuestions(proxy: proxy), log, isAttended)
          try loop.run()
        }
      } catch { failed(error) }
      mailbox.close()
      hasEnded.open()
    }
  }

  /// Lets a person answer a question of a pairing.
  func ask(_ request: PairingRequest) {
    let kind: AskedQuestion.Kind
    switch request.question {
    case .enterPasskey: kind = .passkey
    case .compare(let number): kind = .compare(number)
    case .display(let passkey): kind = .display(passkey)
    // Questions of settings that a proxy does not have.
    case .consent, .replaceBond: return request.reply.reject()
    }
    let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
    let question = AskedQuestion(id: id, device: Self.name(of: request.device.address), kind: kind)
    let watch = Task { [mailbox] in
      _ = try? await request.device.waitUntilDisconnected()
      if !Task.isCancelled { mailbox.add(.left(id)) }
    }
    guard mailbox.add(.asked(question, request.reply, watch)) else {
      watch.cancel()
      return request.reply.reject()
    }
  }

  /// The pairing of a device has ended.
  ///
  /// - Parameter failure: nil for success.
  func pairingEnded(_ device: DeviceAddress, failure: String?) {
    mailbox.add(.pairingEnded(Self.name(of: device), failure))
  }

  private static func name(of address: DeviceAddress) -> String { address.identity.octets.description }

  /// Closes the connections, and removes the socket file.
  func end() {
    mailbox.add(.end)
    hasEnded.wait(atMost: .seconds(3))
  }

  /// What other threads have for the thread of the server.
  fileprivate final class Mailbox: Sendable {
    enum Letter: Sendable {
      case asked(AskedQuestion, PairingReply, Task<Void, Never>)
      case left(UInt32)
      case pairingEnded(String, String?)
      case end
    }

    let waker: Waker
    /// Nil after the end of the thread: nobody takes a letter any more.
    private let letters = Mutex<[Letter]?>([])

    init() throws(SystemError) { waker = try Waker() }

    /// - Returns: false after the end of the thread.
    @discardableResult
    func add(_ letter: Letter) -> Bool {
      guard letters.withLock({ $0?.append(letter) }) != nil else { return false }
      waker.wake()
      return true
    }

    func take() -> [Letter] {
      waker.drain()
      return letters.withLock { letters in
        defer { letters = [] }
        return letters ?? []
      }
    }

    /// Rejects the pairings whose questions the thread has not taken, and those that ask from now on.
    func close() {
      for case .asked(_, let reply, let watch) in letters.withLock({ $0.take() }) ?? [] {
        watch.cancel()
        reply.reject()
      }
    }
  }
}

/// The thread of the server.
private struct AnswerLoop: ~Copyable {
  private final class Person {
    let stream: ByteStream
    init(_ stream: consuming ByteStream) { self.stream = stream }
  }

  private static let (mailboxToken, listenerToken) = (UInt64(0), UInt64(1))

  private let mailbox: AnswerServer.Mailbox
  private var listener: PausingListener
  private let log: @Sendable (String) -> Void
  private let isAttended: @Sendable (Bool) -> Void
  private let clock = MonotonicClock()
  private var poller: Poller
  private var questions: WaitingQuestions
  private var replies: [UInt32: (reply: PairingReply, watch: Task<Void, Never>)] = [:]
  private var persons: [UInt64: Person] = [:]
  private var wasAttended = false
  private var lastToken = AnswerLoop.listenerToken
  private var buffer = [UInt8](repeating: 0, count: 1024)

  init(
    _ mailbox: AnswerServer.Mailbox, _ listener: consuming Listener, _ questions: WaitingQuestions,
    _ log: @escaping @Sendable (String) -> Void, _ isAttended: @escaping @Sendable (Bool) -> Void
  ) throws(SystemError) {
    let poller = try Poller()
    let listener = PausingListener(listener, token: Self.listenerToken)
    try poller.watch(mailbox.waker.descriptor, token: Self.mailboxToken, for: .reading)
    try listener.watch(on: poller)
    self.init(mailbox, listener, questions, log, isAttended, poller)
  }

  private init(
    _ mailbox: AnswerServer.Mailbox, _ listener: consuming PausingListener, _ questions: WaitingQuestions,
    _ log: @escaping @Sendable (String) -> Void, _ isAttended: @escaping @Sendable (Bool) -> Void,
    _ poller: consuming Poller
  ) {
    (self.mailbox, self.questions, self.log, self.isAttended) = (mailbox, questions, log, isAttended)
    self.listener = listener
    self.poller = poller
  }

  mutating func run() throws(SystemError) {
    defer { end() }
    while true {
      let count = try poller.wait(until: .nearer(questions.deadline, listener.deadline), on: clock)
      let now = clock.now()
      var output = WaitingQuestions.Output()
      for index in 0..<count {
        switch poller[index].token {
        case Self.mailboxToken: guard takeMail(now, into: &output) else { return }
        case Self.listenerToken: accept(now, into: &output)
        case let token: receive(from: token, into: &output)
        }
        perform(output)
        output = WaitingQuestions.Output()
      }
      listener.resume(now: now, on: poller)
      questions.tick(now: now, into: &output)
      perform(output)
    }
  }

  /// Rejects the pairings that wait: nobody answers them any more.
  private mutating func end() {
    for waiting in replies.values {
      waiting.watch.cancel()
      waiting.reply.reject()
    }
    if wasAttended { isAttended(false) }
  }

  /// - Returns: false at the end.
  private mutating func takeMail(_ now: Instant, into output: inout WaitingQuestions.Output) -> Bool {
    for letter in mailbox.take() {
      switch letter {
      case .asked(let question, let reply, let watch):
        replies[question.id] = (reply, watch)
        questions.ask(question, now: now, into: &output)
      case .left(let id): questions.withdraw(id, into: &output)
      case .pairingEnded(let device, let failure):
        questions.pairingEnded(device, failure: failure, into: &output)
      case .end: return false
      }
    }
    return true
  }

  private mutating func accept(_ now: Instant, into output: inout WaitingQuestions.Output) {
    let accepted = listener.accept(now: now, on: poller) { [log] error in
      log("a connection for answers cannot be accepted: \(error). It waits until that has passed")
    }
    guard let accepted else { return }
    lastToken += 1
    let person = Person(accepted)
    do throws(SystemError) {
      try poller.watch(person.stream.descriptor, token: lastToken, for: .reading)
    } catch { return log("a connection for answers is closed: \(error)") }
    persons[lastToken] = person
    questions.connect(lastToken, now: now, into: &output)
  }

  private mutating func receive(from token: UInt64, into output: inout WaitingQuestions.Output) {
    guard let person = persons[token] else { return }
    do throws(SystemError) {
      switch try person.stream.read(into: &buffer) {
      case .octets(let count): questions.receive(buffer[..<count], from: token, into: &output)
      case .nothing: break
      case .end: remove(token)
      }
    } catch { remove(token) }
  }

  private mutating func perform(_ output: WaitingQuestions.Output) {
    // Before the greeting: a pairing that begins after it has the questions.
    noteAttendance()
    for ended in output.ended {
      guard let (reply, watch) = replies.removeValue(forKey: ended.id) else { continue }
      watch.cancel()
      switch ended.answer {
      case .passkey(let passkey): reply.enter(passkey: passkey)
      case .accept: reply.accept()
      case .reject: reply.reject()
      case nil: break
      }
    }
    for (token, octets) in output.lines {
      guard let person = persons[token] else { continue }
      // A person who has not read hundreds of lines reads nothing.
      guard (try? person.stream.write(octets.span)) == octets.count else {
        remove(token)
        continue
      }
    }
    for token in output.closed { remove(token) }
    for line in output.log { log(line) }
  }

  private mutating func remove(_ token: UInt64) {
    guard let person = persons.removeValue(forKey: token) else { return }
    poller.unwatch(person.stream.descriptor)
    questions.disconnect(token)
    noteAttendance()
  }

  private mutating func noteAttendance() {
    guard wasAttended != questions.isAttended else { return }
    wasAttended = questions.isAttended
    isAttended(wasAttended)
  }
}
