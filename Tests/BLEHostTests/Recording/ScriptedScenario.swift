import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire

/// One host and a controller played by hand: peers that say anything, a controller that refuses, is silent or resets,
/// and, for the kernel's adapter, what its security manager reports.
struct ScriptedScenario {
  private var choices: Choices
  private var bench: Bench
  private let isShared: Bool
  private var peers: [LinkID] = []
  private var requests: [(LinkID, RequestToken)] = []
  private var operations: UInt32 = 0

  /// - Parameter isShared: whether the kernel has the controller.
  static func play(seed: UInt64, isShared: Bool, steps: Int = 60) -> Transcript {
    var scenario = ScriptedScenario(seed: seed, isShared: isShared)
    for step in 0..<steps { scenario.step(step) }
    return scenario.bench.transcript ?? Transcript()
  }

  private init(seed: UInt64, isShared: Bool) {
    var choices = Choices(seed: seed)
    var controller = ScriptedController()
    if choices.chance(60) {
      for opcode in HCI.commands.keys.sorted(by: { $0.rawValue < $1.rawValue }) { controller.supported.insert(opcode) }
      controller.leFeatures = [.encryption, .llPrivacy, .extendedAdvertising, .dataPacketLengthExtension]
      controller.resolvingListSize = 2
    }
    controller.aclCount = choices.one(of: [1, 4])
    var configuration = HostConfiguration()
    configuration.ownership = isShared ? .sharedWithKernel : .exclusive
    configuration.pairing = choices.pairing()
    configuration.bonds = (0..<choices.number(below: 4)).map { _ in Self.bond(&choices) }
    if choices.chance(20) { configuration.maximumBonds = 2 }
    bench = Bench(controller, configuration: configuration)
    bench.transcript = Transcript()
    self.choices = choices
    self.isShared = isShared
    bench.perform(.services(.add(Choices.service(1))))
    note()
  }

  private static func address(_ choices: inout Choices) -> DeviceAddress {
    switch choices.number(below: 4) {
    case 0: DeviceAddress(octets: BD_ADDR(0xC011_2233_4400 + UInt64(choices.number(below: 3))), kind: .random)
    case 1: DeviceAddress(octets: BD_ADDR(0x4000_0000_0000 + UInt64(choices.number(below: 9))), kind: .random)
    default: DeviceAddress(octets: BD_ADDR(0x0011_2233_4400 + UInt64(choices.number(below: 3))), kind: .public)
    }
  }

  private static func strength(_ choices: inout Choices) -> KeyStrength {
    KeyStrength(
      size: choices.chance(80) ? 16 : 7, isAuthenticated: choices.chance(40), isSecureConnections: choices.chance(60))
  }

  private static func key(_ choices: inout Choices) -> LongTermKey {
    let strength = strength(&choices)
    let (ediv, rand): (UInt16, UInt64) = strength.isSecureConnections ? (0, 0) : (5, 6)
    return LongTermKey(
      value: SecretKey(UInt128(choices.number(1...99))), ediv: ediv, rand: rand, strength: strength)
  }

  private static func bond(_ choices: inout Choices) -> Bond {
    let key = key(&choices)
    var bond = Bond(identity: address(&choices), strength: key.strength)
    bond.peripheralKey = key
    if choices.chance(60) { bond.centralKey = key }
    if choices.chance(40) { bond.identityResolvingKey = SecretKey(UInt128(choices.number(1...9))) }
    if choices.chance(40) {
      (bond.peerCSRK, bond.ownCSRK) = (SecretKey(6), SecretKey(7))
    }
    return bond
  }

  private mutating func perform(_ command: HostCommand, _ words: String) {
    bench.transcript?.note("0 = \(words)")
    bench.perform(command)
    note()
  }

  private mutating func receive(_ packet: [UInt8]) {
    bench.transcript?.note("0 { \(packet.hexadecimal)")
    bench.receive(packet)
    note()
  }

