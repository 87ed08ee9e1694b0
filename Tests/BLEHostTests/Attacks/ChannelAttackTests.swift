import BLEGATT
import BLEHost
import BLEL2CAP
import BLEWire
import Testing

/// Attacks on credit-based channels and their signalling.
@Suite("Attacks on channels") struct ChannelAttackTests {
  /// Commands that the attacked end sent on the signalling channel since `start`, in hexadecimal digits.
  private static func answers(_ pair: ChannelPair, of host: Int, since start: Int) -> [String] {
    Array(pair.frames(of: host, on: 5).dropFirst(start))
  }

  /// Sends a command, and returns the attacked end's.
  private static func exchange(_ command: String, with pair: inout ChannelPair, from host: Int = 1) throws -> [String] {
    let start = pair.frames(of: 1 - host, on: 5).count
    try pair.forge(command, on: 5, from: host)
    return answers(pair, of: 1 - host, since: start)
  }

  /// The link still carries channels, and the attacked host has those that it should.
  private static func expectServed(_ pair: inout ChannelPair, channels: Int) {
    #expect(pair.openedChannels(0).count - pair.closed(0).count == channels)
    pair.open()
    #expect(pair.openedChannels(0).count - pair.closed(0).count == channels + 1)
  }

  /// An Enhanced Credit Based Connection Request whose identifier is that of one without a response (Vol 3, Part A, 4).
  @Test(arguments: [0, 1]) func cve_2026_23395_oneIdentifierTwice(waits: Int) throws {
    // With a demand that is not met yet, the first request waits for security.
    let requirement = waits == 1 ? AccessRequirement.encrypted : .open
    var pair = try ChannelPair(ChannelService(spsm: ChannelPair.service, requirement: requirement))
    let first = try Self.exchange("1707 0c00 8000 4000 4000 0100 5000 5100".replacing(" ", with: ""), with: &pair)
    let second = try Self.exchange("1707 0c00 8000 4000 4000 0100 5200 5300".replacing(" ", with: ""), with: &pair)
    let third = try Self.exchange("1707 0c00 8000 4000 4000 0100 5000 5100".replacing(" ", with: ""), with: &pair)
    #expect((first + second + third).allSatisfy { $0.hasPrefix("1807") || $0.hasPrefix("0107") })
    #expect(pair.openedChannels(0).count <= 4, "no channel is opened twice")
    let remote = pair.frames(of: 0, on: 5).filter { $0.hasPrefix("1807") }.flatMap(Self.numbers).filter { $0 != 0 }
    #expect(Set(remote).count == remote.count)
    pair.couple.world.run(for: .seconds(60))
    if waits == 0 { Self.expectServed(&pair, channels: pair.openedChannels(0).count) }
  }

  /// The channel numbers of an Enhanced Credit Based Connection Response.
  private static func numbers(_ response: String) -> [UInt16] {
    let octets = [UInt8](hexadecimal: response) ?? []
    return stride(from: 12, to: octets.count - 1, by: 2).map { UInt16(octets[$0]) | UInt16(octets[$0 + 1]) << 8 }
  }

  private static func open(_ pair: inout ChannelPair) throws {
    pair.open(.init(spsm: ChannelPair.service, mode: .enhancedCreditBased))
    try #require(pair.openedChannels(0).count == 1)
  }

  /// Reconfigure Responses that nobody asked for, of each length and result.
  @Test(arguments: ["", "00", "0000", "0100", "0400", "ffff", "0000000000000000"])
  func cve_2026_43062_reconfigureResponses(payload: String) throws {
    var pair = try ChannelPair()
    try Self.open(&pair)
    var length: [UInt8] = []
    length.append(littleEndian: UInt16(payload.count / 2))
    let answers = try Self.exchange("1a09" + length.hexadecimal + payload, with: &pair)
    #expect(answers.allSatisfy { $0.hasPrefix("0109") }, "ignored or rejected")
    #expect(pair.closed(0).isEmpty && pair.closed(1).isEmpty)
    Self.expectServed(&pair, channels: 1)
  }

  /// Reconfigure Requests with no, 6 and 100 channels, and with those that are not open (Vol 3, Part A, 4.27, 4.28).
  static let reconfigurations: [(String, String)] = [
    ("no channel", ""), ("six channels", "400041004200430044004500"),
    ("a hundred channels", String(repeating: "4000", count: 100)), ("an unknown channel", "7f00"),
    ("channel 0", "0000"),
    ("a fixed channel", "0400"), ("one of two unknown", "40007f00"),
  ]

