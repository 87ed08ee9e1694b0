import BLECrypto
import BLEHCI
import BLESMP
import BLEWire

/// An effect of the address manager.
enum AddressEffect: Equatable, Sendable {
  /// Advertising, scanning and connecting have to be disabled; ``AddressManager/begin(_:_:now:random:into:)`` is due
  /// when they are.
  case hold
  /// They may be enabled again.
  case release
}

/// Our addresses, and the peers whose addresses the controller resolves.
///
/// A controller takes another random address (Vol 4, Part E, 7.8.4) and another resolving list (7.8.38 to 7.8.44,
/// 7.8.77) only while it neither advertises nor scans nor connects:
///
/// ```
///   idle ── a change is due ──► holding: everything is switched off ──► working: one command after the other
///    ▲                                                                     │
///    └──────────── what was on is switched on again ◄──────────────────────┘
/// ```
///
/// Links continue meanwhile, and the owners' declarations stay in force: owners receive no event of this.
struct AddressManager: Sendable {
  enum Step: Equatable, Sendable {
    case setAddress(DeviceAddress)
    case remove(ResolvingList.Entry)
    case add(ResolvingList.Entry)
    /// Device privacy mode: the peer's identity address is accepted, too.
    case setDeviceMode(ResolvingList.Entry)
    case setResolution(Bool)
  }

  /// Whether the host sets the addresses and the list. The kernel sets those of its controllers.
  let isManaged: Bool
  private let staticAddress: BD_ADDR?
  private let toolbox: SecurityToolbox

  /// The public address, or a static random one.
  private(set) var identity = DeviceAddress(octets: BD_ADDR(), kind: .public)
  /// Nil: the identity address is used.
  private(set) var settings: PrivacySettings?
  /// The private address that the controller has, or is given in its bring-up.
  private var privateAddress: DeviceAddress?
  private var nextRotation: Instant?
  private var list = ResolvingList()
  /// The controller has not answered a command about its list, twice.
  private var isListUnanswered = false

  /// A new private address is due, or a private address is no longer wanted.
  private var needsAddress = false
  /// The resolving list differs from the wanted one.
  private var needsList = false
  /// The steps that are left; the command of the first one is pending.
  private var steps: [Step] = []
  private var isOutdated = false
  private var reviewedRevision = 0

  init(isManaged: Bool, staticAddress: BD_ADDR?, toolbox: SecurityToolbox) {
    (self.isManaged, self.staticAddress, self.toolbox) = (isManaged, staticAddress, toolbox)
  }

  /// The address that advertising, scanning and connecting use.
  var current: DeviceAddress { privateAddress ?? identity }
  /// Nothing may be enabled.
  var isHolding: Bool { needsAddress || needsList || !steps.isEmpty }
  /// When ``tick(now:)`` has work.
  var deadline: Instant? { nextRotation }

  /// Whether the controller resolves the private addresses of this device.
  func resolves(_ device: DeviceAddress) -> Bool { list.resolves(device) }

  /// Whether scans are to find the address of this device before it can be connected to.
  func isSearchWanted(for device: DeviceAddress) -> Bool { isManaged && !list.resolves(device) }

  /// Chooses the addresses of a controller that is being brought up: its public address if it has one, otherwise a
  /// static random address (Vol 6, Part B, 1.3.2.1), drawn once.
  mutating func begin(
    with publicAddress: BD_ADDR, random: inout RandomSource, into effects: inout [Effect<AddressEffect>]
  ) {
    if let staticAddress {
      identity = DeviceAddress(octets: BD_ADDR(staticAddress.value | 0b11 << 46), kind: .random)
    } else if publicAddress.value != 0, publicAddress.value != 0xFFFF_FFFF_FFFF {
      identity = DeviceAddress(octets: publicAddress, kind: .public)
    } else if identity.kind != .random {
      identity = DeviceAddress(octets: BD_ADDR(random.next() | 0b11 << 46), kind: .random)
    }
    suspend()
    list = ResolvingList()
    list.isUnreliable = isListUnanswered
    privateAddress = drawPrivateAddress(&random, into: &effects)
    effects.append(.event(.address(identity), to: .everyone))
  }