  private mutating func note() {
    for event in bench.takeEvents() {
      switch event {
      case .connected(let link): peers.append(link.peer)
      case .services(.added(_, .success(let handles))):
        choices.known += handles.attributes.values.sorted { $0.rawValue < $1.rawValue }
      case .link(let peer, .disconnected(_)): peers.removeAll { $0 == peer }
      case .server(let peer, .read(let token, _, _)): requests.append((peer, token))
      case .server(let peer, .write(let token, _)): requests.append((peer, token))
      case .pairing(let peer, .question(let id, let question)):
        if let answer = choices.answer(to: question) { perform(.link(peer, .answerPairing(id, answer)), "answer") }
      default: break
      }
    }
  }

  private mutating func step(_ step: Int) {
    bench.transcript?.begin(step)
    switch choices.number(below: 30) {
    case 0...3: linkUp()
    case 4 where choices.chance(50): receive(ScriptedController.disconnected(handle().rawValue))
    case 5...11: receive(ScriptedController.frame(handle().rawValue, cid: 4, attPDU()))
    case 12, 13: receive(ScriptedController.frame(handle().rawValue, cid: 6, smpPDU()))
    case 14: receive(ScriptedController.frame(handle().rawValue, cid: 5, choices.octets(choices.number(1...16))))
    case 15, 16: encryption()
    case 17: controllerChanges()
    case 18...22: applicationActs()
    case 23: answerRequest()
    case 24...27 where isShared: bench.hear(report()); note()
    case 24: receive([4, UInt8(choices.number(below: 64))] + counted(choices.octets(choices.number(below: 20))))
    case 25: advertisingReport()
    default: run()
    }
  }

  private func counted(_ octets: [UInt8]) -> [UInt8] { [UInt8(clamping: octets.count)] + octets }

  private mutating func handle() -> ConnectionHandle {
    ConnectionHandle(rawValue: 0x40 + UInt16(choices.number(below: 3)))
  }

