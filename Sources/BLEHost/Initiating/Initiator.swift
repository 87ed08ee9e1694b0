import BLEHCI
import BLEWire

/// The devices that owners want connected, and the state of the controller's attempts.
///
/// A controller connects to one device at a time. One device is given to it by address; several go through its filter
/// accept list, so that an absent device does not delay the others (Vol 6, Part B, 4.4.4).
///
/// ```
///   off ─► (clear list ─► add … ) ─► create ─► waiting ──── connected, or cancelled ───► off ─► next device
///                                      └─ refused for now ─► off ── Retry ──► …
/// ```
///
/// A request ends with a link, with the failure of an attempt to its device alone, or by its owner. What the controller
/// refuses for now, and an attempt that ends for no device, begin again.
struct Initiator: Sendable {
  enum Step: Equatable, Sendable { case clear, add(Int), create, cancel }
  enum Phase: Equatable, Sendable { case off, working(Step), waiting, cancelling }

  private let maximumRequests: Int
  private(set) var requests: [PendingConnection] = []
  private var phase = Phase.off
  /// The targets that the controller was given.
  private var applied: [InitiatorTarget] = []
  private var retry = Retry()
  /// How many devices the controller has been seen to take, where that is less than it reports.
  private var capacity = Int.max
  /// When the event that ends a cancelled attempt is not waited for any longer.
  private var cancelDeadline: Instant?

  /// How long the controller may take to report the end of an attempt that it was told to cancel.
  static let cancelTime = Duration.seconds(2)

  init(maximumRequests: Int) { self.maximumRequests = maximumRequests }

  /// Whether the controller does not connect, and no command that makes it connect is pending.
  var isOff: Bool { phase == .off }

  /// Whether a create command was accepted and no event has ended it.
  var isWaiting: Bool { phase == .waiting || phase == .cancelling || phase == .working(.cancel) }

  /// When ``tick(now:into:)`` has work.
  var deadline: Instant? { requests.isEmpty ? cancelDeadline : .nearer(cancelDeadline, retry.due) }

  /// One request for each device that is wanted, in the order in which they came.
  var devices: [PendingConnection] {
    var devices: [PendingConnection] = []
    for request in requests where !devices.contains(where: { $0.device == request.device }) { devices.append(request) }
    return devices
  }

  func wants(_ device: DeviceAddress) -> Bool { requests.contains { $0.device == device } }

  /// Why a request cannot be accepted, regardless of links.
  func rejection(of request: PendingConnection, _ radio: RadioContext) -> HostError? {
    guard radio.acceptsRequests else { return .notPoweredOn }
    if let rejection = request.rejection(radio.controller) { return rejection }
    let isPending = requests.contains {
      $0.id == request.id || ($0.device == request.device && $0.owner == request.owner)
    }
    return isPending ? .invalidParameters("a connection to \(request.device) is pending already") : nil
  }

  /// Accepts a request that was not rejected, while there are not too many.
  mutating func connect(
    _ request: PendingConnection, _ radio: RadioContext, into effects: inout [Effect<InitiatorEffect>]
  ) {
    // One device needs no list; more need an entry each.
    let limit = min(max(1, radio.controller.acceptListSize), maximumRequests)
    guard requests.count < maximumRequests, wants(request.device) || devices.count < limit else {
      let error = HostError.tooMany("pending connections", limit: limit)
      return effects.append(.event(.connectionFailed(request.id, error), to: request.owner.recipient))
    }
    requests.append(request)
    effects.append(.own(.changed))
  }

  mutating func cancel(_ id: ConnectID, of owner: OwnerID, into effects: inout [Effect<InitiatorEffect>]) {
    guard let index = requests.firstIndex(where: { $0.id == id && $0.owner == owner }) else { return }
    requests.remove(at: index)
    effects += [.event(.connectionFailed(id, .cancelled), to: owner.recipient), .own(.changed)]
  }

  mutating func cancelAll(of owner: OwnerID? = nil, into effects: inout [Effect<InitiatorEffect>]) {
    for request in requests where owner ?? request.owner == request.owner {
      cancel(request.id, of: request.owner, into: &effects)
    }
  }

  /// The controller lost its state; the requests stay.
  mutating func suspend() {
    ended()
    retry.accepted()
    capacity = .max
  }

