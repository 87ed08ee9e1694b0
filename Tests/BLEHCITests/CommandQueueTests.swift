import BLEWire
import TestSupport
import Testing

@testable import BLEHCI

/// Credits, answers and timeouts of commands: Vol 4, Part E, 4.4.
@Suite struct CommandQueueTests {
  var queue = CommandQueue<String>(limit: 3)
  var out = PacketBuffer()
  let start = Instant.start

  static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
  static let rand: [UInt8] = [0x01, 0x18, 0x20, 0x00]
  static let readAddress: [UInt8] = [0x01, 0x09, 0x10, 0x00]

  mutating func sent() -> [[UInt8]] {
    defer { out.removeAll() }
    return (0..<out.count).map { Array(out[$0]) }
  }

  func complete(_ opcode: HCIOpcode, credits: UInt8 = 1, _ parameters: Bytes = [0x00]) -> HCI.CommandComplete {
    HCI.CommandComplete {
      $0.numHCICommandPackets = credits
      $0.opcode = opcode
      $0.returnParameters = parameters
    }
  }

  func status(_ opcode: HCIOpcode, credits: UInt8 = 1, _ status: HCIErrorCode = .success) -> HCI.CommandStatus {
    HCI.CommandStatus {
      $0.status = status
      $0.numHCICommandPackets = credits
      $0.opcode = opcode
    }
  }

  @Test mutating func `one command is sent until the controller allows more`() throws {
    try queue.perform(HCI.Reset(), for: "reset", now: start, into: &out)
    try queue.perform(HCI.LERand(), for: "rand", now: start, into: &out)
    #expect(sent() == [Self.reset])
    #expect(queue.waitingCount == 1 && queue.unansweredCount == 1)
    let answer = queue.receive(complete(.reset), now: start, into: &out)
    #expect(answer?.text == "complete reset 0x0C03 00")
    #expect(sent() == [Self.rand])
  }

  @Test mutating func `a larger number of credits allows more commands`() throws {
    try queue.perform(HCI.Reset(), for: "1", now: start, into: &out)
    for name in ["2", "3", "4"] { try queue.perform(HCI.LERand(), for: name, now: start, into: &out) }
    #expect(sent() == [Self.reset])
    _ = queue.receive(complete(.reset, credits: 2), now: start, into: &out)
    #expect(sent() == [Self.rand, Self.rand])
    // The answers are assigned to the commands in the order of sending.
    #expect(queue.receive(complete(.leRand, credits: 2), now: start, into: &out)?.text == "complete 2 0x2018 00")
    #expect(sent() == [Self.rand])
    #expect(queue.receive(complete(.leRand, credits: 1), now: start, into: &out)?.text == "complete 3 0x2018 00")
    #expect(queue.receive(complete(.leRand, credits: 1), now: start, into: &out)?.text == "complete 4 0x2018 00")
    #expect(queue.isIdle && queue.deadline == nil)
  }

  @Test mutating func `without a credit the queue waits for an event that returns one`() throws {
    try queue.perform(HCI.Reset(), for: "reset", now: start, into: &out)
    try queue.perform(HCI.LERand(), for: "rand", now: start, into: &out)
    _ = sent()
    _ = queue.receive(complete(.reset, credits: 0), now: start, into: &out)
    #expect(sent() == [])
    #expect(queue.receive(complete(.none, credits: 0, []), now: start, into: &out) == nil)
    #expect(sent() == [])
    #expect(queue.receive(complete(.none, credits: 1, []), now: start, into: &out) == nil)
    #expect(sent() == [Self.rand])
    try queue.perform(HCI.ReadBDADDR(), for: "address", now: start, into: &out)
    #expect(queue.receive(status(.none, credits: 2), now: start, into: &out) == nil)
    #expect(sent() == [Self.readAddress])
  }

