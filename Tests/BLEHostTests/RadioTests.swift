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
      let opcode = type(of: command).opcode
      opcodes.append(opcode)
      if opcode != unanswered { radio.answered(purpose, opcode, .success, &turn) }
      if opcode == .leCreateConnectionCancel {
        radio.connectionFailed(.unknownConnectionIdentifier, as: .central, &turn)
      }
    }
    return opcodes
  }

  @Test mutating func aChangeOfAddressWaitsForAllThreeAndRestoresThem() {
    powerOn()
    let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])
    radio.perform(.startAdvertising(id, intent), from: owner, &turn)
    radio.perform(.startScanning(ScanParameters()), from: owner, &turn)
    radio.connect(
      PendingConnection(
        id: ConnectID(rawValue: 1), owner: owner, device: device, parameters: ConnectionParameters()), &turn)
    _ = settle()
    radio.perform(.setPrivacy(privacy), from: owner, &turn)
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
    radio.perform(.startScanning(ScanParameters()), from: owner, &turn)
    _ = settle()
    radio.perform(.setPrivacy(privacy), from: owner, &turn)
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
    radio.receive(HCI.LEAdvertisingReport { $0.reports = [report] }, by: [device], &turn)
    #expect(settle() == [.leCreateConnectionCancel, .leCreateConnection])
    #expect(radio.connected(to: device, &turn) == [request])
    radio.linkAdded(asCentral: true, &turn)
    #expect(settle() == [.leSetScanEnable], "the search has ended")
  }

  @Test mutating func anOwnerThatDetachesEndsItsActivities() {
    powerOn()
    radio.perform(.startScanning(ScanParameters()), from: owner, &turn)
    radio.perform(
      .startAdvertising(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: [])), from: owner, &turn)
    _ = settle()
    radio.detach(owner, &turn)
    #expect(settle() == [.leSetAdvertisingEnable, .leSetScanEnable])
  }
}
