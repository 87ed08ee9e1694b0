/// The value of Battery Level (0x2A19), one octet (BAS 1.1, 3.1).
public struct BatteryLevel: ProfileValue {
  /// The charge in percent, 0 to 100. A higher number is sent as 100, and rejected on reception.
  public var percent: UInt8 = 0

  /// An empty battery.
  public init() {}

  /// A charge in percent, 0 to 100.
  public init(percent: UInt8) { self.percent = percent }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.limited("Battery Level", Percent.self, &percent)
  }

  fileprivate enum Percent: FieldLimits { static let range: ClosedRange<UInt8> = 0...100 }
}

/// The value of Battery Level Status (0x2BED): flags, the power state, three optional fields (BAS 1.1, 3.2).
public struct BatteryLevelStatus: ProfileValue {
  /// The state of the battery and of the sources of power.
  public var powerState = PowerState()
  /// The battery, as in the Description field of its Characteristic Presentation Format; nil if the value does not
  /// contain it.
  public var identifier: UInt16?
  /// The charge in percent, 0 to 100; nil if the value does not contain it.
  public var level: UInt8?
  /// Whether the battery needs service or has a fault; nil if the value does not contain it.
  public var additionalStatus: AdditionalStatus?

  /// The Power State field, 16 bits.
  public struct PowerState: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// No battery, no source of power.
    public init() { rawValue = 0 }

    /// Whether a source of power is connected.
    public enum Connection: UInt16, Sendable {
      /// Not connected.
      case no = 0
      /// Connected.
      case yes = 1
      /// Unknown.
      case unknown = 2
      /// Reserved for future use.
      case reserved = 3
    }

    /// Whether the battery is charging or discharging.
    public enum ChargeState: UInt16, Sendable {
      /// Unknown.
      case unknown = 0
      /// Charging.
      case charging = 1
      /// Discharging, active.
      case discharging = 2
      /// Discharging, inactive.
      case idle = 3
    }

    /// The remaining charge.
    public enum ChargeLevel: UInt16, Sendable {
      /// Unknown.
      case unknown = 0
      /// Good.
      case good = 1
      /// Low.
      case low = 2
      /// Critical.
      case critical = 3
    }

    /// The way in which the battery is charged.
    public struct ChargingType: AssignedNumber {
      public var rawValue: UInt16
      public init(rawValue: UInt16) { self.rawValue = rawValue }
      /// Unknown or not charging (0).
      public static let unknown = Self(rawValue: 0)
      /// Constant current (1).
      public static let constantCurrent = Self(rawValue: 1)
      /// Constant voltage (2).
      public static let constantVoltage = Self(rawValue: 2)
      /// Trickle (3).
      public static let trickle = Self(rawValue: 3)
      /// Float (4).
      public static let float = Self(rawValue: 4)
      public static let spaceName: StaticString = "charging type"
      public static let names: [Self: StaticString] = [
        .unknown: "Unknown or not charging", .constantCurrent: "Constant Current",
        .constantVoltage: "Constant Voltage", .trickle: "Trickle", .float: "Float",
      ]
    }

    /// The causes of a charging fault.
    public struct ChargingFaults: AssignedBits {
      public var rawValue: UInt16
      public init(rawValue: UInt16) { self.rawValue = rawValue }
      /// The battery.
      public static let battery = Self(rawValue: 1)
      /// The external source of power.
      public static let externalSource = Self(rawValue: 2)
      /// Another cause.
      public static let other = Self(rawValue: 4)
      public static let names: [Self: StaticString] = [
        .battery: "Battery", .externalSource: "External Power Source", .other: "Other",
      ]
    }

    /// Whether the battery is present (bit 0).
    public var isBatteryPresent: Bool {
      get { self[0, 1] == 1 }
      set { self[0, 1] = newValue ? 1 : 0 }
    }
    /// The wired source of power (bits 1 and 2).
    public var wiredSource: Connection {
      get { Connection(rawValue: self[1, 2]) ?? .reserved }
      set { self[1, 2] = newValue.rawValue }
    }
    /// The wireless source of power (bits 3 and 4).
    public var wirelessSource: Connection {
      get { Connection(rawValue: self[3, 2]) ?? .reserved }
      set { self[3, 2] = newValue.rawValue }
    }
    /// Whether the battery is charging or discharging (bits 5 and 6).
    public var chargeState: ChargeState {
      get { ChargeState(rawValue: self[5, 2]) ?? .unknown }
      set { self[5, 2] = newValue.rawValue }
    }
    /// The remaining charge (bits 7 and 8).
    public var chargeLevel: ChargeLevel {
      get { ChargeLevel(rawValue: self[7, 2]) ?? .unknown }
      set { self[7, 2] = newValue.rawValue }
    }
    /// The way in which the battery is charged (bits 9 to 11).
    public var chargingType: ChargingType {
      get { ChargingType(rawValue: self[9, 3]) }
      set { self[9, 3] = newValue.rawValue }
    }
    /// The causes of a charging fault (bits 12 to 14).
    public var chargingFaults: ChargingFaults {
      get { ChargingFaults(rawValue: self[12, 3]) }
      set { self[12, 3] = newValue.rawValue }
    }

    private subscript(first: UInt16, count: UInt16) -> UInt16 {
      get { rawValue >> first & (1 << count - 1) }
      set {
        let mask: UInt16 = (1 << count - 1) << first
        rawValue = rawValue & ~mask | newValue << first & mask
      }
    }
  }

  /// The Additional Status field.
  public struct AdditionalStatus: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Whether the battery needs service: no, yes, or unknown (bits 0 and 1).
    public var needsService: PowerState.Connection { PowerState.Connection(rawValue: UInt16(rawValue & 3)) ?? .unknown }
    /// Whether the battery has a fault (bit 2).
    public var hasFault: Bool { rawValue & 4 != 0 }
  }

  /// A battery whose state is unknown.
  public init() {}

  /// A status.
  public init(
    powerState: PowerState, identifier: UInt16? = nil, level: UInt8? = nil, additionalStatus: AdditionalStatus? = nil
  ) {
    (self.powerState, self.identifier) = (powerState, identifier)
    (self.level, self.additionalStatus) = (level, additionalStatus)
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var flags: UInt8 = (identifier == nil ? 0 : 1) | (level == nil ? 0 : 2) | (additionalStatus == nil ? 0 : 4)
    try field.integer("Flags", &flags)
    try field.value("Power State", &powerState)
    try field.optional("Identifier", &identifier, if: flags & 1 != 0)
    if flags & 2 != 0 {
      var percent = level ?? 0
      try field.limited("Battery Level", BatteryLevel.Percent.self, &percent)
      level = percent
    } else {
      level = nil
    }
    var status = additionalStatus?.rawValue
    try field.optional("Additional Status", &status, if: flags & 4 != 0)
    additionalStatus = status.map { AdditionalStatus(rawValue: $0) }
    try field.ignoreRest(if: flags & 0xF8 != 0)
  }
}