  private mutating func linkUp() {
    let (link, peer) = (handle(), Self.address(&choices))
    if peers.count > 2, choices.chance(80) { return }
    let isCentral = choices.chance(25)
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEConnectionComplete {
        $0.connectionHandle = link
        $0.role = isCentral ? .central : .peripheral
        $0.peerAddress = peer
        $0.connectionInterval = 24
        $0.supervisionTimeout = 500
      })
    if isCentral {
      operations += 1
      perform(.initiating(.connect(ConnectID(rawValue: operations), peer, ConnectionParameters())), "connect")
    }
    receive(packet)
  }

  private mutating func attPDU() -> [UInt8] {
    let value = choices.handle().rawValue + (choices.chance(25) ? 1 : 0)
    let handle = [UInt8(truncatingIfNeeded: value), 0]
    switch choices.number(below: 14) {
    case 0: return [0x02, 0xF7, 0]
    case 1: return [0x04, 1, 0, 0xFF, 0xFF]
    case 2: return [0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28]
    case 3: return [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]
    case 4, 5: return [0x0A] + handle
    case 6: return [0x0C] + handle + [UInt8(choices.number(below: 5)), 0]
    case 7: return [0x12] + handle + choices.octets(choices.number(below: 8))
    case 8: return [0x52] + handle + choices.octets(choices.number(below: 8))
    case 9: return [0x16] + handle + [0, 0] + choices.octets(4)
    case 10: return [0x18, UInt8(choices.number(below: 2))]
    case 11: return [0x12] + handle + [UInt8(choices.number(below: 3)), 0]
    case 12: return [0x1E]
    default: return choices.octets(choices.number(1...12))
    }
  }

  private mutating func smpPDU() -> [UInt8] {
    switch choices.number(below: 6) {
    case 0, 1:
      [0x01, UInt8(choices.number(below: 5)), 0, choices.one(of: [0x01, 0x05, 0x09, 0x0D]), 16, 7, 7]
    case 2: [0x02, 3, 0, 0x01, 16, 7, 7]
    case 3: [0x05, UInt8(choices.number(1...14))]
    case 4: [0x0B, choices.one(of: [0x01, 0x05, 0x0D])]
    default: [UInt8(choices.number(1...14))] + choices.octets(choices.one(of: [1, 16, 64]))
    }
  }

  private mutating func encryption() {
    let link = UInt8(truncatingIfNeeded: handle().rawValue)
    switch choices.number(below: 5) {
    case 0: receive([4, 0x08, 4, 0, link, 0, 1])
    case 1: receive([4, 0x08, 4, choices.one(of: [0x06, 0x3D, 0x08]), link, 0, 0])
    case 2: receive([4, 0x30, 3, 0, link, 0])
    case 3: receive([4, 0x3E, 13, 5, link, 0] + [UInt8](repeating: 0, count: 10))
    default: receive([4, 0x3E, 13, 5, link, 0, 6, 0, 0, 0, 0, 0, 0, 0, 5, 0])
    }
  }

  private mutating func controllerChanges() {
    switch choices.number(below: 6) {
    case 0:
      bench.controller.silent = [.disconnect, .leEnableEncryption]
    case 1: bench.controller.silent = []
    case 2:
      bench.controller.refusals = [.leSetAdvertisingEnable: .commandDisallowed, .leSetScanEnable: .commandDisallowed]
    case 3: bench.controller.refusals = [:]
    case 4: receive([4, 0x10, 1, 9])
    default:
      bench.transcript?.note("0 = transport")
      bench.failTransport(.transport("lost"))
      bench.restart()
      note()
    }
  }

  private mutating func applicationActs() {
    let peer = peers.isEmpty ? LinkID(rawValue: 99) : choices.one(of: peers)
    operations += 1
    switch choices.number(below: 18) {
    case 0:
      perform(
        .advertising(.start(AdvertisingID(rawValue: UInt32(choices.number(1...3))), choices.intent())), "advertise")
    case 1: perform(.advertising(.stop(AdvertisingID(rawValue: UInt32(choices.number(1...3))))), "stop")
    case 2: perform(.scanning(.start(choices.scan())), "scan")
    case 3: perform(.scanning(.stop), "no scan")
    case 4: perform(.link(peer, .disconnect(.remoteUserTerminatedConnection)), "disconnect")
    case 5: perform(.link(peer, .updateConnection(choices.parameters())), "parameters")
    case 6: perform(.link(peer, .readRSSI), "rssi")
    case 7, 8: perform(.link(peer, .requestSecurity), "secure")
    case 9: perform(.security(.setPairing(choices.pairing())), "pairing")
    case 10: perform(.privacy(choices.privacy()), "privacy")
    case 11: perform(.security(.setBonds((0..<choices.number(below: 3)).map { _ in Self.bond(&choices) })), "bonds")
    case 12: perform(.security(.removeBond(Self.address(&choices))), "forget")
    case 13: perform(.link(peer, .authorize(choices.chance(70))), "authorize")
    case 14, 15:
      perform(
        .link(
          peer, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: operations), choices.operation()))),
        "client")
    default:
      perform(
        .update(
          UpdateToken(rawValue: UInt64(operations)), AttributeID(rawValue: UInt32(choices.one(of: [11, 12, 16]))),
          choices.octets(6), to: bench.peers), "update")
    }
  }

  private mutating func answerRequest() {
    guard let (peer, token) = requests.popLast() else { return }
    perform(.respond(peer, token, choices.chance(80) ? .success([1, 2]) : .failure(.unlikelyError)), "respond")
  }

  private mutating func advertisingReport() {
    let (address, data) = (Self.address(&choices), choices.octets(choices.number(below: 20)))
    receive(
      [4, 0x3E, UInt8(12 + data.count), 2, 1, UInt8(choices.number(below: 5)), address.kind == .random ? 1 : 0]
        + address.octets.littleEndian + counted(data) + [0xC8])
  }

  private mutating func report() -> KernelReport {
    let address = Self.address(&choices)
    switch choices.number(below: 8) {
    case 0, 1: return .asked(address, choices.one(of: [.consent, .enterPasskey, .compare(Passkey(lowestDigitsOf: 7))]))
    case 2: return .failed(address)
    case 3: return .identity(Self.address(&choices), usedAs: address, SecretKey(UInt128(choices.number(1...9))))
    case 4:
      return .longTermKey(
        address, Self.key(&choices), choices.one(of: [.peripheral, .central, .both]), isToBeKept: choices.chance(80))
    case 5: return .signatureKey(address, SecretKey(3), isOurs: choices.chance(50))
    default: return .level(handle: handle().rawValue, choices.chance(80) ? Self.strength(&choices) : nil)
    }
  }

  private mutating func run() {
    bench.run(for: choices.chance(10) ? .seconds(choices.number(20...400)) : .milliseconds(choices.number(below: 3000)))
    note()
  }
}
