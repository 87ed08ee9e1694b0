import BLEGATT
import BLEHCI
import BLEWire

/// The devices the application wants connected, and how far the controller is with them.
///
/// A controller connects to one device at a time. One wish is given to it by address; several go through its filter accept
/// list, so that an absent device holds nobody up (Vol 6, Part B, 4.4.4).
///
/// ```
///   off ─► (clear list ─► add … ) ─► create ─► waiting ──── connected, or cancelled ───► off ─► next wish
/// ```
struct Initiator: Sendable {
  struct Wish: Equatable, Sendable {
    var id: ConnectID
    var owner: OwnerID
    var address: DeviceAddress
    var parameters: ConnectionParameters
  }
  /// A wish, and the address that the device is called by.
  struct Call: Equatable, Sendable {
    var wish: Wish
    var address: DeviceAddress
  }
  enum Step: Equatable, Sendable { case clear, add(Int), create, cancel }
  enum Phase: Equatable, Sendable { case off, working(Step), waiting, cancelling }

  var wishes: [Wish] = []
  var phase = Phase.off
  /// What the controller was given.
  var applied: [Call] = []

  /// One wish for each device that is wanted, in the order in which they came.
  var devices: [Wish] {
    var devices: [Wish] = []
    for wish in wishes where !devices.contains(where: { $0.address.identity == wish.address.identity }) {
      devices.append(wish)
    }
    return devices
  }

  /// A create command was accepted and no event has ended it.
  var isWaiting: Bool { phase == .waiting || phase == .cancelling || phase == .working(.cancel) }

  mutating func suspend() {
    phase = .off
    applied = []
  }

  /// A link came up: the wishes that it fulfils, at most one of each owner.
  mutating func succeeded(_ address: DeviceAddress) -> [Wish] {
    phase = .off
    applied = []
    let fulfilled = wishes.filter { $0.address.identity == address.identity }
    wishes.removeAll(where: fulfilled.contains)
    return fulfilled
  }

  /// Removes the wishes of these calls, and those of other owners for the same devices.
  mutating func takeWishes(of calls: [Call]) -> [Wish] {
    let failed = wishes.filter { wish in
      calls.contains { call in
        let isOther = call.wish.owner != wish.owner && call.wish.address.identity == wish.address.identity
        return isOther || call.wish == wish
      }
    }
    wishes.removeAll(where: failed.contains)
    return failed
  }
}

extension HostCore {
  mutating func connect(
    _ id: ConnectID, _ address: DeviceAddress, _ parameters: ConnectionParameters, for owner: OwnerID, now: Instant,
    into output: inout HostOutput
  ) {
    func refuse(_ error: HostError) { output.append(.connectionFailed(id, error), to: owner.recipient) }
    let address = bonds.identity(of: address, toolbox)
    guard state == .poweredOn, shutdownDeadline == nil else { return refuse(.notPoweredOn) }
    guard parameters.isValid else {
      return refuse(.invalidParameters("connection parameters outside Vol 4, Part E, 7.8.12: \(parameters)"))
    }
    let isPending = initiator.wishes.contains {
      $0.id == id || ($0.address.identity == address.identity && $0.owner == owner)
    }
    guard !isPending else {
      return refuse(.invalidParameters("a connection to \(address) is pending already"))
    }
    if shareLink(to: address, with: owner, id, into: &output) { return }
    // A device that only claims the identity, as a central, is no reason not to connect to the one that has it.
    let isConnected = links.contains {
      $0.identity == address.identity && ($0.role == .central || $0.security.isBondProven)
    }
    guard !isConnected else {
      return refuse(.invalidParameters("\(address) is connected already"))
    }
    // One device needs no list; more need an entry each.
    let limit = min(max(1, controller.acceptListSize), configuration.maximumPendingConnections)
    let isWanted = initiator.wishes.contains { $0.address.identity == address.identity }
    guard initiator.wishes.count < configuration.maximumPendingConnections,
      isWanted || initiator.devices.count < limit
    else { return refuse(.tooMany("pending connections", limit: limit)) }
    initiator.wishes.append(Initiator.Wish(id: id, owner: owner, address: address, parameters: parameters))
    reconcileInitiator(now: now, into: &output)
  }

  mutating func cancelConnect(
    _ id: ConnectID, of owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    guard let index = initiator.wishes.firstIndex(where: { $0.id == id && $0.owner == owner }) else { return }
    initiator.wishes.remove(at: index)
    output.append(.connectionFailed(id, .cancelled), to: owner.recipient)
    reconcileInitiator(now: now, into: &output)
  }

  mutating func restoreConnecting(now: Instant, into output: inout HostOutput) {
    reconcileInitiator(now: now, into: &output)
  }