  @Test mutating func `without a credit the first command times out`() throws {
    try queue.perform(HCI.Reset(), for: "reset", now: start, into: &out)
    _ = queue.receive(complete(.reset, credits: 0), now: start, into: &out)
    _ = sent()
    try queue.perform(HCI.LERand(), for: "rand", now: start + .seconds(1), into: &out)
    #expect(queue.deadline == start + .seconds(3))
    #expect(queue.tick(now: start + .milliseconds(2999), into: &out) == nil)
    #expect(queue.tick(now: start + .seconds(3), into: &out)?.text == "timed out rand 0x2018")
    #expect(queue.tick(now: start + .seconds(3), into: &out) == nil)
    #expect(sent() == [] && queue.isIdle && queue.deadline == nil)
  }

  @Test mutating func `a command times out, and a late answer is unexpected`() throws {
    try queue.perform(HCI.Reset(), for: "reset", now: start, into: &out)
    try queue.perform(HCI.LERand(), for: "rand", now: start, into: &out)
    #expect(queue.deadline == start + .seconds(2))
    #expect(queue.tick(now: start + .milliseconds(1999), into: &out) == nil)
    _ = sent()
    #expect(queue.tick(now: start + .seconds(2), into: &out)?.text == "timed out reset 0x0C03")
    #expect(sent() == [Self.rand])
    #expect(queue.tick(now: start + .seconds(2), into: &out) == nil)
    #expect(queue.receive(complete(.reset), now: start + .seconds(3), into: &out)?.text == "unexpected 0x0C03")
    #expect(queue.deadline == start + .seconds(4))
  }

  @Test mutating func `the timeout is configurable`() throws {
    queue = CommandQueue(timeout: .milliseconds(250))
    try queue.perform(HCI.Reset(), for: "reset", now: start, into: &out)
    #expect(queue.deadline == start + .milliseconds(250))
  }

  @Test mutating func `a command status answers a command that expects it`() throws {
    let disconnect = HCI.Disconnect { $0.connectionHandle = ConnectionHandle(rawValue: 0x40) }
    try queue.perform(disconnect, for: "bye", now: start, into: &out)
    #expect(sent() == [[0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x13]])
    #expect(queue.receive(status(.disconnect), now: start, into: &out)?.text == "status bye 0x0406 0x00")
    try queue.perform(disconnect, for: "bye", now: start, into: &out)
    let refusal = queue.receive(status(.disconnect, .unknownConnectionIdentifier), now: start, into: &out)
    #expect(refusal?.text == "status bye 0x0406 0x02")
  }

  @Test mutating func `a successful command status does not answer a command that expects command complete`() throws {
    try queue.perform(HCI.LERand(), for: "rand", now: start, into: &out)
    #expect(queue.receive(status(.leRand), now: start, into: &out)?.text == "unexpected 0x2018")
    #expect(queue.unansweredCount == 1)
    // Either event can reject a command.
    let refusal = queue.receive(status(.leRand, .unknownCommand), now: start, into: &out)
    #expect(refusal?.text == "status rand 0x2018 0x01")
    try queue.perform(HCI.Disconnect(), for: "bye", now: start, into: &out)
    #expect(queue.receive(complete(.disconnect, [0x01]), now: start, into: &out)?.text == "complete bye 0x0406 01")
  }

  @Test mutating func `a command without a declaration accepts either answer`() throws {
    let vendor = HCICommandPacket {
      $0.opcode = HCIOpcode(group: 0x3F, command: 1)
      $0.parameters = [0xAB]
    }
    try queue.perform(vendor, for: "vendor", now: start, into: &out)
    #expect(sent() == [[0x01, 0x01, 0xFC, 0x01, 0xAB]])
    #expect(queue.receive(status(vendor.opcode), now: start, into: &out)?.text == "status vendor 0xFC01 0x00")
    try queue.perform(vendor, for: "vendor", now: start, into: &out)
    #expect(queue.receive(complete(vendor.opcode), now: start, into: &out)?.text == "complete vendor 0xFC01 00")
  }

  @Test mutating func `answers without a command are unexpected`() throws {
    try queue.perform(HCI.Reset(), for: "reset", now: start, into: &out)
    _ = queue.receive(complete(.reset), now: start, into: &out)
    #expect(queue.receive(complete(.reset), now: start, into: &out)?.text == "unexpected 0x0C03")
    try queue.perform(HCI.LERand(), for: "rand", now: start, into: &out)
    #expect(queue.receive(complete(.readBDADDR), now: start, into: &out)?.text == "unexpected 0x1009")
    #expect(queue.receive(status(.disconnect), now: start, into: &out)?.text == "unexpected 0x0406")
    #expect(queue.receive(complete(.leRand), now: start, into: &out)?.text == "complete rand 0x2018 00")
  }

