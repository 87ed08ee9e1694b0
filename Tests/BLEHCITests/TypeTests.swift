import BLEHCI
import BLEWire
import Testing

/// Numbers with names: opcodes, error codes, sets of bits.
@Suite struct TypeTests {
  @Test func `an opcode is a group of six bits and a command of ten`() {
    #expect(HCIOpcode(group: 0x08, command: 0x0006) == .leSetAdvertisingParameters)
    #expect(HCIOpcode.leSetAdvertisingParameters.group == 0x08)
    #expect(HCIOpcode.leSetAdvertisingParameters.command == 0x0006)
    #expect(HCIOpcode(rawValue: 0xFC57).isVendorSpecific && !HCIOpcode.reset.isVendorSpecific)
    #expect(HCIOpcode(group: 0xFF, command: 0xFFFF).rawValue == 0xFFFF)
    #expect(HCIOpcode.reset.description == "Reset (0x0C03)")
  }

  @Test func `every error code of Vol 1, Part F has a name`() {
    let unnamed = (UInt8(0x00)...0x47).filter { HCIErrorCode(rawValue: $0).name == nil }
    #expect(unnamed == [0x2B, 0x31, 0x33, 0x3F])
    #expect(HCIErrorCode(rawValue: 0x48).name == nil)
    #expect(HCIErrorCode.remoteUserTerminatedConnection.description == "Remote User Terminated Connection (0x13)")
    #expect(HCIErrorCode(rawValue: 0xF0).description == "HCI error 0xF0")
    #expect(HCIErrorCode.unknownAdvertisingIdentifier.rawValue == 0x42)
    #expect(HCIErrorCode.tooEarly.rawValue == 0x47)
    #expect(HCIErrorCode.terminatedMICFailure.rawValue == 0x3D)
    #expect(HCIErrorCode.success.isSuccess && !HCIErrorCode.unknownCommand.isSuccess)
  }

  @Test func `a connection handle has twelve bits`() {
    #expect(ConnectionHandle(rawValue: 0xFEFF) == .greatest)
    #expect(ConnectionHandle(rawValue: 0x0040).description == "0x0040")
    #expect(ConnectionHandle(rawValue: 1) < .greatest)
  }

  /// Vol 4, Part E, 6.27: command, octet, bit.
  @Test(arguments: [
    (HCIOpcode.disconnect, 0, 5), (.readRemoteVersionInformation, 2, 7), (.setEventMask, 5, 6), (.reset, 5, 7),
    (.readTransmitPowerLevel, 10, 2), (.hostNumberOfCompletedPackets, 10, 7), (.readLocalVersionInformation, 14, 3),
    (.readBufferSize, 14, 7), (.readBDADDR, 15, 1), (.readRSSI, 15, 5), (.setEventMaskPage2, 22, 2),
    (.writeLEHostSupport, 24, 6), (.leSetEventMask, 25, 0), (.leSetRandomAddress, 25, 4), (.leCreateConnection, 26, 4),
    (.leRand, 27, 7), (.leTestEnd, 28, 6), (.readAuthenticatedPayloadTimeout, 32, 4), (.leSetDataLength, 33, 6),
    (.leGenerateDHKey, 34, 2), (.leSetPHY, 35, 6), (.leSetExtendedAdvertisingParameters, 36, 2),
    (.leExtendedCreateConnection, 37, 7), (.leReadTransmitPower, 38, 7), (.leSetPrivacyMode, 39, 2),
    (.lePeriodicAdvertisingSyncTransfer, 40, 6), (.leReadBufferSizeV2, 41, 5), (.leCreateCIS, 42, 1),
    (.leRequestPeerSCA, 43, 2), (.leSetHostFeature, 44, 1), (.configureDataPath, 45, 5), (.leSubrateRequest, 46, 1),
    (.leSetPeriodicSyncSubevent, 46, 7), (.leSetPeriodicAdvertisingParametersV2, 47, 1),
    (.leReadAllLocalSupportedFeatures, 47, 2), (.leReadAllRemoteFeatures, 47, 3), (.leSetHostFeatureV2, 47, 4),
    (.leConnectionRateRequest, 48, 5), (.leSetDefaultRateParameters, 48, 6),
    (.leReadMinimumSupportedConnectionInterval, 48, 7),
  ])
  func `a supported command has the bit of the specification`(opcode: HCIOpcode, octet: Int, bit: Int) {
    var commands = HCI.SupportedCommands()
    #expect(!commands.contains(opcode))
    commands.insert(opcode)
    #expect(commands.contains(opcode) && commands.contains(octet: octet, bit: bit))
    #expect(commands.opcodes == [opcode])
    #expect(commands.encoded.reduce(0) { $0 + $1.nonzeroBitCount } == 1)
    commands.remove(opcode)
    #expect(commands == HCI.SupportedCommands())
  }