  /// The controller is up.
  mutating func poweredOn(now: Instant) {
    scheduleRotation(now: now)
    isOutdated = true
  }

  /// The controller lost its state.
  mutating func suspend() {
    nextRotation = nil
    (needsAddress, needsList, steps) = (false, false, [])
  }

  mutating func setPrivacy(
    _ new: PrivacySettings?, from owner: OwnerID, into effects: inout [Effect<AddressEffect>]
  ) {
    guard new != settings else { return }
    guard isManaged else {
      let error = HostError.disabled(
        "the kernel chooses the adapter's address, so a private address of this host is not possible: take the adapter "
          + "with hci-socket:N"
      )
      return effects.append(.event(.refused(error), to: owner.recipient))
    }
    if let new, !PrivacySettings.rotations.contains(new.rotation) {
      let error = HostError.invalidParameters("the rotation of the private address is not allowed: 1 s to 1 h")
      return effects.append(.event(.refused(error), to: owner.recipient))
    }
    let isSameAddress = new.map { $0.hasSameAddress(as: settings) } ?? false
    settings = new
    if !isSameAddress { changeAddress() }
  }

  /// Begins to change the address if it has been used long enough.
  mutating func tick(now: Instant) {
    if let nextRotation, nextRotation <= now { changeAddress() }
  }

  private mutating func changeAddress() {
    nextRotation = nil
    (needsAddress, isOutdated) = (true, true)
  }

  /// A new private address (Vol 6, Part B, 1.3.2.2); nil where none is wanted.
  private mutating func drawPrivateAddress(
    _ random: inout RandomSource, into effects: inout [Effect<AddressEffect>]
  ) -> DeviceAddress? {
    guard let settings else { return nil }
    do throws(CryptographyError) {
      return try toolbox.resolvableAddress(irk: settings.identityResolvingKey.value, random: &random)
    } catch {
      let text = "no new private address could be made (\(error)): the previous one stays in use"
      effects.append(.report(.application, text, peer: nil))
      return privateAddress
    }
  }

  /// The controller uses the address from now on.
  private mutating func use(_ address: DeviceAddress?, now: Instant) {
    privateAddress = address
    scheduleRotation(now: now)
  }

  private mutating func scheduleRotation(now: Instant) { nextRotation = settings.map { now + $0.rotation } }
}

/// Changes, which wait until the controller is quiet.
extension AddressManager {
  /// Whether something has changed that ``review(_:_:into:)`` has not seen.
  @inline(__always)
  func isReviewDue(_ revision: Int) -> Bool { isOutdated || revision != reviewedRevision }

  /// The controller has started or stopped advertising, scanning or connecting.
  mutating func activityChanged() { if isHolding, steps.isEmpty { isOutdated = true } }

  /// Notes what the list lacks, and begins a change that is due.
  mutating func review(
    _ devices: BondedDevices, _ radio: RadioContext, into effects: inout [Effect<AddressEffect>]
  ) {
    (isOutdated, reviewedRevision) = (false, devices.revision)
    guard radio.isPoweredOn else { return }
    reviewList(devices, capacity: radio.controller.resolvedPeers)
    if isHolding, steps.isEmpty, !radio.isShuttingDown { effects.append(.own(.hold)) }
  }

  private mutating func reviewList(_ devices: BondedDevices, capacity: Int) {
    guard isManaged, capacity > 0 else { return }
    let basis = ResolvingList.Basis(
      bonds: devices.revision, localKey: settings?.identityResolvingKey, isUnreliable: list.isUnreliable)
    guard basis != list.chosenFor else { return }
    list.chosenFor = basis
    // Once everything is being disabled, a last step has to enable it again, even if nothing is left to change.
    if !listSteps(devices, capacity).isEmpty { needsList = true }
  }

  private func listSteps(_ devices: BondedDevices, _ capacity: Int) -> [Step] {
    list.steps(to: devices.bonds, localKey: settings?.identityResolvingKey, capacity: capacity)
  }

