import BLEATT
import BLEGATT
import BLEWire
import TestVectors
import Testing

/// The conversations of other projects' clients, replayed: whatever they send, ours must send when it is asked for the same
/// procedure, and must come to the same result.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct GATTClientVectors {
  struct Case: Decodable, CustomTestStringConvertible, Sendable {
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
      let handle: UInt16?
      let handles: [UInt16]?
      let startHandle: UInt16?
      let endHandle: UInt16?
      let uuid: String?
      let value: String?
      let signCounter: UInt32?
      let linkEncrypted: Bool?
      let expect: Expectation?
    }
    let name: String
    let role: String
    let mtu: Int?
    let pdus: [PDU]
    let prefixPDUs: Int
    let procedure: Procedure
    let policy: [String]

    var testDescription: String { name }
  }

  /// Every case of the file; read when the suite runs, not when it is skipped.
  static func cases() -> [Case] { (try? TestVectors.load("gatt-client", as: Case.self).cases) ?? [] }

  @Test func allCasesAreHere() { #expect(Self.cases().count == 57) }

  /// The whole of each conversation, prefix included: each request that comes while our client is idle names the operation
  /// to ask for, and everything that operation sends must be what the other client sent.
  @Test(arguments: cases()) func sendsWhatTheOtherClientSent(vector: Case) throws {
    var talk = ClientConversation(mtu: 23)
    if let isEncrypted = vector.procedure.linkEncrypted { talk.client.isLinkEncrypted = isEncrypted }
    var finished = true
    var expected = vector.pdus[...]
    while let pdu = expected.popFirst() {
      let hex = pdu.hex ?? ""
      switch pdu.dir {
      case "in":
        try talk.receive(hex)
        finished = finished || talk.events().contains { if case .finished = $0 { true } else { false } }
      case "out":
        if finished, hex != "1e" {
          if Self.isSecondaryServiceDiscovery(hex) {
            _ = expected.popFirst()
            continue
          }
          let kind = try #require(try Self.operation(asking: hex, before: expected, in: vector), "\(hex)")
          talk.perform(kind)
          finished = talk.events().contains { if case .finished = $0 { true } else { false } }
        }
        #expect(talk.sent() == [hex])
      case "none": #expect(talk.sent() == [])
      default: Issue.record("an unknown direction: \(pdu.dir)")
      }
    }
    #expect(talk.sent() == [])
    // A case may end with a request whose answer its source did not care for.
    #expect(finished || vector.pdus.last?.dir == "out")
  }

  /// The result of each procedure, with the ATT_MTU that the prefix agreed on.
  @Test(arguments: cases().filter { $0.procedure.expect != nil && $0.role != "exchange" })
  func comesToTheResult(vector: Case) throws {
    var talk = ClientConversation(mtu: try #require(vector.mtu))
    talk.client.isLinkEncrypted = vector.procedure.linkEncrypted ?? false
    let expect = try #require(vector.procedure.expect)
    let part = vector.pdus.dropFirst(vector.prefixPDUs)
    let first = try #require(part.first?.hex)
    let kind = try #require(try Self.operation(asking: first, before: part.dropFirst(), in: vector))
    talk.perform(kind)
    var results: [Result<ClientOutcome, ClientError>] = []
    var values: [[UInt8]] = []
    for pdu in part {
      if pdu.dir == "in" { try talk.receive(try #require(pdu.hex)) }
      // One that raises security by itself asks again where ours reports the refusal: its application asks again.
      if pdu.dir == "out", let last = results.last, case .failure(let error) = last,
        error.code == .insufficientAuthentication, vector.policy.contains("raises-security-and-retries-by-itself")
      {
        talk.perform(kind)
      }
      for event in talk.events() {
        switch event {
        case .finished(_, let result): results.append(result)
        case .notification(_, let value), .indication(_, let value): values.append(value)
        default: Issue.record("\(event)")
        }
      }
    }
    let value = expect.value.flatMap { [UInt8](hexadecimal: $0) }
    switch try #require(results.last) {
    case .success(.value(let read)): #expect(expect.error == 0 && value == read)
    case .success(.values(let found)):
      // The source shows the error that ended the search.
      #expect(expect.error == ATTErrorCode.attributeNotFound.rawValue && value == found.first?.value)
    case .success: #expect(expect.error == 0 && (value == nil || value == values.first))
    case .failure(let error): #expect(error.code?.rawValue == expect.error)
    }
  }

  /// Discovery of secondary services by group type is no procedure of Vol 3, Part G, 4; one client does it, ours does not.
  private static func isSecondaryServiceDiscovery(_ hex: String) -> Bool {
    hex.hasPrefix("10") && hex.hasSuffix("0128")
  }

  /// What to ask our client for, so that it begins with this request. What the request alone leaves open, the procedure of
  /// the case tells.
  private static func operation(
    asking hex: String, before rest: ArraySlice<Case.PDU>, in vector: Case
  ) throws -> ClientOperation.Kind? {
    let octets = try #require([UInt8](hexadecimal: hex))
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
    case let request as PrepareWriteRequest:
      let value = try #require(vector.procedure.value.flatMap { [UInt8](hexadecimal: $0) })
      return vector.procedure.kind == "reliable-write"
        ? .reliableWrite([.init(handle: request.handle, value: value)])
        : .writeLong(request.handle, offset: 0, value)
    default: return nil
    }
  }
}
