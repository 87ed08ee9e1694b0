import BLEHCI
import BLESMP
import BLEWire

/// Changes that a controller takes only while it neither advertises nor scans nor connects: another random address
/// (Vol 4, Part E, 7.8.4), another resolving list (7.8.38 to 7.8.44, 7.8.77).
///
/// ```
///   idle ── a change is due ──► holding: everything is switched off ──► working: one command after the other
///    ▲                                                                     │
///    └──────────── what was on is switched on again ◄──────────────────────┘
/// ```
///
/// Links go on meanwhile, and what the application declared stays declared: it hears nothing of this.
struct Stillness: Sendable {
  enum Step: Equatable, Sendable {
    case address(DeviceAddress)
    case forget(ResolvingList.Entry)
    case know(ResolvingList.Entry)
    /// Device privacy mode: the peer's identity address is heard, too.
    case admitIdentity(ResolvingList.Entry)
    case resolution(Bool)
  }

  /// A new private address is due, or none any more.
  var needsAddress = false
  /// The resolving list lacks something.
  var needsList = false
  /// Steps to take; the command of the first is on its way.
  var steps: [Step] = []

  /// Nothing may be switched on.
  var isHolding: Bool { needsAddress || needsList || !steps.isEmpty }
}

extension HostCore {
  /// Brings a change that is due one step further.
  mutating func settle(now: Instant, into output: inout HostOutput) {
    reviewResolvingList()
    guard stillness.isHolding, stillness.steps.isEmpty, state == .poweredOn, shutdownDeadline == nil else { return }
    withAdvertiser(now: now, into: &output) { $0.hold($1, into: &$2) }
    reconcileScanner(now: now, into: &output)
    reconcileInitiator(now: now, into: &output)
    guard advertiser.isOff, scanner.isOff, initiator.isOff else { return }
    if stillness.needsAddress {
      stillness.needsAddress = false
      if let address = drawPrivateAddress(into: &output) {
        stillness.steps.append(.address(address))
      } else {
        privateAddressTaken(nil, now: now)
        // A static identity took the place of the private address in the controller, or is to.
        if ownAddress.kind == .random { stillness.steps.append(.address(ownAddress)) }
      }
    }
    if stillness.needsList {
      stillness.needsList = false
      stillness.steps += resolvingSteps()
    }
    takeStillStep(now: now, into: &output)
  }

  private mutating func takeStillStep(now: Instant, into output: inout HostOutput) {
    guard let step = stillness.steps.first else {
      // More may have become due meanwhile.
      if stillness.isHolding { return settle(now: now, into: &output) }
      withAdvertiser(now: now, into: &output) { $0.release($1, into: &$2) }
      reconcileScanner(now: now, into: &output)
      return reconcileInitiator(now: now, into: &output)
    }
    switch step {
    case .address(let address):
      send(HCI.LESetRandomAddress { $0.randomAddress = address.octets }, for: .stillness, now: now, into: &output)
    case .forget(let entry):
      let command = HCI.LERemoveDeviceFromResolvingList { $0.peerIdentityAddress = entry.identity }
      send(command, for: .stillness, now: now, into: &output)
    case .know(let entry):
      let command = HCI.LEAddDeviceToResolvingList {
        $0.peerIdentityAddress = entry.identity
        $0.peerIRK = entry.peerKey.value
        $0.localIRK = entry.localKey.value
      }
      send(command, for: .stillness, now: now, into: &output)
    case .admitIdentity(let entry):
      let command = HCI.LESetPrivacyMode {
        $0.peerIdentityAddress = entry.identity
        $0.privacyMode = .device
      }
      send(command, for: .stillness, now: now, into: &output)
    case .resolution(let isOn):
      let command = HCI.LESetAddressResolutionEnable { $0.addressResolutionEnable = isOn }
      send(command, for: .stillness, now: now, into: &output)
    }
  }

  mutating func stillStepCompleted(
    _ opcode: HCIOpcode, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    guard !stillness.steps.isEmpty else { return }
    let step = stillness.steps.removeFirst()
    if status != .success { report(.controller, "refused \(opcode): \(status)", into: &output) }
    switch step {
    case .address(let address) where status == .success:
      privateAddressTaken(address == ownAddress ? nil : address, now: now)
    case .address: scheduleRotation(now: now)
    case .forget, .know, .admitIdentity, .resolution: resolvingStepCompleted(step, status)
    }
    takeStillStep(now: now, into: &output)
  }
}
