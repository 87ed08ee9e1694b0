import BLEATT
import BLECrypto
import BLEWire

@testable import BLEGATT

/// The server of one client, and the actions of the client, the application, the link and the clock.
func fuzzServer(_ input: inout FuzzInput) {
  var run = ServerRun(&input)
  while !input.isEmpty, run.steps < ServerRun.stepLimit { run.step(&input) }
  run.finish()
}

private struct ServerRun {
  static let stepLimit = 200

  var database: AttributeDatabase
  var server: GATTServer
  var security = SecurityState.none
  var now = Instant.start
  var output = GATTServer.Output()
  var steps = 0
  /// The requests without a response, in order.
  var requests: [UInt8] = []
  var tokens: [RequestToken] = []
  var indications = 0

  init(_ input: inout FuzzInput) {
    var generic = GenericServices(deviceName: "Fuzz")
    if input.flag() {
      generic.databaseHashCMAC = { message in
        ((try? LibCrypto().cmac(message, key: 0)) ?? 0).bigEndianOctets
      }
    }
    database = AttributeDatabase(services: generic)
    server = GATTServer(
      limits: GATTServer.Limits(
        maximumPreparedWrites: 8, maximumPreparedOctets: 600, maximumWaitingPDUs: 4, maximumQueuedIndications: 3))
    for service in TestDatabase.services { _ = try? database.add(service) }
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    switch input.index(16) {
    case 0: receive(input.counted())
    case 1: receive(ReadRequest(handle: handle(&input)))
    case 2: receive(ReadBlobRequest(handle: handle(&input), valueOffset: UInt16(input.octet()) * 3))
    case 3: receive(WriteRequest(handle: handle(&input), value: input.take(input.index(24))[...]))
    case 4:
      receive(
        PrepareWriteRequest(
          handle: handle(&input), valueOffset: UInt16(input.octet()),
          partAttributeValue: input.take(input.index(18))[...]))
    case 5: receive([0x18, input.octet() % 3])
    case 6: receive([[0x08, 0x10][input.index(2)]] + range(&input) + type(&input))
    case 7: receive([0x06] + range(&input) + [0x00, 0x28] + input.take(input.index(17)))
    case 8: receive([0x04] + range(&input))
    case 9: receive([[0x0E, 0x20][input.index(2)]] + (0..<input.index(6)).flatMap { _ in octets(of: handle(&input)) })
    case 10: receive([0x52] + octets(of: handle(&input)) + input.take(input.index(24)))
    case 11: receive([0x02] + octets(of: AttributeHandle(rawValue: input.uint16())))
    case 12: answer(&input)
    case 13: change(&input)
    case 14: update(&input)
    default: receive([0x1E])
    }
    check()
  }

  /// Any handle, or that of a characteristic value or of the descriptor after it.
  private func handle(_ input: inout FuzzInput) -> AttributeHandle {
    let choice = input.octet()
    if choice >= 0x80, let value = database.handle(of: AttributeID(rawValue: UInt32(choice & 7) + 1)) {
      return AttributeHandle(rawValue: value.rawValue + UInt16(choice >> 3 & 1))
    }
    return AttributeHandle(rawValue: UInt16(choice) % UInt16(database.count + 3))
  }

  private func octets(of handle: AttributeHandle) -> [UInt8] {
    [UInt8(truncatingIfNeeded: handle.rawValue), UInt8(truncatingIfNeeded: handle.rawValue >> 8)]
  }

  private func range(_ input: inout FuzzInput) -> [UInt8] {
    octets(of: handle(&input)) + (input.flag() ? [0xFF, 0xFF] : octets(of: handle(&input)))
  }

  private func type(_ input: inout FuzzInput) -> [UInt8] {
    switch input.index(8) {
    case 0: [0x00, 0x28]
    case 1: [0x01, 0x28]
    case 2: [0x02, 0x28]
    case 3: [0x03, 0x28]
    case 4: [0x2A, 0x2B]
    case 5: [input.octet(), 0xFF]
    case 6: input.take(16)
    default: input.take(2)
    }
  }

