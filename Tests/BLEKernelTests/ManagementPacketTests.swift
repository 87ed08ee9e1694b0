import BLEWire
import Testing

@testable import BLEKernel

/// The management protocol, octet for octet as BlueZ's `doc/mgmt-api.txt` gives it.
@Suite struct ManagementPacketTests {
  static let device = ManagementAddress(DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random))
  static let deviceOctets: [UInt8] = [0x55, 0x44, 0x33, 0x22, 0x11, 0xC0, 0x02]
  static let value: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100
  static let valueOctets = [UInt8](0..<16)

  static let key = {
    var key = ManagementLongTermKey()
    (key.device, key.kind, key.isCentrals, key.size) = (device, .secureConnectionsAuthenticated, 1, 16)
    (key.ediv, key.rand, key.value) = (0x1234, 0x0102_0304_0506_0708, value)
    return key
  }()
  static let keyOctets = deviceOctets + [3, 1, 16, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1] + valueOctets

  static let commands: [(any ManagementCommand, opcode: UInt16, parameters: [UInt8])] = [
    (Management.ReadIndexList(), 0x0003, []), (Management.ReadInformation(), 0x0004, []),
    (Management.SetPowered(1), 0x0005, [1]), (Management.SetBondable(1), 0x0009, [1]),
    (Management.SetSecureSimplePairing(1), 0x000B, [1]), (Management.SetLowEnergy(1), 0x000D, [1]),
    (
      {
        var command = Management.LoadLongTermKeys()
        command.keys = [key, key]
        return command
      }(), 0x0013, [2, 0] + keyOctets + keyOctets
    ),
    (
      {
        var command = Management.Disconnect()
        command.device = device
        return command
      }(), 0x0014, deviceOctets
    ),
    (Management.ReadConnections(), 0x0015, []), (Management.SetIOCapability(3), 0x0018, [3]),
    (
      {
        var command = Management.UnpairDevice()
        (command.device, command.disconnects) = (device, 1)
        return command
      }(), 0x001B, deviceOctets + [1]
    ),
    (
      {
        var command = Management.UserConfirmationReply()
        command.device = device
        return command
      }(), 0x001C, deviceOctets
    ),
    (
      {
        var command = Management.UserConfirmationNegativeReply()
        command.device = device
        return command
      }(), 0x001D, deviceOctets
    ),
    (
      {
        var command = Management.UserPasskeyReply()
        (command.device, command.passkey) = (device, 123_456)
        return command
      }(), 0x001E, deviceOctets + [0x40, 0xE2, 0x01, 0x00]
    ),
    (
      {
        var command = Management.UserPasskeyNegativeReply()
        command.device = device
        return command
      }(), 0x001F, deviceOctets
    ),
    (
      {
        var command = Management.StopDiscovery()
        command.addressTypes = 6
        return command
      }(), 0x0024, [6]
    ),
    (Management.SetSecureConnections(2), 0x002D, [2]),
    (
      {
        var command = Management.LoadIdentityResolvingKeys()
        var key = Management.LoadIdentityResolvingKeys.Key()
        (key.device, key.value) = (device, value)
        command.keys = [key]
        return command
      }(), 0x0030, [1, 0] + deviceOctets + valueOctets
    ),
    (
      {
        var command = Management.LoadConnectionParameters()
        var entry = Management.LoadConnectionParameters.Entry()
        (entry.device, entry.minimumInterval, entry.maximumInterval) = (device, 24, 40)
        (entry.latency, entry.supervisionTimeout) = (1, 500)
        command.parameters = [entry, entry]
        return command
      }(), 0x0035,
      [2, 0] + deviceOctets + [24, 0, 40, 0, 1, 0, 0xF4, 0x01] + deviceOctets + [24, 0, 40, 0, 1, 0, 0xF4, 0x01]
    ),
  ]

  static let events: [(any ManagementEvent, code: UInt16, parameters: [UInt8])] = [
    (
      {
        var event = Management.CommandComplete()
        (event.opcode, event.returnParameters) = (Management.SetPowered.opcode, [1, 2])
        return event
      }(), 0x0001, [0x05, 0x00, 0x00, 1, 2]
    ),
    (
      {
        var event = Management.CommandStatus()
        (event.opcode, event.status) = (Management.SetPowered.opcode, .busy)
        return event
      }(), 0x0002, [0x05, 0x00, 0x0A]
    ),
    (Management.IndexAdded(), 0x0004, []), (Management.IndexRemoved(), 0x0005, []),
    (
      {
        var event = Management.NewSettings()
        event.settings = [.powered, .lowEnergy]
        return event
      }(), 0x0006, [0x01, 0x02, 0x00, 0x00]
    ),
    (Management.ClassOfDeviceChanged(), 0x0007, []), (Management.LocalNameChanged(), 0x0008, []),
    (
      {
        var event = Management.NewLongTermKey()
        (event.storeHint, event.key) = (1, key)
        return event
      }(), 0x000A, [1] + keyOctets
    ),
    (
      {
        var event = Management.DeviceConnected()
        (event.device, event.flags) = (device, 8)
        return event
      }(), 0x000B, deviceOctets + [8, 0, 0, 0]
    ),
    (
      {
        var event = Management.UserConfirmationRequest()
        (event.device, event.confirmHint, event.value) = (device, 1, 123_456)
        return event
      }(), 0x000F, deviceOctets + [1, 0x40, 0xE2, 0x01, 0x00]
    ),
    (
      {
        var event = Management.UserPasskeyRequest()
        event.device = device
        return event
      }(), 0x0010, deviceOctets
    ),
    (
      {
        var event = Management.AuthenticationFailed()
        (event.device, event.status) = (device, ManagementStatus(rawValue: 5))
        return event
      }(), 0x0011, deviceOctets + [5]
    ),
    (
      {
        var event = Management.Discovering()
        (event.addressTypes, event.isDiscovering) = (6, 1)
        return event
      }(), 0x0013, [6, 1]
    ),
    (
      {
        var event = Management.PasskeyNotify()
        (event.device, event.passkey, event.entered) = (device, 123_456, 2)
        return event
      }(), 0x0017, deviceOctets + [0x40, 0xE2, 0x01, 0x00, 2]
    ),
    (
      {
        var event = Management.NewIdentityResolvingKey()
        (event.storeHint, event.randomAddress) = (1, BD_ADDR(0x4455_6677_8899))
        (event.device, event.value) = (device, value)
        return event
      }(), 0x0018, [1, 0x99, 0x88, 0x77, 0x66, 0x55, 0x44] + deviceOctets + valueOctets
    ),
    (
      {
        var event = Management.NewSignatureResolvingKey()
        (event.storeHint, event.device, event.kind, event.value) = (1, device, 3, value)
        return event
      }(), 0x0019, [1] + deviceOctets + [3] + valueOctets
    ),
  ]

  @Test func declaresEachCommand() {
    #expect(Self.commands.count == Management.commands.count)
    for (command, opcode, parameters) in Self.commands {
      let type = type(of: command)
      #expect(type.opcode.rawValue == opcode && type.opcode.name == "\(type.name)")
      #expect(command.encoded == parameters, "\(type.name)")
      #expect(ManagementRequest(command).message(to: 0x0102) == Self.message(opcode, parameters, index: 0x0102))
    }
  }

  @Test func declaresEachEvent() throws {
    #expect(Self.events.count == Management.events.count)
    #expect(Management.events.map { $0.code.rawValue } == Management.EventKind.allCases.map { $0.rawValue })
    for (event, code, parameters) in Self.events {
      let type = type(of: event)
      #expect(type.code.rawValue == code && type.code.name == "\(type.name)")
      #expect(event.encoded == parameters, "\(type.name)")
      let decoded = try #require(Management.event(ManagementMessage(decoding: Self.message(code, parameters)[...])))
      #expect(decoded.parameters.encoded == parameters, "\(type.name)")
    }
  }

  @Test func readsNoEventThatIsTruncated() throws {
    for (event, code, parameters) in Self.events {
      // The return parameters of a command are the rest, of any length.
      let least = event is Management.CommandComplete ? 3 : parameters.count
      for count in 0..<least {
        let message = try ManagementMessage(decoding: Self.message(code, Array(parameters.prefix(count)))[...])
        #expect(Management.event(message) == nil, "\(type(of: event).name) of \(count) octets")
      }
    }
  }

  @Test func readsNoMessageWhoseLengthIsWrong() {
    let message = Self.message(0x0013, [6, 1])
    for count in 0..<message.count {
      #expect(throws: CodecError.self) { try ManagementMessage(decoding: message.prefix(count)) }
    }
    #expect(throws: CodecError.self) { try ManagementMessage(decoding: (message + [0])[...]) }
  }

  @Test func readsNoUnknownEvent() throws {
    #expect(Management.event(try ManagementMessage(decoding: Self.message(0x7777, [1, 2, 3])[...])) == nil)
    #expect("\(ManagementEventCode(rawValue: 0x7777))" == "management event 0x7777")
    #expect("\(ManagementOpcode(rawValue: 0x7777))" == "management opcode 0x7777")
    #expect("\(ManagementStatus(rawValue: 0x77))" == "management status 0x77")
  }

  @Test func readsTheAddressTypesOfLowEnergyAlone() {
    for (kind, device) in [(1, DeviceAddress.Kind.public), (2, .random), (0, nil), (3, nil)]
      as [(
        UInt8, DeviceAddress.Kind?
      )]
    {
      var address = ManagementAddress()
      address.kind = .init(rawValue: kind)
      #expect(address.device?.kind == device)
    }
  }

  static func message(_ code: UInt16, _ parameters: [UInt8], index: UInt16 = 0) -> [UInt8] {
    var message: [UInt8] = []
    for number in [code, index, UInt16(parameters.count)] { message.append(littleEndian: number) }
    return message + parameters
  }
}

extension Management.Event {
  /// The parameters, without their type.
  fileprivate var parameters: any ManagementEvent {
    switch self {
    case .commandComplete(let event): event
    case .commandStatus(let event): event
    case .indexAdded(let event): event
    case .indexRemoved(let event): event
    case .newSettings(let event): event
    case .classOfDeviceChanged(let event): event
    case .localNameChanged(let event): event
    case .newLongTermKey(let event): event
    case .deviceConnected(let event): event
    case .userConfirmationRequest(let event): event
    case .userPasskeyRequest(let event): event
    case .authenticationFailed(let event): event
    case .discovering(let event): event
    case .passkeyNotify(let event): event
    case .newIdentityResolvingKey(let event): event
    case .newSignatureResolvingKey(let event): event
    }
  }
}
