import BLEAssignedNumbers
import Testing

@testable import BLEProfiles

struct EnvironmentalTests {
  @Test func valuesHaveTheResolutionOfTheirQuantity() throws {
    try expectBoth("6608", EnvironmentalValue<Temperature>(21.5))
    try expectBoth("18fc", EnvironmentalValue<Temperature>(-10))
    try expectBoth("0080", EnvironmentalValue<Temperature>(rawValue: nil))
    try expectBoth("0310", EnvironmentalValue<Humidity>(40.99))
    try expectBoth("ffff", EnvironmentalValue<Humidity>(rawValue: nil))
    try expectBoth("10270000", EnvironmentalValue<Pressure>(1000))
    try expectBoth("ffffff", EnvironmentalValue<Elevation>(-0.01))
    try expectBoth("f6", EnvironmentalValue<DewPoint>(-10))
    try expectBoth("ffffff", EnvironmentalValue<PollenConcentration>(16_777_215))
    try expectBoth("09", EnvironmentalValue<BarometricPressureTrend>(9))
    #expect(EnvironmentalValue<Temperature>(-0.05).description == "-0.05 °C")
    #expect(EnvironmentalValue<Humidity>(rawValue: nil).description == "unknown")
    #expect(EnvironmentalValue<UVIndex>(3).description == "3")
  }

  @Test func valuesOutsideTheRangeAreLimited() {
    #expect(EnvironmentalValue<Temperature>(-1e9).value == -273.15)
    #expect(EnvironmentalValue<Humidity>(250).value == 100)
    #expect(EnvironmentalValue<Pressure>(1e300).rawValue == Int(UInt32.max))
    #expect(EnvironmentalValue<Temperature>(.nan).rawValue == nil && EnvironmentalValue<Pressure>(.nan).rawValue == 0)
    #expect(EnvironmentalValue<UVIndex>(rawValue: .max).octets == [0xFF])
  }

  @Test func receivedValuesOutsideTheRangeAreRejected() throws {
    #expect(throws: CodecError.invalid(field: "Value")) {
      try EnvironmentalValue<Humidity>(decoding: [0x11, 0x27])
    }
    #expect(try EnvironmentalValue<Humidity>(decoding: [0x10, 0x27]).value == 100)
    #expect(throws: CodecError.invalid(field: "Value")) {
      try EnvironmentalValue<Temperature>(decoding: [0x4C, 0x95])
    }
    #expect(try EnvironmentalValue<Temperature>(decoding: [0x4D, 0x95]).value == -273.15)
    #expect(EnvironmentalValue<TrueWindDirection>(octets: [0xA0, 0x8C]) == nil)
    #expect(throws: CodecError.trailing(count: 1)) { try EnvironmentalValue<UVIndex>(decoding: [1, 2]) }
  }

  @Test func fieldDensitiesHaveTwoOrThreeAxes() throws {
    let plane = MagneticFluxDensity(x: 1, y: -1)
    #expect(plane.octets == [1, 0, 0xFF, 0xFF] && MagneticFluxDensity(octets: plane.octets) == plane)
    let space = MagneticFluxDensity(x: 1, y: -1, z: 2)
    #expect(space.octets == [1, 0, 0xFF, 0xFF, 2, 0] && MagneticFluxDensity(octets: space.octets) == space)
    #expect(MagneticFluxDensity(octets: [1, 0, 2]) == nil && MagneticFluxDensity(octets: [1, 0, 2, 0, 3]) == nil)
  }

  @Test func descriptorsHaveTheirFields() throws {
    var measurement = EnvironmentalMeasurement()
    (measurement.samplingFunction, measurement.measurementPeriod) = (.arithmeticMean, 60)
    (measurement.updateInterval, measurement.application, measurement.uncertainty) = (0x01_0203, 4, 2)
    try expectBoth("0000023c00000302010402", measurement)
    var trigger = EnvironmentalTrigger()
    try expectBoth("00", trigger)
    (trigger.condition, trigger.operand) = (.fixedInterval, [10, 0, 0])
    try expectBoth("010a0000", trigger)
    (trigger.condition, trigger.operand) = (.greater, [0x66, 0x08])
    #expect(trigger.octets == [6, 0x66, 0x08])
    #expect(try EnvironmentalTrigger(decoding: [6, 0x66, 0x08]) == trigger)
  }
}

