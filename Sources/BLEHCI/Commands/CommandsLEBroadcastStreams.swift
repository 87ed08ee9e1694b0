public import BLEWire

extension HCIOpcode {
  /// HCI_LE_Create_BIG.
  public static let leCreateBIG = Self(rawValue: 0x2068)
  /// HCI_LE_Create_BIG_Test.
  public static let leCreateBIGTest = Self(rawValue: 0x2069)
  /// HCI_LE_Terminate_BIG.
  public static let leTerminateBIG = Self(rawValue: 0x206A)
  /// HCI_LE_BIG_Create_Sync.
  public static let leBIGCreateSync = Self(rawValue: 0x206B)
  /// HCI_LE_BIG_Terminate_Sync.
  public static let leBIGTerminateSync = Self(rawValue: 0x206C)
}

extension HCI {
  /// Creates a group of broadcast isochronous streams (HCI_LE_Create_BIG, Vol 4, Part E, 7.8.103).
  public struct LECreateBIG: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leCreateBIG
    public static let name: StaticString = "LE Create BIG"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 5)
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Num_BIS: the number of streams.
    public var numBIS: UInt8 = 0
    /// SDU_Interval in microseconds.
    public var sduInterval: UInt32 = 0
    /// Max_SDU in octets.
    public var maxSDU: UInt16 = 0
    /// Max_Transport_Latency in milliseconds.
    public var maxTransportLatency: UInt16 = 0
    /// RTN: the number of retransmissions.
    public var rtn: UInt8 = 0
    /// PHY: the PHYs.
    public var phys: PHYs = []
    /// Packing: 0x00 for sequential, 0x01 for interleaved.
    public var packing: UInt8 = 0
    /// Framing: 0x00 for unframed, 0x01 for framed.
    public var framing: UInt8 = 0
    /// Encryption: whether the streams are encrypted.
    public var encryption = false
    /// Broadcast_Code, 16 octets.
    public var broadcastCode: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Num_BIS", &numBIS)
      try field.integer("SDU_Interval", octets: 3, &sduInterval)
      try field.integer("Max_SDU", &maxSDU)
      try field.integer("Max_Transport_Latency", &maxTransportLatency)
      try field.integer("RTN", &rtn)
      try field.value("PHY", &phys)
      try field.integer("Packing", &packing)
      try field.integer("Framing", &framing)
      try field.flag("Encryption", &encryption)
      try field.octets("Broadcast_Code", count: 16, &broadcastCode)
    }
  }

  /// Creates a group of broadcast isochronous streams with all parameters given, for tests (HCI_LE_Create_BIG_Test, Vol
  /// 4, Part E, 7.8.104).
  public struct LECreateBIGTest: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leCreateBIGTest
    public static let name: StaticString = "LE Create BIG Test"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 6)
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// Advertising_Handle: the advertising set.
    public var advertisingHandle: UInt8 = 0
    /// Num_BIS: the number of streams.
    public var numBIS: UInt8 = 0
    /// SDU_Interval in microseconds.
    public var sduInterval: UInt32 = 0
    /// ISO_Interval in units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    /// NSE: the number of subevents of each stream in an event.
    public var nse: UInt8 = 0
    /// Max_SDU in octets.
    public var maxSDU: UInt16 = 0
    /// Max_PDU in octets.
    public var maxPDU: UInt16 = 0
    /// PHY: the PHYs.
    public var phys: PHYs = []
    /// Packing: 0x00 for sequential, 0x01 for interleaved.
    public var packing: UInt8 = 0
    /// Framing: 0x00 for unframed, 0x01 for framed.
    public var framing: UInt8 = 0
    /// BN: the burst number.
    public var bn: UInt8 = 0
    /// IRC: the immediate repetition count.
    public var irc: UInt8 = 0
    /// PTO: the pre-transmission offset.
    public var pto: UInt8 = 0
    /// Encryption: whether the streams are encrypted.
    public var encryption = false
    /// Broadcast_Code, 16 octets.
    public var broadcastCode: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
      try field.integer("Advertising_Handle", &advertisingHandle)
      try field.integer("Num_BIS", &numBIS)
      try field.integer("SDU_Interval", octets: 3, &sduInterval)
      try field.integer("ISO_Interval", &isoInterval)
      try field.integer("NSE", &nse)
      try field.integer("Max_SDU", &maxSDU)
      try field.integer("Max_PDU", &maxPDU)
      try field.value("PHY", &phys)
      try field.integer("Packing", &packing)
      try field.integer("Framing", &framing)
      try field.integer("BN", &bn)
      try field.integer("IRC", &irc)
      try field.integer("PTO", &pto)
      try field.flag("Encryption", &encryption)
      try field.octets("Broadcast_Code", count: 16, &broadcastCode)
    }
  }

  /// Terminates a group of broadcast isochronous streams (HCI_LE_Terminate_BIG, Vol 4, Part E, 7.8.105).
  public struct LETerminateBIG: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leTerminateBIG
    public static let name: StaticString = "LE Terminate BIG"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 7)
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// Reason: the reason.
    public var reason = HCIErrorCode.terminatedByLocalHost
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
      try field.value("Reason", &reason)
    }
  }

  /// Synchronises with broadcast isochronous streams (HCI_LE_BIG_Create_Sync, Vol 4, Part E, 7.8.106).
  public struct LEBIGCreateSync: HCICommand {
    /// A Command Status event answers the command.
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leBIGCreateSync
    public static let name: StaticString = "LE BIG Create Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 0)
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    /// Sync_Handle: the periodic advertising train.
    public var syncHandle: UInt16 = 0
    /// Encryption: whether the streams are encrypted.
    public var encryption = false
    /// Broadcast_Code, 16 octets.
    public var broadcastCode: Bytes = []
    /// MSE: the largest number of subevents to receive; 0 leaves it to the controller.
    public var mse: UInt8 = 0
    /// BIG_Sync_Timeout in units of 10 ms.
    public var bigSyncTimeout: UInt16 = 0
    /// BIS: the numbers of the streams, one octet each.
    public var streams: Bytes = []
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
      try field.integer("Sync_Handle", &syncHandle)
      try field.flag("Encryption", &encryption)
      try field.octets("Broadcast_Code", count: 16, &broadcastCode)
      try field.integer("MSE", &mse)
      try field.integer("BIG_Sync_Timeout", &bigSyncTimeout)
      try field.counted("BIS", &streams)
    }
  }

  /// Stops receiving broadcast isochronous streams (HCI_LE_BIG_Terminate_Sync, Vol 4, Part E, 7.8.107).
  public struct LEBIGTerminateSync: HCICommand {
    public static let opcode = HCIOpcode.leBIGTerminateSync
    public static let name: StaticString = "LE BIG Terminate Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 1)
    /// BIG_Handle: the group of streams.
    public var bigHandle: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
    }

    /// The return parameters of the command.
    public struct Response: ReturnParameters {
      /// Status: success, or the reason of the failure.
      public var status = HCIErrorCode.success
      /// BIG_Handle: the group of streams.
      public var bigHandle: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("BIG_Handle", &bigHandle)
      }
    }
  }
}
