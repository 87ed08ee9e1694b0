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
  /// Begins a group of broadcast isochronous streams (HCI_LE_Create_BIG, Vol 4, Part E, 7.8.103).
  public struct LECreateBIG: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leCreateBIG
    public static let name: StaticString = "LE Create BIG"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 5)
    public var bigHandle: UInt8 = 0
    public var advertisingHandle: UInt8 = 0
    public var numBIS: UInt8 = 0
    /// In microseconds.
    public var sduInterval: UInt32 = 0
    /// In octets.
    public var maxSDU: UInt16 = 0
    /// In milliseconds.
    public var maxTransportLatency: UInt16 = 0
    /// Retransmissions.
    public var rtn: UInt8 = 0
    public var phys: PHYs = []
    /// 0x00 sequential, 0x01 interleaved.
    public var packing: UInt8 = 0
    /// 0x00 unframed, 0x01 framed.
    public var framing: UInt8 = 0
    public var encryption = false
    /// 16 octets.
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

  /// Begins a group of broadcast isochronous streams with every parameter given, for tests (HCI_LE_Create_BIG_Test,
  /// Vol 4, Part E, 7.8.104).
  public struct LECreateBIGTest: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leCreateBIGTest
    public static let name: StaticString = "LE Create BIG Test"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 6)
    public var bigHandle: UInt8 = 0
    public var advertisingHandle: UInt8 = 0
    public var numBIS: UInt8 = 0
    /// In microseconds.
    public var sduInterval: UInt32 = 0
    /// In units of 1.25 ms.
    public var isoInterval: UInt16 = 0
    /// Subevents of a BIS in a BIG event.
    public var nse: UInt8 = 0
    /// In octets.
    public var maxSDU: UInt16 = 0
    /// In octets.
    public var maxPDU: UInt16 = 0
    public var phys: PHYs = []
    /// 0x00 sequential, 0x01 interleaved.
    public var packing: UInt8 = 0
    /// 0x00 unframed, 0x01 framed.
    public var framing: UInt8 = 0
    /// Burst number.
    public var bn: UInt8 = 0
    /// Immediate repetition count.
    public var irc: UInt8 = 0
    /// Pre-transmission offset.
    public var pto: UInt8 = 0
    public var encryption = false
    /// 16 octets.
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

  /// Ends a group of broadcast isochronous streams (HCI_LE_Terminate_BIG, Vol 4, Part E, 7.8.105).
  public struct LETerminateBIG: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leTerminateBIG
    public static let name: StaticString = "LE Terminate BIG"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 42, bit: 7)
    public var bigHandle: UInt8 = 0
    public var reason = HCIErrorCode.terminatedByLocalHost
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
      try field.value("Reason", &reason)
    }
  }

  /// Begins to synchronise with broadcast isochronous streams (HCI_LE_BIG_Create_Sync, Vol 4, Part E, 7.8.106).
  public struct LEBIGCreateSync: HCICommand {
    public typealias Response = AnsweredByStatus
    public static let opcode = HCIOpcode.leBIGCreateSync
    public static let name: StaticString = "LE BIG Create Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 0)
    public var bigHandle: UInt8 = 0
    public var syncHandle: UInt16 = 0
    public var encryption = false
    /// 16 octets.
    public var broadcastCode: Bytes = []
    /// Subevents to receive at most; 0 for the controller's choice.
    public var mse: UInt8 = 0
    /// In units of 10 ms.
    public var bigSyncTimeout: UInt16 = 0
    /// The numbers of the streams, one octet each.
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

  /// Stops listening to broadcast isochronous streams (HCI_LE_BIG_Terminate_Sync, Vol 4, Part E, 7.8.107).
  public struct LEBIGTerminateSync: HCICommand {
    public static let opcode = HCIOpcode.leBIGTerminateSync
    public static let name: StaticString = "LE BIG Terminate Sync"
    public static let supportedCommandsBit: SupportedCommands.Bit? = .init(octet: 43, bit: 1)
    public var bigHandle: UInt8 = 0
    public init() {}
    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("BIG_Handle", &bigHandle)
    }

    public struct Response: ReturnParameters {
      public var status = HCIErrorCode.success
      public var bigHandle: UInt8 = 0
      public init() {}
      public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.value("Status", &status)
        try field.integer("BIG_Handle", &bigHandle)
      }
    }
  }
}