  /// The controller does not answer a command.
  mutating func timedOut(_ opcode: HCIOpcode, into effects: inout [Effect<InitiatorEffect>]) {
    fail(applied, .commandTimedOut(opcode), into: &effects)
  }

  /// The controller is up again. One that has turned out to lack a command does not perform each request.
  mutating func restore(_ radio: RadioContext, into effects: inout [Effect<InitiatorEffect>]) {
    for request in requests {
      guard let error = request.rejection(radio.controller) else { continue }
      requests.removeAll { $0 == request }
      effects.append(.event(.connectionFailed(request.id, error), to: request.owner.recipient))
    }
  }

  private mutating func ended() { (phase, applied, cancelDeadline) = (.off, [], nil) }

  /// A link came up. The caller reconciles when it has reported it.
  ///
  /// - Returns: the requests that it fulfils, at most one of each owner.
  mutating func connected(
    to device: DeviceAddress, into effects: inout [Effect<InitiatorEffect>]
  ) -> [PendingConnection] {
    suspend()
    effects.append(.own(.activityChanged))
    let fulfilled = requests.filter { $0.device == device.identity }
    requests.removeAll(where: fulfilled.contains)
    return fulfilled
  }

  /// The device has made a link to us. The attempt of the controller to connect to it is cancelled.
  ///
  /// - Returns: as ``connected(to:into:)``.
  mutating func fulfilled(
    by device: DeviceAddress, into effects: inout [Effect<InitiatorEffect>]
  ) -> [PendingConnection] {
    let fulfilled = requests.filter { $0.device == device }
    requests.removeAll { $0.device == device }
    effects.append(.own(.changed))
    return fulfilled
  }

  /// The controller stopped connecting: by our cancellation, or for a reason of its own.
  mutating func ended(_ status: HCIErrorCode, now: Instant, into effects: inout [Effect<InitiatorEffect>]) {
    let (tried, wasCancelled) = (applied, isCancelling)
    ended()
    if status != .unknownConnectionIdentifier, tried.count == 1 {
      fail(tried, .controller(.leCreateConnection, status), into: &effects)
    } else if !wasCancelled {
      // It is not known for which device: all are tried again.
      retry.refused(now: now)
    }
    effects.append(.own(.changed))
  }

  private var isCancelling: Bool { phase == .cancelling || phase == .working(.cancel) }

  /// Sends a command again that the controller has refused, and ends a cancellation of which the controller does not
  /// report the end.
  mutating func tick(now: Instant, into effects: inout [Effect<InitiatorEffect>]) {
    if let due = cancelDeadline, due <= now {
      let text = "it does not report the end of \(HCIOpcode.leCreateConnection), which was cancelled"
      effects.append(.report(.controller, text, peer: nil))
      ended()
      effects += [.own(.activityChanged), .own(.changed)]
    }
    if let due = retry.due, due <= now {
      retry.begin()
      effects.append(.own(.changed))
    }
  }

  /// Fails the requests of these targets, and those of other owners for the same devices.
  private mutating func fail(
    _ targets: [InitiatorTarget], _ error: HostError, into effects: inout [Effect<InitiatorEffect>]
  ) {
    let failed = requests.filter { request in
      targets.contains { target in
        let isOther = target.request.owner != request.owner && target.request.device == request.device
        return isOther || target.request == request
      }
    }
    requests.removeAll(where: failed.contains)
    effects += failed.map { .event(.connectionFailed($0.id, error), to: $0.owner.recipient) }
  }
}

/// The commands, one after the other.
extension Initiator {
  /// Takes the next step towards the devices that are wanted.
  ///
  /// - Parameter addresses: the address that each of ``devices`` uses, in their order; nil for one that is not
  ///   connected to yet.
  mutating func reconcile(
    _ radio: RadioContext, addresses: [DeviceAddress?], into effects: inout [Effect<InitiatorEffect>]
  ) {
    guard radio.isPoweredOn, !radio.isShuttingDown || phase == .waiting else { return }
    if requests.isEmpty { retry.accepted() }
    let isHeld = radio.isHeld || radio.isInitiatingHeld
    let targets = zip(devices, isHeld ? [] : addresses).compactMap { request, address in
      address.map { InitiatorTarget(request: request, address: $0) }
    }.prefix(capacity)
    switch phase {
    case .working, .cancelling: break
    case .waiting where applied[...] != targets: take(.cancel, radio, into: &effects)
    case .off where !targets.isEmpty && retry.due == nil:
      applied = Array(targets)
      take(targets.count > 1 ? .clear : .create, radio, into: &effects)
    case .waiting, .off: break
    }
    effects.append(.own(.searchMayChange))
  }

