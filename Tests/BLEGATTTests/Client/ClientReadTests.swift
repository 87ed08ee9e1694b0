import BLEATT
import BLEGATT
import BLEWire
import Testing

@Suite("Reads by a GATT client")
struct ClientReadTests {
  private func octets(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

  /// GATT/CL/GAR/BV-01-C.
  @Test func readsAValue() throws {
    var talk = ClientConversation()
    #expect(try talk.run(.read(3), [("0a0300", "0b010203")]) == .success(.value([1, 2, 3])))
    #expect(try talk.run(.read(3), [("0a0300", "0b")]) == .success(.value([])))
  }

  /// GATT/CL/GAR/BI-02-C and similar: the result has the error code.
  @Test(arguments: [0x01, 0x02, 0x05, 0x08, 0x0C, 0x0F, 0x80, 0xFF] as [UInt8])
  func failsWithEachErrorCode(code: UInt8) throws {
    var talk = ClientConversation()
    let result = try talk.run(.read(3), [("0a0300", "010a0300" + [code].hexadecimal)])
    #expect(result == .failure(.errorResponse(ATTErrorCode(rawValue: code), request: .readRequest, handle: 3)))
    guard case .failure(let error)? = result else { return }
    #expect(error.code?.rawValue == code)
  }

  /// GATT/CL/GAR/BV-04-C: parts of ATT_MTU - 1 octets until one is shorter.
  @Test func readsALongValue() throws {
    var talk = ClientConversation()
    let value = octets(50)
    #expect(
      try talk.run(
        .readLong(3),
        [
          ("0a0300", "0b" + value[0..<22].hexadecimal), ("0c03001600", "0d" + value[22..<44].hexadecimal),
          ("0c03002c00", "0d" + value[44...].hexadecimal),
        ]) == .success(.value(value)))
  }

  @Test func continuesAfterAFullResponse() throws {
    var talk = ClientConversation()
    let value = octets(22)
    #expect(
      try talk.run(.readLong(3), [("0a0300", "0b" + value.hexadecimal), ("0c03001600", "0d")])
        == .success(.value(value)))
    // Attribute Not Long has the same effect.
    #expect(
      try talk.run(.readLong(3), [("0a0300", "0b" + value.hexadecimal), ("0c03001600", "010c03000b")])
        == .success(.value(value)))
  }

  /// A value that exactly fills the first response is whole, whatever the server answers to Read Blob.
  @Test(arguments: [0x01, 0x02, 0x06, 0x07, 0x0B, 0x0E, 0x80] as [UInt8])
  func anErrorAfterAFirstPartThatMayBeAllLeavesThePart(code: UInt8) throws {
    var talk = ClientConversation()
    let value = octets(22)
    #expect(
      try talk.run(
        .readLong(3), [("0a0300", "0b" + value.hexadecimal), ("0c03001600", "010c0300" + [code].hexadecimal)])
        == .success(.value(value)))
  }

  /// A value that a Read Blob Response has continued is cut by an error that does not say that the value has ended.
  @Test func anErrorAfterALaterPartIsAnErrorUnlessItMeansTheEnd() throws {
    var talk = ClientConversation()
    let value = octets(44)
    func exchange(_ code: UInt8) -> [(String, String)] {
      [
        ("0a0300", "0b" + value[0..<22].hexadecimal), ("0c03001600", "0d" + value[22...].hexadecimal),
        ("0c03002c00", "010c0300" + [code].hexadecimal),
      ]
    }
    #expect(try talk.run(.readLong(3), exchange(0x07)) == .success(.value(value)))
    #expect(try talk.run(.readLong(3), exchange(0x0B)) == .success(.value(value)))
    #expect(
      try talk.run(.readLong(3), exchange(0x0E))
        == .failure(.errorResponse(.unlikelyError, request: .readBlobRequest, handle: 3)))
  }

  @Test func rejectsAValueLongerThan512Octets() throws {
    var talk = ClientConversation(mtu: 257)
    let value = octets(512)
    #expect(
      try talk.run(
        .readLong(3),
        [("0a0300", "0b" + value[0..<256].hexadecimal), ("0c03000001", "0d" + value[256...].hexadecimal)])
        == .success(.value(value)))
    var larger = ClientConversation(mtu: 517)
    #expect(
      try larger.run(.readLong(3), [("0a0300", "0b" + octets(513).hexadecimal)])
        == .failure(.malformedResponse(.readResponse, reason: "the value is longer than 512 octets")))
    // Found by the fuzzer of the client.
    #expect(
      try larger.run(.read(3), [("0a0300", "0b" + octets(513).hexadecimal)])
        == .failure(.malformedResponse(.readResponse, reason: "the value is longer than 512 octets")))
    #expect(
      try larger.run(.read(3), [("0a0300", "0b" + octets(512).hexadecimal)]) == .success(.value(octets(512))))
  }

  /// Octets after the ATT_MTU are ignored.
  @Test func ignoresOctetsPastTheMTU() throws {
    var talk = ClientConversation()
    let value = octets(30)
    #expect(
      try talk.run(
        .readLong(3), [("0a0300", "0b" + value.hexadecimal), ("0c03001600", "0d" + value[22...].hexadecimal)])
        == .success(.value(value)))
    try talk.receive("1b0300" + value.hexadecimal)
    #expect(talk.events() == [.notification(3, Array(value[..<20]))])
  }

  /// GATT/CL/GAR/BV-03-C.
  @Test func readsValuesByUUID() throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .readUsingUUID("2A00", 1...0xFFFF),
        [
          ("080100ffff002a", "0904" + "03004869" + "09004f6b"), ("080a00ffff002a", "01080a000a"),
        ])
        == .success(
          .values([
            AttributeValue(handle: 3, value: [0x48, 0x69]), AttributeValue(handle: 9, value: [0x4F, 0x6B]),
          ])))
    #expect(
      try talk.run(.readUsingUUID("2A00", 1...5), [("0801000500002a", "010801000a")])
        == .failure(.errorResponse(.attributeNotFound, request: .readByTypeRequest, handle: 1)))
  }

  /// GATT/CL/GAR/BV-05-C.
  @Test func readsMultipleValues() throws {
    var talk = ClientConversation()
    #expect(try talk.run(.readMultiple([3, 7]), [("0e03000700", "0f010203")]) == .success(.value([1, 2, 3])))
    #expect(
      try talk.run(.readMultiple([3]), [])
        == .failure(
          .invalidParameters("read of multiple values failed: fewer than two handles. Use a read of one value")))
    #expect(
      try talk.run(.readMultiple(Array(repeating: 3, count: 12)), [])
        == .failure(
          .invalidParameters(
            "a PDU of 25 octets exceeds the ATT_MTU of 23. Exchange a larger MTU, or send the value in parts")))
  }

  /// A value that the server has cut is omitted.
  @Test func readsMultipleValuesWithLengths() throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(.readMultipleVariable([3, 7]), [("2003000700", "21" + "0100aa" + "0200bbcc")])
        == .success(
          .values([AttributeValue(handle: 3, value: [0xAA]), AttributeValue(handle: 7, value: [0xBB, 0xCC])])))
    #expect(
      try talk.run(.readMultipleVariable([3, 7]), [("2003000700", "21" + "0100aa" + "0900bbcc")])
        == .success(.values([AttributeValue(handle: 3, value: [0xAA])])))
    #expect(
      try talk.run(.readMultipleVariable([3, 7]), [("2003000700", "21" + "0000" + "0000" + "0000")])
        == .failure(.malformedResponse(.readMultipleVariableResponse, reason: "3 values for 2 handles")))
  }
}
