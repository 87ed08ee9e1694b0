import BLECrypto
import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Resolvable private addresses in the controller: Vol 4, Part E, 7.8.38 to 7.8.45 and 7.8.77; Vol 6, Part B, 4.7.
struct PrivacyTests {
  static let irk: UInt128 = 0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B
  /// Made with ``irk``: the sample of Vol 3, Part H, 2.2.2.
  static let privateAddress = DeviceAddress(octets: BD_ADDR(0x7081_940D_FBAA), kind: .random)
  static let identity = DeviceAddress(octets: BD_ADDR(0xC000_0000_0042), kind: .random)

  func add(_ identity: DeviceAddress, peerIRK: UInt128 = 0, localIRK: UInt128 = 0) -> HCI.LEAddDeviceToResolvingList {
    .init {
      $0.peerIdentityAddress = identity
      $0.peerIRK = peerIRK
      $0.localIRK = localIRK
    }
  }

  func resolve(_ stage: inout RadioStage, _ id: ControllerID) throws {
    try stage.expect(.success, for: HCI.LESetAddressResolutionEnable { $0.addressResolutionEnable = true }, from: id)
  }

  /// An advertiser that shows the private address.
  func privateAdvertiser(_ stage: inout RadioStage) throws -> ControllerID {
    let id = stage.attach()
    try stage.expect(.success, for: HCI.LESetRandomAddress { $0.randomAddress = Self.privateAddress.octets }, from: id)
    try stage.advertise(id) { $0.ownAddressType = .random }
    return id
  }

