import BLEHost
import BLELinux
import BLESMP
import BLEWire
import Testing

@testable import BLEKernel

/// The management protocol's words for pairing and keys, octet for octet as BlueZ's `doc/mgmt-api.txt` gives them.
@Suite struct KernelSecurityTests {
  static let peer = DeviceAddress(octets: BD_ADDR(0x00AA_0101_0001), kind: .public)
  static let peerOctets: [UInt8] = [0x01, 0x00, 0x01, 0x01, 0xAA, 0x00, 0x01]
  static let random = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
  static let randomOctets: [UInt8] = [0x55, 0x44, 0x33, 0x22, 0x11, 0xC0, 0x02]
  static let value = SecretKey(0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100)
  static let valueOctets = [UInt8](0..<16)

  static func event(_ code: UInt16, _ parameters: [UInt8], index: UInt16 = 0) -> [UInt8] {
    var message: [UInt8] = []
    for number in [code, index, UInt16(parameters.count)] { message.append(littleEndian: number) }
    return message + parameters
  }

  static func strength(_ isAuthenticated: Bool, _ isSecure: Bool) -> KeyStrength {
    KeyStrength(size: 16, isAuthenticated: isAuthenticated, isSecureConnections: isSecure)
  }

  static func passkey(_ number: UInt32) -> Passkey { Passkey(lowestDigitsOf: number) }

  static let events: [([UInt8], KernelReport)] = [
    (event(0x000F, peerOctets + [1, 0, 0, 0, 0]), .asked(peer, .consent)),
    (event(0x000F, randomOctets + [0, 0x40, 0xE2, 0x01, 0x00]), .asked(random, .compare(passkey(123_456)))),
    (event(0x0010, peerOctets), .asked(peer, .enterPasskey)),
    (event(0x0017, peerOctets + [0x3F, 0x42, 0x0F, 0x00, 0]), .asked(peer, .display(passkey(999_999)))),
    (event(0x0011, peerOctets + [5]), .failed(peer)),
    (
      event(0x000A, [1] + peerOctets + [3, 0, 16] + [UInt8](repeating: 0, count: 10) + valueOctets),
      .longTermKey(peer, LongTermKey(value: value, strength: strength(true, true)), .both, isToBeKept: true)
    ),
    (
      event(0x000A, [1] + peerOctets + [0, 0, 16, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1] + valueOctets),
      .longTermKey(
        peer,
        LongTermKey(value: value, ediv: 0x1234, rand: 0x0102_0304_0506_0708, strength: strength(false, false)),
        .peripheral, isToBeKept: true)
    ),
    (
      event(0x000A, [0] + peerOctets + [1, 1, 16] + [UInt8](repeating: 0, count: 10) + valueOctets),
      .longTermKey(peer, LongTermKey(value: value, strength: strength(true, false)), .central, isToBeKept: false)
    ),
    (
      event(0x0018, [1, 0x99, 0x88, 0x77, 0x66, 0x55, 0x44] + peerOctets + valueOctets),
      .identity(peer, usedAs: DeviceAddress(octets: BD_ADDR(0x4455_6677_8899), kind: .random), value)
    ),
    (event(0x0019, [1] + peerOctets + [1] + valueOctets), .signatureKey(peer, value, isOurs: false)),
    (event(0x0019, [1] + peerOctets + [2] + valueOctets), .signatureKey(peer, value, isOurs: true)),
  ]

  /// The report that a message makes for the adapter 0; nil for none.
  static func report(_ message: [UInt8]) -> KernelReport? {
    guard let message = try? ManagementMessage(decoding: message[...]), message.index == 0 else { return nil }
    return Management.event(message).flatMap { KernelReport($0) }
  }

  @Test(arguments: events) func readsEachEvent(event: [UInt8], report: KernelReport) throws {
    #expect(Self.report(event) == report)
  }