  private mutating func receive(_ packet: some ATTPacket) { receive(packet.encodedPDU) }

  private mutating func receive(_ pdu: [UInt8]) {
    guard let opcode = pdu.first else { return }
    let code = ATTOpcode(rawValue: opcode)
    let isRequest = !code.isCommand && !code.isSentByServer && code != .handleValueConfirmation
    if isRequest, !server.hasFailed { requests.append(opcode) }
    let parts = server.prepared.parts
    server.receive(pdu.span, security: security, database: &database, now: now, into: &output)
    if isRequest, output.events.contains(.pduDropped) { requests.removeLast() }
    plantedFault(
      pdu == [0x18, 1] && output.pdus.count == 1 && output.pdus[0].elementsEqual([0x19])
        && Set(parts.map(\.handle)).count >= 2,
      "prepared writes to two attributes are executed")
  }

  private mutating func answer(_ input: inout FuzzInput) {
    guard let token = tokens.popLast() else { return }
    let response: ApplicationResponse =
      switch input.index(4) {
      case 0: .success
      case 1: .error(ATTErrorCode(rawValue: input.octet()), attribute: AttributeID(rawValue: UInt32(input.octet())))
      default: .value([UInt8](repeating: 7, count: Int(input.octet()) * 3)[...])
      }
    _ = server.respond(to: token, with: response, security: security, database: &database, now: now, into: &output)
  }

  private mutating func change(_ input: inout FuzzInput) {
    switch input.index(5) {
    case 0:
      security = SecurityState(
        level: SecurityLevel(rawValue: input.octet() % 4) ?? .none, keySize: 7 + input.octet() % 10,
        isBonded: input.flag(),
        isAuthorized: input.flag())
    case 1:
      now = now + .seconds(Int64(input.index(32)))
      server.tick(now: now, security: security, database: &database, into: &output)
    case 2:
      let service = input.element(of: TestDatabase.services)
      if let changed = (try? database.remove(service.id)) ?? (try? database.add(service))?.range {
        server.serviceChanged(changed, database: database, now: now, into: &output)
      }
    case 3: _ = try? database.setStored(AttributeID(rawValue: UInt32(input.index(24))), input.counted())
    default:
      let record = server.record(database: database)
      if input.flag() { server.restore(record, database: database, now: now, into: &output) }
    }
  }

  private mutating func update(_ input: inout FuzzInput) {
    let (id, value) = (AttributeID(rawValue: UInt32(input.index(24))), input.counted())
    if input.flag() {
      _ = server.sendUpdate(of: id, value: value.span, security: security, database: database, now: now, into: &output)
    } else {
      let other = AttributeID(rawValue: UInt32(input.index(24)))
      _ = server.sendMultipleNotification(
        of: [(id, value[...]), (other, value.prefix(3))], security: security, database: database, into: &output)
    }
  }

  /// What holds after each step, whatever the client did.
  private mutating func check() {
    for index in 0..<output.pdus.count {
      let pdu = Array(output.pdus[index])
      require(pdu.count <= server.mtu, "a PDU of \(pdu.count) octets exceeds the ATT_MTU \(server.mtu)")
      guard let packet = (try? ATTPDU(decoding: pdu[...]))?.packet else {
        return require(false, "not a PDU: \(pdu.hexadecimal)")
      }
      switch Swift.type(of: packet).pduType {
      case .response: answered(packet, pdu)
      case .notification, .indication: break
      default: require(false, "a server sent \(pdu.hexadecimal)")
      }
    }
    for event in output.events {
      switch event {
      case .read(let token, _, _): tokens.append(token)
      case .write(let token?, _, _): tokens.append(token)
      case .requestTimedOut(let token): tokens.removeAll { $0 == token }
      default: break
      }
    }
    output.removeAll()
    let limits = server.limits
    require(server.waiting.count <= limits.maximumWaitingPDUs, "\(server.waiting.count) PDUs wait")
    require(
      server.prepared.parts.count <= limits.maximumPreparedWrites, "\(server.prepared.parts.count) prepared writes")
    require(
      server.prepared.octets.count <= limits.maximumPreparedOctets, "\(server.prepared.octets.count) prepared octets")
    require(server.indications.queued.count <= limits.maximumQueuedIndications, "too many indications")
    require(server.configurations.count <= database.count, "more subscriptions than attributes")
    require(
      server.hasFailed || requests.isEmpty || server.isWaitingForApplication,
      "no response to \(requests.first.map { "\(ATTOpcode(rawValue: $0))" } ?? "")")
    require(server.hasFailed || server.isWaitingForApplication || server.waiting.isEmpty, "PDUs wait for nothing")
  }

