import BLEATT
import BLEGATT
import BLEWire
import Testing

@Suite("Writes by a GATT client")
struct ClientWriteTests {
  /// GATT/CL/GAW/BV-03-C.
  @Test func writesAValue() throws {
    var talk = ClientConversation()
    #expect(try talk.run(.write(7, [1, 2, 3]), [("120700010203", "13")]) == .success(.done))
    #expect(
      try talk.run(.write(7, [1]), [("12070001", "0112070003")])
        == .failure(.errorResponse(.writeNotPermitted, request: .writeRequest, handle: 7)))
    // The response has no parameters: the server has written the value.
    #expect(try talk.run(.write(7, [1]), [("12070001", "1300")]) == .success(.done))
  }

  /// 20 octets fit a PDU of 23; the 21st makes it a long write.
  @Test func writesAValueLongerThanThePDUInParts() throws {
    var talk = ClientConversation()
    let twenty = [UInt8](repeating: 0xAB, count: 20)
    #expect(try talk.run(.write(7, twenty), [("120700" + twenty.hexadecimal, "13")]) == .success(.done))
    let head = String(repeating: "ab", count: 18)
    #expect(
      try talk.run(
        .write(7, twenty + [0xCD]),
        [
          ("1607000000" + head, "1707000000" + head), ("1607001200ababcd", "1707001200ababcd"), ("1801", "19"),
        ]) == .success(.done))
  }

  /// GATT/CL/GAW/BV-01-C: done when the command is in the output; a value that is too long is rejected.
  @Test func sendsACommandWithoutAResponse() throws {
    var talk = ClientConversation()
    talk.perform(.writeWithoutResponse(7, [1, 2, 3]))
    #expect(talk.sent() == ["520700010203"])
    #expect(talk.events() == [.finished(.init(rawValue: 1), .success(.done))])
    talk.perform(.writeWithoutResponse(7, Array(repeating: 0, count: 21)))
    #expect(talk.sent() == [])
    guard case .finished(_, .failure(.invalidParameters))? = talk.events().first else {
      Issue.record("21 octets do not fit")
      return
    }
  }

  @Test func sendsCommandsInOrder() throws {
    var talk = ClientConversation()
    talk.perform(.read(1))
    talk.perform(.writeWithoutResponse(7, [1]))
    talk.perform(.read(2))
    talk.perform(.writeWithoutResponse(7, [2]))
    #expect(talk.sent() == ["0a0100"])
    try talk.receive("0b")
    #expect(talk.sent() == ["52070001", "0a0200"])
    try talk.receive("0b")
    #expect(talk.sent() == ["52070002"])
  }

  /// One that takes several PDUs, with requests of its own between them.
  @Test func aCommandFollowsTheLastPDUOfTheOperationBeforeIt() throws {
    var talk = ClientConversation()
    talk.perform(.configure(.notify, in: 4...6))
    talk.perform(.writeLong(7, offset: 0, Array(repeating: 0, count: 20)))
    talk.perform(.writeWithoutResponse(9, [1]))
    let zeros = String(repeating: "00", count: 18)
    for (request, response) in [
      ("0404000600", "0501" + "04000229"), ("1204000100", "13"), ("1607000000" + zeros, "1707000000" + zeros),
      ("16070012000000", "17070012000000"), ("1801", "19"),
    ] {
      #expect(talk.sent() == [request])
      try talk.receive(response)
    }
    #expect(talk.sent() == ["52090001"])
  }

  @Test func commandsAloneWaitForNothing() {
    var talk = ClientConversation()
    for value in 0..<100 as Range<UInt8> { talk.perform(.writeWithoutResponse(7, [value])) }
    #expect(talk.sent() == (0..<100 as Range<UInt8>).map { "520700" + [$0].hexadecimal })
  }

  /// Vol 3, Part C, 10.3.2: the operation is repeated once the link is secure, before those after it.
  @Test func operationsWaitBehindOneThatIsRefusedForWantOfSecurity() throws {
    var talk = ClientConversation()
    var refused = GATTClient.Operation(id: .init(rawValue: 77), .write(7, [1]))
    refused.awaitsSecurity = true
    talk.client.perform(refused, now: .start, into: &talk.output)
    talk.perform(.writeWithoutResponse(7, [2]))
    talk.perform(.read(7))
    #expect(talk.sent() == ["12070001"])
    try talk.receive("011207000f")
    #expect(talk.sent() == [] && talk.client.isHeld)
    refused.awaitsSecurity = false
    talk.client.release(repeating: [refused], now: .start, into: &talk.output)
    #expect(talk.sent() == ["12070001"])
    // The second refusal counts.
    try talk.receive("011207000f")
    #expect(talk.sent() == ["52070002", "0a0700"] && !talk.client.isHeld)
  }

  @Test func queuesCommandsOnACongestedLink() throws {
    var talk = ClientConversation()
    talk.client.setCongested(true, now: .start, into: &talk.output)
    talk.perform(.writeWithoutResponse(7, [1]))
    talk.perform(.read(1))
    #expect(talk.sent() == [])
    #expect(talk.events() == [])
    talk.client.setCongested(false, now: .start, into: &talk.output)
    #expect(talk.sent() == ["52070001", "0a0100"])
    #expect(talk.events() == [.finished(.init(rawValue: 1), .success(.done))])
  }

  /// GATT/CL/GAW/BV-02-C: opcode, handle and value are signed together with the counter, which never repeats.
  @Test func signsACommandOnAnUnencryptedLink() throws {
    var talk = ClientConversation(
      signing: .init(counter: 7) { message, counter in
        message == [0xD2, 0x07, 0x00, 0x01, 0x02] ? 0x1122_3344_5566_7700 + UInt64(counter) : 0
      })
    for counter in ["07", "08"] {
      talk.perform(.signedWrite(7, [1, 2]))
      #expect(talk.sent() == ["d207000102" + counter + "000000" + counter + "77665544332211"])
    }
    #expect(talk.client.signing?.counter == 9)
    talk.client.isLinkEncrypted = true
    talk.perform(.signedWrite(7, [1, 2]))
    #expect(talk.sent() == ["5207000102"])
  }

  /// A counter at the limit is not used; the operations after the write wait too.
  @Test func waitsForTheSignCounter() throws {
    var talk = ClientConversation(signing: .init(counter: 7, limit: 8) { _, counter in UInt64(counter) })
    for value in [1, 2, 3] as [UInt8] { talk.perform(.signedWrite(7, [value])) }
    talk.perform(.read(1))
    #expect(talk.sent() == ["d20700010700000007" + "00000000000000"] && talk.client.awaitsSignCounter)
    talk.client.allowSigning(20..<21, now: .start, into: &talk.output)
    #expect(talk.sent() == ["d20700021400000014" + "00000000000000"] && talk.client.awaitsSignCounter)
    _ = talk.events()
    talk.client.rejectSignedWrites(now: .start, into: &talk.output)
    #expect(talk.sent() == ["0a0100"] && !talk.client.awaitsSignCounter)
    #expect(talk.events() == [.finished(.init(rawValue: 3), .failure(.signCounterNotStored))])
    try talk.receive("0b")
    // On an encrypted link it needs no counter.
    talk.perform(.writeWithoutResponse(7, [1]))
    talk.client.isLinkEncrypted = true
    talk.perform(.signedWrite(7, [4]))
    #expect(talk.sent() == ["52070001", "52070004"])
  }

  @Test func rejectsASignedWriteWithoutAKey() {
    var talk = ClientConversation()
    talk.perform(.signedWrite(7, [1, 2]))
    #expect(talk.sent() == [])
    #expect(talk.events() == [.finished(.init(rawValue: 1), .failure(.cannotSign))])
  }

  /// GATT/CL/GAW/BV-05-C.
  @Test func writesALongValueFromAnOffset() throws {
    var talk = ClientConversation()
    let head = String(repeating: "01", count: 18)
    #expect(
      try talk.run(
        .writeLong(7, offset: 0x0102, Array(repeating: 1, count: 19)),
        [
          ("1607000201" + head, "1707000201" + head), ("160700140101", "170700140101"), ("1801", "19"),
        ]) == .success(.done))
    #expect(
      try talk.run(
        .writeLong(7, offset: 0, []), [("1607000000", "1707000000"), ("1801", "19")]) == .success(.done))
  }

  @Test(arguments: [
    (0, 512, true), (0, 513, false), (512, 0, true), (511, 2, false), (-1, 1, false), (Int.max, 1, false),
  ])
  func aLongValueStaysWithin512Octets(offset: Int, count: Int, isTaken: Bool) {
    var talk = ClientConversation()
    talk.perform(.writeLong(7, offset: offset, Array(repeating: 0, count: count)))
    #expect(talk.sent().isEmpty != isTaken)
    #expect(talk.events().isEmpty == isTaken)
  }

  /// GATT/CL/GAW/BI-08-C and similar: the queue is cancelled, and the first error is the result.
  @Test(arguments: ["19", "0118000006", "19ff"])
  func cancelsTheQueueAfterARejectedPart(answer: String) throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .writeLong(7, offset: 0, [1, 2, 3]), [("1607000000010203", "0116070005"), ("1800", answer)])
        == .failure(.errorResponse(.insufficientAuthentication, request: .prepareWriteRequest, handle: 7)))
  }

  @Test func failsWithTheErrorOfTheExecution() throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .writeLong(7, offset: 0, [1, 2, 3]),
        [("1607000000010203", "1707000000010203"), ("1801", "011807000d")])
        == .failure(.errorResponse(.invalidAttributeValueLength, request: .executeWriteRequest, handle: 7)))
  }

  /// GATT/CL/GAW/BV-06-C.
  @Test func writesSeveralValuesReliably() throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .reliableWrite([.init(handle: 7, value: [1, 2]), .init(handle: 9, offset: 1, value: [3])]),
        [
          ("16070000000102", "17070000000102"), ("160900010003", "170900010003"), ("1801", "19"),
        ]) == .success(.done))
    #expect(
      try talk.run(.reliableWrite([]), []) == .failure(.invalidParameters("reliable write failed: there are no values"))
    )
  }

  /// Handle, offset, octets, or their number.
  @Test(arguments: ["17080000000102", "17070001000102", "17070000000103", "170700000001", "1707000000010200"])
  func cancelsTheQueueAfterADifferentEcho(echo: String) throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .reliableWrite([.init(handle: 7, value: [1, 2])]), [("16070000000102", echo), ("1800", "19")])
        == .failure(.echoDiffers(7, offset: 0)))
  }

  @Test func cancelsTheQueueAfterAMalformedEcho() throws {
    var talk = ClientConversation()
    let result = try talk.run(
      .writeLong(7, offset: 0, [1, 2]), [("16070000000102", "170700"), ("1800", "19")])
    guard case .failure(.malformedResponse(.prepareWriteResponse, _))? = result else {
      Issue.record("\(String(describing: result))")
      return
    }
  }
}
