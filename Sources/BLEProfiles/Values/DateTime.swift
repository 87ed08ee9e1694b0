/// Date Time (0x2A08): a date and a time of day without a time zone, seven octets (GATT Specification Supplement, Date
/// Time).
///
/// A year, month or day of zero is unknown.
public struct DateTime: ProfileValue {
  /// 1582 to 9999; 0 means unknown.
  public var year: UInt16 = 0
  /// 1 to 12; 0 means unknown.
  public var month: UInt8 = 0
  /// 1 to 31; 0 means unknown.
  public var day: UInt8 = 0
  /// 0 to 23.
  public var hours: UInt8 = 0
  /// 0 to 59.
  public var minutes: UInt8 = 0
  /// 0 to 59.
  public var seconds: UInt8 = 0

  /// An unknown date at midnight.
  public init() {}

  /// A date and a time of day.
  public init(year: UInt16, month: UInt8, day: UInt8, hours: UInt8 = 0, minutes: UInt8 = 0, seconds: UInt8 = 0) {
    (self.year, self.month, self.day) = (year, month, day)
    (self.hours, self.minutes, self.seconds) = (hours, minutes, seconds)
  }

  /// The date and time of day of a number of seconds since the beginning of 1970 in the same time zone (proleptic
  /// Gregorian calendar).
  public init(secondsSince1970 seconds: Int64) {
    // Rounded down, including times before 1970. Subtracting before the division would overflow for the earliest times.
    let day = seconds / 86_400 - (seconds % 86_400 < 0 ? 1 : 0)
    let rest = (seconds % 86_400 + 86_400) % 86_400
    // Days since 1 March of year 0, in eras of 400 years with 146,097 days.
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let number = month < 10 ? month + 3 : month - 9
    self.init(
      year: UInt16(clamping: yearOfEra + era * 400 + (number <= 2 ? 1 : 0)), month: UInt8(clamping: number),
      day: UInt8(clamping: dayOfYear - (153 * month + 2) / 5 + 1), hours: UInt8(clamping: rest / 3_600),
      minutes: UInt8(clamping: rest / 60 % 60), seconds: UInt8(clamping: rest % 60))
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.limited("Year", Year.self, &year)
    try field.limited("Month", UpTo12.self, &month)
    try field.limited("Day", UpTo31.self, &day)
    try field.limited("Hours", UpTo23.self, &hours)
    try field.limited("Minutes", UpTo59.self, &minutes)
    try field.limited("Seconds", UpTo59.self, &seconds)
  }

  private enum Year: FieldLimits {
    static let range: ClosedRange<UInt16> = 1582...9999
    static let exception: UInt16? = 0
  }
  private enum UpTo12: FieldLimits { static let range: ClosedRange<UInt8> = 0...12 }
  private enum UpTo31: FieldLimits { static let range: ClosedRange<UInt8> = 0...31 }
  private enum UpTo23: FieldLimits { static let range: ClosedRange<UInt8> = 0...23 }
  private enum UpTo59: FieldLimits { static let range: ClosedRange<UInt8> = 0...59 }
}

extension DateTime: CustomStringConvertible {
  /// `2025-01-02 03:04:05`
  public var description: String {
    func two(_ number: UInt8) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(year)-\(two(month))-\(two(day)) \(two(hours)):\(two(minutes)):\(two(seconds))"
  }
}

/// Day Date Time (0x2A0A) and Exact Time 256 (0x2A0C) together: the date and time, the day of the week and the fraction
/// of a second, nine octets.
public struct ExactTime: ProfileValue {
  /// The date and the time of day.
  public var dateTime = DateTime()
  /// 1 is Monday, 7 is Sunday; 0 means unknown.
  public var dayOfWeek: UInt8 = 0
  /// The fraction of the second, in units of 1/256 s.
  public var fractions256: UInt8 = 0

  /// An unknown date at midnight.
  public init() {}

  /// A date with a time of day.
  public init(_ dateTime: DateTime, dayOfWeek: UInt8 = 0, fractions256: UInt8 = 0) {
    (self.dateTime, self.dayOfWeek, self.fractions256) = (dateTime, dayOfWeek, fractions256)
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try dateTime.layout(&field)
    try field.limited("Day of Week", Week.self, &dayOfWeek)
    try field.integer("Fractions256", &fractions256)
  }

  private enum Week: FieldLimits { static let range: ClosedRange<UInt8> = 0...7 }
}
