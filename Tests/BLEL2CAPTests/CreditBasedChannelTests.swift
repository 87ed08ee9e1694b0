import BLEWire
import TestSupport
import Testing

@testable import BLEL2CAP

/// Two ends of one link, with what each has reported. PDUs and frames are delivered at once.
private struct TwoEnds {
  typealias Effect = CreditBasedChannels.Effect

  struct End {
    var signalling: SignallingChannel
    var effects: [Effect] = []
    /// What the end has sent on the signalling channel, in hexadecimal digits.
    var sent: [String] = []
  }

  var ends = [End(signalling: .init(role: .central)), End(signalling: .init(role: .peripheral))]
  var now = Instant.start
  var drops = false

  init(limits: CreditBasedChannels.Limits = .init()) {
    ends = [SignallingChannel.Role.central, .peripheral].map {
      End(signalling: SignallingChannel(role: $0, channels: limits))
    }
    ends[1].signalling.channels.services = [Self.service]
  }

  static let service = SPSM(rawValue: 0x0080)

  /// Lets an end do something, and delivers what it sends until nothing is left.
  mutating func perform<T, E: Error>(
    _ end: Int,
    _ body: (inout SignallingChannel, inout PacketBuffer, inout [SignallingChannel.Effect]) throws(E) -> T
  ) throws(E) -> T {
    var out = PacketBuffer()
    var effects: [SignallingChannel.Effect] = []
    defer {
      note(effects, end)
      deliver(out, from: end)
    }
    return try body(&ends[end].signalling, &out, &effects)
  }

  private mutating func note(_ effects: [SignallingChannel.Effect], _ end: Int) {
    for case .channel(let effect) in effects { ends[end].effects.append(effect) }
  }

  private mutating func deliver(_ out: PacketBuffer, from end: Int) {
    for index in 0..<out.count {
      ends[end].sent.append(out[index].hexadecimal)
      guard !drops else { continue }
      let pdu = out[index]
      let now = now
      perform(1 - end) { $0.receive(pdu, now: now, into: &$1, effects: &$2) }
    }
  }

  /// Sends the frames that an end has credits for; gives how many there were.
  @discardableResult mutating func transmit(from end: Int, atMost limit: Int = .max) -> Int {
    var count = 0
    var effects: [Effect] = []
    let now = now
    while count < limit, let frame = ends[end].signalling.channels.nextFrame(effects: &effects) {
      count += 1
      perform(1 - end) { $0.receive(frame.payload.span, on: frame.channel, now: now, into: &$1, effects: &$2) }
    }
    ends[end].effects += effects
    return count
  }

  mutating func open(
    _ count: Int = 1, mode: CreditBasedChannel.Mode = .leCreditBased, spsm: SPSM = service,
    local: CreditBasedChannel.Parameters = .init(mtu: 100, mps: 23, initialCredits: 4)
  ) throws {
    let now = now
    try perform(0) { signalling, out, _ throws(SignallingChannel.ChannelRefusal) in
      try signalling.open(
        .init(spsm: spsm, mode: mode, count: count, local: local), .init(rawValue: 1), now: now, into: &out)
    }
  }

  mutating func accept(_ local: CreditBasedChannel.Parameters = .init(mtu: 200, mps: 30, initialCredits: 3)) throws {
    let request = try #require(requests.last)
    perform(1) { $0.accept(request, local, into: &$1, effects: &$2) }
  }

  var requests: [CreditBasedChannels.Request] {
    ends[1].effects.compactMap { if case .requested(let request) = $0 { request } else { nil } }
  }

  func opened(_ end: Int) -> [ChannelID] {
    ends[end].effects.flatMap { if case .opened(let channels, _) = $0 { channels } else { [] as [ChannelID] } }
  }

  func received(_ end: Int) -> [[UInt8]] {
    ends[end].effects.compactMap { if case .received(_, let sdu) = $0 { sdu } else { nil } }
  }

  func closed(_ end: Int) -> [CreditBasedChannels.CloseReason] {
    ends[end].effects.compactMap { if case .closed(_, let reason) = $0 { reason } else { nil } }
  }

  func failures(_ end: Int) -> [CreditBasedChannels.OpenFailure] {
    ends[end].effects.compactMap { if case .openFailed(_, let failure) = $0 { failure } else { nil } }
  }

  mutating func receive(_ end: Int, _ hexadecimal: String) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    let now = now
    perform(end) { $0.receive(octets[...], now: now, into: &$1, effects: &$2) }
  }
}

