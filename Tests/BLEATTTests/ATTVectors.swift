import BLEATT
import BLEWire
import TestVectors
import Testing

/// ATT PDUs out of captures and of other stacks' tests.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct ATTVectors {
  struct Case: Decodable {
    var name: String
    var kind: String
    var hex: String
    var fields: Fields?
  }

  struct Fields: Decodable {
    struct Entry: Decodable {
      var handle: UInt16?
      var groupEndHandle: UInt16?
      var uuid: String?
      var value: String?
      var length: UInt16?
    }

    var requestOpcode: UInt8?
    var handle: UInt16?
    var error: UInt8?
    var mtu: UInt16?
    var startHandle: UInt16?
    var endHandle: UInt16?
    var uuid: String?
    var value: String?
    var offset: UInt16?
    var flags: UInt8?
    var format: UInt8?
    var length: Int?
    var handles: [UInt16]?
    var entries: [Entry]?
    var signCounter: UInt32?
    var signature: String?
  }

  @Test func everyPDUIsReadAndWritten() throws {
    let cases = try TestVectors.load("att", as: Case.self).cases
    #expect(cases.count == 468)
    for vector in cases where vector.kind != "malformed" {
      let octets = try #require([UInt8](hexadecimal: vector.hex), "\(vector.name)")
      let pdu = try ATTPDU(decoding: octets[...])
      let expected = try #require(try vector.expected, "\(vector.name): no such kind \(vector.kind)")
      #expect(pdu == expected, "\(vector.name)")
      #expect(expected.encoded == octets, "\(vector.name)")
    }
  }

  @Test func everyMalformedPDUIsRefused() throws {
    let malformed = try TestVectors.load("att", as: Case.self).cases.filter { $0.kind == "malformed" }
    #expect(malformed.count == 24)
    for vector in malformed {
      let octets = try #require([UInt8](hexadecimal: vector.hex), "\(vector.name)")
      #expect(throws: CodecError.self, "\(vector.name)") { try ATTPDU(decoding: octets[...]) }
    }
  }
}

extension ATTVectors.Case {
  /// The PDU that the fields describe.
  var expected: ATTPDU? {
    get throws {
      let f = try #require(fields)
      func handle(_ number: UInt16?) throws -> AttributeHandle { AttributeHandle(try #require(number)) }
      func octets(_ text: String?) throws -> Bytes { try #require([UInt8](hexadecimal: text ?? "?"))[...] }
      func type(_ text: String?) throws -> BluetoothUUID { try #require(BluetoothUUID(text ?? "?")) }
      let entries = f.entries ?? []
      switch kind {
      case "error-response":
        return ATTPDU(
          ErrorResponse(
            to: ATTOpcode(rawValue: try #require(f.requestOpcode)), handle: try handle(f.handle),
            code: ATTErrorCode(rawValue: try #require(f.error))))
      case "exchange-mtu-request": return ATTPDU(ExchangeMTURequest(clientRxMTU: try #require(f.mtu)))
      case "exchange-mtu-response": return ATTPDU(ExchangeMTUResponse(serverRxMTU: try #require(f.mtu)))
      case "find-information-request":
        return ATTPDU(
          FindInformationRequest(startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle)))
      case "find-information-response":
        return ATTPDU(
          FindInformationResponse(
            informationData: try entries.map { .init(handle: try handle($0.handle), uuid: try type($0.uuid)) }))
      case "find-by-type-value-request":
        return ATTPDU(
          FindByTypeValueRequest(
            startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle),
            attributeType: UInt16(truncatingIfNeeded: try type(f.uuid).value >> 96),
            attributeValue: try octets(f.value)))
      case "find-by-type-value-response":
        return ATTPDU(
          FindByTypeValueResponse(
            handlesInformationList: try entries.map {
              .init(foundAttributeHandle: try handle($0.handle), groupEndHandle: try handle($0.groupEndHandle))
            }))
      case "read-by-type-request":
        return ATTPDU(
          ReadByTypeRequest(
            startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle),
            attributeType: try type(f.uuid)))
      case "read-by-type-response":
        return ATTPDU(
          ReadByTypeResponse(
            attributeDataList: try entries.map { .init(handle: try handle($0.handle), value: try octets($0.value)) }))
      case "read-by-group-type-request":
        return ATTPDU(
          ReadByGroupTypeRequest(
            startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle),
            attributeGroupType: try type(f.uuid)))
      case "read-by-group-type-response":
        return ATTPDU(
          ReadByGroupTypeResponse(
            attributeDataList: try entries.map {
              .init(
                handle: try handle($0.handle), endGroupHandle: try handle($0.groupEndHandle),
                value: try octets($0.value))
            }))
      case "read-request": return ATTPDU(ReadRequest(handle: try handle(f.handle)))
      case "read-response": return ATTPDU(ReadResponse(value: try octets(f.value)))
      case "read-blob-request":
        return ATTPDU(ReadBlobRequest(handle: try handle(f.handle), valueOffset: try #require(f.offset)))
      case "read-blob-response": return ATTPDU(ReadBlobResponse(partAttributeValue: try octets(f.value)))
      case "read-multiple-request":
        return ATTPDU(ReadMultipleRequest(setOfHandles: try #require(f.handles).map { AttributeHandle($0) }))
      case "read-multiple-response": return ATTPDU(ReadMultipleResponse(setOfValues: try octets(f.value)))
      case "read-multiple-variable-request":
        return ATTPDU(ReadMultipleVariableRequest(setOfHandles: try #require(f.handles).map { AttributeHandle($0) }))
      case "read-multiple-variable-response":
        return ATTPDU(
          ReadMultipleVariableResponse(
            values: try entries.map { .init(length: try #require($0.length), value: try octets($0.value)) }))
      case "write-request": return ATTPDU(WriteRequest(handle: try handle(f.handle), value: try octets(f.value)))
      case "write-command": return ATTPDU(WriteCommand(handle: try handle(f.handle), value: try octets(f.value)))
      case "signed-write-command":
        let mac = try octets(f.signature).dropFirst(4).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return ATTPDU(
          SignedWriteCommand(
            handle: try handle(f.handle), value: try octets(f.value), signCounter: try #require(f.signCounter), mac: mac
          ))
      case "prepare-write-request":
        return ATTPDU(
          PrepareWriteRequest(
            handle: try handle(f.handle), valueOffset: try #require(f.offset), partAttributeValue: try octets(f.value)))
      case "prepare-write-response":
        return ATTPDU(
          PrepareWriteResponse(
            handle: try handle(f.handle), valueOffset: try #require(f.offset), partAttributeValue: try octets(f.value)))
      case "execute-write-request":
        return ATTPDU(ExecuteWriteRequest(flags: .init(rawValue: try #require(f.flags))))
      case "handle-value-notification":
        return ATTPDU(HandleValueNotification(handle: try handle(f.handle), value: try octets(f.value)))
      case "handle-value-indication":
        return ATTPDU(HandleValueIndication(handle: try handle(f.handle), value: try octets(f.value)))
      case "handle-value-confirmation": return ATTPDU(HandleValueConfirmation())
      default: return nil
      }
    }
  }
}
