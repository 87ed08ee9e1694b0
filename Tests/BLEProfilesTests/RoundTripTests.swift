import TestSupport
import Testing

@testable import BLEProfiles

/// Every value is decoded as it was encoded, and no octets trap a decoder.
struct RoundTripTests {
  private static let types: [any ProfileValue.Type] = [
    BatteryLevel.self, BatteryLevelStatus.self, BodySensorLocation.self, ConsumerReport.self, CurrentTimeValue.self,
    DateTime.self, EnvironmentalMeasurement.self, EnvironmentalTrigger.self, EnvironmentalValue<DewPoint>.self,
    EnvironmentalValue<Elevation>.self, EnvironmentalValue<Humidity>.self, EnvironmentalValue<Pressure>.self,
    EnvironmentalValue<Temperature>.self, ExactTime.self, HIDInformation.self, HIDReportReference.self,
    HeartRateCommand.self, HeartRateMeasurement.self, KeyboardLEDs.self, KeyboardReport.self,
    LocalTimeInformation.self, MagneticFluxDensity.self, MedicalDeviceIdentifier.self, PnPID.self,
    ReferenceTimeInformation.self, SystemID.self, TemperatureMeasurement.self, TemperatureType.self,
  ]

  @Test func aDecodedValueIsEncodedAndDecodedAsTheSame() throws {
    var random = SplitMix64(seed: 1)
    for type in Self.types {
      for _ in 0..<2_000 {
        try check(type, (0..<Int.random(in: 0...24, using: &random)).map { _ in .random(in: 0...255, using: &random) })
      }
    }
  }

  private func check<Value: ProfileValue>(_ type: Value.Type, _ octets: [UInt8]) throws {
    guard let value = Value(octets: octets) else { return }
    #expect(try Value(decoding: value.octets[...]) == value, "\(type): \(octets)")
  }
}