private let first = ChannelID(rawValue: 0x0040)

@Suite("Credit-based channels") struct CreditBasedChannelTests {
  /// L2CAP/LE/CFC/BV-02-C and BV-03-C: the request and the response.
  @Test func opensAChannel() throws {
    var link = TwoEnds()
    try link.open()
    #expect(link.ends[0].sent == ["14010a008000400064001700" + "0400"])
    try link.accept()
    #expect(link.ends[1].sent == ["15010a004000c8001e0003000000"])
    #expect(link.ends[0].effects == [.opened([first], .init(rawValue: 1))])
    #expect(link.opened(1) == [first])
    #expect(link.ends[0].signalling.channels[first]?.credits == 3)
  }

  /// Segmentation. The first frame has the SDU Length (Vol 3, Part A, 3.4.3).
  @Test(arguments: [0, 1, 21, 22, 44, 90, 100]) func aSDUArrivesWhole(count: Int) throws {
    var link = TwoEnds()
    try link.open()
    try link.accept(.init(mtu: 100, mps: 23, initialCredits: 10))
    let sdu = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    try link.ends[0].signalling.channels.send(sdu, on: first)
    #expect(link.transmit(from: 0) == max(1, (count + 2 + 22) / 23))
    #expect(link.received(1) == [sdu])
  }

