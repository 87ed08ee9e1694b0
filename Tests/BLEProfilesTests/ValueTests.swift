import BLEAssignedNumbers
import Testing

@testable import BLEProfiles

/// Octets as the specifications and their white papers have them, and the fields.
struct HeartRateValueTests {
  @Test(arguments: [
    ("0048", HeartRateMeasurement(beatsPerMinute: 72)),
    ("0648", HeartRateMeasurement(beatsPerMinute: 72, contact: .detected)),
    ("0448", HeartRateMeasurement(beatsPerMinute: 72, contact: .notDetected)),
    ("014801", HeartRateMeasurement(beatsPerMinute: 328)),
    ("0e500a00", HeartRateMeasurement(beatsPerMinute: 80, contact: .detected, energyExpended: 10)),
    ("105000040008", HeartRateMeasurement(beatsPerMinute: 80, rrIntervals: [1024, 2048])),
    (
      "1f2c01ffff0102",
      HeartRateMeasurement(beatsPerMinute: 300, contact: .detected, energyExpended: 0xFFFF, rrIntervals: [0x0201])
    ),
  ])
  func measurementsHaveTheFieldsOfTheirFlags(octets: String, value: HeartRateMeasurement) throws {
    try expectBoth(octets, value)
  }

  @Test func shortRateInTwoOctetsIsAccepted() throws {
    #expect(try HeartRateMeasurement(decoding: [0x01, 0x48, 0x00]).beatsPerMinute == 72)
  }

  @Test func contactBitWithoutSupportIsIgnored() throws {
    #expect(try HeartRateMeasurement(decoding: [0x02, 0x48]).contact == .notSupported)
  }

  @Test func fieldsOfReservedFlagsAreIgnored() throws {
    #expect(try HeartRateMeasurement(decoding: [0x20, 0x48, 1, 2]) == HeartRateMeasurement(beatsPerMinute: 72))
    #expect(throws: CodecError.trailing(count: 1)) { try HeartRateMeasurement(decoding: [0x00, 0x48, 1]) }
  }

  @Test func errorsNameTheFieldThatEndsEarly() {
    #expect(throws: CodecError.truncated(field: "Energy Expended")) {
      try HeartRateMeasurement(decoding: [0x08, 0x48, 0x01])
    }
    #expect(throws: CodecError.truncated(field: "RR-Interval")) { try HeartRateMeasurement(decoding: [0x10, 0x48]) }
    #expect(throws: CodecError.truncated(field: "RR-Interval")) {
      try HeartRateMeasurement(decoding: [0x10, 0x48, 0x01])
    }
  }

  @Test func controlPointHasOneCommand() throws {
    try expectBoth("01", HeartRateCommand(.resetEnergyExpended))
    try expectBoth("02", BodySensorLocation.wrist)
  }
}

struct DecimalFloatTests {
  /// Personal Health Devices Transcoding White Paper: 36.4 is 0xFF00016C.
  @Test(arguments: [
    (UInt32(0xFF00_016C), 364, -1, "36.4"), (0xFE00_0E3E, 3646, -2, "36.46"), (0x0000_0000, 0, 0, "0"),
    (0xFFFF_FFFF, -1, -1, "-0.1"), (0x0200_002A, 42, 2, "4200"), (0xFEFF_FFFB, -5, -2, "-0.05"),
  ])
  func floatHasMantissaAndExponent(raw: UInt32, mantissa: Int, exponent: Int, text: String) throws {
    let number = MedicalFloat(rawValue: raw)
    #expect((number.mantissa, number.exponent, number.description) == (mantissa, exponent, text))
    #expect(MedicalFloat(mantissa: mantissa, exponent: exponent) == number)
  }

