import BLEATT
import BLEWire
import TestVectors
import Testing

/// ATT PDUs from captures and from other stacks' tests.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct ATTVectors {
  struct Case: Decodable, Sendable {
    var kind: String?
    var hex: String?
    var policy: [String]?
    var fields: Fields?
  }

  struct Fields: Decodable, Sendable {
    struct Entry: Decodable, Sendable {
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

  @Test func everyPDUIsAsItsVectorSays() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("ATT")
    #expect(report.failures == [])
  }

  /// Reads and writes each PDU, and refuses the malformed ones. A PDU whose kind has no name here is read and written
  /// too: it is a failure only if the decoder does not know it either.
  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    var unknownKinds: Set<String> = []
    let file = folder.file("att", cases: Case.self, into: &report)
    for (name, vector) in file.cases(into: &report) {
      let kind = vector.kind ?? ""
      guard vector.hex != nil else {
        if unknownKinds.insert(kind).inserted { report.note("\(name): passed over: kind '\(kind)', without a PDU") }
        continue
      }
      report.check(name, policy: vector.policy) { checks in
        let hex = try checks.need(vector.hex, "hex")
        let octets = try checks.need([UInt8](hexadecimal: hex), "hex")
        if vector.kind == "malformed" {
          return checks.refuses(as: CodecError.self) { _ = try ATTPDU(decoding: octets[...]) }
        }
        let pdu = try ATTPDU(decoding: octets[...])
        checks.equal(pdu.encoded, octets, "what is written")
        if let expected = try vector.expected {
          checks.equal(pdu, expected, "the PDU")
        } else if unknownKinds.insert(kind).inserted {
          checks.note("read and written, its fields not compared: kind '\(kind)'")
        }
      }
    }
    return report
  }
}

