import BLEATT
import BLEWire

@testable import BLEGATT

/// The client of one server: operations, and PDUs that answer the request, nearly answer it, or answer nothing.
func fuzzClient(_ input: inout FuzzInput) {
  var run = ClientRun(&input)
  while !input.isEmpty, run.steps < 300 { run.step(&input) }
  run.finish()
}

private struct ClientRun {
  var client: GATTClient
  var now = Instant.start
  var output = GATTClient.Output()
  var steps = 0
  /// The operations that have not ended.
  var open: [GATTClient.OperationID: GATTClient.Operation.Kind] = [:]
  var lastID: UInt32 = 0
  /// The request without a response.
  var request: [UInt8]?
  /// When the request counts as answered, because a response to another request came.
  var wrongEnd: Instant?
  var hasFailed = false

  init(_ input: inout FuzzInput) {
    var limits = GATTClient.Limits()
    (limits.waitingOctets, limits.results, limits.cachedResults) = (600, 40, 20)
    client = GATTClient(limits: limits)
    if input.flag() {
      client.signing = GATTClient.Signing(counter: 0, limit: 3) { UInt64($0.count) << 32 | UInt64($1) }
    }
    if input.flag() { client.startCaching(nil) }
  }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    switch input.index(12) {
    case 0: receive(input.counted())
    case 1, 2: perform(operation(&input))
    case 3...7: answer(&input)
    case 8: receive([[0x1B, 0x1D, 0x23][input.index(3)]] + input.counted())
    case 9: client.setCongested(input.flag(), now: now, into: &output)
    case 10:
      now = now + .seconds(Int64(input.index(34)))
      client.tick(now: now, into: &output)
      if let wrongEnd, wrongEnd <= now { answered() }
    default:
      switch input.index(4) {
      case 0: client.setSuspended(input.flag(), now: now, into: &output)
      case 1: client.isLinkEncrypted = input.flag()
      case 2: client.allowSigning(UInt32(input.octet())..<300, now: now, into: &output)
      default: client.rejectSignedWrites(now: now, into: &output)
      }
    }
    check()
  }

  private func handle(_ input: inout FuzzInput) -> AttributeHandle { AttributeHandle(rawValue: UInt16(input.octet())) }

  private func range(_ input: inout FuzzInput) -> ClosedRange<AttributeHandle> {
    let (a, b) = (handle(&input), handle(&input))
    return min(a, b)...max(a, b)
  }

  private func operation(_ input: inout FuzzInput) -> GATTClient.Operation.Kind {
    switch input.index(18) {
    case 0: .exchangeMTU(Int(input.uint16()))
    case 1: .discoverPrimaryServices
    case 2: .discoverPrimaryServicesByUUID(BluetoothUUID(input.uint16()))
    case 3: .findIncludedServices(range(&input))
    case 4: .discoverCharacteristics(range(&input))
    case 5: .discoverCharacteristicsByUUID(BluetoothUUID(input.uint16()), range(&input))
    case 6: .discoverDescriptors(range(&input))
    case 7: .read(handle(&input))
    case 8: .readLong(handle(&input))
    case 9: .readUsingUUID(BluetoothUUID(input.uint16()), range(&input))
    case 10: .readMultiple((0..<input.index(5)).map { _ in handle(&input) })
    case 11: .readMultipleVariable((0..<input.index(5)).map { _ in handle(&input) })
    case 12: .writeWithoutResponse(handle(&input), input.counted())
    case 13: .signedWrite(handle(&input), input.counted())
    case 14: .write(handle(&input), input.counted())
    case 15: .writeLong(handle(&input), offset: Int(input.uint16()) - 10, input.counted())
    case 16:
      .reliableWrite(
        (0..<input.index(4)).map { _ in
          .init(handle: handle(&input), offset: Int(input.octet()), value: input.take(input.index(40)))
        })
    default:
      input.flag()
        ? .subscribeToServiceChanged : .configure(Subscription(rawValue: UInt16(input.index(4))), in: range(&input))
    }
  }

  private mutating func perform(_ kind: GATTClient.Operation.Kind) {
    lastID += 1
    let id = GATTClient.OperationID(rawValue: lastID)
    open[id] = kind
    client.perform(GATTClient.Operation(id: id, kind), now: now, into: &output)
  }

  /// A PDU that the request in progress may get.
  private mutating func answer(_ input: inout FuzzInput) {
    guard let request, let opcode = request.first else { return receive([input.octet()] + input.counted()) }
    let mtu = client.mtu
    switch (input.index(8), opcode) {
    case (0, _): receive([0x01, opcode, input.octet(), input.octet(), input.octet()])
    case (1, _): receive([opcode &+ 1] + input.counted())
    case (_, 0x02): receive([0x03, input.octet(), input.octet()])
    case (_, 0x04): receive([0x05, 1] + list(&input, 4, from: request))
    case (_, 0x06): receive([0x07] + list(&input, 4, from: request))
    case (_, 0x08):
      let length = [7, 8, 21, 4, 6][input.index(5)]
      receive([0x09, UInt8(length)] + list(&input, length, from: request))
    case (_, 0x10):
      let length = [6, 20][input.index(2)]
      receive([0x11, UInt8(length)] + list(&input, length, from: request))
    case (_, 0x0A), (_, 0x0C), (_, 0x0E), (_, 0x20):
      // A full PDU asks for the next part of a long value.
      receive([opcode + 1] + [UInt8](repeating: input.octet(), count: input.flag() ? mtu - 1 : input.index(mtu)))
    case (_, 0x16): receive([0x17] + request.dropFirst())
    default: receive([opcode &+ 1])
    }
  }

  /// Elements of one length with ascending handles.
  private func list(_ input: inout FuzzInput, _ length: Int, from request: [UInt8]) -> [UInt8] {
    var next = request.count > 2 ? UInt16(request[1]) | UInt16(request[2]) << 8 : 1
    var octets: [UInt8] = []
    for _ in 0...input.index(max(1, (client.mtu - 2) / length)) {
      next &+= UInt16(input.index(4))
      octets.append(littleEndian: next)
      let rest = input.take(length - 2)
      octets += rest + [UInt8](repeating: UInt8(truncatingIfNeeded: next), count: length - 2 - rest.count)
    }
    return octets
  }

  private mutating func receive(_ pdu: [UInt8]) {
    // A malformed response ends its request, too.
    if let opcode = request?.first, let first = pdu.first,
      first == opcode &+ 1 || first == 0x01 && (pdu.count != 5 || pdu[1] == opcode)
    {
      answered()
    }
    client.receive(pdu.span, now: now, into: &output)
  }

  private mutating func answered() { (request, wrongEnd) = (nil, nil) }

  /// What holds after each step, whatever the server did.
  private mutating func check() {
    for index in 0..<output.pdus.count {
      let pdu = Array(output.pdus[index])
      require(pdu.count <= max(client.mtu, 23), "a PDU of \(pdu.count) octets exceeds the ATT_MTU \(client.mtu)")
      guard let packet = (try? ATTPDU(decoding: pdu[...]))?.packet else {
        return require(false, "not a PDU: \(pdu.hexadecimal)")
      }
      switch type(of: packet).pduType {
      case .request:
        require(request == nil, "\(pdu.hexadecimal) before the response to \(request?.hexadecimal ?? "")")
        request = pdu
      case .command, .confirmation: break
      default: require(false, "a client sent \(pdu.hexadecimal)")
      }
    }
    for event in output.events {
      switch event {
      case .finished(let id, let result):
        let kind = open.removeValue(forKey: id)
        require(kind != nil, "operation \(id.rawValue) ends twice")
        if let kind, case .success(let outcome) = result { check(kind, outcome) }
      case .bearerFailed: hasFailed = true
      case .violation(.unexpectedPDU) where request != nil && wrongEnd == nil:
        wrongEnd = now + client.limits.wrongResponseTime
      default: break
      }
    }
    output.removeAll()
    require(client.waiting.octets <= client.limits.waitingOctets, "\(client.waiting.octets) octets wait")
    require(open.count <= client.waiting.count + (client.active == nil ? 0 : 1), "an operation is lost")
  }

  private func check(_ kind: GATTClient.Operation.Kind, _ outcome: GATTClient.Outcome) {
    switch outcome {
    case .value(let value):
      // A Read Multiple Response has several values in one.
      if case .readMultiple = kind {} else { require(value.count <= 512, "a value of \(value.count) octets") }
      if case .readLong = kind { plantedFault(value.count > 100, "a long value of more than 100 octets") }
    case .services(let all): require(all.count <= client.limits.results, "\(all.count) services")
    case .characteristics(let all): require(all.count <= client.limits.results, "\(all.count) characteristics")
    case .descriptors(let all): require(all.count <= client.limits.results, "\(all.count) descriptors")
    case .includedServices(let all): require(all.count <= client.limits.results, "\(all.count) included services")
    case .values(let all): require(all.count <= client.limits.results, "\(all.count) values")
    case .incomplete(let found, let faults):
      require(!faults.isEmpty && faults.count <= client.limits.results, "\(faults.count) faults")
      check(kind, found)
    case .done, .mtu, .configured, .noConfiguration: break
    }
  }

  /// The end of the link ends each operation.
  mutating func finish() {
    client.linkEnded(into: &output)
    check()
    require(open.isEmpty, "\(open.count) operations have no end")
    perform(.discoverPrimaryServices)
    check()
    require(open.isEmpty, "an operation after the end of the link has no end")
  }
}