  @Test(arguments: [(UInt16(0x0072), 114, 0, "114"), (0xF16C, 364, -1, "36.4"), (0x8801, -2047, -8, "-0.00002047")])
  func shortFloatHasMantissaAndExponent(raw: UInt16, mantissa: Int, exponent: Int, text: String) {
    let number = MedicalShortFloat(rawValue: raw)
    #expect((number.mantissa, number.exponent, number.description) == (mantissa, exponent, text))
  }

  @Test(arguments: [
    (SpecialFloat.notANumber, UInt32(0x007F_FFFF), UInt16(0x07FF)), (.notAtThisResolution, 0x0080_0000, 0x0800),
    (.positiveInfinity, 0x007F_FFFE, 0x07FE), (.negativeInfinity, 0x0080_0002, 0x0802),
    (.reserved, 0x0080_0001, 0x0801),
  ])
  func specialValuesAreNoNumbers(special: SpecialFloat, float: UInt32, short: UInt16) {
    #expect(MedicalFloat(special).rawValue == float && MedicalFloat(rawValue: float).special == special)
    #expect(MedicalShortFloat(special).rawValue == short && MedicalShortFloat(rawValue: short).special == special)
    #expect(!MedicalFloat(special).value.isFinite)
  }

  @Test func mantissaOfASpecialValueWithAnExponentIsANumber() {
    #expect(MedicalFloat(rawValue: 0xFF7F_FFFF).special == nil)
  }

  @Test func numbersOutsideTheRangeAreRejectedOrRounded() {
    #expect(MedicalFloat(mantissa: 8_388_606, exponent: 0) == nil && MedicalFloat(mantissa: 1, exponent: 128) == nil)
    #expect(MedicalFloat(mantissa: 8_388_605, exponent: 127) != nil)
    #expect(
      MedicalShortFloat(mantissa: 2_046, exponent: 0) == nil && MedicalShortFloat(mantissa: 1, exponent: 8) == nil)
    #expect(MedicalFloat(36.55, decimals: 2).description == "36.55")
    #expect(MedicalFloat(1_234_567.89, decimals: 2).description == "1234568")
    #expect(MedicalFloat(12_345.678, decimals: 3).description == "12345.68")
    #expect(MedicalShortFloat(123.456, decimals: 3).description == "123.5")
    #expect(MedicalShortFloat(1e12, decimals: 0).special == .positiveInfinity)
    #expect(MedicalFloat(.nan, decimals: 1).special == .notANumber)
    #expect(MedicalFloat(-.infinity, decimals: 1).special == .negativeInfinity)
  }
}

struct TimeValueTests {
  @Test func timesHaveTheirFieldsInOrder() throws {
    let moment = DateTime(year: 2025, month: 1, day: 2, hours: 3, minutes: 4, seconds: 5)
    try expectBoth("e9070102030405", moment)
    #expect(moment.description == "2025-01-02 03:04:05")
    try expectBoth(
      "e9070102030405048001",
      CurrentTimeValue(ExactTime(moment, dayOfWeek: 4, fractions256: 128), adjustReason: .manual))
    try expectBoth("0404", LocalTimeInformation(timeZone: 4, daylightSaving: .oneHour))
    try expectBoth("80ff", LocalTimeInformation())
    var reference = ReferenceTimeInformation()
    (reference.source, reference.accuracy, reference.daysSinceUpdate, reference.hoursSinceUpdate) =
      (.networkTimeProtocol, 8, 0, 23)
    try expectBoth("01080017", reference)
  }

  @Test(arguments: [
    "2d06010100 0000", "e9070d02030405", "e9070120030405", "e9070102180405", "e90701020a3c05", "e90701020a003c",
  ])
  func fieldsOutsideTheCalendarAreRejected(octets: String) throws {
    let octets = try #require([UInt8](hexadecimal: octets))
    #expect(throws: CodecError.self) { try DateTime(decoding: octets[...]) }
  }

