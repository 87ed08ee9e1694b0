import BLEATT
import BLECrypto
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Synchronization
import Testing

/// Two hosts on the virtual radio, and somebody who changes, cuts, lengthens and redirects the frames of one of them.
/// Whatever that does, a protected value leaves only on a link that is protected as the value demands, and no link is
/// better than the key and the users have made it.
@Suite("Frames that somebody changes") struct TamperingTests {
  /// What each attribute demands, and a value that is found in no other place.
  static let secrets: [(AttributeID, SecurityLevel, [UInt8])] = [
    (Couple.encrypted, .encrypted, [UInt8](repeating: 0xE1, count: 12)),
    (Couple.authenticated, .authenticated, [UInt8](repeating: 0xE2, count: 12)),
    (Couple.secure, .secureConnections, [UInt8](repeating: 0xE3, count: 12)),
  ]

  /// What the hosts do, as every packet and event in order shows it.
  final class Observer: Sendable {
    struct State {
      var random: RandomSource
      /// The host whose frames are changed, and how many of a hundred.
      var tampered: (host: Int, rate: UInt64)?
      var levels: [SecurityLevel] = [.none, .none]
      /// Whether the bond of a host is authenticated; nil without a bond.
      var bonds: [Bool?] = [nil, nil]
      /// The identities that the bonds of a host have, changed ones among them.
      var identities: [Set<DeviceAddress>] = [[], []]
      /// Whether the central's bond has a key for its role, so that it must encrypt before it asks anything.
      var mustEncrypt = false
      /// Whether the user of a host takes part in the pairing, by a passkey or a comparison.
      var isUserInvolved = [false, false]
      var violations: [String] = []
    }
    let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: .seeded(seed))) }

    func sent(_ host: Int, _ packet: [UInt8]) -> [UInt8] {
      state.withLock { state in
        guard packet.first == 2, packet.count > 9 else { return packet }
        state.look(host, packet)
        guard let tampered = state.tampered, tampered.host == host, state.random.next() % 100 < tampered.rate else {
          return packet
        }
        return state.changed(packet)
      }
    }

    func heard(_ host: Int, _ event: HostEvent) { state.withLock { $0.hear(host, event) } }
  }

  /// A pair with users who read and type what is there, and an observer.
  struct Scene {
    var couple: Couple
    let observer: Observer
    private var answered: Set<PairingQuestionID> = []

    init(seed: UInt64) {
      var random = RandomSource.seeded(seed)
      let capabilities: [IOCapability] = [
        .noInputNoOutput, .displayOnly, .displayYesNo, .keyboardOnly, .keyboardDisplay,
      ]
      let settings = (0...1).map { host in
        PairingSettings.with(
          capabilities[Int(random.next() % 5)], secure: random.next() % 2 == 0,
          { $0.pairsOnDemand = host == 1 })
      }
      couple = Couple(peripheral: settings[0], central: { _ in settings[1] })
      let observer = Observer(seed: random.next())
      self.observer = observer
      couple.world.claimed = { host, packet in observer.sent(host, packet) }
      couple.world.application = { host, event in
        observer.heard(host, event)
        return []
      }
    }

    private func open(_ host: Int) -> (id: PairingQuestionID, question: PairingQuestion)? {
      let withdrawn = couple.withdrawn(host)
      return couple.questions(host).last { !withdrawn.contains($0.id) && !answered.contains($0.id) }
    }

    private mutating func reply(_ host: Int, _ id: PairingQuestionID, _ answer: PairingAnswer) {
      guard let link = couple.links[1] else { return }
      answered.insert(id)
      couple.world.ask(host, .link(host == 0 ? link.peripheral : link.central, .answerPairing(id, answer)))
    }

    /// The users look at both devices: numbers agree or do not, and a passkey is typed as it is shown.
    private mutating func useBothDevices() {
      for host in 0...1 {
        guard let asked = open(host) else { continue }
        let other = couple.questions(1 - host).last?.question
        switch (asked.question, other) {
        case (.consent, _), (.replaceBond, _): reply(host, asked.id, .accept)
        case (.compare(let number), .compare(let shown)?): reply(host, asked.id, number == shown ? .accept : .reject)
        case (.enterPasskey, .display(let shown)?): reply(host, asked.id, .passkey(shown))
        case (.enterPasskey, .enterPasskey?): reply(host, asked.id, .passkey(Passkey(lowestDigitsOf: 31_415)))
        case (.compare, _), (.enterPasskey, _), (.display, _): break
        }
      }
    }

    private mutating func run(_ steps: Int) {
      for _ in 0..<steps {
        couple.world.run(for: .milliseconds(100))
        useBothDevices()
      }
    }

    /// One link: pairing, reads of everything, discovery, a long write.
    mutating func round(pairs: Bool) {
      for (attribute, _, value) in TamperingTests.secrets {
        couple.world.ask(0, .services(.setValue(attribute, value)))
      }
      try? couple.connect()
      guard let link = couple.links[1] else { return }
      if pairs {
        couple.world.ask(1, .link(link.central, .requestSecurity))
        run(8)
      }
      let all = AttributeHandle.first...AttributeHandle(rawValue: 0xFFFF)
      var operations: [GATTClient.Operation.Kind] = [
        .discoverPrimaryServices, .discoverCharacteristics(all), .subscribeToServiceChanged,
      ]
      for attribute in [Couple.plain, Couple.encrypted, Couple.authenticated, Couple.secure, Couple.stream] {
        if let handle = couple.handles[attribute] { operations += [.read(handle), .readLong(handle)] }
      }
      if let handle = couple.handles[Couple.plain] {
        operations.append(.writeLong(handle, offset: 0, [UInt8](repeating: 1, count: 18)))
      }
      for (number, kind) in operations.enumerated() {
        let id = GATTClient.OperationID(rawValue: UInt32(1000 + number))
        couple.world.ask(1, .link(link.central, .client(GATTClient.Operation(id: id, kind))))
        run(1)
      }
      // The side that waits for the other one ends with its timeout (Vol 3, Part F, 3.3.3; Part H, 3.4).
      couple.world.run(for: .seconds(31))
      couple.disconnect()
      couple.forget()
    }
  }

  @Test(arguments: 0..<24 as Range<UInt64>) func nothingLeavesALinkThatIsNotAsGoodAsItMust(seed: UInt64) throws {
    var scene = Scene(seed: 1000 + seed)
    for number in 0..<4 as Range<UInt64> {
      scene.observer.state.withLock {
        $0.tampered = (Int($0.random.next() % 2), 1 + $0.random.next() % 30)
        $0.mustEncrypt = $0.bonds[1] != nil
      }
      scene.round(pairs: (seed + number) % 2 == 0)
    }
    #expect(scene.observer.state.withLock { $0.violations } == [])
    // Left alone, the two pair as ever, once no guess of the tamperer's costs time any more.
    scene.observer.state.withLock { ($0.tampered, $0.mustEncrypt) = (nil, false) }
    for (host, identities) in scene.observer.state.withLock({ $0.identities }).enumerated() {
      for identity in identities { scene.couple.world.ask(host, .security(.removeBond(identity))) }
    }
    scene.couple.world.run(for: .seconds(1200))
    try scene.couple.connect()
    let plain = try #require(scene.couple.handles[Couple.plain])
    scene.couple.world.ask(0, .services(.setValue(Couple.plain, [7])))
    #expect(scene.couple.perform(.read(plain)) == .success(.value([7])))
    #expect(scene.observer.state.withLock { $0.violations } == [])
  }

  /// The observer sees what it is there for: a value on a link in the clear, and a level that nothing has made.
  @Test func theObserverSeesViolations() {
    let observer = Observer(seed: 1)
    let secret = [0x0B] + Self.secrets[1].2
    _ = observer.sent(0, [2, 0x40, 0x20, 17, 0, 13, 0, 4, 0] + secret)
    observer.heard(0, .link(LinkID(rawValue: 1), .security(SecurityState(level: .authenticated, keySize: 16))))
    observer.state.withLock { $0.mustEncrypt = true }
    _ = observer.sent(1, [2, 0x40, 0x20, 7, 0, 3, 0, 4, 0, 0x0A, 3, 0])
    #expect(observer.state.withLock { $0.violations.count } == 3)
  }
}

