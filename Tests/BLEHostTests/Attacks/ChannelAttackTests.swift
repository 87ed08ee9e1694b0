import BLEGATT
import BLEHost
import BLEL2CAP
import BLEWire
import Testing

/// A host that listens, and the other end of its link, for which a script speaks.
private struct ChannelVictim {
  var pair: ChannelPair
  /// The attacked host: 0 the peripheral, 1 the central.
  let host: Int

  init(_ host: Int, _ service: ChannelService = ChannelService(spsm: ChannelPair.service)) throws {
    self.host = host
    pair = try ChannelPair(nil)
    pair.ask(host, .channels(.listen(ListenID(rawValue: 1), service)))
  }

  var attacker: Int { 1 - host }
  /// The channels of the attacked host that are open.
  var channels: Int { pair.openedChannels(host).count - pair.closed(host).count }
  /// The commands that the attacked host has sent on the signalling channel, in hexadecimal digits.
  var commands: [String] { pair.frames(of: host, on: 5) }
  var isLinkUp: Bool {
    pair.couple.events(host).allSatisfy { if case .link(_, .disconnected) = $0 { false } else { true } }
  }

  /// Sends a command, and returns what the attacked host sends.
  mutating func exchange(_ command: String) throws -> [String] {
    let before = commands.count
    try pair.forge(command, on: 5, from: attacker)
    return Array(commands.dropFirst(before))
  }

  /// Sends a command with this code, identifier and data.
  mutating func exchange(_ head: String, data: String) throws -> [String] {
    var length: [UInt8] = []
    length.append(littleEndian: UInt16(data.count / 2))
    return try exchange(head + length.hexadecimal + data)
  }

  mutating func open(_ mode: CreditBasedChannel.Mode = .enhancedCreditBased) throws {
    pair.open(from: attacker, .init(spsm: ChannelPair.service, mode: mode))
    try #require(channels == 1)
  }

  /// The link still carries channels, and the attacked host has those that it should.
  mutating func expectServed(channels count: Int, at location: SourceLocation = #_sourceLocation) {
    #expect(channels == count && isLinkUp, sourceLocation: location)
    pair.open(from: attacker, .init(spsm: ChannelPair.service))
    #expect(channels == count + 1, sourceLocation: location)
  }
}

/// Attacks on credit-based channels and their signalling, against the peripheral and the central.
@Suite("Attacks on channels") struct ChannelAttackTests {
  /// Enhanced Credit Based Connection Requests with one identifier (Vol 3, Part A, 4): answered at once, it is free
  /// again; no channel is opened twice.
  @Test(arguments: [0, 1], [true, false]) func cve_2026_23395_oneIdentifierTwice(host: Int, isOpen: Bool) throws {
    var victim = try ChannelVictim(
      host, ChannelService(spsm: ChannelPair.service, requirement: isOpen ? .open : .encrypted))
    let results = try ["50005100", "52005300", "50005100"].map { numbers in
      try victim.exchange("1707", data: "8000400040000100" + numbers)
    }
    #expect(results.allSatisfy { $0.count == 1 && $0[0].hasPrefix("1807") })
    #expect(victim.channels == (isOpen ? 4 : 0))
    let numbers = results.joined().flatMap(Self.numbers).filter { $0 != 0 }
    #expect(numbers.count == victim.channels && Set(numbers).count == numbers.count)
    if isOpen { victim.expectServed(channels: 4) }
  }

  /// The channel numbers of an Enhanced Credit Based Connection Response.
  private static func numbers(_ response: String) -> [UInt16] {
    let octets = [UInt8](hexadecimal: response) ?? []
    return stride(from: 12, to: octets.count - 1, by: 2).map { UInt16(octets[$0]) | UInt16(octets[$0 + 1]) << 8 }
  }

  /// Reconfigure Responses that nobody asked for, of each length and result.
  @Test(arguments: [0, 1], ["", "00", "0000", "0100", "0400", "ffff", "0000000000000000"])
  func cve_2026_43062_reconfigureResponses(host: Int, payload: String) throws {
    var victim = try ChannelVictim(host)
    try victim.open()
    let answers = try victim.exchange("1a09", data: payload)
    #expect(answers.allSatisfy { $0.hasPrefix("0109") }, "ignored or rejected")
    victim.expectServed(channels: 1)
  }

  /// Reconfigure Requests with no, 6 and 100 channels, and with those that are not open (Vol 3, Part A, 4.27, 4.28).
  static let reconfigurations: [(String, String)] = [
    ("no channel", ""), ("six channels", "400041004200430044004500"),
    ("a hundred channels", String(repeating: "4000", count: 100)), ("an unknown channel", "7f00"),
    ("channel 0", "0000"),
    ("a fixed channel", "0400"), ("one of two unknown", "40007f00"),
  ]