  @Test func daysOfTheWeekAndZonesOutsideTheirRangesAreRejected() {
    #expect(throws: CodecError.invalid(field: "Day of Week")) {
      try ExactTime(decoding: [0xE9, 7, 1, 2, 3, 4, 5, 8, 0])
    }
    #expect(throws: CodecError.invalid(field: "Time Zone")) { try LocalTimeInformation(decoding: [57, 0]) }
    #expect(throws: CodecError.invalid(field: "DST Offset")) { try LocalTimeInformation(decoding: [0, 1]) }
    #expect(throws: CodecError.invalid(field: "Hours Since Update")) {
      try ReferenceTimeInformation(decoding: [1, 0, 0, 24])
    }
  }

  @Test(arguments: [
    (Int64(0), "1970-01-01 00:00:00"), (951_782_400, "2000-02-29 00:00:00"), (1_735_787_045, "2025-01-02 03:04:05"),
    (-1, "1969-12-31 23:59:59"), (4_107_542_399, "2100-02-28 23:59:59"),
  ])
  func secondsAreDates(seconds: Int64, text: String) {
    #expect(DateTime(secondsSince1970: seconds).description == text)
  }

  /// Years that a date cannot have are the nearest one, and unknown before year 0: no number of seconds ends the
  /// process.
  @Test(
    arguments: [
      (Int64.max, UInt16.max), (Int64.min, 0), (.min + 86_399, 0), (-62_167_219_201, 0), (-62_167_219_200, 0),
      (253_402_300_799, 9999), (253_402_300_800, 10_000),
    ] as [(Int64, UInt16)])
  func anyNumberOfSecondsIsADate(seconds: Int64, year: UInt16) {
    let time = DateTime(secondsSince1970: seconds)
    #expect(time.year == year)
    #expect(time.month >= 1 && time.month <= 12 && time.day >= 1 && time.day <= 31 && time.hours <= 23)
    #expect(DateTime(octets: time.octets) != nil)
  }
}

struct ThermometerValueTests {
  @Test func measurementsHaveTheFieldsOfTheirFlags() throws {
    let number = MedicalFloat(rawValue: 0xFF00_016C)
    try expectBoth("006c0100ff", TemperatureMeasurement(.celsius(number)))
    try expectBoth("016c0100ff", TemperatureMeasurement(.fahrenheit(number)))
    try expectBoth("046c0100ff02", TemperatureMeasurement(.celsius(number), type: .body))
    try expectBoth(
      "066c0100ffe907010203040506",
      TemperatureMeasurement(
        .celsius(number), timeStamp: DateTime(year: 2025, month: 1, day: 2, hours: 3, minutes: 4, seconds: 5),
        type: .mouth))
    try expectBoth("00ffff7f00", TemperatureMeasurement(.celsius(MedicalFloat(.notANumber))))
  }

  @Test func fahrenheitIsConverted() {
    #expect(TemperatureMeasurement(.fahrenheit(MedicalFloat(rawValue: 212))).celsius == 100)
  }

  @Test func timeStampsThatAreNoTimesAreRejected() {
    #expect(throws: CodecError.invalid(field: "Month")) {
      try TemperatureMeasurement(decoding: [0x02, 0, 0, 0, 0, 0xE9, 0x07, 13, 1, 0, 0, 0])
    }
    #expect(throws: CodecError.truncated(field: "Temperature Type")) {
      try TemperatureMeasurement(decoding: [0x04, 0, 0, 0, 0])
    }
  }
}

struct DeviceValueTests {
  @Test func batteryLevelsAreOfAHundred() throws {
    try expectBoth("64", BatteryLevel(percent: 100))
    #expect(throws: CodecError.invalid(field: "Battery Level")) { try BatteryLevel(decoding: [101]) }
    #expect(BatteryLevel(percent: 200).octets == [100])
  }