  /// LE Connection Complete has the address types 0x00 and 0x01 only (Vol 4, Part E, 7.7.65.1).
  @Test func aHostWithoutTheEnhancedEventReceivesAnIdentityWithoutTheMarkOfAResolvedOne() throws {
    var stage = RadioStage()
    _ = try privateAdvertiser(&stage)
    let central = stage.attach()
    try stage.expect(.success, for: add(Self.identity, peerIRK: Self.irk), from: central)
    try resolve(&stage, central)
    try stage.expect(.success, for: HCI.LESetEventMask { $0.eventMask = [.connectionComplete] }, from: central)
    try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = Self.identity }, from: central)
    stage.run(for: .seconds(1))
    let events = try stage.metaEvents(central)
    guard events.count == 1, let event = events.first as? HCI.LEConnectionComplete else {
      Issue.record("\(events)")
      return
    }
    #expect(event.peerAddress == Self.identity)
  }

  @Test(arguments: [true, false]) func reportsAndConnections(isResolving: Bool) throws {
    var stage = RadioStage()
    let advertiser = try privateAdvertiser(&stage)
    let central = stage.attach()
    try stage.expect(.success, for: add(Self.identity, peerIRK: Self.irk), from: central)
    if isResolving { try resolve(&stage, central) }
    try stage.scan(central, .passive, filterDuplicates: true)
    stage.run(for: .seconds(1))
    let resolved = DeviceAddress(octets: Self.identity.octets, kind: .randomIdentity)
    #expect(try stage.reports(central).map(\.address) == [isResolving ? resolved : Self.privateAddress])
    try stage.expect(.success, for: HCI.LESetScanEnable(), from: central)

    let target = isResolving ? Self.identity : Self.privateAddress
    try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = target }, from: central)
    stage.run(for: .seconds(1))
    guard let event = try stage.metaEvents(central).first as? HCI.LEEnhancedConnectionComplete else {
      Issue.record("Enhanced Connection Complete")
      return
    }
    #expect(event.peerAddress == (isResolving ? resolved : Self.privateAddress))
    #expect(event.peerResolvablePrivateAddress == (isResolving ? Self.privateAddress.octets : BD_ADDR()))
    let read = try stage.ask(
      HCI.LEReadPeerResolvableAddress { $0.peerIdentityAddress = Self.identity }, from: central)
    #expect(read.status == (isResolving ? .success : .unknownConnectionIdentifier))
    _ = advertiser
  }

  /// The controller makes an address for the peer, and a new one when its time is over; the peer resolves both.
  @Test func ownPrivateAddress() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    let me = stage.address(of: advertiser)
    let peer = stage.address(of: scanner)
    try stage.expect(.success, for: add(peer, localIRK: Self.irk), from: advertiser)
    try stage.expect(.success, for: HCI.LESetResolvablePrivateAddressTimeout { $0.rpaTimeout = 10 }, from: advertiser)
    try resolve(&stage, advertiser)
    try stage.advertise(advertiser) {
      $0.ownAddressType = .resolvableElsePublic
      $0.peerAddress = peer
    }
    try stage.scan(scanner, .passive, filterDuplicates: true)
    stage.run(for: .seconds(25))
    let addresses = try stage.reports(scanner).map(\.address)
    #expect(addresses.count == 3 && Set(addresses).count == 3)
    #expect(addresses.allSatisfy { $0.randomKind == .resolvablePrivate })

    try stage.expect(.success, for: HCI.LESetScanEnable(), from: scanner)
    try stage.expect(.success, for: add(me, peerIRK: Self.irk), from: scanner)
    try resolve(&stage, scanner)
    try stage.scan(scanner, .passive, filterDuplicates: true)
    stage.run(for: .seconds(25))
    #expect(try stage.reports(scanner).map(\.address) == [DeviceAddress(octets: me.octets, kind: .publicIdentity)])
  }

  /// Network privacy mode hides a peer that shows its identity; device privacy mode does not.
  @Test func privacyMode() throws {
    var stage = RadioStage()
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    let address = stage.address(of: advertiser)
    try stage.advertise(advertiser)
    try stage.expect(.success, for: add(address, peerIRK: Self.irk), from: scanner)
    try resolve(&stage, scanner)
    try stage.scan(scanner)
    stage.run(for: .seconds(1))
    #expect(stage.take(scanner).isEmpty)
    let mode = HCI.LESetPrivacyMode {
      $0.peerIdentityAddress = address
      $0.privacyMode = .device
    }
    try stage.expect(.commandDisallowed, for: mode, from: scanner)
    try stage.expect(.success, for: HCI.LESetScanEnable(), from: scanner)
    try stage.expect(.success, for: mode, from: scanner)
    try stage.scan(scanner)
    stage.run(for: .seconds(1))
    #expect(!stage.take(scanner).isEmpty)
  }

  @Test func list() throws {
    var stage = RadioStage()
    let id = stage.attach { $0.resolvingListSize = 2 }
    func device(_ number: UInt64) -> DeviceAddress { DeviceAddress(octets: BD_ADDR(number), kind: .public) }
    #expect(try stage.ask(HCI.LEReadResolvingListSize(), from: id).resolvingListSize == 2)
    try stage.expect(.success, for: add(device(1), peerIRK: 1), from: id)
    try stage.expect(.invalidCommandParameters, for: add(device(1), peerIRK: 2), from: id)
    try stage.expect(.invalidCommandParameters, for: add(device(2), peerIRK: 1), from: id)
    try stage.expect(.success, for: add(device(2), peerIRK: 2), from: id)
    try stage.expect(.memoryCapacityExceeded, for: add(device(3), peerIRK: 3), from: id)
    let remove = HCI.LERemoveDeviceFromResolvingList { $0.peerIdentityAddress = device(1) }
    try stage.expect(.success, for: remove, from: id)
    try stage.expect(.unknownConnectionIdentifier, for: remove, from: id)
    try resolve(&stage, id)
    try stage.scan(id)
    try stage.expect(.commandDisallowed, for: HCI.LEClearResolvingList(), from: id)
    try stage.expect(.commandDisallowed, for: HCI.LESetAddressResolutionEnable(), from: id)
    try stage.expect(.success, for: HCI.LESetScanEnable(), from: id)
    try stage.expect(.success, for: HCI.LEClearResolvingList(), from: id)
    for seconds: UInt16 in [0, 3601] {
      try stage.expect(
        .invalidCommandParameters, for: HCI.LESetResolvablePrivateAddressTimeout { $0.rpaTimeout = seconds }, from: id)
    }
  }
}
