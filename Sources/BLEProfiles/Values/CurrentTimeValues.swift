/// The value of Current Time (0x2A2B), ten octets (CTS 1.1, 3.1).
public struct CurrentTimeValue: ProfileValue {
  /// The date, the time of day, the day of the week and the fraction of a second.
  public var time = ExactTime()
  /// The reasons for a change of the time; empty for a read.
  public var adjustReason: AdjustReason = []

  /// The reasons for a change of the time.
  public struct AdjustReason: AssignedBits {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Manual Time Update.
    public static let manual = Self(rawValue: 0x01)
    /// External Reference Time Update.
    public static let externalReference = Self(rawValue: 0x02)
    /// Change of Time Zone.
    public static let timeZone = Self(rawValue: 0x04)
    /// Change of DST.
    public static let daylightSaving = Self(rawValue: 0x08)

    public static let names: [Self: StaticString] = [
      .manual: "Manual Time Update", .externalReference: "External Reference Time Update",
      .timeZone: "Change of Time Zone", .daylightSaving: "Change of DST",
    ]
  }

  /// An unknown time.
  public init() {}

  /// A time with the reason for its change.
  public init(_ time: ExactTime, adjustReason: AdjustReason = []) {
    (self.time, self.adjustReason) = (time, adjustReason)
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try time.layout(&field)
    try field.value("Adjust Reason", &adjustReason)
  }
}

/// The value of Local Time Information (0x2A0F), two octets (CTS 1.1, 3.2).
public struct LocalTimeInformation: ProfileValue {
  /// The offset of the standard time from UTC, in units of 15 minutes, -48 to 56; -128 means unknown.
  public var timeZone: Int8 = -128
  /// The offset of daylight saving time.
  public var daylightSaving = DaylightSaving.unknown

  /// The offset of daylight saving time from the standard time.
  public enum DaylightSaving: UInt8, Sendable {
    /// Standard time.
    case standard = 0
    /// Half an hour (+0.5 h).
    case halfAnHour = 2
    /// Daylight time (+1 h).
    case oneHour = 4
    /// Double daylight time (+2 h).
    case twoHours = 8
    /// Unknown.
    case unknown = 255
  }

  /// An unknown time zone.
  public init() {}

  /// A time zone, in units of 15 minutes from UTC.
  public init(timeZone: Int8, daylightSaving: DaylightSaving) {
    (self.timeZone, self.daylightSaving) = (timeZone, daylightSaving)
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.limited("Time Zone", Zone.self, &timeZone)
    try field.value("DST Offset", &daylightSaving)
  }

  private enum Zone: FieldLimits {
    static let range: ClosedRange<Int8> = -48...56
    static let exception: Int8? = -128
  }
}

/// The value of Reference Time Information (0x2A14), four octets (CTS 1.1, 3.3).
public struct ReferenceTimeInformation: ProfileValue {
  /// The source of the time.
  public var source = Source.unknown
  /// The largest difference from the source, in units of 1/8 s; 254 means 31.625 s or more, 255 unknown.
  public var accuracy: UInt8 = 255
  /// Whole days since the update from the source; 255 means 255 or more.
  public var daysSinceUpdate: UInt8 = 255
  /// Hours in addition to ``daysSinceUpdate``, 0 to 23; 255 if ``daysSinceUpdate`` is 255.
  public var hoursSinceUpdate: UInt8 = 255

  /// The sources of a time.
  public struct Source: AssignedNumber {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Unknown (0).
    public static let unknown = Self(rawValue: 0)
    /// Network Time Protocol (1).
    public static let networkTimeProtocol = Self(rawValue: 1)
    /// GPS (2).
    public static let gps = Self(rawValue: 2)
    /// Radio Time Signal (3).
    public static let radioTimeSignal = Self(rawValue: 3)
    /// Manual (4).
    public static let manual = Self(rawValue: 4)
    /// Atomic Clock (5).
    public static let atomicClock = Self(rawValue: 5)
    /// Cellular Network (6).
    public static let cellularNetwork = Self(rawValue: 6)

    public static let spaceName: StaticString = "time source"
    public static let names: [Self: StaticString] = [
      .unknown: "Unknown", .networkTimeProtocol: "Network Time Protocol", .gps: "GPS",
      .radioTimeSignal: "Radio Time Signal", .manual: "Manual", .atomicClock: "Atomic Clock",
      .cellularNetwork: "Cellular Network",
    ]
  }

  /// An unknown source.
  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Time Source", &source)
    try field.integer("Time Accuracy", &accuracy)
    try field.integer("Days Since Update", &daysSinceUpdate)
    try field.limited("Hours Since Update", Hours.self, &hoursSinceUpdate)
  }

  private enum Hours: FieldLimits {
    static let range: ClosedRange<UInt8> = 0...23
    static let exception: UInt8? = 255
  }
}