/// The types of the profiles have the names that the SIG has assigned to their numbers.
struct NumberTests {
  @Test(arguments: [
    (HeartRate.service, "Heart Rate"), (HeartRate.measurement.uuid, "Heart Rate Measurement"),
    (HeartRate.bodySensorLocation.uuid, "Body Sensor Location"),
    (HeartRate.controlPoint.uuid, "Heart Rate Control Point"), (Battery.service, "Battery"),
    (Battery.level.uuid, "Battery Level"), (DeviceInformation.service, "Device Information"),
    (HealthThermometer.service, "Health Thermometer"),
    (HealthThermometer.measurement.uuid, "Temperature Measurement"),
    (HealthThermometer.type.uuid, "Temperature Type"),
    (HealthThermometer.intermediate.uuid, "Intermediate Temperature"),
    (HealthThermometer.interval.uuid, "Measurement Interval"), (CurrentTime.service, "Current Time"),
    (CurrentTime.currentTime.uuid, "Current Time"), (CurrentTime.localTime.uuid, "Local Time Information"),
    (CurrentTime.referenceTime.uuid, "Reference Time Information"),
    (HumanInterfaceDevice.service, "Human Interface Device"),
    (HumanInterfaceDevice.information.uuid, "HID Information"),
    (HumanInterfaceDevice.reportMap.uuid, "Report Map"), (HumanInterfaceDevice.controlPoint.uuid, "HID Control Point"),
    (HumanInterfaceDevice.report.uuid, "Report"), (HumanInterfaceDevice.protocolMode.uuid, "Protocol Mode"),
    (HumanInterfaceDevice.bootKeyboardInput.uuid, "Boot Keyboard Input Report"),
    (HumanInterfaceDevice.bootKeyboardOutput.uuid, "Boot Keyboard Output Report"),
    (HumanInterfaceDevice.bootMouseInput.uuid, "Boot Mouse Input Report"),
    (EnvironmentalSensing.service, "Environmental Sensing"), (Temperature.format.uuid, "Temperature"),
    (Humidity.format.uuid, "Humidity"), (Pressure.format.uuid, "Pressure"), (Elevation.format.uuid, "Elevation"),
    (TrueWindSpeed.format.uuid, "True Wind Speed"), (TrueWindDirection.format.uuid, "True Wind Direction"),
    (ApparentWindSpeed.format.uuid, "Apparent Wind Speed"),
    (ApparentWindDirection.format.uuid, "Apparent Wind Direction"), (GustFactor.format.uuid, "Gust Factor"),
    (PollenConcentration.format.uuid, "Pollen Concentration"), (UVIndex.format.uuid, "UV Index"),
    (Irradiance.format.uuid, "Irradiance"), (Rainfall.format.uuid, "Rainfall"), (WindChill.format.uuid, "Wind Chill"),
    (HeatIndex.format.uuid, "Heat Index"), (DewPoint.format.uuid, "Dew Point"),
    (MagneticDeclination.format.uuid, "Magnetic Declination"),
    (BarometricPressureTrend.format.uuid, "Barometric Pressure Trend"), (NordicUART.service, "Nordic UART Service"),
  ])
  func eachTypeHasItsAssignedName(uuid: BluetoothUUID, name: String) {
    #expect(AssignedNames.uuid(uuid) == name)
  }

  @Test func appearancesAndCompaniesHaveTheirAssignedNames() {
    #expect(AssignedNames.appearance(Appearance.heartRateSensor.rawValue) == "Generic Heart Rate Sensor")
    #expect(AssignedNames.company(CompanyIdentifier.apple.rawValue) == "Apple, Inc.")
  }
}