  @Test func powerStatesAreBits() throws {
    var power = BatteryLevelStatus.PowerState()
    power.isBatteryPresent = true
    (power.wiredSource, power.chargeState, power.chargeLevel) = (.yes, .charging, .low)
    (power.chargingType, power.chargingFaults) = (.trickle, [.other])
    #expect(power.rawValue == 0b0100_0111_0010_0011)
    try expectBoth("002347", BatteryLevelStatus(powerState: power))
    try expectBoth(
      "07234701003204",
      BatteryLevelStatus(powerState: power, identifier: 1, level: 50, additionalStatus: .init(rawValue: 4)))
    #expect(throws: CodecError.invalid(field: "Battery Level")) {
      try BatteryLevelStatus(decoding: [0x02, 0, 0, 101])
    }
  }

  @Test func identifiersOfDevicesHaveTheirFields() throws {
    try expectBoth(
      "bc9a785634563412",
      SystemID(manufacturerIdentifier: 0x34_5678_9ABC, organizationallyUniqueIdentifier: 0x12_3456))
    try expectBoth("014c0001000213", PnPID(vendor: 0x4C, product: 1, version: 0x1302))
    var identifier = MedicalDeviceIdentifier()
    (identifier.label, identifier.issuer) = ("UDI", "2.16")
    try expectBoth("0555444900322e313600", identifier)
  }

  @Test func textsOfDevicesHaveNoPadding() {
    var information = DeviceInformation()
    information.set("2A29", Array("Maker\0\0".utf8))
    information.set("2A25", Array("0815  ".utf8))
    information.set("2A26", Array("1.0\0old".utf8))
    information.set("2A24", [0xC3])
    information.set("2A50", [1, 0x4C, 0])
    #expect(information.manufacturerName == "Maker" && information.modelNumber == nil && information.pnpID == nil)
    #expect(information.serialNumber == "0815" && information.firmwareRevision == "1.0")
  }

  @Test func reportsOfKeyboardsHaveEightOctets() throws {
    try expectBoth("0200040000000000", KeyboardReport(modifiers: .leftShift, keys: [.a]))
    #expect(
      KeyboardReport.typing("aB1!\n/€").map { $0.octets.hexadecimal } == [
        "0000040000000000", "0000000000000000", "0200050000000000", "0000000000000000", "00001e0000000000",
        "0000000000000000", "02001e0000000000", "0000000000000000", "0000280000000000", "0000000000000000",
        "0000380000000000", "0000000000000000",
      ])
    #expect(KeyboardReport(keys: Array(repeating: .a, count: 9)).octets == [0, 0, 4, 4, 4, 4, 4, 4])
    try expectBoth("e900", ConsumerReport(.volumeUp))
    try expectBoth("02", KeyboardLEDs.capsLock)
    try expectBoth("11010002", HIDInformation())
    try expectBoth("0102", HIDReportReference(id: 1, kind: .output))
    #expect(throws: CodecError.invalid(field: "Report Type")) { try HIDReportReference(decoding: [1, 4]) }
    #expect(HIDControl(octets: [2]) == nil && HIDControl(octets: [1]) == .exitSuspend)
    #expect(HIDProtocolMode(octets: [1]) == .report && HIDProtocolMode(octets: []) == nil)
  }
}

/// Decoding and encoding give each other's result, and every shorter value is rejected.
func expectBoth<Value: ProfileValue>(_ hexadecimal: String, _ value: Value) throws {
  let octets = try #require([UInt8](hexadecimal: hexadecimal))
  #expect(try Value(decoding: octets[...]) == value)
  #expect(value.octets == octets)
  #expect(Value(octets: octets) == value)
  // A list of intervals or a text can end earlier.
  let isList =
    Value.self == MedicalDeviceIdentifier.self || (value as? HeartRateMeasurement)?.rrIntervals.count ?? 0 > 1
  for count in 0..<octets.count where !isList {
    #expect(throws: CodecError.self, "\(Value.self) of \(count) octets") { try Value(decoding: octets[..<count]) }
  }
  #expect(throws: CodecError.self) { try Value(decoding: [] as Bytes) }
}
