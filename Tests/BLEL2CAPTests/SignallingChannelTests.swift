import BLEL2CAP
import BLEWire
import TestSupport
import Testing

/// One end of a signalling channel, with its PDUs in hexadecimal digits.
private struct Link {
  var channel: SignallingChannel
  var effects: [SignallingChannel.Effect] = []

  init(_ role: SignallingChannel.Role) { channel = SignallingChannel(role: role) }

  mutating func receive(_ hexadecimal: String) -> [String] {
    var out = PacketBuffer()
    effects = []
    channel.receive(([UInt8](hexadecimal: hexadecimal) ?? [])[...], now: .start, into: &out, effects: &effects)
    return sent(out)
  }

  mutating func request(_ parameters: ConnectionParameterUpdateRequest, now: Instant = .start) throws -> [String] {
    var out = PacketBuffer()
    try channel.requestParameterUpdate(parameters, now: now, into: &out)
    return sent(out)
  }

  mutating func answer(accepted: Bool) -> [String] {
    var out = PacketBuffer()
    channel.answerParameterUpdate(accepted: accepted, into: &out)
    return sent(out)
  }

  mutating func tick(_ now: Instant) {
    effects = []
    channel.tick(now: now, effects: &effects)
  }

  private func sent(_ out: PacketBuffer) -> [String] { (0..<out.count).map { out[$0].hexadecimal } }
}

private let comfortable = ConnectionParameterUpdateRequest(intervalMin: 24, intervalMax: 40, latency: 0, timeout: 600)

@Suite struct SignallingChannelTests {
  /// The responses of both ends to commands that they do not support: PDU in, PDUs out.
  static let refusals: [(String, [String])] = [
    // L2CAP/LE/REJ/BI-01-C: unknown and reserved codes.
    ("ff 05 00 00", ["010502000000"]),
    ("00 05 00 00", ["010502000000"]),
    // Commands of BR/EDR: echo, information, connection.
    ("08 06 00 00", ["010602000000"]),
    ("0a 06 02 00 02 00", ["010602000000"]),
    ("02 06 04 00 01 00 40 00", ["010602000000"]),
    // Responses are not answered, declared or not.
    ("01 07 02 00 00 00", []), ("03 07 08 00 00 00 00 00 00 00 00 00", []), ("07 07 04 00 40 00 41 00", []),
    ("13 07 02 00 00 00", []), ("13 07 01 00 00", []), ("15 07 00 00", []),
    ("18 07 08 00 00 00 00 00 00 00 00 00", []), ("1a 07 02 00 00 00", []),
    // Identifier zero, and octets without an identifier.
    ("ff 00 00 00", []), ("14", []), ("", []),
    // A length that is not that of the octets; a second command after the first.
    ("06 08 04 00 40 00", ["010802000000"]), ("06", []), ("06 08", ["010802000000"]),
    ("16 08 03 00 41 00 05", ["010802000000"]),
    ("06 08 04 00 40 00 41 00 06 09 04 00 42 00 43 00", ["010802000000"]),
    // 23 octets are decoded, 24 exceed the MTU of the channel.
    ("ff 09 13 00 " + String(repeating: "00", count: 19), ["010902000000"]),
    ("ff 09 14 00 " + String(repeating: "00", count: 20), ["0109040001001700"]),
    ("13 09 14 00 " + String(repeating: "00", count: 20), []),
    // There is no service: SPSM not supported, for each channel.
    ("14 0a 0a 00 80 00 40 00 00 02 f7 00 0a 00", ["150a0a0000000000000000000200"]),
    ("17 0b 0a 00 27 00 40 00 40 00 01 00 40 00", ["180b0a0000000000000002000000"]),
    (
      "17 0b 12 00 27 00 40 00 40 00 01 00 40 00 41 00 42 00 43 00 44 00",
      ["180b1200000000000000020000000000000000000000"]
    ),
    // An enhanced request for no channel at all: invalid parameters.
    ("17 0c 08 00 27 00 40 00 40 00 01 00", ["180c08000000000000000c00"]),
    // Channels that do not exist: to reconfigure, to close, to give credits to.
    ("19 0d 06 00 80 00 40 00 40 00", ["1a0d02000300"]),
    ("06 0e 04 00 40 00 41 00", ["010e0600020040004100"]),
    ("16 0f 04 00 40 00 01 00", []),
  ]

