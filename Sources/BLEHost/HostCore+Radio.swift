import BLEGATT
import BLEHCI
import BLEWire

/// The parts that use the radio, and what their effects cause in other parts.
extension HostCore {
  var radio: RadioContext {
    RadioContext(
      controller: controller, isPoweredOn: state == .poweredOn, isShuttingDown: session.isShuttingDown,
      isHeld: addresses.isHolding, address: addressOnAir, hasLinks: !links.isEmpty, isSearchWanted: isSearchWanted)
  }

  private var isSearchWanted: Bool {
    initiator.requests.contains {
      bonds[$0.device]?.identityResolvingKey != nil && addresses.isSearchWanted(for: $0.device)
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
      case .activityChanged: core.addresses.activityChanged()
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
      case .activityChanged: core.addresses.activityChanged()
      }
    }
  }

  mutating func reconcileScanner(now: Instant, into output: inout HostOutput) {
    withScanner(now: now, into: &output) { $0.reconcile($1, into: &$2) }
  }

  /// Every report of the event, in order (Vol 4, Part E, 7.7.65.2).
  mutating func receive(_ event: HCI.LEAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let identity = identity(behind: report.address, now: now, into: &output)
      var effects: [Effect<ScannerEffect>] = []
      scanner.receive(report, by: identity, into: &effects)
      apply(effects, now: now, into: &output)
    }
  }

  /// Every report of the event, in order (Vol 4, Part E, 7.7.65.13).
  mutating func receive(_ event: HCI.LEExtendedAdvertisingReport, now: Instant, into output: inout HostOutput) {
    for report in event.reports {
      let identity = identity(behind: report.address, now: now, into: &output)
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
      case .changed:
        core.addresses.activityChanged()
        core.reconcileInitiator(now: now, into: &output)
      case .searchMayChange: core.reconcileScanner(now: now, into: &output)
      case .activityChanged: core.addresses.activityChanged()
      }
    }
  }

  /// A bonded device is given to the controller by the fixed address that it uses, if any, by its identity where the
  /// controller resolves that, else by the address of its last advertisement.
  mutating func reconcileInitiator(now: Instant, into output: inout HostOutput) {
    let targets = initiator.devices.map { request in
      let last = addresses.resolves(request.device) ? nil : bonds.lastAddress(of: request.device)
      return bonds[request.device]?.addressOnAir ?? last ?? request.device
    }
    withInitiator(now: now, into: &output) { $0.reconcile($1, addresses: targets, into: &$2) }
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

  mutating func withAddresses(
    now: Instant, into output: inout HostOutput, _ body: (inout AddressManager, inout [Effect<AddressEffect>]) -> Void
  ) {
    var effects: [Effect<AddressEffect>] = []
    body(&addresses, &effects)
    apply(effects, now: now, into: &output)
  }

  mutating func apply(_ effects: [Effect<AddressEffect>], now: Instant, into output: inout HostOutput) {
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .hold:
        core.withAdvertiser(now: now, into: &output) { $0.hold($1, into: &$2) }
        core.reconcileScanner(now: now, into: &output)
        core.reconcileInitiator(now: now, into: &output)
        if core.advertiser.isOff, core.scanner.isOff, core.initiator.isOff {
          core.changeAddress(now: now, into: &output)
        }
      case .release:
        core.withAdvertiser(now: now, into: &output) { $0.release($1, into: &$2) }
        core.reconcileScanner(now: now, into: &output)
        core.reconcileInitiator(now: now, into: &output)
      }
    }
  }

  private var devices: BondedDevices { BondedDevices(revision: bonds.revision, bonds: bonds.bonds) }

  /// Lets the address manager look at what the input has changed, at its end.
  mutating func reviewAddresses(now: Instant, into output: inout HostOutput) {
    guard addresses.isReviewDue(bonds.revision) else { return }
    let (devices, radio) = (devices, radio)
    withAddresses(now: now, into: &output) { $0.review(devices, radio, into: &$1) }
  }

  private mutating func changeAddress(now: Instant, into output: inout HostOutput) {
    var effects: [Effect<AddressEffect>] = []
    let (devices, radio) = (devices, radio)
    addresses.begin(devices, radio, now: now, random: &random, into: &effects)
    apply(effects, now: now, into: &output)
  }

  /// The controller is being brought up and has told its public address.
  ///
  /// - Returns: the address that it is to use.
  mutating func chooseAddress(now: Instant, into output: inout HostOutput) -> DeviceAddress {
    var effects: [Effect<AddressEffect>] = []
    addresses.begin(with: controller.publicAddress, random: &random, into: &effects)
    apply(effects, now: now, into: &output)
    return addresses.current
  }

  /// The identity behind an address that was received.
  private mutating func identity(
    behind address: DeviceAddress, now: Instant, into output: inout HostOutput
  ) -> DeviceAddress {
    let identity = bonds.identity(of: address, toolbox)
    guard identity != address.identity else { return identity }
    withAddresses(now: now, into: &output) { $0.received(address, of: identity, into: &$1) }
    // A device that is to be connected to may have another address than the one that the controller was given.
    if initiator.wants(identity), addresses.isManaged { reconcileInitiator(now: now, into: &output) }
    return identity
  }
}