  @Test mutating func `a full queue rejects a command`() throws {
    try queue.perform(HCI.Reset(), for: "sent", now: start, into: &out)
    for _ in 0..<3 { try queue.perform(HCI.LERand(), for: "waits", now: start, into: &out) }
    #expect(throws: CommandQueueError.full(limit: 3)) {
      try queue.perform(HCI.LERand(), for: "too many", now: start, into: &out)
    }
    #expect(queue.waitingCount == 3)
    #expect(queue.removeAll() == ["sent", "waits", "waits", "waits"])
    #expect(queue.isIdle && queue.credits == 1)
  }

  @Test mutating func `Host Number Of Completed Packets uses no credit`() throws {
    try queue.perform(HCI.Reset(), for: "reset", now: start, into: &out)
    let returned = HCI.HostNumberOfCompletedPackets {
      $0.links = [HCI.CompletedPackets { $0.numCompletedPackets = 2 }]
    }
    try queue.perform(returned, for: "returned", now: start, into: &out)
    #expect(sent() == [Self.reset, [0x01, 0x35, 0x0C, 0x05, 0x01, 0x00, 0x00, 0x02, 0x00]])
    #expect(queue.unansweredCount == 1)
  }

  @Test func `any answers end each command once`() throws {
    var source = SplitMix64(seed: 14)
    var queue = CommandQueue<Int>(limit: 8)
    var out = PacketBuffer()
    var now = Instant.start
    var given = 0
    var returned: [Int] = []
    for _ in 0..<5000 {
      var outcome: CommandQueue<Int>.Outcome?
      let opcode = [HCIOpcode.leRand, .disconnect, .reset, .none].randomElement(using: &source) ?? .none
      let credits = UInt8.random(in: 0...3, using: &source)
      switch UInt8.random(in: 0..<8, using: &source) {
      case 0, 1, 2:
        do throws(CommandQueueError) {
          if opcode == .disconnect {
            try queue.perform(HCI.Disconnect(), for: given, now: now, into: &out)
          } else {
            try queue.perform(HCI.LERand(), for: given, now: now, into: &out)
          }
          given += 1
        } catch { #expect(queue.waitingCount == 8) }
      case 3, 4: outcome = queue.receive(complete(opcode, credits: credits), now: now, into: &out)
      case 5: outcome = queue.receive(status(opcode, credits: credits), now: now, into: &out)
      case 6: outcome = queue.receive(status(opcode, credits: credits, .commandDisallowed), now: now, into: &out)
      default:
        now = now + .milliseconds(500)
        outcome = queue.tick(now: now, into: &out)
      }
      switch outcome {
      case .complete(let purpose, _), .status(let purpose, _, _), .timedOut(let purpose, _): returned.append(purpose)
      case .unexpected, nil: break
      }
      #expect(queue.waitingCount + queue.unansweredCount + returned.count == given)
      #expect(queue.isIdle || queue.deadline != nil)
    }
    returned += queue.removeAll()
    #expect(returned.sorted() == Array(0..<given))
    #expect(given > 500)
  }
}

extension CommandQueue.Outcome where Purpose == String {
  var text: String {
    switch self {
    case .complete(let purpose, let event):
      "complete \(purpose) \(Self.digits(event.opcode)) \(event.returnParameters.hexadecimal)"
    case .status(let purpose, let opcode, let status):
      "status \(purpose) \(Self.digits(opcode)) 0x0\(String(status.rawValue, radix: 16))"
    case .timedOut(let purpose, let opcode): "timed out \(purpose) \(Self.digits(opcode))"
    case .unexpected(let opcode): "unexpected \(Self.digits(opcode))"
    }
  }

  private static func digits(_ opcode: HCIOpcode) -> String {
    let digits = String(opcode.rawValue, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
