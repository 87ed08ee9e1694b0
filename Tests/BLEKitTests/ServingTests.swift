import AdapterFixtures
import BLEKit
import Testing

/// Services as values: handlers for reads, writes and subscriptions, over the simulated radio.
@Suite(.usesRadio) struct ServingTests {
  @Test func aValueIsMadeForEachRead() async throws {
    let air = try await OnTheAir()
    let count = Notes<Int>()
    let characteristic = LocalCharacteristic("2A19").read { _ in
      count.note(1)
      return UInt8(truncatingIfNeeded: 96 + count.all.count)
    }
    let service = air.service
    let levels = try await air.meet(characteristic) { device in
      let first = try await device.read("2A19", in: service, as: UInt8.self)
      return [first, try await device.read("2A19", in: service, as: UInt8.self)]
    }
    #expect(levels == [97, 98])
  }

  /// GATT/SR/GAR/BV-04-C: Read Blob goes on in the value that the Read Request began with.
  @Test func allPartsOfALongReadAreOfOneValue() async throws {
    let air = try await OnTheAir(maximumMTU: 23)
    let count = Notes<Int>()
    let characteristic = LocalCharacteristic("2A3D").read { _ -> [UInt8] in
      count.note(1)
      return [UInt8](repeating: UInt8(truncatingIfNeeded: count.all.count), count: 100)
    }
    let service = air.service
    let value = try await air.meet(characteristic) { try await $0.read("2A3D", in: service) }
    #expect(value == [UInt8](repeating: 1, count: 100))
    #expect(count.all.count == 1)
  }

  @Test func aConstantValueNeedsNoHandler() async throws {
    let air = try await OnTheAir()
    let service = air.service
    let value = try await air.meet(LocalCharacteristic("2A29").value("Kit")) {
      try await $0.read("2A29", in: service, as: String.self)
    }
    #expect(value == "Kit")
  }

  /// GATT/SR/GAW/BV-05-C: the parts of a long write reach the handler as one value.
  @Test func aLongWriteReachesTheHandlerWhole() async throws {
    let air = try await OnTheAir(maximumMTU: 23)
    let written = Notes<[UInt8]>()
    let characteristic = LocalCharacteristic("2A3D").write { octets, _ in written.note(octets) }
    let long = (0..<200).map { UInt8($0) }
    let service = air.service
    try await air.meet(characteristic) { device in
      try await device.write(long, to: "2A3D", in: service)
      try await device.write([7] as [UInt8], to: "2A3D", in: service)
    }
    #expect(written.all == [long, [7]])
  }

  @Test func octetsThatDoNotDecodeAreRefused() async throws {
    let air = try await OnTheAir()
    let characteristic = LocalCharacteristic("2A39").write(UInt16.self) { _, _ in Issue.record("the handler ran") }
    let service = air.service
    try await air.meet(characteristic) { device in
      await expectThrows(.att(.invalidAttributeValueLength)) {
        try await device.write(UInt8(1), to: "2A39", in: service)
      }
    }
  }

  @Test func theErrorOfAHandlerIsTheErrorOfTheClient() async throws {
    struct Other: Error {}
    let air = try await OnTheAir()
    let service = air.service
    try await air.meet(
      LocalCharacteristic("2A39").read { _ -> [UInt8] in throw ATTErrorCode.insufficientResources },
      LocalCharacteristic("2A3A").read { _ -> [UInt8] in throw Other() },
      LocalCharacteristic("2A3B").read { _ in [UInt8](repeating: 0, count: 513) }
    ) { device in
      await expectThrows(.att(.insufficientResources)) { _ = try await device.read("2A39", in: service) }
      await expectThrows(.att(.unlikelyError)) { _ = try await device.read("2A3A", in: service) }
      await expectThrows(.att(.unlikelyError)) { _ = try await device.read("2A3B", in: service) }
    }
  }

  @Test func commandsAreHandledInOrderBeforeTheReadBehindThem() async throws {
    let air = try await OnTheAir()
    let written = Notes<UInt8>()
    let characteristic = LocalCharacteristic("2A39")
      .write(UInt8.self, kinds: [.withResponse, .withoutResponse]) { value, _ in
        // A handler of a later value could overtake it here.
        for _ in 0..<10 { await Task.yield() }
        written.note(value)
      }
      .read { _ in written.all }
    let service = air.service
    let seen = try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A39", in: service)
      for value in 0..<20 { try await device.writeWithoutResponse(UInt8(value), to: found) }
      return try await device.read(found)
    }
    #expect(seen == Array(0..<20))
  }

  @Test func requestsWithoutAHandlerAreASequence() async throws {
    let air = try await OnTheAir()
    let characteristic = LocalCharacteristic("2A39").readable().writable()
    let publication = try await air.peripheral.publish([LocalService("1815", [characteristic])])
    let answers = Task {
      var seen: [AttributeRequest.Kind] = []
      for await request in publication.requests {
        seen.append(request.kind)
        #expect(request.characteristic == "2A39" && request.service == "1815")
        switch request.kind {
        case .read: request.respond(with: UInt16(0x1234))
        case .write(let value): if value == [1] { request.accept() } else { request.reject(.valueNotAllowed) }
        }
        if seen.count == 3 { break }
      }
      return seen
    }
    try await air.meet { device in
      #expect(try await device.read("2A39", in: "1815") == [0x34, 0x12])
      try await device.write(UInt8(1), to: "2A39", in: "1815")
      await expectThrows(.att(.valueNotAllowed)) { try await device.write(UInt8(2), to: "2A39", in: "1815") }
    }
    #expect(await answers.value == [.read, .write([1]), .write([2])])
  }

  @Test func aRequestThatIsDroppedIsAnswered() async throws {
    let air = try await OnTheAir()
    let publication = try await air.peripheral.publish([LocalService("1815", [LocalCharacteristic("2A39").readable()])])
    let reader = Task { for await _ in publication.requests {} }
    defer { reader.cancel() }
    try await air.meet { device in
      await expectThrows(.att(.unlikelyError)) { _ = try await device.read("2A39", in: "1815") }
    }
  }

  @Test func whatCannotBePublishedIsSaid() async throws {
    let air = try await OnTheAir()
    func refused(_ service: LocalService) async -> BLEError.Kind? {
      do throws(BLEError) {
        _ = try await air.peripheral.publish([service])
        return nil
      } catch { return error.kind }
    }
    #expect(await refused(LocalService("1801", [])) == .invalidArgument)
    let long = LocalCharacteristic("2A39").value([UInt8](repeating: 0, count: 513))
    #expect(await refused(LocalService("1815", [long])) == .invalidArgument)
    let writable = LocalCharacteristic("2A39").value(UInt8(1)).write { (_: [UInt8], _) in }
    #expect(await refused(LocalService("1815", [writable])) == .invalidArgument)
    let configuration = LocalCharacteristic("2A39", descriptors: [LocalDescriptor("2902", value: [0, 0])])
    #expect(await refused(LocalService("1815", [configuration])) == .invalidArgument)
    #expect(await refused(LocalService("1815", [LocalCharacteristic("2A39").value(UInt8(1))])) == nil)
  }
}

/// `#expect(throws:)` for the kind of a ``BLEError``.
func expectThrows(
  _ kind: BLEError.Kind, _ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) async {
  do {
    try await body()
    Issue.record("nothing was thrown, \(kind) was expected", sourceLocation: sourceLocation)
  } catch {
    #expect((error as? BLEError)?.kind == kind, sourceLocation: sourceLocation)
  }
}
