import BLECrypto
import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The parts that use the radio, together and without a host. Every command is answered with success.
@Suite("The radio, alone") struct RadioTests {
  private let owner = OwnerID(rawValue: 1)
  private let id = AdvertisingID(rawValue: 1)
  private let device = DeviceAddress(octets: BD_ADDR(9), kind: .public)
  private let privacy = PrivacySettings(identityResolvingKey: SecretKey(9), rotation: .seconds(60))
  private var radio = Radio(HostConfiguration(), SecurityToolbox(LibCrypto()))
  private var isScanning = false
  private var turn = RadioTurn(isPoweredOn: true, random: .seeded(1))

  private mutating func powerOn() {
    radio.begin(with: BD_ADDR(1), &turn)
    radio.restore(&turn)
    _ = settle()
  }

  /// Answers the commands, and reviews what has changed at the end of each input, until there is nothing more.
  ///
  /// - Parameter unanswered: a command whose answer does not come.
  private mutating func settle(unanswered: HCIOpcode? = nil) -> [HCIOpcode] {
    var opcodes: [HCIOpcode] = []
    while !turn.effects.isEmpty || radio.isReviewDue(turn.devices.revision) {
      guard !turn.effects.isEmpty else {
        radio.review(&turn)
        continue
      }
      guard case .command(let command, let purpose) = turn.effects.removeFirst() else { continue }
      let opcode = command.opcode
      opcodes.append(opcode)
      if opcode != unanswered, case .radio(let purpose) = purpose { radio.answered(purpose, opcode, .success, &turn) }
      if opcode == .leCreateConnectionCancel {
        radio.connectionFailed(.unknownConnectionIdentifier, as: .central, &turn)
      }
    }
    return opcodes
  }

