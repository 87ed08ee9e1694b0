import BLEHCI
import BLEWire

/// The host does not scan: it rejects each scan, and ignores reports.
struct Scanner: Sendable {
  enum Step: Equatable, Sendable {}

  var isOff: Bool { true }
  var deadline: Instant? { nil }
  var isWanted: Bool { false }
  var isActiveWanted: Bool { false }
  var hasNoFragments: Bool { true }

  func start(
    _ parameters: ScanParameters, for owner: OwnerID, _ radio: RadioContext,
    into effects: inout [Effect<ScannerEffect>]
  ) {
    effects.append(.event(.scanning(.stopped(.unsupported("scanning"))), to: owner.recipient))
  }
  func stop(for owner: OwnerID, _ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {}
  func stopAll(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {}
  func suspend() {}
  func restore(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {}
  func tick(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {}
  func reconcile(_ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {}
  func stepCompleted(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<ScannerEffect>]
  ) {}
  func timedOut(_ opcode: HCIOpcode, _ radio: RadioContext, into effects: inout [Effect<ScannerEffect>]) {}

  func receive(
    _ report: HCI.AdvertisingReport, by identity: DeviceAddress, now: Instant,
    into effects: inout [Effect<ScannerEffect>]
  ) {}
  func receive(
    _ report: HCI.ExtendedAdvertisingReport, by identity: DeviceAddress, now: Instant,
    into effects: inout [Effect<ScannerEffect>]
  ) {}
  func receive(
    _ view: AdvertisingReportView, in event: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {}
}