  @Test(arguments: events) func readsNoEventThatIsTruncated(event: [UInt8], report: KernelReport) throws {
    // The message is cut, and the parameters in a message that is whole.
    for count in 0..<event.count { #expect(Self.report(Array(event.prefix(count))) == nil) }
    for count in 0..<(event.count - 6) {
      #expect(Self.report(Self.event(UInt16(event[0]), Array(event[6...].prefix(count)))) == nil)
    }
  }

  @Test func readsEventsThatALaterKernelMadeLonger() throws {
    for (event, report) in Self.events {
      #expect(Self.report(Self.event(UInt16(event[0]), Array(event[6...]) + [0xFF])) == report)
    }
  }

  @Test func acceptsAnyOctets() {
    for (event, _) in Self.events {
      for place in event.indices {
        var changed = event
        changed[place] = ~changed[place]
        _ = Self.report(changed)
      }
    }
    // A key of 17 octets, a passkey of seven digits, a BR/EDR device.
    let key = [1] + Self.peerOctets + [0, 0, 17] + [UInt8](repeating: 0, count: 10) + Self.valueOctets
    #expect(Self.report(Self.event(0x000A, key)) == nil)
    let million = Self.peerOctets + [0x40, 0x42, 0x0F, 0x00, 0]
    #expect(Self.report(Self.event(0x0017, million)) == nil)
    #expect(Self.report(Self.event(0x0010, [1, 2, 3, 4, 5, 6, 0])) == nil)
  }

  static func messages(_ directive: KernelCommand) -> [[UInt8]] {
    directive.managementRequests.map { [UInt8($0.opcode.rawValue)] + $0.parameters }
  }

  @Test func translatesDirectives() {
    var settings = PairingSettings()
    settings.ioCapability = .displayYesNo
    #expect(Self.messages(.setPairing(settings)) == [[0x2D, 1], [0x18, 1], [0x09, 1]])
    settings.isSecureConnectionsOnly = true
    settings.isBonding = false
    #expect(Self.messages(.setPairing(settings)) == [[0x2D, 2], [0x18, 1], [0x09, 0]])
    #expect(Self.messages(.setPairing(nil)) == [[0x09, 0]])
    #expect(Self.messages(.forget(Self.peer)) == [[0x1B] + Self.peerOctets + [0]])
  }

  @Test func translatesAnswers() {
    let number = Self.passkey(123_456)
    let answers: [(PairingQuestion, PairingAnswer, [[UInt8]])] = [
      (.consent, .accept, [[0x1C] + Self.peerOctets]), (.consent, .reject, [[0x1D] + Self.peerOctets]),
      (.compare(number), .accept, [[0x1C] + Self.peerOctets]), (.compare(number), .reject, [[0x1D] + Self.peerOctets]),
      // A passkey is no answer to a question of yes or no, nor yes to one for a passkey.
      (.compare(number), .passkey(number), [[0x1D] + Self.peerOctets]),
      (.enterPasskey, .passkey(number), [[0x1E] + Self.peerOctets + [0x40, 0xE2, 0x01, 0x00]]),
      (.enterPasskey, .accept, [[0x1F] + Self.peerOctets]), (.enterPasskey, .reject, [[0x1F] + Self.peerOctets]),
      (.display(number), .accept, []), (.display(number), .reject, [[0x14] + Self.peerOctets]),
    ]
    for (question, answer, commands) in answers {
      #expect(Self.messages(.answer(Self.peer, question, answer)) == commands)
    }
  }

  @Test func loadsKeys() {
    var secure = KernelKeys(identity: Self.peer)
    let key = LongTermKey(value: Self.value, strength: Self.strength(true, true))
    (secure.peripheralKey, secure.centralKey, secure.identityResolvingKey) = (key, key, Self.value)
    var legacy = KernelKeys(identity: Self.random)
    legacy.peripheralKey = LongTermKey(
      value: Self.value, ediv: 0x1234, rand: 0x0102_0304_0506_0708, strength: Self.strength(false, false))
    legacy.centralKey = LongTermKey(value: Self.value, ediv: 1, rand: 2, strength: Self.strength(true, false))
    let none = [UInt8](repeating: 0, count: 10)
    var longTermKeys: [UInt8] = [0x13, 3, 0]
    longTermKeys += Self.peerOctets + [3, 0, 16] + none + Self.valueOctets
    longTermKeys += Self.randomOctets + [0, 0, 16, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1] + Self.valueOctets
    longTermKeys += Self.randomOctets + [1, 1, 16, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0] + Self.valueOctets
    let identityKeys = [0x30, 1, 0] + Self.peerOctets + Self.valueOctets
    #expect(Self.messages(.loadKeys([secure, legacy])) == [longTermKeys, identityKeys])
    #expect(Self.messages(.loadKeys([])) == [[0x13, 0, 0], [0x30, 0, 0]])
  }

  @Test func passesDirectivesAndReports() throws {
    var played = try PlayedAdapter()
    try played.adapter.perform([.answer(Self.peer, .consent, .accept), .forget(Self.peer)])
    #expect(
      try AdapterConfigurationTests.asked(played.management) == [
        [0x1C] + Self.peerOctets, [0x1B] + Self.peerOctets + [0],
      ])
    for (event, _) in Self.events { try played.management.say(event) }
    try played.management.say(Self.event(0x0010, Self.peerOctets, index: 1))
    #expect(try played.reported() == Self.events.map(\.1))
  }

  @Test func logsARejectionOfTheKernel() throws {
    var played = try PlayedAdapter()
    try played.management.say(AdapterConfigurationTests.reply(0x0013, 0, 0x0D))
    #expect(try played.reported() == [])
    let notices = played.adapter.takeNotices()
    #expect(
      notices == ["linux:hci0: the kernel rejected Load Long Term Keys (0x0013): Invalid Parameters (0x0D)"])
  }

  /// Where bluetoothd has set the adapter up, its agent answers and its keys are loaded.
  @Test func leavesPairingToBluetoothd() throws {
    var played = try PlayedAdapter(isPairedByDaemon: true)
    try played.adapter.perform([.setPairing(PairingSettings()), .loadKeys([]), .answer(Self.peer, .consent, .accept)])
    #expect(try AdapterConfigurationTests.asked(played.management) == [])
    let notices = played.adapter.takeNotices()
    #expect(notices.first?.contains("bluetoothd is running and pairs") == true)
    try played.management.say(Self.events[0].0)
    #expect(try played.reported() == [])
  }
}