  @Test(arguments: refusals) func rejectsUnsupportedCommands(pdu: String, answers: [String]) {
    for role in [SignallingChannel.Role.central, .peripheral] {
      var link = Link(role)
      #expect(link.receive(pdu) == answers)
      #expect(link.effects.isEmpty)
    }
  }

  /// L2CAP/LE/CPU/BV-02-C: the central accepts the parameters.
  @Test func centralAcceptsParameters() {
    var central = Link(.central)
    #expect(central.receive("12 05 08 00 18 00 28 00 00 00 58 02") == [])
    #expect(central.effects == [.parameterUpdateRequested(comfortable)])
    #expect(central.answer(accepted: true) == ["130502000000"])
    #expect(central.answer(accepted: true) == [])
  }

  @Test func centralRejectsParameters() {
    var central = Link(.central)
    _ = central.receive("12 05 08 00 18 00 28 00 00 00 58 02")
    #expect(central.answer(accepted: false) == ["130502000100"])
  }

  /// L2CAP/LE/CPU/BI-01-C: parameters out of range are rejected without an effect for the owner.
  @Test func centralRejectsParametersOutOfRange() {
    var central = Link(.central)
    #expect(central.receive("12 05 08 00 05 00 28 00 00 00 58 02") == ["130502000100"])
    #expect(central.effects.isEmpty)
    #expect(central.receive("12 06 08 00 18 00 28 00 00 00 58") == ["010602000000"])
  }

  /// A second request before the answer to the first is rejected; a repetition of the first is ignored.
  @Test func centralRejectsASecondRequest() {
    var central = Link(.central)
    _ = central.receive("12 05 08 00 18 00 28 00 00 00 58 02")
    #expect(central.receive("12 05 08 00 18 00 28 00 00 00 58 02") == [])
    #expect(central.effects.isEmpty)
    #expect(central.receive("12 06 08 00 18 00 28 00 00 00 58 02") == ["130602000100"])
    #expect(central.effects.isEmpty)
    #expect(central.answer(accepted: true) == ["130502000000"])
  }

  /// L2CAP/LE/CPU/BI-02-C: a peripheral rejects the request.
  @Test func peripheralRejectsTheRequest() {
    var peripheral = Link(.peripheral)
    #expect(peripheral.receive("12 05 08 00 18 00 28 00 00 00 58 02") == ["010502000000"])
    #expect(peripheral.effects.isEmpty)
  }

  /// L2CAP/LE/CPU/BV-01-C, with each response.
  @Test(
    arguments: [
      ("13 01 02 00 00 00", .accepted), ("13 01 02 00 01 00", .rejected), ("13 01 02 00 07 00", .rejected),
      ("01 01 02 00 00 00", .notUnderstood(.commandNotUnderstood)),
      ("01 01 04 00 01 00 17 00", .notUnderstood(.signallingMTUExceeded)),
    ] as [(String, SignallingChannel.ParameterUpdateOutcome)])
  func peripheralReportsTheResponse(answer: String, outcome: SignallingChannel.ParameterUpdateOutcome) throws {
    var peripheral = Link(.peripheral)
    #expect(try peripheral.request(comfortable) == ["120108001800280000005802"])
    #expect(peripheral.channel.deadline == .start + .seconds(30))
    // A response with another identifier is ignored.
    #expect(peripheral.receive("13 02 02 00 00 00") == [])
    #expect(peripheral.effects.isEmpty)
    #expect(peripheral.receive(answer) == [])
    #expect(peripheral.effects == [.parameterUpdateFinished(outcome)])
    #expect(peripheral.channel.deadline == nil)
    // A repeated response is ignored.
    #expect(peripheral.receive(answer) == [])
    #expect(peripheral.effects.isEmpty)
  }

  @Test func peripheralSendsOneRequestAtATime() throws {
    var peripheral = Link(.peripheral)
    _ = try peripheral.request(comfortable)
    #expect(throws: SignallingChannel.RequestRefusal.outstanding) { try peripheral.request(comfortable) }
    _ = peripheral.receive("13 01 02 00 00 00")
    #expect(try peripheral.request(comfortable) == ["120208001800280000005802"])
  }

