import BLEATT
import BLEWire
import TestSupport
import Testing

@testable import BLEGATT

/// Any octets from a client: a response or none, as the specification requires, and no trap.
@Suite("Robustness of the server")
struct ServerRobustnessTests {
  static let requests: Set<UInt8> = [0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20]
  static let fromServers: Set<UInt8> = [
    0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x1B, 0x1D, 0x21, 0x23,
  ]

  @Test func respondsToEachOpcodeAlone() throws {
    for opcode in UInt8.min ... .max {
      var server = try TestServer()
      let answer = server.send([opcode])
      let header: [UInt8] = [0x01, opcode, 0, 0]
      if opcode & 0x40 != 0 || opcode == 0x1E || Self.fromServers.contains(opcode) {
        #expect(answer == [], "0x\(String(opcode, radix: 16))")
      } else if Self.requests.contains(opcode) {
        #expect(answer == [header + [0x04]], "0x\(String(opcode, radix: 16))")
      } else {
        #expect(answer == [header + [0x06]], "0x\(String(opcode, radix: 16))")
      }
    }
  }

  @Test func reportsPDUsThatOnlyServersSend() throws {
    var server = try TestServer()
    for opcode in Self.fromServers.sorted() {
      #expect(server.send([opcode, 1, 2, 3]) == [])
      #expect(server.takeEvents() == [.violation(.unexpectedPDU(ATTOpcode(rawValue: opcode)))])
    }
    #expect(server.send([]) == [])
  }

