import BLEHCI
import BLEWire

/// The host does not connect: it rejects each request.
struct Initiator: Sendable {
  enum Step: Equatable, Sendable {}

  init(maximumRequests: Int) {}

  var requests: [PendingConnection] { [] }
  var devices: [PendingConnection] { [] }
  var isOff: Bool { true }
  var isWaiting: Bool { false }
  var deadline: Instant? { nil }

  func wants(_ device: DeviceAddress) -> Bool { false }
  func rejection(of request: PendingConnection, _ radio: RadioContext) -> HostError? { .unsupported("connecting") }
  func connect(_ request: PendingConnection, _ radio: RadioContext, into effects: inout [Effect<InitiatorEffect>]) {}
  func cancel(_ id: ConnectID, of owner: OwnerID, into effects: inout [Effect<InitiatorEffect>]) {}
  func cancelAll(of owner: OwnerID? = nil, into effects: inout [Effect<InitiatorEffect>]) {}
  func suspend() {}
  func timedOut(_ opcode: HCIOpcode, into effects: inout [Effect<InitiatorEffect>]) {}
  func restore(_ radio: RadioContext, into effects: inout [Effect<InitiatorEffect>]) {}
  func connected(to device: DeviceAddress, into effects: inout [Effect<InitiatorEffect>]) -> [PendingConnection] { [] }
  func fulfilled(by identity: DeviceAddress, into effects: inout [Effect<InitiatorEffect>]) -> [PendingConnection] {
    []
  }
  func ended(_ status: HCIErrorCode, now: Instant, into effects: inout [Effect<InitiatorEffect>]) {}
  func tick(now: Instant, into effects: inout [Effect<InitiatorEffect>]) {}
  func reconcile(
    _ radio: RadioContext, addresses: [DeviceAddress?], into effects: inout [Effect<InitiatorEffect>]
  ) {}
  func stepCompleted(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<InitiatorEffect>]
  ) {}
}
