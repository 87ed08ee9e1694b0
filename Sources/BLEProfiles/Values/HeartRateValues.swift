/// The value of Heart Rate Measurement (0x2A37): flags, the rate, and three optional fields (HRS 1.0, 3.1.1).
public struct HeartRateMeasurement: ProfileValue {
  /// Beats per minute; sent in one octet up to 255, otherwise in two.
  public var beatsPerMinute: UInt16 = 0
  /// Whether the sensor touches the skin.
  public var contact = Contact.notSupported
  /// The energy expended since the last reset in kilojoules; 0xFFFF means that much or more. Nil if the value does not
  /// contain it.
  public var energyExpended: UInt16?
  /// The times between beats in units of 1/1024 s, the oldest first. At most 9 fit in a notification with the smallest
  /// ATT_MTU.
  public var rrIntervals: [UInt16] = []

  /// The contact of the sensor with the skin.
  public enum Contact: Sendable {
    /// The sensor does not detect contact.
    case notSupported
    /// No or poor contact.
    case notDetected
    /// Contact.
    case detected
  }

  /// A rate of 0 without other fields.
  public init() {}

  /// A measurement.
  public init(
    beatsPerMinute: UInt16, contact: Contact = .notSupported, energyExpended: UInt16? = nil, rrIntervals: [UInt16] = []
  ) {
    (self.beatsPerMinute, self.contact) = (beatsPerMinute, contact)
    (self.energyExpended, self.rrIntervals) = (energyExpended, rrIntervals)
  }

  private static let hasLongRate: UInt8 = 0x01
  private static let detectsContact: UInt8 = 0x04
  private static let hasContact: UInt8 = 0x02
  private static let hasEnergy: UInt8 = 0x08
  private static let hasIntervals: UInt8 = 0x10

  private var flags: UInt8 {
    var flags: UInt8 = beatsPerMinute > 255 ? Self.hasLongRate : 0
    if contact != .notSupported { flags |= Self.detectsContact }
    if contact == .detected { flags |= Self.hasContact }
    if energyExpended != nil { flags |= Self.hasEnergy }
    if !rrIntervals.isEmpty { flags |= Self.hasIntervals }
    return flags
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var flags = flags
    try field.integer("Flags", &flags)
    contact =
      flags & Self.detectsContact == 0 ? .notSupported : flags & Self.hasContact == 0 ? .notDetected : .detected
    if flags & Self.hasLongRate != 0 {
      try field.integer("Heart Rate Measurement Value", &beatsPerMinute)
    } else {
      var rate = UInt8(truncatingIfNeeded: beatsPerMinute)
      try field.integer("Heart Rate Measurement Value", &rate)
      beatsPerMinute = UInt16(rate)
    }
    try field.optional("Energy Expended", &energyExpended, if: flags & Self.hasEnergy != 0)
    var intervals = rrIntervals.map { Interval(number: $0) }
    if flags & Self.hasIntervals != 0 {
      try field.rest("RR-Interval", atLeast: 1, each: 2, &intervals)
    } else {
      intervals = []
      try field.ignoreRest(if: flags & 0xE0 != 0)
    }
    rrIntervals = intervals.map { $0.number }
  }

  private struct Interval: FieldGroup {
    var number: UInt16 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("RR-Interval", &number)
    }
  }
}

/// The value of Body Sensor Location (0x2A38), one octet (HRS 1.0, 3.2.1).
public struct BodySensorLocation: AssignedNumber, ProfileValue {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Other.
  public init() { self = .other }

  /// Other (0).
  public static let other = Self(rawValue: 0)
  /// Chest (1).
  public static let chest = Self(rawValue: 1)
  /// Wrist (2).
  public static let wrist = Self(rawValue: 2)
  /// Finger (3).
  public static let finger = Self(rawValue: 3)
  /// Hand (4).
  public static let hand = Self(rawValue: 4)
  /// Ear Lobe (5).
  public static let earLobe = Self(rawValue: 5)
  /// Foot (6).
  public static let foot = Self(rawValue: 6)

  public static let spaceName: StaticString = "body sensor location"
  public static let names: [Self: StaticString] = [
    .other: "Other", .chest: "Chest", .wrist: "Wrist", .finger: "Finger", .hand: "Hand", .earLobe: "Ear Lobe",
    .foot: "Foot",
  ]

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Body Sensor Location", &rawValue)
  }
}

/// The value of Heart Rate Control Point (0x2A39), one octet (HRS 1.0, 3.3.1).
public struct HeartRateCommand: ProfileValue {
  /// The command.
  public var operation = Operation.resetEnergyExpended

  /// The commands of the control point.
  public struct Operation: AssignedNumber {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Reset Energy Expended (1).
    public static let resetEnergyExpended = Self(rawValue: 1)
    public static let spaceName: StaticString = "heart rate command"
    public static let names: [Self: StaticString] = [.resetEnergyExpended: "Reset Energy Expended"]
  }

  /// Resets the energy expended.
  public init() {}

  /// A command.
  public init(_ operation: Operation) { self.operation = operation }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Heart Rate Control Point", &operation)
  }
}
