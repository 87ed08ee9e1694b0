import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import Testing

/// A peripheral, host 0, with secured attributes, and centrals that connect to it; all pair.
struct Couple {
  static let plain = AttributeID(rawValue: 1)
  static let encrypted = AttributeID(rawValue: 2)
  static let authenticated = AttributeID(rawValue: 3)
  static let stream = AttributeID(rawValue: 4)
  static let secure = AttributeID(rawValue: 5)
  static let signed = AttributeID(rawValue: 6)
  static let authorized = AttributeID(rawValue: 7)

  var world: World
  var handles: [AttributeID: AttributeHandle] = [:]
  /// The newest link of each central: its own name for it, and the peripheral's.
  var links: [Int: (central: LinkID, peripheral: LinkID)] = [:]
  private var operations: UInt32 = 0

  init(
    centrals: Int = 1, peripheral: PairingSettings? = .with(), central: (Int) -> PairingSettings? = { _ in .with() },
    controller: VirtualControllerConfiguration = VirtualControllerConfiguration(),
    pacing: VirtualRadio.Pacing = .immediate, seed: UInt64 = 1, faults: [Int: [VirtualFault]] = [:],
    configure: (Int, inout HostConfiguration) -> Void = { _, _ in }
  ) {
    world = World(
      centrals + 1, seed: seed, pacing: pacing,
      controller: {
        var controller = controller
        controller.faults += faults[$0] ?? []
        return controller
      },
      host: {
        var host = HostConfiguration()
        host.pairing = $0 == 0 ? peripheral : central($0)
        configure($0, &host)
        return host
      })
    // Users who do what they are asked: the passkey is known, the numbers agree.
    world.application = { _, event in
      guard case .pairing(let peer, .question(let id, let question)) = event else { return [] }
      switch question {
      case .consent, .replaceBond, .compare: return [.link(peer, .answerPairing(id, .accept))]
      case .enterPasskey: return Passkey(123_456).map { [.link(peer, .answerPairing(id, .passkey($0)))] } ?? []
      case .display: return []
      }
    }
    world.ask(0, .services(.add(Self.service)))
    for event in world.takeHeard(0) {
      if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
    }
    world.ask(
      0, .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
  }

  static var service: ServiceDefinition {
    func characteristic(
      _ id: AttributeID, _ uuid: UInt16, _ properties: GATTCharacteristicProperties, _ access: AccessRequirement,
      updates: AccessRequirement = .open
    ) -> CharacteristicDefinition {
      CharacteristicDefinition(
        id: id, uuid: BluetoothUUID(uuid), properties: properties,
        permissions: GATTAttributePermissions(read: access, write: access), updateRequirement: updates,
        value: .stored([7], length: 0...20))
    }
    return ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
      characteristics: [
        characteristic(plain, 0xFFF1, [.read, .write], .open),
        characteristic(encrypted, 0xFFF2, [.read, .write], .encrypted),
        characteristic(authenticated, 0xFFF3, [.read, .write], .authenticated),
        characteristic(
          stream, 0xFFF4, [.read, .notify, .indicate], .encrypted, updates: .encrypted),
        characteristic(secure, 0xFFF5, [.read, .write], .secureConnections),
        characteristic(signed, 0xFFF6, [.read, .write, .authenticatedSignedWrites], .open),
        characteristic(
          authorized, 0xFFF7, [.read, .write], AccessRequirement(security: .encrypted, authorization: true)),
      ])
  }

  mutating func connect(_ central: Int = 1) throws {
    let isConnected = attemptConnection(central)
    try #require(isConnected)
  }

  /// Connects, where no fault prevents it.
  mutating func attemptConnection(_ central: Int = 1, isBare: Bool = false) -> Bool {
    var initiating = InitiatingParameters()
    initiating.isBare = isBare
    world.ask(
      central,
      .initiating(
        .connect(
          ConnectID(rawValue: UInt32(central)), world.hosts[0].addressOnAir, ConnectionParameters(), initiating)))
    world.run(for: .seconds(1))
    var (ours, theirs): (LinkID?, LinkID?)
    for event in world.heard[central] { if case .connected(let connection) = event { ours = connection.peer } }
    for event in world.heard[0] { if case .connected(let connection) = event { theirs = connection.peer } }
    guard let ours, let theirs else { return false }
    links[central] = (ours, theirs)
    return true
  }

  /// Connects a central that does not encrypt by itself: its host gets the key of `bond` only when the link is up.
  mutating func connectInTheClear(_ bond: Bond, _ central: Int = 1) throws {
    var keyless = bond
    keyless.centralKey = nil
    world.ask(central, .security(.setBonds([keyless])))
    try connect(central)
    world.ask(central, .security(.setBonds([bond])))
  }

  mutating func disconnect(_ central: Int = 1) {
    guard let link = links[central] else { return }
    world.ask(central, .link(link.central, .disconnect(.remoteUserTerminatedConnection)))
    world.run(for: .seconds(1))
  }

  /// The central encrypts with its bond, or pairs where it has none.
  mutating func secure(_ central: Int = 1) {
    guard let link = links[central] else { return }
    world.ask(central, .link(link.central, .requestSecurity))
    world.run(for: .seconds(1))
  }

  mutating func perform(_ kind: GATTClient.Operation.Kind, by central: Int = 1) -> Result<
    GATTClient.Outcome, GATTClientError
  >? {
    perform(by: central) { .client(GATTClient.Operation(id: $0, kind)) }
  }