  @Test(arguments: HCI.commands.values.sorted { $0.opcode.rawValue < $1.opcode.rawValue })
  func `a supported command is found by its type`(type: any HCICommand.Type) { expectBit(type) }

  private func expectBit<Command: HCICommand>(_ type: Command.Type) {
    var commands = HCI.SupportedCommands()
    #expect(!commands.contains(type))
    commands.insert(type.opcode)
    #expect(commands.contains(type) == (type.opcode != .readLocalSupportedCommands))
    commands = .all
    commands.remove(type.opcode)
    #expect(!commands.contains(type))
  }

  @Test func `every command but Read Local Supported Commands has a bit`() {
    let all = HCI.SupportedCommands.all
    #expect(Set(all.opcodes) == Set(HCI.commands.keys).subtracting([.readLocalSupportedCommands]))
    #expect(all.encoded.reduce(0) { $0 + $1.nonzeroBitCount } == all.opcodes.count)
    var unchanged = HCI.SupportedCommands()
    unchanged.insert(HCIOpcode(rawValue: 0xFC01))
    unchanged.remove(HCIOpcode(rawValue: 0xFC01))
    #expect(unchanged == HCI.SupportedCommands())
    #expect(!all.contains(octet: -1, bit: 0) && !all.contains(octet: 64, bit: 0) && !all.contains(octet: 0, bit: 8))
  }

  @Test func `a bit of the LE event mask is the subevent code less one`() {
    for code in UInt8(1)...0x29 {
      let mask: HCI.LEEventMask = [LESubeventCode(rawValue: code)]
      #expect(mask.rawValue == 1 << UInt64(code - 1))
      #expect(mask.contains(LESubeventCode(rawValue: code)))
      #expect(!mask.contains(LESubeventCode(rawValue: code + 1)))
    }
    #expect(!HCI.LEEventMask(rawValue: .max).contains(LESubeventCode(rawValue: 0)))
    #expect(HCI.LEEventMask(rawValue: .max).contains(LESubeventCode(rawValue: 64)))
    #expect(!HCI.LEEventMask(rawValue: .max).contains(LESubeventCode(rawValue: 65)))
  }

  @Test func `feature bits have the numbers of Vol 6, Part B, 4.6`() {
    let bits: [(HCI.LEFeatures, UInt64)] = [
      (.encryption, 0), (.llPrivacy, 6), (.extendedAdvertising, 12), (.channelSelectionAlgorithm2, 14),
      (.remotePublicKeyValidation, 27), (.connectedIsochronousStreamHostSupport, 32), (.connectionSubrating, 37),
      (.periodicAdvertisingWithResponsesScanner, 44),
    ]
    for (feature, bit) in bits { #expect(feature.rawValue == 1 << bit) }
  }

  @Test func `an extended report has its data status in bits 5 and 6`() {
    var type = HCI.ExtendedAdvertisingReportType(rawValue: 0x0021)
    #expect(type.dataStatus == .moreToCome && type.contains(.connectable))
    type.dataStatus = .truncated
    #expect(type.rawValue == 0x0041)
    type.dataStatus = .complete
    #expect(type == [.connectable])
  }

  @Test func `sleep clock accuracies in parts per million`() {
    #expect(
      (UInt8(0)...8).map { HCI.ClockAccuracy(rawValue: $0).partsPerMillion } == [
        500, 250, 150, 100, 75, 50, 30, 20, nil,
      ])
  }

  @Test func `errors state the cause and the remedy`() {
    #expect(H4Error.unknownIndicator(0x77).description.contains("0x77"))
    #expect(H4Error.truncated(octets: [0x04, 0x0E]).description.contains("040e"))
    #expect(H4Error.tooLong(.event, length: 9, limit: 8).description.contains("9 octets"))
  }
}