  mutating func stepCompleted(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<InitiatorEffect>]
  ) {
    guard phase == .working(step) else { return }
    if step == .cancel { return cancelAnswered(status, radio, into: &effects) }
    guard status == .success else { return refused(step, opcode, status, radio, into: &effects) }
    switch step {
    case .clear: take(.add(0), radio, into: &effects)
    case .add(let index) where index + 1 < applied.count: take(.add(index + 1), radio, into: &effects)
    case .add: take(.create, radio, into: &effects)
    case .create:
      phase = .waiting
      retry.accepted()
      effects.append(.own(.changed))
    case .cancel: break
    }
  }

  /// Refused: the link came up, or failed, before; its event reports that. Accepted: the event with status 0x02 follows.
  private mutating func cancelAnswered(
    _ status: HCIErrorCode, _ radio: RadioContext, into effects: inout [Effect<InitiatorEffect>]
  ) {
    if status != .success, applied.isEmpty {
      ended()
      effects.append(.own(.changed))
    } else {
      phase = .cancelling
      cancelDeadline = radio.now + Self.cancelTime
    }
    effects.append(.own(.activityChanged))
  }

  private mutating func refused(
    _ step: Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ radio: RadioContext,
    into effects: inout [Effect<InitiatorEffect>]
  ) {
    let tried = applied
    ended()
    effects.append(.own(.activityChanged))
    if step == .create, radio.isExclusive, radio.controller.scansByExtendedCommands,
      let missing = MissingCommand(opcode, status, hasLegacy: tried.allSatisfy { $0.request.scan.phys == .le1M })
    {
      effects.append(.own(.missing(missing)))
      return retry.refused(now: radio.now)
    }
    switch status {
    case .memoryCapacityExceeded where step != .create && capacity > 1:
      if case .add(let index) = step { capacity = max(1, index) } else { capacity = 1 }
      effects.append(.report(.controller, "its filter accept list has room for \(capacity) only", peer: nil))
    case .unknownCommand where step != .create && capacity > 1:
      capacity = 1
      effects.append(
        .report(.controller, "it has no filter accept list: devices are connected to one after the other", peer: nil))
    case .commandDisallowed where radio.areOthersActive: effects.append(.own(.cannotCombine))
    case .commandDisallowed where retry.count == 1:
      // It may be connecting already, to a device that the host does not know.
      retry.refused(now: radio.now)
      return take(.cancel, radio, into: &effects)
    // With links, one of them is to that device, by an address that the host cannot resolve.
    case .connectionAlreadyExists where radio.hasLinks: fail(tried, .controller(opcode, status), into: &effects)
    case .commandDisallowed, .controllerBusy, .unspecifiedError, .connectionAlreadyExists:
      guard retry.count < Retry.attempts else {
        retry.accepted()
        fail(tried, .controller(opcode, status), into: &effects)
        break
      }
      if retry.count == 0 {
        effects.append(
          .report(.controller, "the controller rejected \(opcode): \(status): it is sent again", peer: nil))
      }
      if status == .connectionAlreadyExists { effects.append(.own(.needsReset)) }
      retry.refused(now: radio.now)
    default: fail(tried, .controller(opcode, status), into: &effects)
    }
    effects.append(.own(.changed))
  }

  private mutating func take(_ step: Step, _ radio: RadioContext, into effects: inout [Effect<InitiatorEffect>]) {
    let command: EncodedCommand
    switch step {
    case .clear: command = .init(HCI.LEClearFilterAcceptList())
    case .add(let index):
      guard applied.indices ~= index else { return }
      let address = applied[index].address
      command = .init(HCI.LEAddDeviceToFilterAcceptList { $0.address = address })
    case .create:
      let create = InitiatorCommand(targets: applied)
        .command(extended: radio.controller.scansByExtendedCommands, from: radio.ownAddressType)
      guard let create else { return phase = .off }
      command = create
    case .cancel: command = .init(HCI.LECreateConnectionCancel())
    }
    phase = .working(step)
    effects.append(.command(command, for: .radio(.initiating(step))))
  }
}