  /// Both directions at once, more SDUs than credits: each read gives its credit back.
  @Test func creditsReturnAsTheReaderReads() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    for number in 0..<10 { try link.ends[0].signalling.channels.send([UInt8(number)], on: first) }
    #expect(link.transmit(from: 0) == 3)
    #expect(link.transmit(from: 0) == 0, "no credit is left")
    while link.received(1).count < 10 {
      let unread = link.received(1).count
      link.perform(1) { signalling, out, _ in signalling.didRead(first, into: &out) }
      link.transmit(from: 0)
      #expect(link.received(1).count >= unread)
    }
    #expect(link.received(1) == (0..<10).map { [UInt8($0)] })
    #expect(link.closed(0).isEmpty && link.closed(1).isEmpty)
  }

  /// One credit is enough for an SDU of many frames: frames of an SDU that is not complete need no reader.
  @Test func anSDULongerThanTheCreditsArrives() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept(.init(mtu: 500, mps: 23, initialCredits: 1))
    let sdu = [UInt8](repeating: 7, count: 500)
    try link.ends[0].signalling.channels.send(sdu, on: first)
    while link.transmit(from: 0) > 0 {}
    #expect(link.received(1) == [sdu])
  }

  /// A reader that does not read limits what arrives to one SDU and the frames of the credits, however long the SDUs
  /// are. It gets all of them when it reads.
  @Test(arguments: [(1, 4), (20, 4), (100, 4), (100, 12), (500, 12)])
  func unreadSDUsKeepTheCreditsOfTheirFrames(length: Int, credits: Int) throws {
    var link = TwoEnds()
    try link.open()
    try link.accept(.init(mtu: 500, mps: 23, initialCredits: UInt16(credits)))
    let sdus = (0..<40).map { [UInt8](repeating: UInt8($0), count: length) }
    for sdu in sdus { try link.ends[0].signalling.channels.send(sdu, on: first) }
    while link.transmit(from: 0) > 0 {}
    #expect(link.received(1).count * length <= 500 + credits * 23)
    while link.received(1).count < sdus.count {
      let before = link.received(1).count
      for _ in 0..<before { link.perform(1) { signalling, out, _ in signalling.didRead(first, into: &out) } }
      while link.transmit(from: 0) > 0 {}
      try #require(link.received(1).count > before)
    }
    #expect(link.received(1) == sdus && link.closed(1).isEmpty)
  }

  /// Frames fill packets of the link layer: 4 octets of header and the payload. The last frame of an SDU takes what is
  /// left, if it fits.
  @Test(arguments: [(0, [64, 64, 24]), (27, [50, 50, 52]), (251, [64, 64, 24])])
  func framesFillPackets(packetLength: Int, lengths: [Int]) throws {
    var link = TwoEnds()
    try link.open()
    try link.accept(.init(mtu: 200, mps: 64, initialCredits: 10))
    link.ends[0].signalling.channels.packetLength = packetLength
    try link.ends[0].signalling.channels.send([UInt8](repeating: 7, count: 150), on: first)
    var (found, effects) = ([Int](), [CreditBasedChannels.Effect]())
    while let frame = link.ends[0].signalling.channels.nextFrame(effects: &effects) {
      found.append(frame.payload.count)
    }
    #expect(found == lengths)
  }

  /// L2CAP/LE/CFC/BV-04-C, BV-05-C and others: the results of a request that is refused.
  static let refusals: [(String, String)] = [
    // SPSM not supported.
    ("14050a008100400064001700" + "0400", "15050a0000000000000000000200"),
    // Source CID outside 0x0040 to 0x007F.
    ("14050a0080003f0064001700" + "0400", "15050a0000000000000000000900"),
    ("14050a008000800064001700" + "0400", "15050a0000000000000000000900"),
    // Source CID already allocated.
    ("14050a008000400064001700" + "0400", "15050a0000000000000000000a00"),
    // MTU or MPS below 23; an MPS above 65,533.
    ("14050a008000410016001700" + "0400", "15050a0000000000000000000b00"),
    ("14050a008000410064001600" + "0400", "15050a0000000000000000000b00"),
    ("14050a00800041006400feff" + "0400", "15050a0000000000000000000b00"),
    // Enhanced: MTU below 64, MPS below 64, no credits.
    ("17050a0080003f0040000100" + "4100", "18050a000000000000000b000000"),
    ("17050a00800040003f000100" + "4100", "18050a000000000000000b000000"),
    ("17050a008000400040000000" + "4100", "18050a000000000000000b000000"),
    // Enhanced: the only number is used already, or is none.
    ("17050a008000400040000100" + "4000", "18050a000000000000000a000000"),
    ("17050a008000400040000100" + "0100", "18050a0000000000000009000000"),
  ]

  @Test(arguments: refusals) func refusesARequest(pdu: String, answer: String) throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    link.ends[1].sent = []
    link.drops = true
    try link.receive(1, pdu)
    #expect(link.ends[1].sent == [answer])
    #expect(link.requests.count == 1, "only the first request reached the owner")
  }

  /// The owner decides about the security of the link.
  @Test(arguments: [
    CreditBasedConnectionResult.insufficientAuthentication, .insufficientAuthorization, .encryptionKeySizeTooShort,
    .insufficientEncryption, .noResources,
  ]) func theOwnerRejectsARequest(result: CreditBasedConnectionResult) throws {
    var link = TwoEnds()
    try link.open()
    let request = try #require(link.requests.first)
    link.perform(1) { signalling, out, _ in signalling.reject(request, result, into: &out) }
    #expect(link.failures(0) == [.refused(result)])
    link.perform(1) { $0.accept(request, .init(), into: &$1, effects: &$2) }
    #expect(link.opened(1).isEmpty, "a request has one answer")
  }

  /// Five channels with one request.
  @Test func opensFiveChannels() throws {
    var link = TwoEnds()
    let sizes = CreditBasedChannel.Parameters(mtu: 64, mps: 64, initialCredits: 2)
    try link.open(5, mode: .enhancedCreditBased, local: sizes)
    try link.accept(sizes)
    let all = (0x40...0x44).map { ChannelID(rawValue: $0) }
    #expect(link.opened(0) == all && link.opened(1) == all)
    for channel in all { try link.ends[0].signalling.channels.send([UInt8(channel.rawValue)], on: channel) }
    try link.ends[0].signalling.channels.send([1], on: first)
    #expect(link.transmit(from: 0) == 6)
    #expect(link.received(1) == [[0x40], [0x41], [0x42], [0x43], [0x44], [1]], "each channel in turn")
  }

  /// Some are refused because there is no room for all.
  @Test func opensAsManyChannelsAsThereIsRoomFor() throws {
    var limits = CreditBasedChannels.Limits()
    limits.channels = 2
    var link = TwoEnds()
    link.ends[1].signalling = SignallingChannel(role: .peripheral, channels: limits)
    link.ends[1].signalling.channels.services = [TwoEnds.service]
    let sizes = CreditBasedChannel.Parameters(mtu: 64, mps: 64, initialCredits: 2)
    try link.open(3, mode: .enhancedCreditBased, local: sizes)
    try link.accept(sizes)
    #expect(link.opened(0).count == 2 && link.opened(1).count == 2)
    #expect(link.ends[1].sent == ["18010e00400040000200" + "0400" + "400041000000"])
  }

  /// The number of a closed channel is used again after all others.
  @Test func numbersAreGivenInTurn() {
    var channels = CreditBasedChannels()
    let all = (0x0040...0x007F as ClosedRange<UInt16>).map { ChannelID(rawValue: $0) }
    #expect((0..<64).flatMap { _ in channels.takeCIDs(1) } == all)
    #expect(channels.takeCIDs(3) == Array(all.prefix(3)))
    #expect(channels.takeCIDs(1) == [all[3]])
  }

  /// L2CAP/LE/CFC/BV-08-C and BV-09-C: either end closes the channel.
  @Test(arguments: [0, 1]) func closesAChannel(end: Int) throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    link.perform(end) { $0.close(first, now: .start, into: &$1, effects: &$2) }
    #expect(link.closed(end) == [.local] && link.closed(1 - end) == [.peer])
    #expect(throws: CreditBasedChannel.SendRefusal.notOpen) {
      try link.ends[0].signalling.channels.send([1], on: first)
    }
    try link.open()
    #expect(link.ends[0].sent.last?.dropFirst(12).prefix(4) == "4100", "the next number")
  }

  @Test func bothEndsMayCloseAChannelAtOnce() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    link.drops = true
    for end in 0...1 { link.perform(end) { $0.close(first, now: .start, into: &$1, effects: &$2) } }
    link.drops = false
    try link.receive(0, "060104004000" + "4000")
    #expect(link.ends[0].sent.last == "0701040040004000")
    #expect(link.closed(0) == [.local])
  }

  /// L2CAP/LE/CFC/BI-01-C and BV-26-C to BV-28-C: a channel whose rules the peer breaks is closed.
  static let violations: [(String, CreditBasedChannel.Violation)] = [
    ("00", .noSDULength), ("c900" + "00", .sduTooLong(201)), ("0100" + "0102", .moreThanSDULength),
    ("0500" + String(repeating: "00", count: 29), .frameTooLong(31)),
  ]

  @Test(arguments: violations) func closesAChannelAfterAViolation(
    payload: String, violation: CreditBasedChannel.Violation
  ) throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    let octets = try #require([UInt8](hexadecimal: payload))
    link.perform(1) { $0.receive(octets.span, on: first, now: .start, into: &$1, effects: &$2) }
    #expect(link.closed(1) == [.violation(violation)] && link.closed(0) == [.peer])
  }

  @Test func closesAChannelAfterAFrameWithoutCredit() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    let frame: [UInt8] = [1, 0, 9]
    for _ in 1...4 { link.perform(1) { $0.receive(frame.span, on: first, now: .start, into: &$1, effects: &$2) } }
    #expect(link.received(1).count == 3)
    #expect(link.closed(1) == [.violation(.noCredit)])
  }

  /// More credits than 65,535 (Vol 3, Part A, 10.1).
  @Test func closesAChannelAfterTooManyCredits() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    try link.receive(0, "160904004000" + "fcff")
    #expect(link.ends[0].signalling.channels[first]?.credits == 65_535)
    try link.receive(0, "160904004000" + "0000")
    #expect(link.closed(0).isEmpty, "no credits are ignored")
    try link.receive(0, "160904004000" + "0100")
    #expect(link.closed(0) == [.violation(.tooManyCredits)])
  }

  /// The peer gives one number to two channels: neither is used (Vol 3, Part A, 4.26).
  @Test func closesBothChannelsOfOneNumber() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    link.drops = true
    try link.open()
    try link.receive(0, "15020a004000c8001e0003000000")
    #expect(link.closed(0) == [.duplicateCID])
    #expect(link.failures(0) == [.invalidResponse])
    #expect(link.ends[0].signalling.channels.count == 0)
  }

  static let invalidResponses = [
    // A number that is no dynamic one; an MTU below 23; an MPS below 23.
    "15010a000100c8001e0003000000", "15010a00400016001e0003000000", "15010a004000c800160003000000",
  ]

  @Test(arguments: invalidResponses) func aResponseThatIsInvalidOpensNothing(response: String) throws {
    var link = TwoEnds()
    link.drops = true
    try link.open()
    try link.receive(0, response)
    #expect(link.failures(0) == [.invalidResponse])
    let isNumber = !response.contains("0a000100")
    #expect(link.ends[0].sent.count == (isNumber ? 2 : 1), "the peer has to close the channel that it has opened")
    if isNumber { #expect(link.ends[0].sent.last == "0602040040004000") }
  }

  /// RTX (Vol 3, Part A, 6.2.1).
  @Test func aRequestWithoutAResponseEnds() throws {
    var link = TwoEnds()
    link.drops = true
    try link.open()
    #expect(link.ends[0].signalling.deadline == .start + SignallingChannel.responseTimeout)
    link.perform(0) { $0.tick(now: .start + .seconds(30), effects: &$2) }
    #expect(link.failures(0) == [.timedOut])
    try link.receive(0, "15010a004000c8001e0003000000")
    #expect(link.opened(0).isEmpty, "too late")
  }

  /// A pending response, then the final one (ERTX).
  @Test func aPendingResponseIsFollowedByTheResult() throws {
    var link = TwoEnds()
    link.drops = true
    let sizes = CreditBasedChannel.Parameters(mtu: 64, mps: 64, initialCredits: 2)
    try link.open(mode: .enhancedCreditBased, local: sizes)
    link.now = .start + .seconds(20)
    try link.receive(0, "18010a000000000000000d000000")
    link.perform(0) { $0.tick(now: .start + .seconds(40), effects: &$2) }
    #expect(link.failures(0).isEmpty)
    try link.receive(0, "18010a004000400002000000" + "4000")
    #expect(link.opened(0) == [first])
  }

  @Test func aPeerThatDoesNotSupportChannelsRejectsTheRequest() throws {
    var link = TwoEnds()
    link.drops = true
    try link.open()
    try link.receive(0, "010102000000")
    #expect(link.failures(0) == [.notUnderstood(.commandNotUnderstood)])
  }

  /// L2CAP/ECFC/BV-22-C to BV-25-C and BI-03-C to BI-06-C: reconfiguration.
  @Test func reconfiguresAChannel() throws {
    var link = TwoEnds()
    let sizes = CreditBasedChannel.Parameters(mtu: 64, mps: 64, initialCredits: 2)
    try link.open(mode: .enhancedCreditBased, local: sizes)
    try link.accept(sizes)
    try link.perform(1) { signalling, out, _ throws(SignallingChannel.ChannelRefusal) in
      try signalling.reconfigure([first], mtu: 100, mps: 80, now: .start, into: &out)
    }
    #expect(link.ends[0].signalling.channels[first]?.remote.mtu == 100)
    #expect(link.ends[1].signalling.channels[first]?.local.mps == 80)
    #expect(link.ends[0].effects.last == .reconfigured([first]))
    try link.ends[0].signalling.channels.send([UInt8](repeating: 1, count: 100), on: first)
    #expect(link.transmit(from: 0) == 2)
    #expect(link.received(1).map(\.count) == [100])
  }

  static let badReconfigurations: [(String, String)] = [
    // MTU smaller than before; MPS smaller for two channels; a channel that does not exist; an MPS below 64; a channel
    // named twice.
    ("19090600410046004000", "1a0902000100"), ("1909080064004100" + "40004100", "1a0902000200"),
    ("19090600640064004500", "1a0902000300"), ("19090600640030004000", "1a0902000400"),
    ("1909080064006400" + "40004000", "1a0902000400"), ("1909080064004100" + "40004000", "1a0902000400"),
  ]

  @Test(arguments: badReconfigurations) func refusesAReconfiguration(pdu: String, answer: String) throws {
    var link = TwoEnds()
    let sizes = CreditBasedChannel.Parameters(mtu: 70, mps: 70, initialCredits: 2)
    try link.open(2, mode: .enhancedCreditBased, local: sizes)
    try link.accept(sizes)
    link.drops = true
    try link.receive(1, pdu)
    #expect(link.ends[1].sent.last == answer)
  }

  @Test func theQueueIsLimited() throws {
    var limits = CreditBasedChannels.Limits()
    limits.queuedOctets = 100
    var link = TwoEnds(limits: limits)
    try link.open()
    try link.accept()
    let sdu = [UInt8](repeating: 0, count: 60)
    for _ in 1...2 { try link.ends[0].signalling.channels.send(sdu, on: first) }
    #expect(throws: CreditBasedChannel.SendRefusal.queueFull) {
      try link.ends[0].signalling.channels.send(sdu, on: first)
    }
    link.transmit(from: 0)
    #expect(link.ends[0].effects.contains(.canSend(first)))
    #expect(throws: CreditBasedChannel.SendRefusal.exceedsMTU(limit: 200)) {
      try link.ends[0].signalling.channels.send([UInt8](repeating: 0, count: 201), on: first)
    }
  }

  /// An empty SDU has no octets: the number of SDUs is limited, too.
  /// Four requests of a peer wait for the application; the next one has no resources (Vol 3, Part A, 4.23: 0x0004).
  @Test func theNumberOfRequestsThatWaitIsLimited() throws {
    var link = TwoEnds()
    for number in 1...5 { try link.receive(1, "140\(number)0a0080004\(number)00640017000400") }
    #expect(link.requests.count == 4)
    #expect(link.ends[1].sent == ["15050a00" + "0000000000000000" + "0400"])
  }

  @Test func theNumberOfQueuedSDUsIsLimited() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    for _ in 1...CreditBasedChannel.maximumQueuedSDUs { try link.ends[0].signalling.channels.send([], on: first) }
    #expect(throws: CreditBasedChannel.SendRefusal.queueFull) {
      try link.ends[0].signalling.channels.send([], on: first)
    }
    #expect(link.transmit(from: 0) == 3, "as many as the credits")
    #expect(link.received(1) == [[], [], []])
    try link.ends[0].signalling.channels.send([1], on: first)
  }

  /// A repeated request has one response; another request with its identifier is refused (Vol 3, Part A, 4;
  /// CVE-2026-23395).
  @Test(arguments: [
    ("14050a008000410064001700" + "0400", "14050a008000420064001700" + "0400", "15050a000000000000000000" + "0b00"),
    ("17050a008000400040000100" + "4100", "17050a008000400040000100" + "4200", "18050a000000000000000c00" + "0000"),
    ("17050a008000400040000100" + "4100", "14050a008000420064001700" + "0400", "15050a000000000000000000" + "0b00"),
  ]) func anIdentifierIsForOneRequest(request: String, other: String, answer: String) throws {
    var link = TwoEnds()
    link.drops = true
    try link.receive(1, request)
    try link.receive(1, request)
    #expect(link.requests.count == 1)
    #expect(link.ends[1].sent.isEmpty, "the owner has not decided")
    try link.receive(1, other)
    #expect(link.requests.count == 1)
    #expect(link.ends[1].sent == [answer])
    try link.accept(.init())
    #expect(link.opened(1).count == 1)
  }

  @Test func theEndOfTheLinkEndsEverything() throws {
    var link = TwoEnds()
    try link.open()
    try link.accept()
    link.drops = true
    try link.open()
    var effects: [CreditBasedChannels.Effect] = []
    link.ends[0].signalling.channels.linkEnded(effects: &effects)
    #expect(effects == [.openFailed(.init(rawValue: 1), .linkEnded), .closed(first, .linkEnded)])
    #expect(link.ends[0].signalling.deadline == nil)
  }

  @Test func refusesParametersOutOfRange() {
    var link = TwoEnds()
    #expect(throws: SignallingChannel.ChannelRefusal.self) { try link.open(local: .init(mtu: 22)) }
    #expect(throws: SignallingChannel.ChannelRefusal.self) { try link.open(local: .init(mps: 22)) }
    #expect(throws: SignallingChannel.ChannelRefusal.self) { try link.open(local: .init(initialCredits: 0)) }
    #expect(throws: SignallingChannel.ChannelRefusal.invalidCount(2)) { try link.open(2) }
    let sizes = CreditBasedChannel.Parameters(mtu: 64, mps: 64)
    #expect(throws: SignallingChannel.ChannelRefusal.invalidCount(6)) {
      try link.open(6, mode: .enhancedCreditBased, local: sizes)
    }
    #expect(link.ends[0].sent.isEmpty)
  }

  @Test func theNumberOfChannelsIsLimited() throws {
    var limits = CreditBasedChannels.Limits()
    limits.channels = 1
    var link = TwoEnds(limits: limits)
    try link.open()
    #expect(throws: SignallingChannel.ChannelRefusal.tooMany(limit: 1)) { try link.open() }
  }

  /// 10,000 random frames and signalling PDUs: no trap, and memory stays within the limits.
  @Test func randomOctetsAreHarmless() throws {
    var random = SplitMix64(seed: 11)
    var link = TwoEnds()
    try link.open()
    try link.accept()
    for _ in 1...10_000 {
      let count = Int(random.next() & 31)
      var octets = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      if random.next() & 1 == 0, count > 1 {
        octets[0] = UInt8(0x14 + random.next() % 7)
        link.perform(1) { $0.receive(octets[...], now: .start, into: &$1, effects: &$2) }
      } else {
        link.perform(1) { $0.receive(octets.span, on: first, now: .start, into: &$1, effects: &$2) }
      }
      if let request = link.requests.last { link.perform(1) { $0.accept(request, .init(), into: &$1, effects: &$2) } }
      if link.ends[1].effects.count > 100 { link.ends[1].effects = [] }
      link.ends[0].sent = []
      link.ends[1].sent = []
    }
    #expect(link.ends[1].signalling.channels.count <= 32)
  }
}
