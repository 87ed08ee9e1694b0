import BluetoothLE

/// What one side of a channel sends and receives.
struct TransferPlan: Sendable {
  var name = ""
  var sent = 0
  var received = 0
  /// Whether the reader stops in the middle, until a line comes on standard input.
  var stalls = false
  var isEncrypted = false
  var psm: UInt16?
  var usesSequence = false

  /// Waits for a line of standard input, which tells a reader that has stopped to go on.
  static func waitForLine() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        // `readLine` would hold the lock of `stdin`, for which the end of a program waits with the C library 2.43.
        var octet: UInt8 = 0
        while read(0, &octet, 1) == 1, octet != UInt8(ascii: "\n") {}
        continuation.resume()
      }
    }
  }
}

/// The octets of one direction: their number, their CRC-32 and the time that they took.
struct TransferCount: Sendable {
  let goal: Int
  private(set) var count = 0
  private var crc = UInt32.max
  private var begin: ContinuousClock.Instant?

  init(goal: Int) { self.goal = goal }

  var isDone: Bool { count >= goal }

  mutating func add(_ octets: some Sequence<UInt8>) {
    begin = begin ?? .now
    for octet in octets {
      crc = Self.table[Int(truncatingIfNeeded: crc ^ UInt32(octet)) & 0xFF] ^ crc >> 8
      count += 1
    }
  }

  /// `10485760 octets, CRC-32 89abcdef, 1024 KiB/s`
  var summary: String {
    let time = begin.map { $0.duration(to: .now) / .seconds(1) } ?? 0
    let checksum = String(format: "%08x", ~crc)
    return "\(count) octets, CRC-32 \(checksum), \(time > 0 ? Int(Double(count) / 1024 / time) : 0) KiB/s"
  }

  private static let table: [UInt32] = (0..<256).map { number in
    (0..<8).reduce(UInt32(number)) { crc, _ in crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0xEDB8_8320 }
  }
}

/// The octets that a side sends: the numbers 0, 1, 2 … scrambled, so that a lost or moved octet changes the checksum.
struct TransferSource: Sendable {
  private var state: UInt32 = 0x2545_F491

  mutating func next(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 17
      state ^= state << 5
      return UInt8(truncatingIfNeeded: state)
    }
  }
}

/// Sends and receives over the streams of a channel, on the main run loop.
@MainActor final class StreamTransfer: NSObject, @MainActor StreamDelegate {
  private let channel: L2CAPChannel
  private var sent: TransferCount
  private var received: TransferCount
  private var source = TransferSource()
  private var unsent: [UInt8] = []
  private var stalls: Bool
  private var isStalled = false
  private let closesFirst: Bool
  private let ended: @MainActor (Bool) -> Void

  /// - Parameters:
  ///   - closesFirst: whether this side closes the channel when it has sent and received everything. The other side
  ///     waits for that and then ends its link, so that nothing is lost with it.
  ///   - ended: called once, with whether everything was sent and received.
  init(
    _ plan: TransferPlan, over channel: L2CAPChannel, closesFirst: Bool, ended: @escaping @MainActor (Bool) -> Void
  ) {
    (self.channel, self.ended, stalls) = (channel, ended, plan.stalls)
    self.closesFirst = closesFirst
    (sent, received) = (TransferCount(goal: plan.sent), TransferCount(goal: plan.received))
    super.init()
    for stream: Stream in [channel.inputStream, channel.outputStream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .hasBytesAvailable: read()
    case .hasSpaceAvailable: write()
    case .endEncountered, .errorOccurred:
      if let error = aStream.streamError { say("error \(error.localizedDescription)") }
      finish()
    default: break
    }
  }

  private func read() {
    guard !isStalled else { return }
    var octets = [UInt8](repeating: 0, count: 16_384)
    let count = channel.inputStream.read(&octets, maxLength: octets.count)
    guard count > 0 else { return }
    received.add(octets[..<count])
    if stalls, received.count >= received.goal / 2 {
      stalls = false
      isStalled = true
      say("stalled after \(received.count) octets")
      Task { [weak self] in
        await TransferPlan.waitForLine()
        self?.goOn()
      }
    }
    if isDone, closesFirst { finish() }
  }

  private func goOn() {
    say("reading again")
    isStalled = false
    if channel.inputStream.hasBytesAvailable { read() }
  }

  private func write() {
    if unsent.isEmpty { unsent = source.next(min(16_384, sent.goal - sent.count)) }
    guard !unsent.isEmpty else { return }
    let count = channel.outputStream.write(unsent, maxLength: unsent.count)
    guard count > 0 else { return }
    sent.add(unsent[..<count])
    unsent.removeFirst(count)
    if isDone, closesFirst { finish() }
  }

  private var isDone: Bool { sent.isDone && received.isDone }

  private var isFinished = false

  /// Closes the streams, and with them the channel: what was written is still sent.
  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    channel.inputStream.close()
    channel.outputStream.close()
    say("sent \(sent.summary)")
    say("received \(received.summary)")
    say(isDone ? "done" : "not done")
    ended(isDone)
  }
}