  /// Everything is disabled: takes the first step.
  mutating func begin(
    _ devices: BondedDevices, _ radio: RadioContext, now: Instant, random: inout RandomSource,
    into effects: inout [Effect<AddressEffect>]
  ) {
    if needsAddress {
      needsAddress = false
      if let address = drawPrivateAddress(&random, into: &effects) {
        steps.append(.setAddress(address))
      } else {
        use(nil, now: now)
        // A static identity has replaced the private address in the controller, or has to.
        if identity.kind == .random { steps.append(.setAddress(identity)) }
      }
    }
    if needsList {
      needsList = false
      steps += listSteps(devices, radio.controller.resolvedPeers)
    }
    takeStep(into: &effects)
  }

  private mutating func takeStep(into effects: inout [Effect<AddressEffect>]) {
    if let step = steps.first {
      effects.append(.command(step.command, for: .radio(.address)))
    } else if isHolding {
      // More has become due meanwhile.
      isOutdated = true
    } else {
      effects.append(.own(.release))
    }
  }

  mutating func stepCompleted(
    _ opcode: HCIOpcode, _ status: HCIErrorCode, now: Instant, into effects: inout [Effect<AddressEffect>]
  ) {
    guard !steps.isEmpty else { return }
    let step = steps.removeFirst()
    if status != .success { effects.append(.report(.controller, "refused \(opcode): \(status)", peer: nil)) }
    switch (step, status) {
    case (.setAddress(let address), .success): use(address == identity ? nil : address, now: now)
    case (.setAddress, _): scheduleRotation(now: now)
    case (.remove(let entry), _): list.entries.removeAll { $0 == entry }
    case (.add(let entry), .success): list.entries.append(entry)
    // An entry that is not in the list has no privacy mode.
    case (.add(let entry), _): steps.removeAll { $0 == .setDeviceMode(entry) }
    case (.setResolution(let isOn), .success): list.isEnabled = isOn
    case (.setResolution, _), (.setDeviceMode, _): break
    }
    let isMissing = status == .unknownCommand || status == .unsupportedFeatureOrParameterValue
    if status != .success, step.isDeviceMode || (step.isOfList && isMissing) {
      // The controller lacks a command that it reports, or does not report a bonded peer that uses its identity
      // address: the host resolves the addresses.
      (list.isUnreliable, isOutdated) = (true, true)
    }
    takeStep(into: &effects)
  }

  /// The controller does not answer a command about its resolving list: the host resolves the addresses.
  mutating func timedOut(_ opcode: HCIOpcode) { if opcode != .leSetRandomAddress { isListUnanswered = true } }

  /// An address was received that stands for a device with another identity. A controller that resolves the addresses
  /// of that device should have reported the identity.
  mutating func received(
    _ address: DeviceAddress, of device: DeviceAddress, into effects: inout [Effect<AddressEffect>]
  ) {
    guard address.randomKind == .resolvablePrivate, list.resolves(device) else { return }
    let text = "it does not resolve private addresses, although it has a resolving list: the host resolves them"
    effects.append(.report(.controller, text, peer: nil))
    (list.isUnreliable, isOutdated) = (true, true)
  }
}

extension AddressManager.Step {
  fileprivate var isDeviceMode: Bool { if case .setDeviceMode = self { true } else { false } }
  fileprivate var isOfList: Bool { if case .setAddress = self { false } else { true } }

  fileprivate var command: EncodedCommand {
    switch self {
    case .setAddress(let address): .init(HCI.LESetRandomAddress { $0.randomAddress = address.octets })
    case .remove(let entry): .init(HCI.LERemoveDeviceFromResolvingList { $0.peerIdentityAddress = entry.identity })
    case .add(let entry):
      .init(
        HCI.LEAddDeviceToResolvingList {
          $0.peerIdentityAddress = entry.identity
          $0.peerIRK = entry.peerKey.value
          $0.localIRK = entry.localKey.value
        })
    case .setDeviceMode(let entry):
      .init(
        HCI.LESetPrivacyMode {
          $0.peerIdentityAddress = entry.identity
          $0.privacyMode = .device
        })
    case .setResolution(let isOn): .init(HCI.LESetAddressResolutionEnable { $0.addressResolutionEnable = isOn })
    }
  }
}
