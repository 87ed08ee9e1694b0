import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire

/// A peripheral and three centrals on one virtual radio, whose identity resolving keys are equal or planted: one
/// central enters the passkey that the peripheral displays, two pair by Just Works, and these two have one identity
/// address.
///
/// It requires that
/// - two bonds of the peripheral do not have one key, and none has the peripheral's own;
/// - an authenticated bond stays authenticated, and keeps its key as long as its device does not pair again;
/// - no other central proves the bond of the authenticated one.
func fuzzIdentities(_ input: inout FuzzInput) {
  var run = IdentitiesRun.started
  while !input.isEmpty, run.steps < IdentitiesRun.stepLimit { run.step(&input) }
}

private struct IdentitiesRun {
  static let stepLimit = 40
  /// The authenticated central.
  static let victim = 1
  /// The peripheral's own key, then those of the centrals; zeros are no key (Vol 3, Part H, 3.6.4).
  static let keys = [0x1111_2222, 0x3333_4444, 0x5555_6666, 0x7777_8888, 0].map { SecretKey(UInt128($0)) }

  var hosts: [HostCore] = []
  var outputs: [HostOutput] = []
  var radio = VirtualRadio(seed: 1)
  var controllers: [ControllerID] = []
  var packets = VirtualRadioOutput()
  var now = Instant.start
  var steps = 0
  var settings: [PairingSettings] = []
  /// The central's name of its link, by the central.
  var links: [Int: LinkID] = [:]
  /// The central of each link of the peripheral, and the identity that the peripheral gives to it.
  var centrals: [LinkID: (central: Int, identity: DeviceAddress)] = [:]
  var connecting: Int?
  var bonds: [DeviceAddress: Bond] = [:]
  var removed: Set<DeviceAddress> = []
  var connections: UInt32 = 0

  /// The hosts when they are ready: a value, which is copied in each run.
  nonisolated(unsafe) private static var ready: IdentitiesRun?

  static var started: IdentitiesRun {
    if let run = unsafe ready { return run }
    let run = IdentitiesRun()
    unsafe ready = run
    return run
  }

  private init() {
    for index in 0...3 {
      var configuration = HostConfiguration()
      // The second and the third central have one static address.
      if index >= 2 { configuration.staticAddress = BD_ADDR(0xC0_11_22_33_44_55) }
      var settings = PairingSettings()
      settings.ioCapability = [.displayOnly, .keyboardOnly, .noInputNoOutput, .noInputNoOutput][index]
      settings.requestsMITM = index < 2
      settings.fixedPasskey = Passkey(lowestDigitsOf: 123_456)
      settings.identityResolvingKey = Self.keys[index]
      configuration.pairing = settings
      self.settings.append(settings)
      controllers.append(radio.attach(now: now))
      hosts.append(HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(UInt64(index))))
      outputs.append(HostOutput())
    }
    for index in hosts.indices { hosts[index].start(now: now, into: &outputs[index]) }
    settle()
    perform(0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let central = 1 + input.index(3)
    switch input.index(12) {
    case 0, 1: connect(central)
    case 2:
      if let link = links[central] { perform(central, .link(link, .disconnect(.remoteUserTerminatedConnection))) }
      pass(.milliseconds(100))
    case 3, 4, 5:
      if let link = links[central] { perform(central, .link(link, .requestSecurity)) }
      pass(.milliseconds(100))
    case 6, 7:
      let key = input.element(of: Self.keys)
      settings[central].identityResolvingKey = key
      perform(central, .security(.setPairing(settings[central])))
      // A central shows private addresses only with the key that it distributes.
      let usesPrivacy = input.flag() && key != SecretKey(0)
      let privacy = PrivacySettings(
        identityResolvingKey: key, rotation: .seconds(10), distributesIdentityWhenUnauthenticated: true)
      perform(central, .privacy(usesPrivacy ? privacy : nil))
    case 8: pass(.seconds(Int64(input.index(30))))
    case 9: perform(central, .security(.removeBond(hosts[0].ownAddress)))
    case 10:
      let identity = hosts[central].ownAddress.identity
      removed.insert(identity)
      perform(0, .security(.removeBond(identity)))
      removed.remove(identity)
    default:
      perform(0, .security(.setBonds(bonds.values.sorted { $0.identity.octets.value < $1.identity.octets.value })))
    }
    check()
  }

  private mutating func connect(_ central: Int) {
    guard links[central] == nil else { return }
    connections += 1
    connecting = central
    perform(
      central, .initiating(.connect(ConnectID(rawValue: connections), hosts[0].addressOnAir, ConnectionParameters())))
    for _ in 0..<10 where links[central] == nil { pass(.milliseconds(100)) }
    if links[central] == nil { perform(central, .initiating(.cancel(ConnectID(rawValue: connections)))) }
    pass(.milliseconds(100))
    connecting = nil
  }