  @Test(arguments: [0, 1], reconfigurations.indices) func cve_2022_20345_reconfigureOutOfRange(host: Int, number: Int)
    throws
  {
    let (name, channels) = Self.reconfigurations[number]
    var victim = try ChannelVictim(host)
    try victim.open()
    let answers = try victim.exchange("1909", data: "00080008" + channels)
    let isRefused = answers.first.map { $0.hasPrefix("0109") || $0.hasPrefix("1a09") && !$0.hasSuffix("0000") }
    #expect(answers.count == 1 && isRefused == true, "\(name): \(answers)")
    victim.expectServed(channels: 1)
  }

  /// Sizes that shrink or are below the minimum, requests cut short, and a closed channel.
  @Test(arguments: [0, 1], ["40000800", "01000100", "ffff0100", "ff07ffff"])
  func cve_2023_35681_reconfigureSizes(host: Int, sizes: String) throws {
    var victim = try ChannelVictim(host)
    try victim.open()
    let request = try #require(victim.pair.frames(of: victim.attacker, on: 5).last { $0.hasPrefix("17") })
    let channel = request.suffix(4)
    let answers = try victim.exchange("1909", data: sizes + channel)
    #expect(answers.count == 1 && answers[0].hasPrefix("1a090200") && answers[0] != "1a0902000000", "\(answers)")
    for cut in [0, 2, 4] {
      let rejected = try victim.exchange("190a", data: String(sizes.prefix(2 * cut)))
      #expect(rejected.count == 1 && rejected[0] != "1a0a02000000")
    }
    victim.expectServed(channels: 1)
    victim.pair.ask(
      victim.attacker, .channel(try #require(victim.pair.openedChannels(victim.attacker).first?.id), .close))
    let closed = try victim.exchange("190b", data: "00080008" + channel)
    #expect(closed.count == 1 && closed[0].hasPrefix("1a0b0200") && closed[0] != "1a0b02000000")
  }

  /// LE Credit Based Connection Requests: PSM, source channel, and the result (Vol 3, Part A, 4.23).
  static let connections: [(spsm: String, channel: String, result: String)] = [
    ("0000", "4000", "0200"), ("ffff", "4000", "0200"), ("8100", "4000", "0200"), ("8000", "0000", "0900"),
    ("8000", "3f00", "0900"), ("8000", "8000", "0900"), ("8000", "ffff", "0900"),
  ]

  @Test(arguments: [0, 1], connections.indices) func cve_2022_42896_connectionRequests(host: Int, number: Int) throws {
    let (spsm, channel, result) = Self.connections[number]
    var victim = try ChannelVictim(host)
    let answers = try victim.exchange("1405", data: spsm + channel + "400040000100")
    #expect(answers.count == 1 && answers[0].hasPrefix("15050a00") && answers[0].hasSuffix(result), "\(answers)")
    #expect(victim.channels == 0)
    // The same number twice: the second is refused (result 0x000A).
    _ = try victim.exchange("1406", data: "80004000" + "400040000100")
    #expect(try victim.exchange("1407", data: "80004000" + "400040000100").last?.hasSuffix("0a00") == true)
    #expect(victim.channels == 1)
  }

  /// No credits: nothing to add, and no violation of 10.1.
  @Test(arguments: [0, 1]) func creditsOfZeroAreIgnored(host: Int) throws {
    var victim = try ChannelVictim(host)
    try victim.open(.leCreditBased)
    for _ in 0..<100 { #expect(try victim.exchange("1609", data: "40000000").isEmpty) }
    victim.expectServed(channels: 1)
  }

  /// Credits of a sum over 65,535; data beyond the credits; lengths that are not those of the segments (10.1).
  static let credits: [(String, UInt16, [String])] = [
    ("too many credits", 5, ["160904004000ffff", "160904004000ffff"]),
    ("beyond our credits", 0x40, [String](repeating: "010007", count: 40)), ("an SDU above the MTU", 0x40, ["ffff07"]),
    ("more octets than the SDU has", 0x40, ["0100070707"]), ("segments past the length", 0x40, ["030007", "07070707"]),
    ("no length", 0x40, ["01"]), ("an empty frame", 0x40, [""]),
  ]

  @Test(arguments: [0, 1], credits.indices) func creditAbuse(host: Int, number: Int) throws {
    let (name, channel, frames) = Self.credits[number]
    var victim = try ChannelVictim(
      host, ChannelService(spsm: ChannelPair.service, parameters: .init(mtu: 100, mps: 102, initialCredits: 4)))
    try victim.open(.leCreditBased)
    for frame in frames { try victim.pair.forge(frame, on: channel, from: victim.attacker) }
    #expect(victim.pair.received(host).count <= 4, "\(name)")
    #expect(victim.pair.closed(host).count == 1, "\(name)")
    #expect(victim.commands.contains { $0.hasPrefix("06") }, "a Disconnection Request: \(name)")
    victim.pair.couple.world.run(for: .seconds(40))
    victim.expectServed(channels: 0)
  }
}
