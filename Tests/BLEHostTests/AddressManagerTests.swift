import BLECrypto
import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The address manager without a host: effects are compared, and the controller's answers are made up.
@Suite("The address manager, alone") struct AddressManagerTests {
  private let owner = OwnerID(rawValue: 1)
  private let publicAddress = BD_ADDR(0x0011_2233_4455)
  private let privacy = PrivacySettings(identityResolvingKey: SecretKey(9), rotation: .seconds(60))
  private var addresses = AddressManager(isManaged: true, staticAddress: nil, toolbox: SecurityToolbox(LibCrypto()))
  private var devices = BondedDevices()
  private var radio = RadioContext(isPoweredOn: true)
  private var random = RandomSource.seeded(1)
  private var effects: [Effect<AddressEffect>] = []

  private func later(_ seconds: Int) -> Instant { .start + .seconds(seconds) }

  private mutating func powerOn() {
    addresses.begin(with: publicAddress, random: &random, into: &effects)
    guard case .event(.address(addresses.identity), to: .everyone)? = effects.popLast() else {
      Issue.record("our address is not reported")
      return
    }
    addresses.poweredOn(now: .start)
  }

  private mutating func useResolvingList(of size: Int = 2) {
    radio.controller.leFeatures = [.llPrivacy]
    for opcode: HCIOpcode in [
      .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leSetAddressResolutionEnable, .leSetPrivacyMode,
    ] {
      radio.controller.commands.insert(opcode)
    }
    radio.controller.resolvingListSize = size
  }

  private mutating func bond(_ number: UInt64) -> DeviceAddress {
    var bond = Bond(
      identity: DeviceAddress(octets: BD_ADDR(number), kind: .public),
      strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true))
    bond.identityResolvingKey = SecretKey(UInt128(number))
    devices.bonds.append(bond)
    devices.revision += 1
    return bond.identity
  }

  /// Reviews what has changed; the controller is quiet at once, and answers with `status`.
  ///
  /// - Returns: the commands, between `hold` and `release`.
  private mutating func review(_ status: HCIErrorCode = .success, at time: Instant = .start) -> [HCIOpcode] {
    var opcodes: [HCIOpcode] = []
    while !effects.isEmpty || addresses.isReviewDue(devices.revision) {
      guard !effects.isEmpty else {
        addresses.review(devices, radio, into: &effects)
        continue
      }
      switch effects.removeFirst() {
      case .command(let command, for: .radio(.address)):
        let opcode = command.opcode
        opcodes.append(opcode)
        addresses.stepCompleted(opcode, status, now: time, into: &effects)
      case .own(.hold): addresses.begin(devices, radio, now: time, random: &random, into: &effects)
      default: break
      }
    }
    return opcodes
  }

  @Test mutating func theIdentityIsThePublicAddressWhereThereIsOne() {
    powerOn()
    #expect(addresses.current == DeviceAddress(octets: publicAddress, kind: .public))
    #expect(review().isEmpty && addresses.deadline == nil)
  }

  @Test mutating func aControllerWithoutAPublicAddressKeepsItsRandomOne() {
    addresses.begin(with: BD_ADDR(), random: &random, into: &effects)
    let drawn = addresses.identity
    #expect(drawn.randomKind == .static)
    addresses.begin(with: BD_ADDR(), random: &random, into: &effects)
    #expect(addresses.identity == drawn)
  }

  @Test mutating func aPrivateAddressIsSetWhenTheControllerIsQuietAndRotates() {
    powerOn()
    addresses.setPrivacy(privacy, from: owner, into: &effects)
    addresses.review(devices, radio, into: &effects)
    guard case .own(.hold) = effects.last, addresses.isHolding else { Issue.record("\(effects)"); return }
    #expect(addresses.current.kind == .public, "not before the controller has it")
    #expect(review() == [.leSetRandomAddress] && !addresses.isHolding)
    let first = addresses.current
    #expect(first.randomKind == .resolvablePrivate && addresses.deadline == later(60))
    addresses.tick(now: later(60))
    #expect(review(at: later(60)) == [.leSetRandomAddress])
    #expect(addresses.current != first && addresses.deadline == later(120))
  }

  @Test mutating func aRefusedAddressIsTriedAgainAfterTheRotation() {
    powerOn()
    addresses.setPrivacy(privacy, from: owner, into: &effects)
    #expect(review(.commandDisallowed) == [.leSetRandomAddress])
    #expect(addresses.current.kind == .public && addresses.deadline == later(60) && !addresses.isHolding)
  }

  @Test mutating func aKernelsAdapterHasNoPrivateAddressOfOurs() {
    addresses = AddressManager(isManaged: false, staticAddress: nil, toolbox: SecurityToolbox(LibCrypto()))
    addresses.setPrivacy(privacy, from: owner, into: &effects)
    guard case .event(.refused(.disabled), to: .owner(owner)) = effects.last else {
      Issue.record("\(effects)")
      return
    }
    #expect(addresses.settings == nil)
  }

  @Test mutating func theNewestBondsAreInTheList() {
    useResolvingList()
    let all = [bond(1), bond(2), bond(3)]
    powerOn()
    let add: [HCIOpcode] = [.leAddDeviceToResolvingList, .leSetPrivacyMode]
    #expect(review() == add + add + [.leSetAddressResolutionEnable])
    #expect(all.map { addresses.resolves($0) } == [false, true, true])
    devices.bonds.removeLast()
    devices.revision += 1
    #expect(review() == [.leRemoveDeviceFromResolvingList] + add)
    #expect(all.map { addresses.resolves($0) } == [true, true, false])
  }

  @Test mutating func aListThatIsRejectedIsNotReliedOn() {
    useResolvingList()
    let device = bond(1)
    powerOn()
    #expect(review(.memoryCapacityExceeded) == [.leAddDeviceToResolvingList, .leSetAddressResolutionEnable])
    #expect(!addresses.resolves(device))
  }

  @Test mutating func aControllerThatDoesNotResolveLosesItsList() throws {
    useResolvingList()
    let device = bond(1)
    powerOn()
    _ = review()
    let address = try #require(DeviceAddress("70:81:94:0D:FB:AA", kind: .random))
    addresses.received(address, of: device, into: &effects)
    guard case .report(.controller, _, peer: nil) = effects.first else { Issue.record("\(effects)"); return }
    #expect(!addresses.resolves(device))
    #expect(review() == [.leRemoveDeviceFromResolvingList, .leSetAddressResolutionEnable])
  }

  @Test mutating func activityIsLookedAtOnlyWhileAChangeWaits() {
    powerOn()
    _ = review()
    addresses.activityChanged()
    #expect(!addresses.isReviewDue(devices.revision))
    addresses.setPrivacy(privacy, from: owner, into: &effects)
    addresses.review(devices, radio, into: &effects)
    #expect(!addresses.isReviewDue(devices.revision))
    addresses.activityChanged()
    #expect(addresses.isReviewDue(devices.revision))
  }
}
