import BLELinux
import BLEWire
import Glibc
import Testing

@testable import BLEKernel

/// The management protocol, whose answers a test lays ready before they are asked for.
@Suite struct AdapterConfigurationTests {
  static let everything: AdapterSettings = [
    .powered, .bondable, .lowEnergy, .secureSimplePairing, .secureConnections,
  ]

  static func octets(_ settings: AdapterSettings) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: settings.rawValue >> (8 * UInt32($0))) }
  }

  static func reply(_ command: UInt16, _ index: UInt16, _ status: UInt8, _ parameters: [UInt8] = []) -> [UInt8] {
    var message: [UInt8] = []
    for value in [1, index, UInt16(3 + parameters.count), command] as [UInt16] { message.append(littleEndian: value) }
    return message + [status] + parameters
  }

  static func information(_ index: UInt16, _ address: UInt64, _ current: AdapterSettings) -> [UInt8] {
    reply(
      0x0004, index, 0,
      BD_ADDR(address).littleEndian + [0x0B, 0xF1, 0x05] + octets(everything) + octets(current) + [0, 0, 0])
  }

  static func list(_ indices: UInt16...) -> [UInt8] {
    var parameters: [UInt8] = []
    for value in [UInt16(indices.count)] + indices { parameters.append(littleEndian: value) }
    return reply(0x0003, 0xFFFF, 0, parameters)
  }

  /// Codes and parameters of the commands that were sent.
  static func asked(_ pair: MessagePair) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    while let message = try pair.sent() { found.append([message[0]] + message[6...]) }
    return found
  }

  static func configuration(
    _ choice: AdapterChoice, _ pair: MessagePair, _ purpose: AdapterConfiguration.Purpose = .sharing,
    daemonRuns: Bool = false
  ) throws -> AdapterConfiguration {
    AdapterConfiguration(choice, for: purpose, named: "linux", ManagementSocket(try #require(pair.near))) { daemonRuns }
  }

  @Test func findsAnAdapterAgainByItsAddress() throws {
    let pair = try MessagePair()
    var configuration = try Self.configuration(.first, pair)
    for message in [Self.list(2, 1), Self.information(1, 0xA1, .powered)] { try pair.say(message) }
    #expect(try configuration.find()?.index == 1)
    // Plugged in again under another index, beside a stranger.
    for message in [Self.list(0, 3), Self.information(0, 0xB2, .powered), Self.information(3, 0xA1, [])] {
      try pair.say(message)
    }
    #expect(try configuration.find()?.index == 3)
    for message in [Self.list(0), Self.information(0, 0xB2, .powered)] { try pair.say(message) }
    #expect(try configuration.find() == nil)
  }

  @Test func findsAnAdapterByIndexAndByAddress() throws {
    for choice in [AdapterChoice.index(1), .address(BD_ADDR(0xA1))] {
      let pair = try MessagePair()
      var configuration = try Self.configuration(choice, pair)
      for message in [Self.list(0, 1), Self.information(0, 0xB2, .powered), Self.information(1, 0xA1, .powered)] {
        try pair.say(message)
      }
      #expect(try configuration.find()?.address == BD_ADDR(0xA1))
    }
  }

  @Test func switchesOnAnAdapterThatIsOffAndRestoresIt() throws {
    let pair = try MessagePair()
    var configuration = try Self.configuration(.index(0), pair)
    for message in [Self.list(0), Self.information(0, 0xA1, [])] { try pair.say(message) }
    let found = try configuration.find()
    _ = try Self.asked(pair)
    // Secure Simple Pairing is refused, as by a controller for Low Energy alone.
    for (command, status) in [(0x0D, 0), (0x0B, 0x0C), (0x2D, 0), (0x09, 0), (0x05, 0)] as [(UInt16, UInt8)] {
      try pair.say(Self.reply(command, 0, status))
    }
    try configuration.prepare(try #require(found), isNew: true)
    #expect(try Self.asked(pair) == [[0x0D, 1], [0x0B, 1], [0x2D, 1], [0x09, 1], [0x05, 1]])
    for command in [0x05, 0x0D, 0x09, 0x2D] as [UInt16] { try pair.say(Self.reply(command, 0, 0)) }
    configuration.restore()
    #expect(try Self.asked(pair) == [[0x05, 0], [0x0D, 0], [0x09, 0], [0x2D, 0]])
  }

  /// One that somebody has set up for pairing, and one of bluetoothd.
  @Test(arguments: [false, true]) func leavesAConfiguredAdapterAsItIs(daemonRuns: Bool) throws {
    let pair = try MessagePair()
    var configuration = try Self.configuration(.index(0), pair, daemonRuns: daemonRuns)
    var settings: AdapterSettings = [.powered, .lowEnergy, .secureConnections]
    if !daemonRuns { settings.insert(.bondable) }
    for message in [Self.list(0), Self.information(0, 0xA1, settings)] { try pair.say(message) }
    let found = try configuration.find()
    _ = try Self.asked(pair)
    try configuration.prepare(try #require(found), isNew: true)
    #expect(configuration.isPairedByDaemon == daemonRuns)
    #expect(try Self.asked(pair) == [])
    for command in [0x09, 0x2D] as [UInt16] { try pair.say(Self.reply(command, 0, 0)) }
    configuration.restore()
    // What the policy for pairing may have changed meanwhile is as it was.
    #expect(try Self.asked(pair) == (daemonRuns ? [] : [[0x09, 1], [0x2D, 1]]))
  }

  /// The kernel's security manager comes to life only with an adapter that is switched on with its settings.
  @Test func switchesAnAdapterOffAndOnToEnableSecurity() throws {
    let pair = try MessagePair()
    var configuration = try Self.configuration(.index(0), pair)
    let on: AdapterSettings = [.powered, .lowEnergy]
    for message in [Self.list(0), Self.information(0, 0xA1, on), Self.reply(0x0015, 0, 0, [0, 0])] {
      try pair.say(message)
    }
    let found = try configuration.find()
    _ = try Self.asked(pair)
    for command in [0x05, 0x0B, 0x2D, 0x09, 0x05] as [UInt16] { try pair.say(Self.reply(command, 0, 0)) }
    try configuration.prepare(try #require(found), isNew: true)
    #expect(try Self.asked(pair) == [[0x15], [0x05, 0], [0x0B, 1], [0x2D, 1], [0x09, 1], [0x05, 1]])
    for command in [0x0B, 0x09, 0x2D] as [UInt16] { try pair.say(Self.reply(command, 0, 0)) }
    configuration.restore()
    #expect(try Self.asked(pair) == [[0x0B, 0], [0x09, 0], [0x2D, 0]], "and it stays on")
  }

  @Test func doesNotSwitchOffAnAdapterWithLinks() throws {
    let pair = try MessagePair()
    var configuration = try Self.configuration(.index(0), pair)
    let link: [UInt8] = [1, 0, 1, 2, 3, 4, 5, 6, 1]
    for message in [
      Self.list(0), Self.information(0, 0xA1, [.powered, .lowEnergy]), Self.reply(0x0015, 0, 0, link),
    ] { try pair.say(message) }
    let found = try configuration.find()
    _ = try Self.asked(pair)
    try configuration.prepare(try #require(found), isNew: true)
    #expect(try Self.asked(pair) == [[0x15]])
  }

  @Test func leavesOffWhatItsUserSwitchedOff() throws {
    let pair = try MessagePair()
    var configuration = try Self.configuration(.index(0), pair)
    for message in [Self.list(0), Self.information(0, 0xA1, .lowEnergy)] { try pair.say(message) }
    let found = try #require(try configuration.find())
    let error = #expect(throws: TransportError.self) { try configuration.prepare(found, isNew: false) }
    #expect(error?.kind == .poweredOff)
  }

  /// Whoever opens an adapter waits for one answer that does not come, not for a row of them.
  @Test(arguments: [0, 1, 2, 3])
  func failsAtTheFirstRequestWithoutAnAnswer(answers: Int) throws {
    let pair = try MessagePair()
    var management = ManagementSocket(try #require(pair.near))
    management.patience = .zero
    var configuration = AdapterConfiguration(.index(0), for: .sharing, named: "linux", management)
    let replies = [Self.list(0), Self.information(0, 0xA1, []), Self.reply(0x000D, 0, 0)]
    for message in replies.prefix(answers) { try pair.say(message) }
    let error = #expect(throws: TransportError.self) {
      let found = try configuration.find()
      try configuration.prepare(try #require(found), isNew: true)
    }
    #expect(error?.kind == .inputOutput)
    #expect(try Self.asked(pair).count == answers + 1)
  }

  @Test(
    arguments: [
      (0x14, TransportError.Kind.noPermission, "sudo setcap 'cap_net_raw,cap_net_admin+eip' /"),
      (0x12, .poweredOff, "sudo rfkill unblock bluetooth"), (0x0A, .busy, "another program"),
      (0x11, .unavailable, "Plug it in"), (0x03, .unavailable, "Failed (0x03)"),
    ] as [(UInt8, TransportError.Kind, String)])
  func rejectionsHaveARemedy(status: UInt8, kind: TransportError.Kind, part: String) throws {
    let pair = try MessagePair()
    var configuration = try Self.configuration(.index(0), pair, .takingOver)
    for message in [Self.list(0), Self.information(0, 0xA1, .powered), Self.reply(0x0005, 0, status)] {
      try pair.say(message)
    }
    let found = try #require(try configuration.find())
    let error = #expect(throws: TransportError.self) { try configuration.prepare(found, isNew: true) }
    #expect(error?.kind == kind)
    #expect("\(error as Any)".contains(part))
  }
}
