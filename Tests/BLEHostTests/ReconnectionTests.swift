import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Our central encrypts the link to a bonded peripheral before anything else (BLESA, CVE-2020-9770;
/// Docs/Decisions/pairing-and-bonds.md#the-central-encrypts-first).
@Suite("Reconnecting to a bonded peripheral") struct ReconnectionTests {
  static let enableEncryption: [UInt8] = [0x01, 0x19, 0x20]

  /// A scripted controller's host that connects to the bonded peripheral; handle 0x0040.
  private func central(
    bond: Bond = EncryptionTests.bond, ownership: ControllerOwnership = .exclusive, refusal: HCIErrorCode? = nil,
    _ change: (inout PairingSettings) -> Void = { _ in }
  ) -> Bench {
    var controller = ScriptedController()
    controller.refusals[.leEnableEncryption] = refusal
    var configuration = HostConfiguration()
    configuration.pairing = .with(.noInputNoOutput, secure: true, change)
    (configuration.bonds, configuration.ownership) = ([bond], ownership)
    var bench = Bench(controller, configuration: configuration)
    bench.perform(.services(.add(Couple.service)))
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), bond.identity, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: bond.identity))
    return bench
  }

  private static let peer = LinkID(rawValue: 1)
  private static let plain = AttributeHandle(rawValue: 0x0003)

  private func read(_ number: UInt32 = 1) -> HostCommand {
    .link(Self.peer, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: number), .read(Self.plain))))
  }

  private func encryption(_ status: UInt8 = 0, on: UInt8 = 1) -> [UInt8] { [0x04, 0x08, 4, status, 0x40, 0, on] }

  private func results(_ bench: Bench) -> [Result<GATTClient.Outcome, GATTClientError>] {
    bench.events.compactMap { if case .client(_, .finished(_, let result)) = $0 { result } else { nil } }
  }

  private func losses(_ bench: Bench) -> [BondLoss] {
    bench.events.compactMap { if case .bonds(.lost(_, _, let loss)) = $0 { loss } else { nil } }
  }

  /// On the virtual radio: the command to encrypt is the first packet, and the value comes over the encrypted link.
  @Test(arguments: [true, false]) func encryptsBeforeAnyPDU(secure: Bool) throws {
    var couple = Couple(central: { _ in .with(secure: secure) })
    try couple.connect()
    couple.secure()
    // Each end has the address by which the other one knows it.
    #expect([0, 1].allSatisfy { couple.bond($0)?.ownIdentity == couple.world.hosts[$0].ownAddress })
    couple.disconnect()
    couple.forget()
    let start = couple.world.sent[1].count
    try couple.connect()
    let sent = couple.world.sent[1].dropFirst(start)
    let first = try #require(sent.firstIndex { $0.starts(with: Self.enableEncryption) })
    #expect(!sent[..<first].contains { $0[0] == 2 }, "data before the encryption")
    #expect(couple.security(1) == SecurityState(level: .encrypted, keySize: 16, isBonded: true, isBondProven: true))
    #expect(couple.read(Couple.encrypted) == .success([7]))
    #expect(couple.losses(1).isEmpty && couple.paired(1).isEmpty && couple.world.complaints.isEmpty)
  }

  @Test func operationsWaitForTheEncryptionAndTheMTUComesFirst() {
    var bench = central()
    bench.perform(read())
    #expect(bench.controller.commands.contains { $0.opcode == .leEnableEncryption } && bench.data.isEmpty)
    #expect(results(bench).isEmpty)
    bench.receive(encryption())
    #expect(bench.attPayloads(from: 0) == [[0x02, 0x05, 0x02]])
    #expect(bench.att(0x40, [0x03, 0xB9, 0x00]) == [[0x0A, 0x03, 0x00]])
    _ = bench.att(0x40, [0x0B, 7])
    #expect(results(bench) == [.success(.value([7]))] && losses(bench).isEmpty)
  }

  /// LL_REJECT_IND with PIN or Key Missing, and whatever else a controller says instead of "encrypted".
  static let refusals: [(UInt8, BondLoss)] = [
    (0x06, .forgottenByPeer), (0x3D, .keysDiffer), (0x05, .keysDiffer),
    (0x1A, .notEncrypted(HCIErrorCode(rawValue: 0x1A))), (0x22, .notEncrypted(.linkLayerResponseTimeout)),
  ]

  @Test(arguments: refusals) func aRefusedEncryptionIsABondLossAndNothingIsAsked(status: UInt8, loss: BondLoss) {
    var bench = central()
    bench.perform(read(1))
    bench.receive(encryption(status, on: 0))
    #expect(losses(bench) == [loss] && results(bench) == [.failure(.notEncrypted)])
    bench.perform(read(2))
    bench.perform(
      .link(Self.peer, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: 3), .discoverPrimaryServices)))
    )
    #expect(results(bench).count == 3 && results(bench).allSatisfy { $0 == .failure(.notEncrypted) })
    bench.run(for: .seconds(120))
    #expect(bench.data.isEmpty && bench.core.linkCount == 1)
  }

  /// The device has no bond with the new address; it has forgotten nothing.
  @Test(arguments: [ControllerOwnership.exclusive, .sharedWithKernel])
  func aHostWithAnotherAddressThanAtThePairingIsNamed(ownership: ControllerOwnership) {
    let other = DeviceAddress(octets: BD_ADDR(0xC0FF_EE00_0001), kind: .random)
    for old in [other, central(ownership: ownership).core.ownAddress] {
      var bond = EncryptionTests.bond
      bond.ownIdentity = old
      var bench = central(bond: bond, ownership: ownership)
      bench.perform(read())
      bench.receive(encryption(0x06, on: 0))
      let own = bench.core.ownAddress
      #expect(losses(bench) == [old == own ? .forgottenByPeer : .ownAddressChanged(from: old, to: own)])
    }
  }

  @Test func aControllerThatRefusesToEncryptIsABondLoss() {
    var bench = central(refusal: .unsupportedRemoteFeature)
    #expect(losses(bench) == [.notEncrypted(.unsupportedRemoteFeature)])
    bench.perform(read())
    #expect(results(bench) == [.failure(.notEncrypted)] && bench.data.isEmpty)
  }

  /// The application may choose that operations wait for a new pairing, which it begins
  /// (Docs/Decisions/pairing-and-bonds.md#the-central-encrypts-first).
  @Test func operationsWaitForANewPairingWhereTheApplicationChoseThat() throws {
    var couple = Couple(central: { _ in .with { $0.queuesOperationsAfterBondLoss = true } })
    try couple.connect()
    couple.secure()
    couple.disconnect()
    couple.world.ask(0, .security(.removeBond(try #require(couple.bond(0)).identity)))
    couple.forget()
    try couple.connect()
    #expect(couple.losses(1) == [.forgottenByPeer])
    let start = couple.world.sent[1].count
    #expect(couple.perform(.read(try #require(couple.handles[Couple.plain]))) == nil)
    couple.world.run(for: .seconds(60))
    #expect(!couple.world.sent[1].dropFirst(start).contains { $0[0] == 2 })
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    couple.secure()
    let read = couple.events(1).contains {
      if case .client(_, .finished(_, .success(.value([7])))) = $0 { true } else { false }
    }
    #expect(read && couple.paired(1).count == 1)
  }

  /// A link that ends while it is encrypted says what it says of the bond, and nothing else.
  static let ends: [(HCIErrorCode, [BondLoss])] = [
    (.terminatedMICFailure, [.keysDiffer]), (.linkLayerResponseTimeout, [.notEncrypted(.linkLayerResponseTimeout)]),
    (.remoteUserTerminatedConnection, []), (.connectionTimeout, []), (.connectionFailedToBeEstablished, []),
  ]

  @Test(arguments: ends) func theEndOfTheLinkEndsTheOperations(reason: HCIErrorCode, expected: [BondLoss]) {
    var bench = central()
    bench.perform(read())
    bench.receive(ScriptedController.disconnected(0x40, reason))
    #expect(losses(bench) == expected && results(bench) == [.failure(.linkEnded)] && bench.data.isEmpty)
    // A controller may say the same as a failed encryption first.
    var both = central()
    both.receive(encryption(reason.rawValue, on: 0))
    both.receive(ScriptedController.disconnected(0x40, reason))
    #expect(losses(both) == expected)
  }

  @Test func anEncryptionWithoutAnEndIsEndedByUs() {
    var bench = central()
    bench.perform(read())
    bench.run(for: .milliseconds(41_999))
    #expect(losses(bench).isEmpty && results(bench).isEmpty)
    bench.run(for: .milliseconds(1))
    #expect(losses(bench) == [.notEncrypted(.linkLayerResponseTimeout)] && results(bench) == [.failure(.notEncrypted)])
    #expect(bench.controller.commands.last?.opcode == .disconnect && bench.data.isEmpty)
  }

  @Test func waitingOperationsAreBounded() {
    var bench = central()
    let limit = GATTClient.Limits().waitingOctets
    // One place is the exchange of the MTU.
    for number in 0..<UInt32(limit / 64) { bench.perform(read(number)) }
    #expect(results(bench) == [.failure(.tooManyOperations(limit: limit))])
    bench.receive(encryption(0x06, on: 0))
    #expect(results(bench).count == limit / 64)
  }

  /// The answer to an ATT PDU of the peripheral, which a connection interval shows to be in the clear.
  private func exchange(_ bench: inout Bench, _ pdu: [UInt8]) -> [[UInt8]] {
    let before = bench.data.count
    _ = bench.att(0x40, pdu)
    bench.run(for: .milliseconds(30))
    return bench.attPayloads(from: before)
  }

  /// Values that a peripheral sends before it has proven its key are nobody's (InjectaBLE, BLESA).
  @Test(arguments: [true, false]) func updatesInTheClearAreDropped(isLost: Bool) {
    var bench = central()
    if isLost { bench.receive(encryption(0x06, on: 0)) }
    #expect(exchange(&bench, [0x1B, 3, 0, 66]).isEmpty)
    #expect(exchange(&bench, [0x1D, 3, 0, 66]) == [[0x1E]], "an indication is confirmed, or the server ends the link")
    func updates(_ bench: Bench) -> Int {
      bench.events.count {
        switch $0 {
        case .client(_, .notification), .client(_, .indication), .client(_, .servicesChanged): true
        default: false
        }
      }
    }
    #expect(updates(bench) == 0)
    guard !isLost else { return }
    bench.receive(encryption())
    _ = bench.att(0x40, [0x1B, 3, 0, 66])
    #expect(updates(bench) == 1)
  }

  /// The peer's requests to our server are answered as those of any device in the clear.
  @Test func theServerAnswersMeanwhileWhatIsOpen() throws {
    var bench = central()
    var handles: [AttributeID: AttributeHandle] = [:]
    for event in bench.events {
      if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
    }
    let (open, secret) = (try #require(handles[Couple.plain]), try #require(handles[Couple.encrypted]))
    #expect(exchange(&bench, [0x02, 0xB9, 0x00]) == [[0x03, 0x05, 0x02]])
    #expect(exchange(&bench, [0x0A, UInt8(open.rawValue), 0]) == [[0x0B, 7]])
    #expect(
      exchange(&bench, [0x0A, UInt8(secret.rawValue), 0]).first?.last == ATTErrorCode.insufficientEncryption.rawValue)
    bench.receive(encryption())
    #expect(bench.attPayloads(from: bench.data.count - 1) == [[0x02, 0x05, 0x02]])
  }

  /// A device that cannot encrypt with its bond gets no other one by a Security Request (BLERP).
  @Test(arguments: [true, false]) func aSecurityRequestMakesNoNewBond(isLost: Bool) {
    var bond = EncryptionTests.bond
    bond.strength.isAuthenticated = false
    bond.centralKey?.strength = bond.strength
    var bench = central(bond: bond) {
      ($0.ioCapability, $0.requestsMITM) = (.displayYesNo, true)
    }
    if isLost { bench.receive(encryption(0x06, on: 0)) }
    let commands = bench.controller.commands.count
    for authReq in [0x01, 0x0D] as [UInt8] {
      bench.receive(ScriptedController.frame(0x40, cid: 6, [0x0B, authReq]))
    }
    #expect(bench.data.isEmpty && bench.controller.commands.count == commands)
  }

  @Test func withoutAKeyForTheRoleThereIsNothingToWaitFor() {
    var bond = EncryptionTests.bond
    bond.centralKey = nil
    let bench = central(bond: bond)
    #expect(bench.attPayloads(from: 0) == [[0x02, 0x05, 0x02]])
    #expect(!bench.controller.commands.contains { $0.opcode == .leEnableEncryption })
  }

  /// The kernel encrypts: the host asks for it before the first PDU and hears of the level.
  @Test func onTheKernelsAdapterTheKernelEncryptsFirst() {
    var bench = central(ownership: .sharedWithKernel)
    bench.perform(read())
    let asked = bench.takeDirectives().filter { if case .secure = $0 { true } else { false } }
    guard case .secure(handle: 0x40, isAuthenticated: true) = asked.first else { Issue.record("\(asked)"); return }
    bench.receive(encryption())
    #expect(bench.data.isEmpty, "only the kernel's report counts")
    bench.hear(.level(handle: 0x40, EncryptionTests.key.strength))
    #expect(bench.attPayloads(from: 0) == [[0x02, 0x05, 0x02]])
    #expect(losses(bench).isEmpty)
  }

  @Test(arguments: [0x06, 0x3D] as [UInt8]) func onTheKernelsAdapterAFailureIsABondLoss(status: UInt8) {
    var bench = central(ownership: .sharedWithKernel)
    bench.perform(read())
    bench.receive(encryption(status, on: 0))
    #expect(losses(bench) == [status == 0x06 ? .forgottenByPeer : .keysDiffer])
    #expect(results(bench) == [.failure(.notEncrypted)])
    // The kernel ends the link then.
    bench.receive(ScriptedController.disconnected(0x40, .terminatedByLocalHost))
    #expect(losses(bench).count == 1 && bench.data.isEmpty)
  }

  /// Where the kernel says only that it has ended the link, or cannot secure it.
  @Test func onTheKernelsAdapterSilenceIsABondLoss() {
    var bench = central(ownership: .sharedWithKernel)
    bench.perform(read())
    bench.receive(ScriptedController.disconnected(0x40, .terminatedByLocalHost))
    #expect(losses(bench) == [.notEncrypted(.terminatedByLocalHost)] && results(bench) == [.failure(.linkEnded)])
    var other = central(ownership: .sharedWithKernel)
    other.perform(read())
    other.hear(.level(handle: 0x40, nil))
    #expect(losses(other) == [.notEncrypted(.unspecifiedError)] && results(other) == [.failure(.notEncrypted)])
  }
}
