import BLEATT
import BLECrypto
import BLEGATT
import BLEWire
import TestVectors
import Testing

/// The conversations of other projects' clients, replayed: whatever they send, ours must send when it is asked for the
/// same procedure, and must come to the same result.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct GATTClientVectors {
  struct Case: Decodable, Sendable {
    struct PDU: Decodable, Sendable {
      let dir: String
      let hex: String?
    }
    struct Expectation: Decodable, Sendable {
      let error: UInt8
      let value: String?
    }
    struct Procedure: Decodable, Sendable {
      let kind: String
      let value: String?
      let csrk: String?
      let signCounter: UInt32?
      let linkEncrypted: Bool?
      let expect: Expectation?
    }
    let role: String?
    let mtu: Int?
    let pdus: [PDU]
    let prefixPDUs: Int?
    let procedure: Procedure
    let policy: [String]?
  }

  static let kinds: Set = [
    "exchange-mtu", "discover-primary-services", "discover-primary-services-by-uuid", "find-included-services",
    "discover-characteristics", "discover-descriptors", "read-by-uuid", "read", "read-long", "read-multiple", "write",
    "write-without-response", "signed-write", "write-long", "reliable-write", "subscribe-notify", "subscribe-indicate",
    "discover-all", "replay",
  ]

  /// Tags of the order in which another client asks. The replay follows it, so that it is no choice any more.
  static let settled: Set = [
    "prefix-is-bluez-discovery-order", "whole-sequence-is-bluez-discovery-order", "order-is-that-of-android",
    "writes-cccd-by-itself",
  ]

  @Test func conversationsEqualTheVectors() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("GATT client")
    #expect(report.failures == [])
  }

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("gatt-client", cases: Case.self, into: &report)
    for (name, vector) in file.cases(into: &report) {
      report.check(name, policy: vector.policy, settled: settled) { checks in
        guard kinds.contains(vector.procedure.kind) else {
          throw NotApplicable("a procedure of the unknown kind '\(vector.procedure.kind)'")
        }
        try checkRequests(vector, &checks)
        if let expect = vector.procedure.expect, vector.role != "exchange" {
          try checkResult(vector, expect, &checks)
        }
      }
    }
    return report
  }

  /// The whole of a conversation, prefix included. Where our client asks what belongs to the prefix in another way,
  /// what follows the prefix counts.
  private static func checkRequests(_ vector: Case, _ checks: inout VectorChecks) throws {
    let faults = try replay(vector.pdus[...], mtu: ATT.defaultMTU, vector)
    guard !faults.isEmpty, let prefix = vector.prefixPDUs, prefix > 0 else {
      return faults.forEach { checks.fail($0) }
    }
    let rest = try replay(vector.pdus.dropFirst(prefix), mtu: vector.mtu ?? ATT.defaultMTU, vector)
    rest.forEach { checks.fail($0) }
    if rest.isEmpty { checks.note("its prefix is asked in another way: \(faults.joined(separator: "; "))") }
  }

  /// Each request that comes while our client is idle names the operation to ask for, and everything that operation
  /// sends must be what the other client sent.
  private static func replay(_ pdus: ArraySlice<Case.PDU>, mtu: Int, _ vector: Case) throws -> [String] {
    var talk = try conversation(mtu: mtu, vector)
    var finished = true
    var expected = pdus
    var checks = VectorChecks()
    func hasFinished(_ talk: inout ClientConversation) -> Bool {
      talk.events().contains { if case .finished = $0 { true } else { false } }
    }
    while let pdu = expected.popFirst() {
      let hex = pdu.hex ?? ""
      switch pdu.dir {
      case "in":
        let octets = try checks.need([UInt8](hexadecimal: hex), "hex")
        talk.client.receive(octets.span, now: talk.now, into: &talk.output)
        finished = hasFinished(&talk) || finished
      case "out":
        if finished, hex != "1e" {
          if isSecondaryServiceDiscovery(hex) {
            _ = expected.popFirst()
            continue
          }
          guard let kind = try operation(asking: hex, in: vector) else {
            checks.fail("no procedure of ours begins with \(hex)")
            return checks.faults
          }
          talk.perform(kind)
          finished = hasFinished(&talk)
        }
        checks.equal(talk.sent(), [hex], "what is sent")
      case "none": checks.equal(talk.sent(), [], "what is sent")
      default: throw NotApplicable("an unknown direction: \(pdu.dir)")
      }
    }
    checks.equal(talk.sent(), [], "what is sent at the end")
    // A case may end with a request whose answer its source did not care for.
    checks.expect(finished || pdus.last?.dir == "out", "the procedure has not finished")
    return checks.faults
  }

  private static func conversation(mtu: Int, _ vector: Case) throws -> ClientConversation {
    var signing: GATTClient.Signing?
    if let csrk = vector.procedure.csrk {
      let key = try VectorChecks().need(UInt128(bigEndian: [UInt8](hexadecimal: csrk) ?? []), "csrk")
      signing = GATTClient.Signing(counter: vector.procedure.signCounter ?? 0) { message, counter in
        // Vol 3, Part H, 2.4.5: the message and the counter, most significant octet first.
        var signed = message
        signed.append(littleEndian: counter)
        return (try? LibCrypto().cmac(signed.reversed(), key: key)).map { UInt64(truncatingIfNeeded: $0 >> 64) } ?? 0
      }
    }
    var talk = ClientConversation(mtu: mtu, signing: signing)
    talk.client.isLinkEncrypted = vector.procedure.linkEncrypted ?? false
    return talk
  }

  /// The result of a procedure, with the ATT_MTU that the prefix agreed on.
  private static func checkResult(
    _ vector: Case, _ expect: Case.Expectation, _ checks: inout VectorChecks
  ) throws {
    var talk = try conversation(mtu: vector.mtu ?? ATT.defaultMTU, vector)
    let part = vector.pdus.dropFirst(vector.prefixPDUs ?? 0)
    let first = try checks.need(part.first?.hex, "first PDU behind the prefix")
    let kind = try checks.need(try operation(asking: first, in: vector), "procedure that begins with \(first)")
    talk.perform(kind)
    var results: [Result<GATTClient.Outcome, GATTClientError>] = []
    var values: [[UInt8]] = []
    for pdu in part {
      if pdu.dir == "in" {
        let octets = try checks.need([UInt8](hexadecimal: pdu.hex ?? "?"), "hex")
        talk.client.receive(octets.span, now: talk.now, into: &talk.output)
      }
      // One that raises security by itself asks again where ours reports the refusal: its application asks again.
      if pdu.dir == "out", let last = results.last, case .failure(let error) = last,
        error.code == .insufficientAuthentication,
        vector.policy?.contains("raises-security-and-retries-by-itself") == true
      {
        talk.perform(kind)
      }
      for event in talk.events() {
        switch event {
        case .finished(_, let result): results.append(result)
        case .notification(_, let value), .indication(_, let value): values.append(value)
        default: checks.fail("\(event)")
        }
      }
    }
    let value = expect.value.flatMap { [UInt8](hexadecimal: $0) }
    switch try checks.need(results.last, "result") {
    case .success(.value(let read)):
      checks.equal(0, expect.error, "the error")
      checks.equal(Array(read), ifGiven: value, "the value")
    case .success(.values(let found)):
      // The source shows the error that ended the search.
      checks.equal(ATTErrorCode.attributeNotFound.rawValue, expect.error, "the error")
      checks.equal(found.first.map { Array($0.value) }, value, "the value")
    case .success:
      checks.equal(0, expect.error, "the error")
      if let value { checks.equal(values.first, value, "the value") }
    case .failure(let error): checks.equal(error.code?.rawValue, expect.error, "the error")
    }
  }

  /// Discovery of secondary services by group type is no procedure of Vol 3, Part G, 4; one client does it, ours does
  /// not.
  private static func isSecondaryServiceDiscovery(_ hex: String) -> Bool {
    hex.hasPrefix("10") && hex.hasSuffix("0128")
  }

  /// What to ask our client for, so that it begins with this request. What the request alone leaves open, the procedure
  /// of the case tells.
  private static func operation(asking hex: String, in vector: Case) throws -> GATTClient.Operation.Kind? {
    let octets = try VectorChecks().need([UInt8](hexadecimal: hex), "hex")
    switch try ATTPDU(decoding: octets[...]).packet {
    case let request as ExchangeMTURequest: return .exchangeMTU(Int(request.clientRxMTU))
    case is ReadByGroupTypeRequest: return .discoverPrimaryServices
    case let request as FindByTypeValueRequest:
      return BluetoothUUID(littleEndian: request.attributeValue).map { .discoverPrimaryServicesByUUID($0) }
    case let request as ReadByTypeRequest:
      let range = request.startingHandle...request.endingHandle
      switch request.attributeType {
      case "2802": return .findIncludedServices(range)
      case "2803": return .discoverCharacteristics(range)
      default: return .readUsingUUID(request.attributeType, range)
      }
    case let request as FindInformationRequest:
      return .discoverDescriptors(request.startingHandle...request.endingHandle)
    case let request as ReadRequest:
      return vector.procedure.kind == "read-long" ? .readLong(request.handle) : .read(request.handle)
    case let request as ReadMultipleRequest: return .readMultiple(request.setOfHandles)
    case let request as WriteRequest: return .write(request.handle, Array(request.value))
    case let request as WriteCommand:
      return vector.procedure.kind == "signed-write"
        ? .signedWrite(request.handle, Array(request.value))
        : .writeWithoutResponse(request.handle, Array(request.value))
    case let request as SignedWriteCommand: return .signedWrite(request.handle, Array(request.value))
    case let request as PrepareWriteRequest:
      let value = try VectorChecks().need(vector.procedure.value.flatMap { [UInt8](hexadecimal: $0) }, "value")
      return vector.procedure.kind == "reliable-write"
        ? .reliableWrite([.init(handle: request.handle, value: value)])
        : .writeLong(request.handle, offset: 0, value)
    default: return nil
    }
  }
}