  // MARK: What the hosts report

  private mutating func note(_ event: HostEvent, of host: Int) {
    switch event {
    case .connected(let connection):
      if host > 0 {
        links[host] = connection.peer
      } else if let connecting {
        centrals[connection.peer] = (connecting, connection.address.identity)
      }
    case .link(let peer, .identified(let address)): if host == 0 { centrals[peer]?.identity = address.identity }
    case .link(let peer, .disconnected(_)):
      if host == 0 { centrals[peer] = nil } else if links[host] == peer { links[host] = nil }
    case .link(let peer, .security(let security)): if host == 0 { proved(security, on: peer) }
    case .pairing(let peer, .question(let id, let question)): answer(question, id, on: peer, of: host)
    case .bonds(.changed(let bond)): if host == 0 { changed(bond) }
    case .bonds(.removed(let identity)):
      guard host == 0 else { return }
      require(
        removed.contains(identity.identity) || bonds[identity.identity]?.strength.isAuthenticated != true,
        "the bond of the authenticated device is removed")
      bonds[identity.identity] = nil
    default: break
    }
  }

  private mutating func answer(
    _ question: PairingQuestion, _ id: PairingQuestionID, on peer: LinkID, of host: Int
  ) {
    switch question {
    case .consent, .replaceBond, .compare: command(host, .link(peer, .answerPairing(id, .accept)))
    case .enterPasskey:
      command(host, .link(peer, .answerPairing(id, .passkey(Passkey(lowestDigitsOf: 123_456)))))
    case .display: break
    }
  }

  private func proved(_ security: SecurityState, on peer: LinkID) {
    guard security.isBondProven, let link = centrals[peer] else { return }
    guard link.identity == hosts[Self.victim].ownAddress.identity else { return }
    require(link.central == Self.victim, "central \(link.central) proves the bond of the authenticated device")
  }

  private mutating func changed(_ bond: Bond) {
    let old = bonds.updateValue(bond, forKey: bond.identity)
    guard let old else { return }
    require(
      bond.strength.isAuthenticated || !old.strength.isAuthenticated, "an authenticated bond becomes unauthenticated")
    if old.strength.isAuthenticated, old.peripheralKey == bond.peripheralKey {
      require(old.identityResolvingKey == bond.identityResolvingKey, "an authenticated bond loses its identity key")
    }
    plantedFault(
      old.identityResolvingKey != nil && bond.identityResolvingKey == nil && !bond.strength.isAuthenticated
        && old.peripheralKey == bond.peripheralKey,
      "an authenticated device takes its identity key from an unauthenticated bond")
  }

  /// What holds once all hosts are quiet.
  private func check() {
    let keys = bonds.values.compactMap(\.identityResolvingKey)
    require(Set(keys).count == keys.count, "two bonds have one identity key")
    require(!keys.contains(Self.keys[0]), "a bond has the identity key of this device")
    require(!keys.contains(SecretKey(0)), "a bond has an identity key of zeros")
  }

  // MARK: The radio

  private mutating func command(_ host: Int, _ command: HostCommand) {
    hosts[host].perform(command, from: .process, now: now, into: &outputs[host])
  }

  private mutating func perform(_ host: Int, _ command: HostCommand) {
    self.command(host, command)
    settle()
  }

  private mutating func pass(_ duration: Duration) {
    let end = now + duration
    for _ in 0..<20_000 {
      var next = radio.deadline
      for host in hosts { next = .nearer(next, host.deadline) }
      guard let next, next <= end else { break }
      now = max(now, next)
      radio.tick(now: now, into: &packets)
      for index in hosts.indices where hosts[index].deadline.map({ $0 <= now }) ?? false {
        hosts[index].tick(now: now, into: &outputs[index])
      }
      settle()
    }
    now = end
  }

  /// Carries packets until nobody has any.
  private mutating func settle() {
    for _ in 0..<10_000 {
      var isQuiet = true
      for index in hosts.indices where !outputs[index].packets.isEmpty || !outputs[index].events.isEmpty {
        isQuiet = false
        var drained = HostOutput()
        swap(&drained, &outputs[index])
        for addressed in drained.events { note(addressed.event, of: index) }
        for number in 0..<drained.packets.count {
          radio.receive(drained.packets[number], from: controllers[index], now: now, into: &packets)
        }
      }
      if !packets.isEmpty {
        isQuiet = false
        var delivered = VirtualRadioOutput()
        swap(&delivered, &packets)
        for number in 0..<delivered.count {
          guard let index = controllers.firstIndex(of: delivered.destination(number)) else { continue }
          hosts[index].receive(delivered[number].span, now: now, into: &outputs[index])
        }
      }
      if isQuiet { return }
    }
    require(false, "the hosts do not become quiet")
  }
}
