import BLEGATT
import BLEHCI
import BLEWire

/// The parts that use the radio, and what their effects cause in other parts.
extension HostCore {
  var radio: RadioContext {
    RadioContext(
      controller: controller, isPoweredOn: state == .poweredOn, isShuttingDown: shutdownDeadline != nil,
      isHeld: stillness.isHolding, address: addressOnAir, hasLinks: !links.isEmpty, isSearchWanted: isSearchWanted)
  }

  private var isSearchWanted: Bool {
    guard configuration.ownership == .exclusive else { return false }
    return initiator.requests.contains {
      bonds[$0.device]?.identityResolvingKey != nil && !resolving.resolves($0.device)
    }
  }

  mutating func withAdvertiser(
    now: Instant, into output: inout HostOutput,
    _ body: (inout Advertiser, RadioContext, inout [Effect<AdvertiserEffect>]) -> Void
  ) {
    var effects: [Effect<AdvertiserEffect>] = []
    let radio = radio
    body(&advertiser, radio, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .activityChanged: break
      }
    }
  }

  mutating func withScanner(
    now: Instant, into output: inout HostOutput,
    _ body: (inout Scanner, RadioContext, inout [Effect<ScannerEffect>]) -> Void
  ) {
    var effects: [Effect<ScannerEffect>] = []
    let radio = radio
    body(&scanner, radio, &effects)
    apply(effects, now: now, into: &output)
  }

  mutating func apply(_ effects: [Effect<ScannerEffect>], now: Instant, into output: inout HostOutput) {
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .activityChanged: break
      }
    }
  }

  mutating func reconcileScanner(now: Instant, into output: inout HostOutput) {
    withScanner(now: now, into: &output) { $0.reconcile($1, into: &$2) }
  }

  /// Every report of the event, in order (Vol 4, Part E, 7.7.65.2).
  mutating func receive(_ event: HCI.LEAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let identity = heard(report.address, now: now, into: &output)
      var effects: [Effect<ScannerEffect>] = []
      scanner.receive(report, by: identity, into: &effects)
      apply(effects, now: now, into: &output)
    }
  }

  /// Every report of the event, in order (Vol 4, Part E, 7.7.65.13).
  mutating func receive(_ event: HCI.LEExtendedAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let identity = heard(report.address, now: now, into: &output)
      var effects: [Effect<ScannerEffect>] = []
      scanner.receive(report, by: identity, now: now, into: &effects)
      apply(effects, now: now, into: &output)
    }
  }

  mutating func withInitiator(
    now: Instant, into output: inout HostOutput,
    _ body: (inout Initiator, RadioContext, inout [Effect<InitiatorEffect>]) -> Void
  ) {
    var effects: [Effect<InitiatorEffect>] = []
    let radio = radio
    body(&initiator, radio, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .changed: core.reconcileInitiator(now: now, into: &output)
      case .searchMayChange: core.reconcileScanner(now: now, into: &output)
      case .activityChanged: break
      }
    }
  }

  /// A bonded device is given to the controller by the fixed address that it uses, if any, by its identity where the
  /// controller resolves that, else by the address of its last advertisement.
  mutating func reconcileInitiator(now: Instant, into output: inout HostOutput) {
    let addresses = initiator.devices.map { request in
      let last = resolving.resolves(request.device) ? nil : bonds.lastAddress(of: request.device)
      return bonds[request.device]?.addressOnAir ?? last ?? request.device
    }
    withInitiator(now: now, into: &output) { $0.reconcile($1, addresses: addresses, into: &$2) }
  }

  /// Connects an owner to a device: by a link that our central made, else by a new one.
  mutating func connect(
    _ id: ConnectID, _ address: DeviceAddress, _ parameters: ConnectionParameters, for owner: OwnerID, now: Instant,
    into output: inout HostOutput
  ) {
    let device = bonds.identity(of: address, toolbox)
    let request = PendingConnection(id: id, owner: owner, device: device, parameters: parameters)
    if let error = initiator.rejection(of: request, radio) {
      return output.append(.connectionFailed(id, error), to: owner.recipient)
    }
    if shareLink(to: device, with: owner, id, into: &output) { return }
    // A device that only claims the identity, as a central, is no reason not to connect to the one that has it.
    let isConnected = links.contains { $0.identity == device && ($0.role == .central || $0.security.isBondProven) }
    guard !isConnected else {
      let error = HostError.invalidParameters("\(device) is connected already")
      return output.append(.connectionFailed(id, error), to: owner.recipient)
    }
    withInitiator(now: now, into: &output) { $0.connect(request, $1, into: &$2) }
  }
}