  @Test(arguments: reconfigurations.indices) func cve_2022_20345_reconfigureOutOfRange(number: Int) throws {
    let (name, channels) = Self.reconfigurations[number]
    var pair = try ChannelPair()
    try Self.open(&pair)
    var length: [UInt8] = []
    length.append(littleEndian: UInt16(4 + channels.count / 2))
    let answers = try Self.exchange("1909" + length.hexadecimal + "00080008" + channels, with: &pair)
    #expect(answers.count == 1, "\(name)")
    let isRefused = answers.first.map { $0.hasPrefix("0109") || $0.hasPrefix("1a09") && !$0.hasSuffix("0000") }
    #expect(isRefused == true, "\(name): \(answers)")
    #expect(
      pair.closed(0).isEmpty && pair.couple.events(0).allSatisfy { if case .disconnected = $0 { false } else { true } })
    Self.expectServed(&pair, channels: 1)
  }

  /// Sizes that shrink or are below the minimum, a closed channel, and a request cut short.
  @Test(arguments: ["40000800", "01000100", "ffff0100", "ff07ffff"])
  func cve_2023_35681_reconfigureSizes(sizes: String) throws {
    var pair = try ChannelPair()
    try Self.open(&pair)
    let channel = try #require(pair.frames(of: 1, on: 5).last { $0.hasPrefix("17") }).suffix(4)
    let answers = try Self.exchange("19090600" + sizes + channel, with: &pair)
    #expect(answers.count == 1 && answers[0].hasPrefix("1a09") && answers[0] != "1a0902000000", "\(answers)")
    for cut in [0, 2, 4] {
      var length: [UInt8] = []
      length.append(littleEndian: UInt16(cut))
      let rejected = try Self.exchange("190a" + length.hexadecimal + String(sizes.prefix(2 * cut)), with: &pair)
      #expect(rejected.count == 1 && !rejected[0].hasSuffix("1a0a02000000"))
    }
    Self.expectServed(&pair, channels: 1)
    pair.ask(1, .closeChannel(try #require(pair.openedChannels(1).first?.id)))
    let closed = try Self.exchange("190b0600" + "00080008" + channel, with: &pair)
    #expect(closed.count == 1 && closed[0] != "1a0b02000000")
  }

  /// LE Credit Based Connection Requests: PSM, source channel, and the result (Vol 3, Part A, 4.23).
  static let connections: [(spsm: String, channel: String, result: String)] = [
    ("0000", "4000", "0200"), ("ffff", "4000", "0200"), ("8100", "4000", "0200"), ("8000", "0000", "0900"),
    ("8000", "3f00", "0900"), ("8000", "8000", "0900"), ("8000", "ffff", "0900"),
  ]

  @Test(arguments: connections.indices) func cve_2022_42896_connectionRequests(number: Int) throws {
    let (spsm, channel, result) = Self.connections[number]
    var pair = try ChannelPair()
    let answers = try Self.exchange("14050a00" + spsm + channel + "400040000100", with: &pair)
    #expect(answers.count == 1 && answers[0].hasPrefix("15050a00") && answers[0].hasSuffix(result), "\(answers)")
    #expect(pair.openedChannels(0).isEmpty)
    // The same number twice: the second is refused (result 0x000A).
    _ = try Self.exchange("14060a00" + "80004000" + "400040000100", with: &pair)
    let second = try Self.exchange("14070a00" + "80004000" + "400040000100", with: &pair)
    #expect(second.last?.hasSuffix("0a00") == true)
    #expect(pair.openedChannels(0).count == 1)
  }

  /// Credits of 0 and of a sum over 65,535; data beyond the credits; lengths that are not those of the segments (10.1).
  static let credits: [(String, UInt16, [String])] = [
    ("no credits", 5, ["1609040040000000"]), ("too many credits", 5, ["160904004000ffff", "160904004000ffff"]),
    ("beyond our credits", 0x40, [String](repeating: "010007", count: 40)), ("an SDU above the MTU", 0x40, ["ffff07"]),
    ("more octets than the SDU has", 0x40, ["0100070707"]), ("segments past the length", 0x40, ["030007", "07070707"]),
    ("no length", 0x40, ["01"]), ("an empty frame", 0x40, [""]),
  ]

  @Test(arguments: credits.indices) func creditAbuse(number: Int) throws {
    let (name, channel, frames) = Self.credits[number]
    var pair = try ChannelPair(
      ChannelService(spsm: ChannelPair.service, parameters: .init(mtu: 100, mps: 102, initialCredits: 4)))
    pair.open()
    for frame in frames { try pair.forge(frame, on: channel, from: 1) }
    #expect(pair.received(0).count <= 4, "\(name)")
    if name != "no credits" || !pair.closed(0).isEmpty {
      #expect(pair.closed(0).count == 1, "\(name)")
      #expect(pair.frames(of: 0, on: 5).last?.hasPrefix("06") == true, "a Disconnection Request: \(name)")
    }
    pair.couple.world.run(for: .seconds(40))
    Self.expectServed(&pair, channels: pair.closed(0).isEmpty ? 1 : 0)
  }
}
