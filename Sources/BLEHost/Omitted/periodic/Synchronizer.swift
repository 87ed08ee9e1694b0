import BLEHCI
import BLEWire

/// The host receives no periodic advertising: it rejects each request.
struct Synchronizer: Sendable {
  enum Step: Equatable, Sendable {}

  init(maximumRequests: Int) {}

  var isOff: Bool { true }
  var scan: ScanParameters? { nil }
  var expectedLinks: [LinkID] { [] }
  var deadline: Instant? { nil }

  func handle(of id: SyncID, of owner: OwnerID) -> UInt16? { nil }
  func start(
    _ id: SyncID, _ source: SyncSource, on link: ConnectionHandle?, _ parameters: SyncParameters, for owner: OwnerID,
    _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {
    let error = HostError.unsupported("synchronization with periodic advertising")
    effects.append(.event(.synchronizing(id, .ended(error)), to: owner.recipient))
  }
  func stop(_ id: SyncID, of owner: OwnerID, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {}
  func stopAll(
    of owner: OwnerID? = nil, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {}
  func linkEnded(_ peer: LinkID, into effects: inout [Effect<SynchronizerEffect>]) {}
  func suspend(into effects: inout [Effect<SynchronizerEffect>]) {}
  func restore(_ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {}
  func timedOut(_ step: Step, _ opcode: HCIOpcode, into effects: inout [Effect<SynchronizerEffect>]) {}
  func cannotScan(_ error: HostError, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {}
  func reconcile(_ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {}
  func stepCompleted(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {}
  func tick(_ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {}

  func established(
    _ event: HCI.LEPeriodicAdvertisingSyncEstablished, by advertiser: DeviceAddress, _ radio: RadioContext,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {}
  func transferred(
    _ event: HCI.LEPeriodicAdvertisingSyncTransferReceived, by advertiser: DeviceAddress, from peer: LinkID?,
    _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]
  ) {}
  func lost(_ handle: UInt16, _ radio: RadioContext, into effects: inout [Effect<SynchronizerEffect>]) {}
  func receive(
    _ report: HCI.LEPeriodicAdvertisingReport, counter: UInt16?, now: Instant,
    into effects: inout [Effect<SynchronizerEffect>]
  ) {}
}