  mutating func reconcileInitiator(now: Instant, into output: inout HostOutput) {
    guard state == .poweredOn, shutdownDeadline == nil || initiator.phase == .waiting else { return }
    let calls = wantedCalls
    switch initiator.phase {
    case .working, .cancelling: break
    case .waiting where initiator.applied != calls: takeInitiating(.cancel, now: now, into: &output)
    case .off where calls.count > 1: takeInitiating(.clear, now: now, into: &output)
    case .off where calls.count == 1: takeInitiating(.create, now: now, into: &output)
    case .waiting, .off: break
    }
    reconcileScanner(now: now, into: &output)
  }

  mutating func initiatingStepCompleted(
    _ step: Initiator.Step, _ opcode: HCIOpcode, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    guard initiator.phase == .working(step) else { return }
    if step == .cancel {
      // Refused: the link came up, or failed, before; its event tells. Accepted: the event with status 0x02 follows.
      initiator.phase = status == .success ? .cancelling : .waiting
      return
    }
    guard status == .success else { return failWishes(.controller(opcode, status), now: now, into: &output) }
    switch step {
    case .clear: takeInitiating(.add(0), now: now, into: &output)
    case .add(let index) where index + 1 < initiator.applied.count:
      takeInitiating(.add(index + 1), now: now, into: &output)
    case .add: takeInitiating(.create, now: now, into: &output)
    case .create:
      initiator.phase = .waiting
      reconcileInitiator(now: now, into: &output)
    case .cancel: break
    }
  }

  /// The controller gave up: by our cancellation, or for a reason of its own.
  mutating func initiatingEnded(_ status: HCIErrorCode, now: Instant, into output: inout HostOutput) {
    let wasCancelled = status == .unknownConnectionIdentifier
    let tried = initiator.applied
    initiator.suspend()
    if !wasCancelled, tried.count == 1 {
      for wish in initiator.takeWishes(of: tried) {
        output.append(.connectionFailed(wish.id, .controller(.leCreateConnection, status)), to: wish.owner.recipient)
      }
    }
    reconcileInitiator(now: now, into: &output)
  }

  private mutating func failWishes(_ error: HostError, now: Instant, into output: inout HostOutput) {
    let tried = initiator.applied
    initiator.suspend()
    for wish in initiator.takeWishes(of: tried) {
      output.append(.connectionFailed(wish.id, error), to: wish.owner.recipient)
    }
    reconcileInitiator(now: now, into: &output)
  }

  private mutating func takeInitiating(_ step: Initiator.Step, now: Instant, into output: inout HostOutput) {
    if step == .clear || (step == .create && initiator.phase == .off) { initiator.applied = wantedCalls }
    initiator.phase = .working(step)
    let purpose = Purpose.initiating(step)
    switch step {
    case .clear: send(HCI.LEClearFilterAcceptList(), for: purpose, now: now, into: &output)
    case .add(let index):
      guard initiator.applied.indices ~= index else { return }
      let address = initiator.applied[index].address
      send(HCI.LEAddDeviceToFilterAcceptList { $0.address = address }, for: purpose, now: now, into: &output)
    case .create: sendCreate(purpose, now: now, into: &output)
    case .cancel: send(HCI.LECreateConnectionCancel(), for: purpose, now: now, into: &output)
    }
  }

  /// A bonded device goes by the fixed address that it uses, if any, by its identity where the controller resolves it, else
  /// by the address it was last heard with.
  private var wantedCalls: [Initiator.Call] {
    guard !stillness.isHolding else { return [] }
    return initiator.devices.map { wish in
      let heard = resolving.resolves(wish.address) ? nil : bonds.lastAddress(of: wish.address)
      return Initiator.Call(wish: wish, address: bonds[wish.address]?.addressOnAir ?? heard ?? wish.address)
    }
  }

  private mutating func sendCreate(_ purpose: Purpose, now: Instant, into output: inout HostOutput) {
    guard let first = initiator.applied.first else {
      initiator.phase = .off
      return
    }
    let usesList = initiator.applied.count > 1
    let parameters = first.wish.parameters
    let own = ownAddressType
    // With the list the peer's address is ignored.
    let peer = first.address
    if controller.scansByExtendedCommands {
      let command = HCI.LEExtendedCreateConnection {
        $0.initiatorFilterPolicy = usesList ? .acceptList : .peerAddress
        $0.ownAddressType = own
        $0.peerAddress = peer
        $0.initiatingPHYs = .le1M
        $0.initiations = [
          HCI.InitiatingParameters {
            $0.scanInterval = 0x0060
            $0.scanWindow = 0x0060
            $0.parameters = parameters.wire
          }
        ]
      }
      send(command, for: purpose, now: now, into: &output)
    } else {
      let command = HCI.LECreateConnection {
        $0.scanInterval = 0x0060
        $0.scanWindow = 0x0060
        $0.initiatorFilterPolicy = usesList ? .acceptList : .peerAddress
        $0.peerAddress = peer
        $0.ownAddressType = own
        $0.parameters = parameters.wire
      }
      send(command, for: purpose, now: now, into: &output)
    }
  }
}
