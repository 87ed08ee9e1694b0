import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// The kernel has the controller and pairs; the host asks, decides and keeps what comes of it.
@Suite("Security on a controller of the kernel") struct SharedControllerSecurityTests {
  static let identity = EncryptionTests.identity
  static let used = DeviceAddress(EncryptionTests.privateAddress, kind: .random).map(\.identity)
  static let plainPeer = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
  static let key = EncryptionTests.key
  static let legacyKey = LongTermKey(
    value: SecretKey(7), ediv: 1, rand: 2,
    strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: false))
  static let number = Passkey(lowestDigitsOf: 123_456)

  /// A host with the secured attributes of ``Couple`` and one link, handle 0x0040.
  private struct Room {
    var bench: Bench
    var handles: [AttributeID: AttributeHandle] = [:]

    init(
      _ pairing: PairingSettings? = .with(), bonds: [Bond] = [], peer: String = EncryptionTests.privateAddress
    ) {
      var configuration = HostConfiguration()
      (configuration.pairing, configuration.bonds, configuration.ownership) = (pairing, bonds, .sharedWithKernel)
      bench = Bench(configuration: configuration)
      bench.perform(.services(.add(Couple.service)))
      for event in bench.takeEvents() {
        if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
      }
      bench.receive(ScriptedController.connected(0x40, from: peer))
      _ = bench.takeEvents()
    }

    mutating func hear(_ reports: KernelReport...) { for report in reports { bench.hear(report) } }

    mutating func directives() -> [KernelCommand] { bench.takeDirectives() }

    /// Answers the newest question.
    mutating func answer(_ answer: PairingAnswer) {
      guard let question = questions.last else { return }
      bench.perform(.link(LinkID(rawValue: 1), .answerPairing(question.id, answer)))
    }

    var questions: [(id: PairingQuestionID, question: PairingQuestion)] {
      bench.events.compactMap {
        if case .pairing(_, .question(let id, let question)) = $0 { (id, question) } else { nil }
      }
    }
    var withdrawn: [PairingQuestionID] {
      bench.events.compactMap { if case .pairing(_, .questionWithdrawn(let id)) = $0 { id } else { nil } }
    }

    mutating func read(_ attribute: AttributeID) -> [[UInt8]] {
      guard let handle = handles[attribute]?.rawValue else { return [] }
      return bench.att(0x40, [0x0A, UInt8(truncatingIfNeeded: handle), 0])
    }

    var failures: [PairingFailure] {
      bench.events.compactMap { if case .pairing(_, .failed(let failure)) = $0 { failure.withoutCause } else { nil } }
    }
    var paired: [PairedDevice] {
      bench.events.compactMap { if case .pairing(_, .succeeded(let device)) = $0 { device } else { nil } }
    }
    var bond: Bond? {
      bench.events.compactMap { if case .bonds(.changed(let bond)) = $0 { bond } else { nil } }.last
    }
    var losses: [BondLoss] {
      bench.events.compactMap { if case .bonds(.lost(_, _, let loss)) = $0 { loss } else { nil } }
    }
  }

  @Test func theKernelGetsPolicyAndKeysWhenItIsThere() throws {
    var room = Room(bonds: [EncryptionTests.bond])
    let told = room.directives()
    try #require(told.count == 2)
    guard case .setPairing(.some) = told[0], case .loadKeys(let keys) = told[1] else { Issue.record("\(told)"); return }
    #expect(keys.map(\.identity) == [Self.identity])
    #expect(keys.first?.peripheralKey == Self.key && keys.first?.identityResolvingKey == EncryptionTests.irk)
    room.bench.perform(.security(.setPairing(nil)))
    guard case .setPairing(nil) = room.directives().first else { Issue.record("not told"); return }
    room.bench.perform(.security(.removeBond(Self.identity)))
    guard case .forget(Self.identity) = room.directives().first else { Issue.record("not told"); return }
    // Plugged in again it knows nothing.
    room.bench.failTransport(.unsupported("an adapter"))
    room.bench.restart()
    guard case .loadKeys(let none) = room.directives().last else { Issue.record("not told"); return }
    #expect(none.isEmpty)
  }

  /// Just Works: consent is given by itself; the level comes from the kernel, then the identity and the key.
  @Test func justWorks() throws {
    var room = Room()
    _ = room.directives()
    let used = try #require(Self.used)
    room.hear(.asked(used, .consent))
    guard case .answer(used, .consent, .accept) = room.directives().first else { Issue.record("no consent"); return }
    #expect(room.read(Couple.encrypted).first?.last == 0x05)
    // What the controller says counts only when the kernel has reported its strength.
    room.bench.receive([0x04, 0x08, 4, 0, 0x40, 0, 1])
    #expect(room.read(Couple.encrypted).first?.last == 0x05)
    room.hear(.level(handle: 0x40, Self.legacyKey.strength))
    #expect(room.read(Couple.encrypted) == [[0x0B, 7]])
    #expect(room.read(Couple.authenticated).first?.last == 0x05)
    room.hear(
      .identity(Self.identity, usedAs: used, EncryptionTests.irk),
      .signatureKey(Self.identity, SecretKey(5), isOurs: false),
      .longTermKey(Self.identity, Self.legacyKey, .peripheral, isToBeKept: true))
    #expect(room.paired == [PairedDevice(identity: Self.identity, isBonded: true, strength: Self.legacyKey.strength)])
    var central = Self.legacyKey
    central.ediv = 9
    room.hear(.longTermKey(Self.identity, central, .central, isToBeKept: true))
    #expect(room.paired.count == 1)
    let bond = try #require(room.bond)
    #expect(bond.identity == Self.identity && bond.identityResolvingKey == EncryptionTests.irk)
    #expect(bond.peripheralKey == Self.legacyKey && bond.centralKey == central && bond.peerCSRK == SecretKey(5))
    #expect(room.failures.isEmpty && room.losses.isEmpty)
  }

  @Test func aKeyOfSecureConnectionsIsForBothRoles() throws {
    var room = Room(.with(.displayYesNo), peer: "\(Self.plainPeer.octets)")
    room.hear(.asked(Self.plainPeer, .compare(Self.number)))
    guard case .pairing(let peer, .question(let id, .compare(Self.number))) = room.bench.events.last else {
      Issue.record("not asked")
      return
    }
    _ = room.directives()
    room.bench.perform(.link(peer, .answerPairing(id, .accept)))
    guard case .answer(Self.plainPeer, .compare, .accept) = room.directives().first else { Issue.record("-"); return }
    // One question, one answer.
    room.bench.perform(.link(peer, .answerPairing(id, .accept)))
    #expect(room.directives().isEmpty)
    room.hear(
      .level(handle: 0x40, Self.key.strength), .longTermKey(Self.plainPeer, Self.key, .both, isToBeKept: true))
    #expect(room.bond?.peripheralKey == Self.key && room.bond?.centralKey == Self.key)
    #expect(room.read(Couple.secure) == [[0x0B, 7]])
  }

  @Test func aPasskeyIsAskedForAndRefused() {
    var room = Room(.with(.keyboardOnly), peer: "\(Self.plainPeer.octets)")
    room.hear(.asked(Self.plainPeer, .enterPasskey))
    _ = room.directives()
    room.answer(.passkey(Self.number))
    guard case .answer(Self.plainPeer, .enterPasskey, .passkey(Self.number)) = room.directives().first else {
      Issue.record("not answered")
      return
    }
    room.hear(.failed(Self.plainPeer), .failed(Self.plainPeer))
    #expect(room.failures == [PairingFailure(.unspecifiedReason, .kernel)], "told once")
    room.hear(.asked(Self.plainPeer, .enterPasskey))
    room.answer(.reject)
    room.hear(.failed(Self.plainPeer))
    #expect(room.failures.last == PairingFailure(.passkeyEntryFailed, .local))
  }

  /// Wrong guesses cost time here, too (Vol 3, Part H, 2.3.6).
  @Test func whoGuessesHasToWait() {
    var room = Room(.with(.displayOnly), peer: "\(Self.plainPeer.octets)")
    for _ in 0..<5 { room.hear(.asked(Self.plainPeer, .display(Self.number)), .failed(Self.plainPeer)) }
    _ = room.directives()
    room.hear(.asked(Self.plainPeer, .display(Self.number)))
    guard case .answer(Self.plainPeer, .display, .reject) = room.directives().first else { Issue.record("-"); return }
    room.hear(.failed(Self.plainPeer))
    #expect(room.failures.last == PairingFailure(.repeatedAttempts, .local))
    room.bench.run(for: .seconds(3))
    room.hear(.asked(Self.plainPeer, .display(Self.number)))
    #expect(room.directives().isEmpty)
  }

  @Test func whatTheProgramDoesNotAllow() throws {
    // Nobody vouches for the device.
    var strict = Room(.with(.displayYesNo) { $0.requiresMITM = true }, peer: "\(Self.plainPeer.octets)")
    _ = strict.directives()
    strict.hear(.asked(Self.plainPeer, .consent))
    guard case .answer(_, .consent, .reject) = strict.directives().first else { Issue.record("let in"); return }
    // A kernel that did not ask: the key is thrown away, and the link goes.
    strict.hear(.longTermKey(Self.plainPeer, Self.legacyKey, .peripheral, isToBeKept: true))
    guard case .forget(Self.plainPeer) = strict.directives().first else { Issue.record("kept"); return }
    #expect(strict.failures.last == PairingFailure(.authenticationRequirements, .local))
    #expect(strict.bench.controller.commands.last?.opcode == .disconnect && strict.bond == nil)

    // Nor may a device take the place of a protected bond unprotected.
    var bonded = Room(bonds: [EncryptionTests.bond])
    _ = bonded.directives()
    bonded.hear(.asked(Self.identity, .consent))
    guard case .answer(_, .consent, .reject) = bonded.directives().first else { Issue.record("let in"); return }
    bonded.hear(.failed(Self.identity))
    #expect(bonded.losses == [.forgottenByPeer])
    // One that names its identity only at the end: the bond gets its own key back.
    var late = Room(bonds: [EncryptionTests.bond], peer: "\(Self.plainPeer.octets)")
    late.hear(.asked(Self.plainPeer, .consent), .identity(Self.identity, usedAs: Self.plainPeer, SecretKey(1)))
    _ = late.directives()
    late.hear(.longTermKey(Self.identity, Self.legacyKey, .peripheral, isToBeKept: true))
    let undone = late.directives()
    try #require(undone.count == 2)
    guard case .forget(Self.identity) = undone[0], case .loadKeys(let keys) = undone[1] else {
      Issue.record("\(undone)")
      return
    }
    #expect(keys.first?.peripheralKey == Self.key && late.bond == nil && late.paired.isEmpty)

    var careful = Room(.with { $0.asksConsent = true }, peer: "\(Self.plainPeer.octets)")
    _ = careful.directives()
    careful.hear(.asked(Self.plainPeer, .consent))
    #expect(careful.directives().isEmpty)
    careful.answer(.reject)
    guard case .answer(_, .consent, .reject) = careful.directives().first else { Issue.record("let in"); return }

    var off = Room(nil, peer: "\(Self.plainPeer.octets)")
    _ = off.directives()
    off.hear(.asked(Self.plainPeer, .consent))
    guard case .answer(_, .consent, .reject) = off.directives().first else { Issue.record("let in"); return }
    off.bench.perform(.link(LinkID(rawValue: 1), .requestSecurity))
    guard case .refused(.disabled) = off.bench.events.dropLast().last else { Issue.record("not refused"); return }
    #expect(off.failures == [PairingFailure(.pairingNotSupported, .local)])
    // A key that the kernel has made all the same is refused, and removed from the kernel.
    _ = off.directives()
    off.hear(.longTermKey(Self.plainPeer, Self.key, .both, isToBeKept: true))
    #expect(off.failures.count == 2 && off.failures.last == off.failures.first && off.bond == nil)
    guard case .forget(Self.plainPeer) = off.directives().first else { Issue.record("the key is kept"); return }

    var short = Room(.with { $0.minimumKeySize = 16 }, peer: "\(Self.plainPeer.octets)")
    var weak = Self.legacyKey
    weak.strength.size = 7
    short.hear(.longTermKey(Self.plainPeer, weak, .peripheral, isToBeKept: true))
    #expect(short.failures == [PairingFailure(.encryptionKeySize, .local)] && short.bond == nil)

    var forgetful = Room(.with { $0.isBonding = false }, peer: "\(Self.plainPeer.octets)")
    forgetful.hear(.longTermKey(Self.plainPeer, Self.key, .both, isToBeKept: true))
    #expect(forgetful.paired.map(\.isBonded) == [false] && forgetful.bond == nil)
  }

  /// Who is encrypted with the key of a bond is the bonded device and gets back what it had configured.
  @Test func aBondedDeviceIsRecognised() throws {
    var bond = EncryptionTests.bond
    let descriptor = try #require(Room().handles[Couple.stream]).rawValue + 1
    bond.client.configurations = [.init(descriptor: AttributeHandle(rawValue: descriptor), value: .notify)]
    var room = Room(bonds: [bond])
    #expect(!room.bench.events.contains { if case .server(_, .subscription) = $0 { true } else { false } })
    room.hear(.level(handle: 0x40, Self.key.strength))
    #expect(
      room.bench.events.contains {
        if case .server(_, .subscription(Couple.stream, .notify)) = $0 { true } else { false }
      })
    #expect(room.paired.isEmpty && room.read(Couple.secure) == [[0x0B, 7]])
    // In the clear again: only the kernel's report counts, and this is one.
    room.hear(.level(handle: 0x40, nil))
    #expect(room.read(Couple.secure).first?.last == 0x0F)
  }

  /// A pairing in the name of a bonded device proves nothing until it has made a key.
  @Test func aPairingUnderWayIsNoRecognition() throws {
    var bond = EncryptionTests.bond
    let descriptor = try #require(Room().handles[Couple.stream]).rawValue + 1
    bond.client.configurations = [.init(descriptor: AttributeHandle(rawValue: descriptor), value: .notify)]
    var room = Room(bonds: [bond])
    room.hear(.asked(Self.identity, .consent), .level(handle: 0x40, Self.legacyKey.strength))
    #expect(!room.bench.events.contains { if case .server(_, .subscription) = $0 { true } else { false } })
    let security = room.bench.events.compactMap {
      if case .link(_, .security(let security)) = $0 { security } else { nil }
    }
    #expect(security.last == SecurityState(level: .encrypted, keySize: 16, isBonded: true, isBondProven: false))
  }

  @Test func lostBonds() {
    // The central named a key that the kernel does not have (Vol 4, Part E, 7.8.26).
    let refused: [UInt8] = [0x04, 0x0E, 6, 1, 0x1B, 0x20, 0, 0x40, 0]
    var stranger = Room()
    stranger.bench.receive(refused)
    #expect(stranger.losses == [.missingHere])
    var known = Room(bonds: [EncryptionTests.bond])
    known.bench.receive(refused)
    #expect(known.losses == [.keysDiffer])
    // Our central's key is not there any more: Encryption Change, PIN or Key Missing.
    known.bench.receive([0x04, 0x08, 4, 0x06, 0x40, 0, 0])
    #expect(known.losses == [.keysDiffer, .forgottenByPeer])
  }

  @Test func securityIsAskedForOnce() {
    var room = Room(peer: "\(Self.plainPeer.octets)")
    _ = room.directives()
    room.bench.perform(.link(LinkID(rawValue: 1), .requestSecurity))
    room.bench.perform(.link(LinkID(rawValue: 1), .requestSecurity))
    let asked = room.directives()
    #expect(asked.count == 1)
    guard case .secure(handle: 0x40, isAuthenticated: false) = asked.first else { Issue.record("\(asked)"); return }
    room.hear(.failed(Self.plainPeer))
    #expect(room.failures == [PairingFailure(.unspecifiedReason, .kernel)])
    // The kernel would carry nothing on it any more.
    #expect(room.bench.controller.commands.last?.opcode == .disconnect)
  }

  @Test func securityThatIsThereAlreadyNeedsNoPairing() {
    var room = Room(peer: "\(Self.plainPeer.octets)")
    room.hear(.level(handle: 0x40, Self.legacyKey.strength))
    for _ in 0..<2 {
      _ = room.directives()
      room.bench.perform(.link(LinkID(rawValue: 1), .requestSecurity))
      guard case .secure = room.directives().first else { Issue.record("not asked"); return }
      room.hear(.level(handle: 0x40, Self.legacyKey.strength))
    }
    #expect(room.failures.isEmpty)
  }

  @Test func aLinkThatEndsDuringAPairingEndsIt() {
    var room = Room(.with(.displayOnly), peer: "\(Self.plainPeer.octets)")
    room.hear(.asked(Self.plainPeer, .display(Self.number)))
    room.bench.receive(ScriptedController.disconnected(0x40))
    #expect(room.failures == [PairingFailure(.unspecifiedReason, .linkLost)])
    // Also where the link goes before the kernel has reported that the device refused what we asked for.
    var other = Room(peer: "\(Self.plainPeer.octets)")
    other.bench.perform(.link(LinkID(rawValue: 1), .requestSecurity))
    other.bench.receive(ScriptedController.disconnected(0x40, .authenticationFailure))
    #expect(other.failures == [PairingFailure(.unspecifiedReason, .linkLost)])
    // The keys of a link that has gone are kept all the same: the device will use them.
    room.hear(.longTermKey(Self.plainPeer, Self.key, .both, isToBeKept: true))
    #expect(room.bond?.identity == Self.plainPeer)
  }

  /// The kernel receives the frames of this channel; what reaches the host has no second answer (Vol 3, Part H, 2.3).
  @Test func framesOfTheSecurityManagerChannelAreIgnored() {
    var room = Room(peer: "\(Self.plainPeer.octets)")
    room.bench.receive(ScriptedController.frame(0x40, cid: 6, [1, 3, 0, 1, 16, 7, 7]))
    #expect(room.bench.data.isEmpty && room.bench.core.deadline == nil)
    var off = Room(nil, peer: "\(Self.plainPeer.octets)")
    off.bench.receive(ScriptedController.frame(0x40, cid: 6, [1, 3, 0, 1, 16, 7, 7]))
    #expect(off.bench.data.isEmpty)
  }

  @Test func reportsThatFitNothing() {
    var room = Room()
    let nobody = DeviceAddress(octets: BD_ADDR(0x0102_0304_0506), kind: .public)
    _ = room.directives()
    room.hear(.failed(nobody), .level(handle: 0x99, Self.key.strength), .asked(nobody, .enterPasskey))
    guard case .answer(nobody, .enterPasskey, .reject) = room.directives().first else { Issue.record("-"); return }
    for number in 0..<100 as Range<UInt64> {
      room.hear(.identity(DeviceAddress(octets: BD_ADDR(number), kind: .public), usedAs: nobody, SecretKey(1)))
    }
    #expect(room.paired.isEmpty && room.failures.isEmpty)
    // Where the controller is ours nobody else has a say.
    var own = Bench()
    own.hear(.asked(nobody, .consent))
    #expect(own.takeDirectives().isEmpty)
    #expect(
      own.takeEvents().allSatisfy {
        switch $0 {
        case .state, .address: true
        default: false
        }
      })
  }
}
