public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Receiver_Test [v1].
  public static let leReceiverTest = Self(rawValue: 0x201D)
  /// HCI_LE_Receiver_Test [v2].
  public static let leReceiverTestV2 = Self(rawValue: 0x2033)
  /// HCI_LE_Receiver_Test [v3].
  public static let leReceiverTestV3 = Self(rawValue: 0x204F)
  /// HCI_LE_Transmitter_Test [v1].
  public static let leTransmitterTest = Self(rawValue: 0x201E)
  /// HCI_LE_Transmitter_Test [v2].
  public static let leTransmitterTestV2 = Self(rawValue: 0x2034)
  /// HCI_LE_Transmitter_Test [v3].
  public static let leTransmitterTestV3 = Self(rawValue: 0x2050)
  /// HCI_LE_Transmitter_Test [v4].
  public static let leTransmitterTestV4 = Self(rawValue: 0x207B)
  /// HCI_LE_Test_End.
  public static let leTestEnd = Self(rawValue: 0x201F)
}

extension HCI {
  /// Starts a receiver test (HCI_LE_Receiver_Test [v1], Vol 4, Part E, 7.8.28).
  public struct LEReceiverTest: HCICommand {
    public static let opcode = HCIOpcode.leReceiverTest
    public static let name: StaticString = "LE Receiver Test [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 28, bit: 4)
    /// RX_Channel: the channel, (frequency in MHz - 2402) / 2.
    public var rxChannel: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("RX_Channel", &rxChannel)
    }
  }

  /// Starts a receiver test on any PHY (HCI_LE_Receiver_Test [v2], Vol 4, Part E, 7.8.28).
  public struct LEReceiverTestV2: HCICommand {
    public static let opcode = HCIOpcode.leReceiverTestV2
    public static let name: StaticString = "LE Receiver Test [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 35, bit: 7)
    /// RX_Channel: the channel, (frequency in MHz - 2402) / 2.
    public var rxChannel: UInt8 = 0
    /// PHY: the PHY.
    public var phy = PHY.le1M
    /// Modulation_Index: 0x00 for standard, 0x01 for stable.
    public var modulationIndex: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("RX_Channel", &rxChannel)
      try field.value("PHY", &phy)
      try field.integer("Modulation_Index", &modulationIndex)
    }
  }

  /// Starts a receiver test with Constant Tone Extensions (HCI_LE_Receiver_Test [v3], Vol 4, Part E, 7.8.28).
  public struct LEReceiverTestV3: HCICommand {
    public static let opcode = HCIOpcode.leReceiverTestV3
    public static let name: StaticString = "LE Receiver Test [v3]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 3)
    /// RX_Channel: the channel, (frequency in MHz - 2402) / 2.
    public var rxChannel: UInt8 = 0
    /// PHY: the PHY.
    public var phy = PHY.le1M
    /// Modulation_Index: 0x00 for standard, 0x01 for stable.
    public var modulationIndex: UInt8 = 0
    /// Expected_CTE_Length in units of 8 µs.
    public var expectedCTELength: UInt8 = 0
    /// Expected_CTE_Type: 0x00 for AoA, 0x01 for AoD with 1 µs slots, 0x02 for AoD with 2 µs slots.
    public var expectedCTEType: UInt8 = 0
    /// Slot_Durations: 0x01 for 1 µs, 0x02 for 2 µs.
    public var slotDurations: UInt8 = 0
    /// Antenna_IDs: the antennas of the switching pattern, one octet each.
    public var antennaIDs: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("RX_Channel", &rxChannel)
      try field.value("PHY", &phy)
      try field.integer("Modulation_Index", &modulationIndex)
      try field.integer("Expected_CTE_Length", &expectedCTELength)
      try field.integer("Expected_CTE_Type", &expectedCTEType)
      try field.integer("Slot_Durations", &slotDurations)
      try field.counted("Antenna_IDs", &antennaIDs)
    }
  }

  /// Starts a transmitter test (HCI_LE_Transmitter_Test [v1], Vol 4, Part E, 7.8.29).
  public struct LETransmitterTest: HCICommand {
    public static let opcode = HCIOpcode.leTransmitterTest
    public static let name: StaticString = "LE Transmitter Test [v1]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 28, bit: 5)
    /// TX_Channel: the channel, (frequency in MHz - 2402) / 2.
    public var txChannel: UInt8 = 0
    /// Test_Data_Length in octets.
    public var testDataLength: UInt8 = 0
    /// Packet_Payload: the bit sequence.
    public var packetPayload: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("TX_Channel", &txChannel)
      try field.integer("Test_Data_Length", &testDataLength)
      try field.integer("Packet_Payload", &packetPayload)
    }
  }

  /// Starts a transmitter test on any PHY (HCI_LE_Transmitter_Test [v2], Vol 4, Part E, 7.8.29).
  public struct LETransmitterTestV2: HCICommand {
    public static let opcode = HCIOpcode.leTransmitterTestV2
    public static let name: StaticString = "LE Transmitter Test [v2]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 36, bit: 0)
    /// The parameters of the previous version of the command.
    public var test = LETransmitterTest()
    /// PHY: 0x01 for LE 1M, 0x02 for LE 2M, 0x03 for LE Coded with S=8, 0x04 for LE Coded with S=2.
    public var phy: UInt8 = 1
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try test.layout(&field)
      try field.integer("PHY", &phy)
    }
  }

  /// Starts a transmitter test with Constant Tone Extensions (HCI_LE_Transmitter_Test [v3], Vol 4, Part E, 7.8.29).
  public struct LETransmitterTestV3: HCICommand {
    public static let opcode = HCIOpcode.leTransmitterTestV3
    public static let name: StaticString = "LE Transmitter Test [v3]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 39, bit: 4)
    /// The parameters of the previous version of the command.
    public var test = LETransmitterTestV2()
    /// CTE_Length in units of 8 µs; 0 for none.
    public var cteLength: UInt8 = 0
    /// CTE_Type: 0x00 for AoA, 0x01 for AoD with 1 µs slots, 0x02 for AoD with 2 µs slots.
    public var cteType: UInt8 = 0
    /// Antenna_IDs: the antennas of the switching pattern, one octet each.
    public var antennaIDs: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try test.layout(&field)
      try field.integer("CTE_Length", &cteLength)
      try field.integer("CTE_Type", &cteType)
      try field.counted("Antenna_IDs", &antennaIDs)
    }
  }

  /// Starts a transmitter test at a given power (HCI_LE_Transmitter_Test [v4], Vol 4, Part E, 7.8.29).
  public struct LETransmitterTestV4: HCICommand {
    public static let opcode = HCIOpcode.leTransmitterTestV4
    public static let name: StaticString = "LE Transmitter Test [v4]"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 45, bit: 0)
    /// The parameters of the previous version of the command.
    public var test = LETransmitterTestV3()
    /// TX_Power_Level in dBm; 126 for the minimum, 127 for the maximum.
    public var txPowerLevel: Int8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try test.layout(&field)
      try field.integer("TX_Power_Level", &txPowerLevel)
    }
  }

  /// Ends a receiver or transmitter test (HCI_LE_Test_End, Vol 4, Part E, 7.8.30).
  public struct LETestEnd: ParameterlessCommand {
    public static let opcode = HCIOpcode.leTestEnd
    public static let name: StaticString = "LE Test End"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 28, bit: 6)
    public init() {}

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// Num_Packets: the number of received packets; 0 after a transmitter test.
      public var numPackets: UInt16 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("Num_Packets", &numPackets)
      }
    }
  }
}