  @Test func requestTimesOutAfter30Seconds() throws {
    var peripheral = Link(.peripheral)
    _ = try peripheral.request(comfortable)
    peripheral.tick(.start + .milliseconds(29_999))
    #expect(peripheral.effects.isEmpty)
    peripheral.tick(.start + .seconds(30))
    #expect(peripheral.effects == [.parameterUpdateFinished(.timedOut)])
    #expect(peripheral.channel.deadline == nil)
    peripheral.tick(.start + .seconds(60))
    #expect(peripheral.effects.isEmpty)
    // A late response is ignored.
    _ = peripheral.receive("13 01 02 00 00 00")
    #expect(peripheral.effects.isEmpty)
  }

  /// 255 requests use 255 identifiers; zero is never one of them.
  @Test func identifiersAre1To255() throws {
    var peripheral = Link(.peripheral)
    for round in 1...256 {
      let identifier = round == 256 ? 1 : UInt8(round)
      #expect(try peripheral.request(comfortable)[0].hasPrefix("12" + [identifier].hexadecimal))
      _ = peripheral.receive("13\([identifier].hexadecimal)02000000")
    }
  }

  @Test func rejectsRequestsOfACentralAndOutOfRange() {
    var central = Link(.central)
    #expect(throws: SignallingChannel.RequestRefusal.notPeripheral) { try central.request(comfortable) }
    var peripheral = Link(.peripheral)
    var reversed = comfortable
    reversed.intervalMin = 41
    #expect(throws: SignallingChannel.RequestRefusal.outOfRange(.intervalsReversed)) {
      try peripheral.request(reversed)
    }
    #expect(peripheral.channel.deadline == nil)
  }

  /// Each limit of Vol 3, Part A, 4.20, at the limit and one past it.
  @Test(
    arguments: [
      (6, 6, 0, 10, nil), (5, 6, 0, 10, .intervalOutOfRange), (6, 5, 0, 10, .intervalOutOfRange),
      (3200, 3200, 0, 3200, nil), (3200, 3201, 0, 3200, .intervalOutOfRange),
      (3201, 3200, 0, 3200, .intervalOutOfRange), (8, 7, 0, 10, .intervalsReversed),
      (6, 6, 499, 3200, nil), (6, 6, 500, 3200, .latencyOutOfRange), (6, 6, .max, 3200, .latencyOutOfRange),
      (6, 6, 0, 9, .timeoutOutOfRange), (6, 6, 0, 3201, .timeoutOutOfRange),
      // (1 + 9) x 40 = 400: a timeout of 100 is exactly twice the effective interval, 101 is above.
      (40, 40, 9, 100, .timeoutTooShortForLatency), (40, 40, 9, 101, nil),
    ] as [(UInt16, UInt16, UInt16, UInt16, ConnectionParameterProblem?)])
  func checksEachRange(min: UInt16, max: UInt16, latency: UInt16, timeout: UInt16, problem: ConnectionParameterProblem?)
  {
    let request = ConnectionParameterUpdateRequest(
      intervalMin: min, intervalMax: max, latency: latency, timeout: timeout)
    #expect(request.problem == problem)
  }

  /// Any octets do not trap, and cause at most one response, a PDU within the MTU.
  @Test func anyOctetsGiveAtMostOneResponse() {
    var source = SplitMix64(seed: 1)
    var channels = [SignallingChannel(role: .central), SignallingChannel(role: .peripheral)]
    for round in 0..<5000 {
      var pdu = (0..<Int.random(in: 0...26, using: &source)).map { _ in UInt8.random(in: 0...255, using: &source) }
      if pdu.count >= 4, Bool.random(using: &source) {
        (pdu[0], pdu[2], pdu[3]) = (.random(in: 0...0x1B, using: &source), UInt8(pdu.count - 4), 0)
      }
      var out = PacketBuffer()
      var effects: [SignallingChannel.Effect] = []
      channels[round % 2].receive(pdu[...], now: .start, into: &out, effects: &effects)
      #expect(out.count <= 1)
      for index in 0..<out.count {
        #expect(out[index].count <= SignallingChannel.mtu)
        #expect((try? SignallingPDU(decoding: out[index])) != nil)
      }
    }
  }
}