  @Test mutating func aChangeOfAddressWaitsForAllThreeAndRestoresThem() {
    powerOn()
    let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
    radio.perform(.start(id, intent), from: owner, &turn)
    radio.perform(.start(ScanParameters()), from: owner, &turn)
    radio.connect(
      PendingConnection(
        id: ConnectID(rawValue: 1), owner: owner, device: device, parameters: ConnectionParameters()), &turn)
    _ = settle()
    radio.setPrivacy(privacy, from: owner, &turn)
    let opcodes = settle()
    #expect(
      opcodes.prefix(4) == [
        .leSetAdvertisingEnable, .leSetScanEnable, .leCreateConnectionCancel, .leSetRandomAddress,
      ])
    #expect(
      opcodes.dropFirst(4) == [
        .leSetAdvertisingParameters, .leSetScanParameters, .leCreateConnection, .leSetAdvertisingData,
        .leSetScanEnable, .leSetScanResponseData, .leSetAdvertisingEnable,
      ])
    #expect(radio.address.randomKind == .resolvablePrivate)
  }

  @Test mutating func theAddressStaysWhileOneActivityDoesNotEnd() {
    powerOn()
    radio.perform(.start(ScanParameters()), from: owner, &turn)
    _ = settle()
    radio.setPrivacy(privacy, from: owner, &turn)
    #expect(settle(unanswered: .leSetScanEnable) == [.leSetScanEnable])
    #expect(radio.address == radio.identity)
    radio.answered(.scanning(.disable), .leSetScanEnable, .success, &turn)
    #expect(settle().first == .leSetRandomAddress)
  }

  @Test mutating func aDeviceWithAPrivateAddressIsSearchedForAndThenCalledByIt() throws {
    var bond = Bond(
      identity: device, strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true))
    bond.identityResolvingKey = SecretKey(3)
    turn.devices = BondedDevices(revision: 1, bonds: [bond])
    powerOn()
    let request = PendingConnection(
      id: ConnectID(rawValue: 1), owner: owner, device: device, parameters: ConnectionParameters())
    radio.connect(request, &turn)
    #expect(Set(settle()) == [.leCreateConnection, .leSetScanParameters, .leSetScanEnable])
    let address = try #require(DeviceAddress("70:81:94:0D:FB:AA", kind: .random))
    turn.devices.lastAddresses[device] = address
    let report = HCI.AdvertisingReport { $0.address = address }
    radio.receive(.advertisingReport(.init { $0.reports = [report] }), by: [device], &turn)
    #expect(settle() == [.leCreateConnectionCancel, .leCreateConnection])
    #expect(radio.connected(to: device, &turn) == [request])
    radio.linkAdded(asCentral: true, &turn)
    #expect(settle() == [.leSetScanEnable], "the search has ended")
  }

  @Test mutating func anOwnerThatDetachesEndsItsActivities() {
    powerOn()
    radio.perform(.start(ScanParameters()), from: owner, &turn)
    radio.perform(
      .start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: [])), from: owner, &turn)
    _ = settle()
    radio.detach(owner, &turn)
    #expect(settle() == [.leSetAdvertisingEnable, .leSetScanEnable])
  }

  private func request() -> PendingConnection {
    PendingConnection(id: ConnectID(rawValue: 1), owner: owner, device: device, parameters: ConnectionParameters())
  }

  /// As ``settle(unanswered:)``, with turns, for a controller that cannot do what is combined.
  private mutating func settleInTurns(combines: Bool = true) -> [HCIOpcode] {
    var opcodes: [HCIOpcode] = []
    radio.takeTurns(&turn)
    while !turn.effects.isEmpty {
      guard case .command(let command, let purpose) = turn.effects.removeFirst() else { continue }
      let opcode = command.opcode
      opcodes.append(opcode)
      let isRefused = !combines && opcode == .leCreateConnection && isScanning
      if case .radio(let purpose) = purpose {
        radio.answered(purpose, opcode, isRefused ? .commandDisallowed : .success, &turn)
      }
      if let command = command.decoded(HCI.LESetScanEnable.self) { isScanning = command.scanEnable }
      if opcode == .leCreateConnectionCancel {
        radio.connectionFailed(.unknownConnectionIdentifier, as: .central, &turn)
      }
      radio.takeTurns(&turn)
    }
    return opcodes
  }

  @Test(arguments: [true, false])
  mutating func connectingAndScanningGoByTurnsWhereTheControllerCannotDoBoth(isReported: Bool) {
    powerOn()
    // As reported by a controller of a Raspberry Pi 3, without the combinations of scanning and initiating.
    if isReported { turn.controller.states.bits = 0x03FF_FF3F_FFFF }
    radio.perform(.start(ScanParameters()), from: owner, &turn)
    #expect(settleInTurns() == [.leSetScanParameters, .leSetScanEnable])
    radio.connect(request(), &turn)
    let refused: [HCIOpcode] = isReported ? [] : [.leCreateConnection]
    #expect(settleInTurns(combines: false) == refused + [.leSetScanEnable, .leCreateConnection])
    #expect(radio.isConnecting)
    for turnOfScan in [true, false, true] {
      turn.now = radio.deadline ?? turn.now
      radio.tick(&turn)
      #expect(
        settleInTurns(combines: false)
          == (turnOfScan
            ? [.leCreateConnectionCancel, .leSetScanParameters, .leSetScanEnable]
            : [.leSetScanEnable, .leCreateConnection]))
      #expect(radio.isConnecting != turnOfScan)
    }
    #expect(turn.now == .start + InitiatingTurns.length * 3)
    radio.cancel(ConnectID(rawValue: 1), of: owner, &turn)
    #expect(settleInTurns(combines: false).isEmpty && isScanning && radio.deadline == nil, "the scan goes on")
  }

  @Test mutating func aConnectableAdvertisementIsHeldWhileTheControllerConnects() {
    powerOn()
    turn.controller.states.bits = 0x3FF_FFFF_FFFF & ~(1 << 32)
    radio.perform(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: [])), from: owner, &turn)
    _ = settleInTurns()
    radio.connect(request(), &turn)
    #expect(settleInTurns() == [.leSetAdvertisingEnable, .leCreateConnection])
    turn.now = .start + InitiatingTurns.length
    radio.tick(&turn)
    #expect(settleInTurns() == [.leCreateConnectionCancel, .leSetAdvertisingEnable])
  }

  @Test mutating func aScanAndAnAdvertisementWaitForLinksThatTheControllerCannotCombine() {
    powerOn()
    turn.controller.states.bits = 0x3FF_FFFF_FFFF & ~(1 << 27 | 1 << 38)
    turn.links.hasPeripheral = true
    radio.perform(.start(ScanParameters()), from: owner, &turn)
    radio.perform(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: [])), from: owner, &turn)
    #expect(
      settleInTurns() == [.leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData])
    turn.links.hasPeripheral = false
    radio.linkEnded(&turn)
    #expect(settleInTurns() == [.leSetAdvertisingEnable, .leSetScanParameters, .leSetScanEnable])
  }
}