  /// Performs an operation for which the link is not secured.
  mutating func inspect(_ kind: GATTClient.Operation.Kind) -> Result<GATTClient.Outcome, GATTClientError>? {
    perform(by: 1) { .inspect(GATTClient.Operation(id: $0, kind)) }
  }

  private mutating func perform(
    by central: Int, _ command: (GATTClient.OperationID) -> HostCommand.Link
  ) -> Result<GATTClient.Outcome, GATTClientError>? {
    guard let link = links[central] else { return nil }
    operations += 1
    let id = GATTClient.OperationID(rawValue: operations)
    world.ask(central, .link(link.central, command(id)))
    world.run(for: .milliseconds(500))
    var result: Result<GATTClient.Outcome, GATTClientError>?
    for event in world.heard[central] { if case .client(_, .finished(id, let outcome)) = event { result = outcome } }
    return result
  }

  /// What a read by the central gives: octets, or the error the server answered.
  mutating func read(_ attribute: AttributeID, by central: Int = 1) -> Result<[UInt8], ATTErrorCode>? {
    guard let handle = handles[attribute] else { return nil }
    switch perform(.read(handle), by: central) {
    case .success(.value(let value)): return .success(Array(value))
    case .failure(.errorResponse(let code, _, _)): return .failure(code)
    default: return nil
    }
  }

  func events(_ host: Int) -> [HostEvent] { world.heard[host] }

  func security(_ host: Int) -> SecurityState? {
    var last: SecurityState?
    for event in world.heard[host] { if case .link(_, .security(let security)) = event { last = security } }
    return last
  }

  func bond(_ host: Int) -> Bond? {
    var last: Bond?
    for event in world.heard[host] { if case .bonds(.changed(let bond)) = event { last = bond } }
    return last
  }

  func paired(_ host: Int) -> [PairedDevice] {
    world.heard[host].compactMap { if case .pairing(_, .succeeded(let device)) = $0 { device } else { nil } }
  }

  func failures(_ host: Int) -> [PairingFailure] {
    world.heard[host].compactMap {
      if case .pairing(_, .failed(let failure)) = $0 { failure.withoutCause } else { nil }
    }
  }

  func losses(_ host: Int) -> [BondLoss] {
    world.heard[host].compactMap { if case .bonds(.lost(_, _, let loss)) = $0 { loss } else { nil } }
  }

  /// Puts a PDU of the Security Manager on the link behind the back of one of its hosts, which is the one that it seems
  /// to come from.
  mutating func forge(_ pdu: [UInt8], onSecurityChannelFrom host: Int) { forge(pdu, onChannel: 6, from: host) }

  /// Sends a Signed Write Command of the central: our client sends none.
  ///
  /// - Returns: the PDU.
  @discardableResult
  mutating func forgeSignedWrite(
    of value: [UInt8], to handle: AttributeHandle, key: SecretKey?, counter: UInt32
  ) throws -> [UInt8] {
    var message: [UInt8] = [0xD2]
    message.append(littleEndian: handle.rawValue)
    message += value
    let key = try #require(key)
    let toolbox = SecurityToolbox(LibCrypto())
    let pdu = try message + toolbox.signature(of: message[...], csrk: key.value, signCounter: counter)
    forge(pdu, onChannel: 4, from: 1)
    return pdu
  }

  /// Sends a PDU on a fixed channel of the link that a host has sent something on last.
  mutating func forge(_ pdu: [UInt8], onChannel channel: UInt16, from host: Int) {
    let last = world.sent[host].last { $0[0] == 2 && $0.count > 2 }
    var packet: [UInt8] = [2]
    packet.append(littleEndian: last.map { UInt16($0[1]) | UInt16($0[2] & 0x0F) << 8 } ?? 0)
    packet.append(littleEndian: UInt16(pdu.count + 4))
    packet.append(littleEndian: UInt16(pdu.count))
    packet.append(littleEndian: channel)
    world.forge(packet + pdu, from: host)
  }

  /// What a host's application was asked, in order.
  func questions(_ host: Int) -> [(id: PairingQuestionID, question: PairingQuestion)] {
    world.heard[host].compactMap {
      if case .pairing(_, .question(let id, let question)) = $0 { (id, question) } else { nil }
    }
  }

  func withdrawn(_ host: Int) -> [PairingQuestionID] {
    world.heard[host].compactMap { if case .pairing(_, .questionWithdrawn(let id)) = $0 { id } else { nil } }
  }

  /// What a host logged as the application's fault.
  func misuses(_ host: Int) -> Int {
    world.heard[host].count {
      if case .diagnostic(let diagnostic) = $0 { diagnostic.origin == .application } else { false }
    }
  }

  mutating func forget() {
    for host in world.hosts.indices { _ = world.takeHeard(host) }
  }
}

extension PairingSettings {
  static func with(
    _ io: IOCapability = .noInputNoOutput, secure: Bool = true, _ change: (inout Self) -> Void = { _ in }
  ) -> Self {
    var settings = Self()
    settings.ioCapability = io
    settings.requestsMITM = io != .noInputNoOutput
    settings.allowsSecureConnections = secure
    settings.fixedPasskey = Passkey(123_456)
    settings.identityResolvingKey = SecretKey(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
    change(&settings)
    return settings
  }
}

extension PairingFailure {
  /// The reason and the origin alone.
  var withoutCause: Self { Self(reason, origin) }
}