extension ATTVectors.Case {
  /// The PDU that the fields describe; nil for a kind that has no name here, and where there are no fields.
  var expected: ATTPDU? {
    get throws {
      guard let f = fields else { return nil }
      func need<Value>(_ value: Value?, _ name: String) throws(MissingValue) -> Value {
        try VectorChecks().need(value, name)
      }
      func handle(_ number: UInt16?) throws -> AttributeHandle { AttributeHandle(try need(number, "handle")) }
      func octets(_ text: String?) throws -> Bytes { try need([UInt8](hexadecimal: text ?? "?"), "octets")[...] }
      func type(_ text: String?) throws -> BluetoothUUID { try need(BluetoothUUID(text ?? "?"), "uuid") }
      let entries = f.entries ?? []
      switch kind {
      case "error-response":
        return ATTPDU.errorResponse(
          .init(
            to: ATTOpcode(rawValue: try need(f.requestOpcode, "requestOpcode")), handle: try handle(f.handle),
            code: ATTErrorCode(rawValue: try need(f.error, "error"))))
      case "exchange-mtu-request": return ATTPDU.exchangeMTURequest(.init(clientRxMTU: try need(f.mtu, "mtu")))
      case "exchange-mtu-response": return ATTPDU.exchangeMTUResponse(.init(serverRxMTU: try need(f.mtu, "mtu")))
      case "find-information-request":
        return ATTPDU.findInformationRequest(
          .init(startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle)))
      case "find-information-response":
        return ATTPDU.findInformationResponse(
          .init(
            informationData: try entries.map { .init(handle: try handle($0.handle), uuid: try type($0.uuid)) }))
      case "find-by-type-value-request":
        return ATTPDU.findByTypeValueRequest(
          .init(
            startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle),
            attributeType: UInt16(truncatingIfNeeded: try type(f.uuid).value >> 96),
            attributeValue: try octets(f.value)))
      case "find-by-type-value-response":
        return ATTPDU.findByTypeValueResponse(
          .init(
            handlesInformationList: try entries.map {
              .init(foundAttributeHandle: try handle($0.handle), groupEndHandle: try handle($0.groupEndHandle))
            }))
      case "read-by-type-request":
        return ATTPDU.readByTypeRequest(
          .init(
            startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle),
            attributeType: try type(f.uuid)))
      case "read-by-type-response":
        return ATTPDU.readByTypeResponse(
          .init(
            attributeDataList: try entries.map { .init(handle: try handle($0.handle), value: try octets($0.value)) }))
      case "read-by-group-type-request":
        return ATTPDU.readByGroupTypeRequest(
          .init(
            startingHandle: try handle(f.startHandle), endingHandle: try handle(f.endHandle),
            attributeGroupType: try type(f.uuid)))
      case "read-by-group-type-response":
        return ATTPDU.readByGroupTypeResponse(
          .init(
            attributeDataList: try entries.map {
              .init(
                handle: try handle($0.handle), endGroupHandle: try handle($0.groupEndHandle),
                value: try octets($0.value))
            }))
      case "read-request": return ATTPDU.readRequest(.init(handle: try handle(f.handle)))
      case "read-response": return ATTPDU.readResponse(.init(value: try octets(f.value)))
      case "read-blob-request":
        return ATTPDU.readBlobRequest(.init(handle: try handle(f.handle), valueOffset: try need(f.offset, "offset")))
      case "read-blob-response": return ATTPDU.readBlobResponse(.init(partAttributeValue: try octets(f.value)))
      case "read-multiple-request":
        return ATTPDU.readMultipleRequest(
          .init(setOfHandles: try need(f.handles, "handles").map { AttributeHandle($0) }))
      case "read-multiple-response": return ATTPDU.readMultipleResponse(.init(setOfValues: try octets(f.value)))
      case "read-multiple-variable-request":
        return ATTPDU.readMultipleVariableRequest(
          .init(setOfHandles: try need(f.handles, "handles").map { AttributeHandle($0) }))
      case "read-multiple-variable-response":
        return ATTPDU.readMultipleVariableResponse(
          .init(
            values: try entries.map { .init(length: try need($0.length, "length"), value: try octets($0.value)) }))
      case "write-request": return ATTPDU.writeRequest(.init(handle: try handle(f.handle), value: try octets(f.value)))
      case "write-response": return ATTPDU.writeResponse(.init())
      case "write-command": return ATTPDU.writeCommand(.init(handle: try handle(f.handle), value: try octets(f.value)))
      case "signed-write-command":
        let mac = try octets(f.signature).dropFirst(4).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return ATTPDU.signedWriteCommand(
          .init(
            handle: try handle(f.handle), value: try octets(f.value),
            signCounter: try need(f.signCounter, "signCounter"), mac: mac
          ))
      case "prepare-write-request":
        return ATTPDU.prepareWriteRequest(
          .init(
            handle: try handle(f.handle), valueOffset: try need(f.offset, "offset"),
            partAttributeValue: try octets(f.value)))
      case "prepare-write-response":
        return ATTPDU.prepareWriteResponse(
          .init(
            handle: try handle(f.handle), valueOffset: try need(f.offset, "offset"),
            partAttributeValue: try octets(f.value)))
      case "execute-write-request":
        return ATTPDU.executeWriteRequest(.init(flags: .init(rawValue: try need(f.flags, "flags"))))
      case "execute-write-response": return ATTPDU.executeWriteResponse(.init())
      case "handle-value-notification":
        return ATTPDU.handleValueNotification(.init(handle: try handle(f.handle), value: try octets(f.value)))
      case "handle-value-indication":
        return ATTPDU.handleValueIndication(.init(handle: try handle(f.handle), value: try octets(f.value)))
      case "multiple-handle-value-notification":
        return ATTPDU.multipleHandleValueNotification(
          .init(
            tuples: try entries.map { .init(handle: try handle($0.handle), value: try octets($0.value)) }))
      case "handle-value-confirmation": return ATTPDU.handleValueConfirmation(.init())
      default: return nil
      }
    }
  }
}