  /// Each request has one response, in order.
  private mutating func answered(_ packet: any ATTPacket, _ pdu: [UInt8]) {
    guard let request = requests.first else {
      return require(false, "a response without a request: \(pdu.hexadecimal)")
    }
    requests.removeFirst()
    if let error = packet as? ErrorResponse {
      require(error.requestOpcode.rawValue == request, "the error is not for \(request.hexadecimalNumber)")
      require(error.code.rawValue != 0, "the error has the code 0x00")
    } else {
      require(
        ATTOpcode(rawValue: request).response == Swift.type(of: packet).opcode, "\(pdu.hexadecimal) answers \(request)")
    }
  }

  /// The application never answers again: each request is rejected in time, or the server has failed.
  mutating func finish() {
    for _ in 0..<20 where server.isWaitingForApplication || server.deadline != nil {
      now = now + .seconds(31)
      server.tick(now: now, security: security, database: &database, into: &output)
      check()
    }
    require(server.hasFailed || requests.isEmpty, "\(requests.count) requests without a response")
  }
}

/// Services with a value of each kind and each permission.
enum TestDatabase {
  static let services: [ServiceDefinition] = [
    ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFF00),
      characteristics: [
        characteristic(1, .stored([1, 2, 3], length: 0...512), .readableAndWritable),
        characteristic(2, .dynamic, .readableAndWritable),
        characteristic(3, .fixed([UInt8](repeating: 9, count: 60)), .readable),
        characteristic(4, .stored([0, 0], length: 2...2), GATTAttributePermissions(read: .open, write: .encrypted)),
      ]),
    ServiceDefinition(
      id: ServiceID(rawValue: 2), uuid: BluetoothUUID(uuid128: UInt128(0x1234) << 64 | 5),
      includes: [ServiceID(rawValue: 1)],
      characteristics: [
        characteristic(5, .dynamic, GATTAttributePermissions(read: .authenticated, write: .authenticated)),
        characteristic(6, .stored([UInt8](repeating: 6, count: 512), length: 0...512), .readableAndWritable),
        characteristic(7, .dynamic, .writable),
        characteristic(
          8, .stored([], length: 0...20), GATTAttributePermissions(read: .secureConnections, write: .open)),
      ]),
    ServiceDefinition(id: ServiceID(rawValue: 3), uuid: BluetoothUUID(0xFF00), isPrimary: false),
  ]

  private static func characteristic(
    _ id: UInt32, _ value: ValueSource, _ permissions: GATTAttributePermissions
  ) -> CharacteristicDefinition {
    var properties: GATTCharacteristicProperties = [.read, .notify, .indicate]
    if permissions.write != nil { properties.formUnion([.write, .writeWithoutResponse]) }
    return CharacteristicDefinition(
      id: AttributeID(rawValue: id), uuid: BluetoothUUID(UInt16(0xFF10 + id)), properties: properties,
      permissions: permissions, value: value,
      descriptors: [
        DescriptorDefinition(
          id: AttributeID(rawValue: id + 10), uuid: BluetoothUUID(0x2901), permissions: .readable,
          value: .fixed([UInt8](repeating: 0x41, count: Int(id) * 5)))
      ])
  }
}