  @Test func rejectsRequestsLongerThanTheMTU() throws {
    var server = try TestServer()
    let value = Bytes(repeating: 1, count: 20)
    let fits = ATTPDU.writeRequest(.init(handle: server.handle(.short), value: value))
    #expect(server.request(fits) == ATTPDU.writeResponse(.init()))
    _ = server.takeEvents()
    let tooLong = ATTPDU.writeRequest(.init(handle: server.handle(.writeOnly), value: value + [1]))
    #expect(server.request(tooLong) == .refusal(.writeRequest, .none, .invalidPDU))
    #expect(server.takeEvents() == [.violation(.exceedsMTU(octets: 24))])
    #expect(
      server.send(ATTPDU.writeCommand(.init(handle: server.handle(.writeOnly), value: value + [1])).encoded) == [])
    #expect(server.database.storedValue(of: .writeOnly) == [])
  }

  /// The requests that are decoded in place are valid exactly where the declared packet is: an invalid one is rejected
  /// with Invalid PDU.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func decodesAsDeclared(seed: UInt64) throws {
    var source = SplitMix64(seed: seed)
    let requests = Self.requests.sorted()
    for _ in 0..<300 {
      var server = try TestServer()
      let opcode = requests[Int.random(in: requests.indices, using: &source)]
      var pdu = [opcode]
      for _ in 0..<Int.random(in: 0...22, using: &source) { pdu.append(.random(in: 0...255, using: &source)) }
      var isWellFormed = (try? ATTPDU(decoding: pdu[...])) != nil
      // A rule that the declaration cannot express.
      if opcode == 0x18, pdu.count == 2, pdu[1] > 1 { isWellFormed = false }
      let answer = server.send(pdu)
      #expect((answer == [[0x01, opcode, 0, 0, 0x04]]) == !isWellFormed, "\(pdu.hexadecimal)")
    }
  }

  /// Random PDUs, many with existing handles, and random answers of the application: a request gets one well-formed
  /// response within the MTU, a command none.
  @Test(arguments: 0..<16 as Range<UInt64>)
  func survivesRandomPDUs(seed: UInt64) throws {
    var source = SplitMix64(seed: seed &* 77)
    var server = try TestServer(hash: true)
    let handles = server.database.attributes.map(\.handle.rawValue)
    var isWaiting = false
    for _ in 0..<1000 {
      server.security =
        [.none, .justWorks, .passkey, SecurityState(isBonded: true)].randomElement(using: &source) ?? .none
      let pdu = Self.randomPDU(handles, &source)
      let answers = server.send(pdu)
      let isAnswered = pdu[0] & 0x40 == 0 && pdu[0] != 0x1E && !Self.fromServers.contains(pdu[0])
      let wasAsked = server.bearer.isWaitingForApplication
      if !isWaiting {
        #expect(answers.count == (isAnswered && !wasAsked ? 1 : 0) || pdu[0] == 0x1E, "\(pdu.hexadecimal)")
      }
      Self.check(answers, mtu: server.bearer.mtu)
      isWaiting = wasAsked
      if let token = server.takeEvents().compactMap(\.token).last, Bool.random(using: &source) {
        let value = Bytes(repeating: 7, count: .random(in: 0...600, using: &source))
        let response: ApplicationResponse =
          [.value(value), .success, .error(.unlikelyError)].randomElement(using: &source) ?? .success
        Self.check(server.respond(token, response) ?? [], mtu: server.bearer.mtu)
        isWaiting = server.bearer.isWaitingForApplication
      } else if isWaiting {
        Self.check(server.letTimePass(), mtu: server.bearer.mtu)
        isWaiting = server.bearer.isWaitingForApplication
      }
      if server.bearer.hasFailed { server.bearer = GATTServer() }
      if Int.random(in: 0..<50, using: &source) == 0 { Self.changeServices(&server) }
    }
  }

  /// Removes the service, or adds it again.
  private static func changeServices(_ server: inout TestServer) {
    let range = try? server.database.remove(TestServer.service.id)
    let added = range ?? (try? server.database.add(TestServer.service).range)
    if let added { check(server.serviceChanged(added), mtu: server.bearer.mtu) }
  }

  /// Twelve clients of one database, each with its own MTU, subscriptions and queue.
  @Test func separatesTwelveClients() throws {
    var database = try TestServer().database
    var clients = (0..<12).map { _ in GATTServer() }
    var output = GATTServer.Output()
    func send(_ client: Int, _ pdu: ATTPDU) -> [UInt8] {
      output.removeAll()
      let octets = pdu.encoded
      clients[client].receive(octets.span, security: .none, database: &database, now: .start, into: &output)
      return output.pdus.isEmpty ? [] : Array(output.pdus[0])
    }
    let long = database.handle(of: .long) ?? .none
    let both = database.handle(of: .both) ?? .none
    for client in clients.indices {
      _ = send(client, ATTPDU.exchangeMTURequest(.init(clientRxMTU: UInt16(23 + 10 * client))))
      let part = Bytes(repeating: UInt8(client), count: client + 1)
      _ = send(client, ATTPDU.prepareWriteRequest(.init(handle: long, valueOffset: 0, partAttributeValue: part)))
      let bits: Bytes = [client % 2 == 0 ? 1 : 0, 0]
      _ = send(client, ATTPDU.writeRequest(.init(handle: AttributeHandle(both.rawValue + 1), value: bits)))
    }
    for client in clients.indices {
      #expect(clients[client].mtu == 23 + 10 * client)
      #expect(send(client, ATTPDU.executeWriteRequest(.init(flags: .write))) == [0x19])
      #expect(database.storedValue(of: .long) == [UInt8](repeating: UInt8(client), count: client + 1))
      output.removeAll()
      let value = [UInt8](repeating: 1, count: 200)
      let outcome = clients[client].sendUpdate(
        of: .both, value: value.span, security: .none, database: database, now: .start, into: &output)
      #expect(outcome == (client % 2 == 0 ? .sent : .notSubscribed))
      if outcome == .sent { #expect(output.pdus[0].count == clients[client].mtu) }
    }
  }

  private static func check(_ answers: [[UInt8]], mtu: Int) {
    for answer in answers {
      #expect(answer.count <= mtu)
      // A response has at least one value; each PDU can be decoded.
      let isShortList = answer[0] == 0x21 || answer[0] == 0x0F
      #expect(isShortList || (try? ATTPDU(decoding: answer[...])) != nil, "\(answer.hexadecimal)")
    }
  }

  private static func randomPDU(_ handles: [UInt16], _ source: inout SplitMix64) -> [UInt8] {
    func octet() -> UInt8 { .random(in: 0...255, using: &source) }
    func handle() -> [UInt8] {
      let number =
        Int.random(in: 0..<8, using: &source) == 0
        ? UInt16.random(in: 0 ... .max, using: &source) : handles.randomElement(using: &source) ?? 0
      return [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
    func octets(_ most: Int) -> [UInt8] { (0..<Int.random(in: 0...most, using: &source)).map { _ in octet() } }
    let types: [[UInt8]] = [[0x00, 0x28], [0x01, 0x28], [0x03, 0x28], [0x02, 0x29], [0xF2, 0xFF], [0x2A, 0x2B]]
    let type = types.randomElement(using: &source) ?? []
    switch Int.random(in: 0..<16, using: &source) {
    case 0: return [octet()] + octets(40)
    case 1: return [0x02, octet(), octet() & 3]
    case 2: return [0x04] + handle() + handle()
    case 3: return [0x06] + handle() + [0xFF, 0xFF] + type + octets(4)
    case 4: return [0x08] + handle() + [0xFF, 0xFF] + type
    case 5: return [0x0A] + handle()
    case 6: return [0x0C] + handle() + [octet(), octet() & 1]
    case 7: return [0x0E] + handle() + handle() + handle()
    case 8: return [0x20] + handle() + handle()
    case 9: return [0x10] + handle() + [0xFF, 0xFF] + type
    case 10: return [0x12] + handle() + octets(20)
    case 11: return [0x52] + handle() + octets(20)
    case 12: return [0x16] + handle() + [octet() & 31, octet() & 1] + octets(18)
    case 13: return [0x18, octet() & 1]
    case 14: return [0x12] + handle() + [octet() & 3, 0]
    default: return [0x1E]
    }
  }
}
