import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

/// A program at host 0, the honest device at host 1, and hostile devices.
struct FairnessScene {
  typealias Behaviour = APIFairnessTests.Behaviour

  /// How long an operation is waited for: longer than the timeout of ATT, 30 seconds.
  static let patience = Duration.seconds(60)
  private static let hostile = 2...4
  private static let attributes = [1, 2, 3].map { AttributeID(rawValue: $0) }
  private static let advertising = AdvertisingID(rawValue: 1)

  private var air: Air
  private let program: any Program
  private let role: FairnessRole
  private let behaviour: Behaviour?
  /// The handles of ``ProgramService``, which all devices have at the same place.
  private var handles: [AttributeHandle] = []
  /// The newest link of each device: the name that the program's host has for it, and the device's own.
  private var links: [Int: (own: LinkID, theirs: LinkID)] = [:]
  private var number: UInt32 = 0
  private var steps = 0

  var now: Instant { air.now }

  init(_ program: any Program, _ role: FairnessRole, _ behaviour: Behaviour?) async throws {
    (self.program, self.role, self.behaviour) = (program, role, behaviour)
    air = Air(behaviour == nil ? 2 : Self.hostile.upperBound + 1, program.link)
    await air.run(for: .seconds(1), program)
    for host in air.hosts.indices where (host == 0) == (role == .peripheral) {
      if host == 0 {
        program.publish()
        await air.run(for: .milliseconds(100), program)
        try note(air.heard[0])
      } else {
        air.ask(host, .services(.add(Self.service)))
        try note(air.heard[host])
      }
      air.ask(host, .advertising(.start(Self.advertising, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
    }
    for device in air.hosts.indices.dropFirst() { try await connect(device) }
    air.delay = Self.delay(behaviour)
    if role == .peripheral { await fillWindows() }
  }

  private mutating func note(_ events: [HostEvent]) throws {
    for case .services(.added(_, .success(let added))) in events { handles = added.attributes.values.sorted() }
    try #require(handles.count == 3)
  }

  private static var service: ServiceDefinition {
    let properties: [GATTCharacteristicProperties] = [[.notify], [.indicate], [.read, .write]]
    let uuids = ProgramService.values + [ProgramService.stored]
    return ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: ProgramService.uuid,
      characteristics: attributes.indices.map {
        CharacteristicDefinition(
          id: attributes[$0], uuid: uuids[$0], properties: properties[$0], permissions: .readableAndWritable,
          value: .stored(ProgramService.value, length: 0...512))
      })
  }

  /// What hostile devices answer and confirm is lost, or comes late.
  private static func delay(_ behaviour: Behaviour?) -> (@Sendable (Int, [UInt8]) -> Duration?)? {
    guard behaviour == .answersNothing || behaviour == .answersLate else { return nil }
    return { host, packet in
      // The first fragment of a frame of ATT.
      guard hostile.contains(host), packet.count > 9, packet[0] == 2, packet[2] >> 4 & 0b11 != 0b01, packet[7] == 4,
        packet[8] == 0,
        packet[9] == ATTOpcode.handleValueConfirmation.rawValue || packet[9] % 2 == 1 && packet[9] < 0x1B
      else { return .zero }
      return behaviour == .answersLate ? .milliseconds(500) : nil
    }
  }

  // MARK: Links

  private mutating func connect(_ device: Int) async throws {
    switch role {
    case .peripheral:
      var parameters = ConnectionParameters()
      parameters.interval = 24...24
      number += 1
      air.ask(device, .initiating(.connect(ConnectID(rawValue: number), air.hosts[0].ownAddress, parameters)))
      await air.run(for: .seconds(1), program)
    case .central:
      program.connect(to: air.hosts[device].ownAddress)
      await air.run(for: .seconds(5), program)
      try #require(program.isConnected.contains(air.hosts[device].ownAddress))
    }
    links[device] = (try #require(air.peers[0].last), try #require(air.peers[device].last))
    guard role == .peripheral else { return }
    for index in 0...1 { configure(device, index, isOn: true) }
    await air.run(for: .seconds(1), program)
    while let link = links[device], !program.isSubscribed(link.own) { await program.link.next() }
  }

  private mutating func configure(_ device: Int, _ index: Int, isOn: Bool) {
    let handle = handles[index]
    let range = handle...AttributeHandle(rawValue: handle.rawValue + 1)
    ask(device, .configure(!isOn ? [] : index == 0 ? .notify : .indicate, in: range))
  }

  private mutating func ask(_ device: Int, _ kind: GATTClient.Operation.Kind) {
    guard let link = links[device] else { return }
    number += 1
    let operation = GATTClient.Operation(id: GATTClient.OperationID(rawValue: number), kind)
    air.ask(device, .link(link.theirs, .client(operation)))
  }

  /// Each hostile device has as many values before it as the program may send.
  private mutating func fillWindows() async {
    for device in hostileDevices {
      for _ in 0..<40 { links[device].map { program.send(.indicated, to: $0.own) } }
    }
    await air.run(for: .milliseconds(30), program)
  }

  private var hostileDevices: [Int] { behaviour == nil ? [] : Array(Self.hostile) }

  // MARK: Operations

  /// Performs an operation.
  ///
  /// - Returns: false where it has not ended after ``patience``.
  mutating func performs(_ operation: APIFairnessTests.Operation) async throws -> Bool {
    let link = try #require(links[1])
    let device = air.hosts[1].ownAddress
    for host in air.hosts.indices { air.heard[host] = [] }
    var before = 0
    if case .procedure(let procedure) = operation { before = program.count(of: procedure, with: device) }
    switch operation {
    case .send(let kind, let toAll): program.send(kind, to: toAll ? nil : link.own)
    case .answerRead: ask(1, .read(handles[2]))
    case .answerWrite: ask(1, .write(handles[2], ProgramService.value))
    case .procedure(.receive):
      number += 1
      let token = UpdateToken(rawValue: UInt64(number))
      air.ask(1, .update(token, Self.attributes[0], ProgramService.value, to: [link.theirs]))
    case .procedure(let procedure): program.begin(procedure, with: device)
    }
    let awaited = GATTClient.OperationID(rawValue: number)
    let deadline = now + Self.patience
    await air.run(for: .zero, program)
    while !hasEnded(operation, awaited, before, device) {
      guard now < deadline else { return false }
      steps += 1
      for device in hostileDevices { act(device) }
      await air.run(for: .milliseconds(5), program)
    }
    #expect(air.peers[0].contains(link.own), "the honest device has lost its link")
    return true
  }

  private func hasEnded(
    _ operation: APIFairnessTests.Operation, _ awaited: GATTClient.OperationID, _ before: Int, _ device: DeviceAddress
  ) -> Bool {
    switch operation {
    case .send(.notified, _): air.heard[1].contains { if case .client(_, .notification) = $0 { true } else { false } }
    case .send(.indicated, _): air.heard[1].contains { if case .client(_, .indication) = $0 { true } else { false } }
    case .answerRead, .answerWrite:
      air.heard[1].contains { if case .client(_, .finished(awaited, .success)) = $0 { true } else { false } }
    case .procedure(let procedure): program.count(of: procedure, with: device) > before
    }
  }

  // MARK: Hostile devices

  /// What a hostile device does every five milliseconds, and the program with it.
  private mutating func act(_ device: Int) {
    guard let behaviour, let link = links[device], air.peers[device].contains(link.theirs) else {
      return reconnect(device)
    }
    let address = air.hosts[device].ownAddress
    let isNow = steps % 20 == 0
    switch (behaviour, role) {
    case (.answersNothing, .peripheral), (.answersLate, .peripheral):
      program.send(.indicated, to: link.own)
      program.send(.notified, to: link.own)
    case (.answersNothing, .central), (.answersLate, .central):
      if isNow { program.begin(.read, with: address) }
    case (.floods, .peripheral): for _ in 0..<4 { ask(device, .read(handles[2])) }
    case (.floods, .central):
      for _ in 0..<16 {
        number += 1
        let token = UpdateToken(rawValue: UInt64(number))
        air.ask(device, .update(token, Self.attributes[0], ProgramService.value, to: [link.theirs]))
      }
    case (.fillsQueues, .peripheral):
      ask(device, .writeLong(handles[2], offset: 0, [UInt8](repeating: 1, count: 300)))
      program.send(.notified, to: link.own)
    case (.fillsQueues, .central): for _ in 0..<4 { program.begin(.write, with: address) }
    case (.subscribesAgainAndAgain, .peripheral):
      for index in 0...1 { configure(device, index, isOn: steps % 2 == 0) }
    case (.subscribesAgainAndAgain, .central): if isNow { changeServices(of: device) }
    case (.reconnects, _):
      if isNow { air.ask(device, .link(link.theirs, .disconnect(.remoteUserTerminatedConnection))) }
    }
  }

  /// The services of a device change, of which clients are to be told.
  private mutating func changeServices(of device: Int) {
    let id = ServiceID(rawValue: 2)
    let isThere = steps % 40 == 0
    if isThere {
      air.ask(device, .services(.add(ServiceDefinition(id: id, uuid: BluetoothUUID(0xFFF8), characteristics: []))))
    } else {
      air.ask(device, .services(.remove(id)))
    }
  }

  private mutating func reconnect(_ device: Int) {
    guard steps % 10 == 0 else { return }
    let isNew = { peer in !links.values.contains { $0.own == peer } }
    if let own = air.peers[0].last(where: isNew), let theirs = air.peers[device].last {
      links[device] = (own, theirs)
      if role == .peripheral { for index in 0...1 { configure(device, index, isOn: true) } }
      return
    }
    if role == .central { return program.connect(to: air.hosts[device].ownAddress) }
    number += 1
    air.ask(device, .initiating(.connect(ConnectID(rawValue: number), air.hosts[0].ownAddress, ConnectionParameters())))
  }
}
