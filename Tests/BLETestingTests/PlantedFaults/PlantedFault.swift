import BLEKit
import BLETesting
import CoreBluetooth
import Foundation
import Testing

/// A small program with a fault that programs really have, and the test that finds it.
struct PlantedFault: CustomTestStringConvertible, Sendable {
  var testDescription: String
  /// What happens to its devices, for a fault that needs it.
  var plan = IncidentPlan.none
  /// The real time after which a test counts as stuck.
  var patience = Duration.seconds(20)
  /// What happens on the links of a device at most, after shortening.
  var actionLimit = 12
  /// The test of the program, with the fault or without it. It throws if it finds a fault.
  var test: @Sendable (_ radio: TestRadio, _ isPlanted: Bool) async throws -> Void

  /// What a test has found.
  struct Found: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
  }

  static let all = [
    reconnectsAfterStop, ignoresUpdateResult, goesOnWithoutBond, assumesMTU, keepsCharacteristic, keepsScanning,
    writesBeforeSubscription, answersNoRequest, keepsServices, waitsOnItsQueue,
  ]
}