extension TamperingTests.Observer.State {
  mutating func hear(_ host: Int, _ event: HostEvent) {
    switch event {
    case .connected, .link(_, .disconnected):
      levels[host] = .none
      isUserInvolved[host] = false
    case .pairing(_, .question(_, let question)):
      switch question {
      case .consent, .replaceBond: break
      case .display, .enterPasskey, .compare: isUserInvolved[host] = true
      }
    case .bonds(.changed(let bond)):
      bonds[host] = bond.strength.isAuthenticated
      identities[host].insert(bond.identity)
    case .bonds(.removed(let identity)):
      bonds[host] = nil
      identities[host].remove(identity)
    case .link(_, .security(let security)):
      levels[host] = security.level
      let isByBond = security.isBondProven && bonds[host] == true
      if security.level >= .authenticated, !isByBond, !isUserInvolved[host] {
        violations.append("host \(host) says \(security.level), and its user had no part in that")
      }
    default: break
    }
  }

  /// Looks at a packet before anybody changes it.
  mutating func look(_ host: Int, _ packet: [UInt8]) {
    guard packet[7] == 4, packet[8] == 0 else { return }
    if host == 0 {
      for (attribute, level, value) in TamperingTests.secrets where levels[0] < level {
        // A part of it is too much already.
        if packet[9...].contains(value[0]), packet[9...].filter({ $0 == value[0] }).count > 3 {
          violations.append("\(attribute) leaves on a link of level \(levels[0])")
        }
      }
    } else if mustEncrypt, levels[1] == .none, !ATTOpcode(rawValue: packet[9]).isSentByServer, packet[9] != 0x1E {
      violations.append("the central sends 0x\(String(packet[9], radix: 16)) before it has encrypted")
    }
  }

  /// One octet another, fewer octets, more, or on another channel; the lengths are right.
  mutating func changed(_ packet: [UInt8]) -> [UInt8] {
    var packet = packet
    switch random.next() % 4 {
    case 0: packet[9 + Int(random.next() % UInt64(packet.count - 9))] = UInt8(truncatingIfNeeded: random.next())
    case 1: packet = Array(packet.prefix(9 + Int(random.next() % UInt64(packet.count - 8))))
    case 2: packet += random.octets(Int(random.next() % 16))
    default: packet[7] = UInt8(4 + random.next() % 3)
    }
    let length = packet.count - 9
    (packet[3], packet[4]) = (UInt8(truncatingIfNeeded: length + 4), UInt8(truncatingIfNeeded: (length + 4) >> 8))
    (packet[5], packet[6]) = (UInt8(truncatingIfNeeded: length), UInt8(truncatingIfNeeded: length >> 8))
    return packet
  }
}
