import AdapterFixtures
import BLEGAP
import BLEHost
import BLEKit
import BLEWire
import Testing

/// What a scan reports (Vol 3, Part C, 9.2 and 11); the test plays the host.
@Suite struct ScanTests {
  private let host = ScriptedHost()
  private let lamp = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
  private let clock = DeviceAddress(octets: BD_ADDR(0xC000_0000_0002), kind: .random)

  private func advertise(_ address: DeviceAddress, _ advertisement: Advertisement, isScanResponse: Bool = false) throws
  {
    let payload = try advertisement.payload(under: .full)
    host.say(
      .scanning(
        .discovered([
          ScanReport(
            address: address, isConnectable: true, isScanResponse: isScanResponse, data: payload.advertisingData,
            rssi: -50)
        ])))
  }

  private func named(_ name: String) -> Advertisement {
    var advertisement = Advertisement(localName: name)
    advertisement.flags = nil
    return advertisement
  }

  /// Reads the results of a scan: `advertise` has the host report while it runs.
  private func results(
    _ options: ScanOptions, count: Int, advertise: () throws -> Void
  ) async throws -> [ScanResult] {
    let adapter = try await host.open()
    let begun = Notes<Void>()
    let reader = Task {
      var results: [ScanResult] = []
      var scan = adapter.scan(options).makeAsyncIterator()
      begun.note(())
      while results.count < count, let result = try await scan.next() { results.append(result) }
      return results
    }
    try await begun.next()
    try advertise()
    return try await reader.value
  }

  @Test func aScanResponseAddsToTheAdvertisingData() async throws {
    let found = try await results(ScanOptions(services: ["180D"]), count: 2) {
      try advertise(lamp, Advertisement(serviceUUIDs: ["180D"]))
      try advertise(lamp, named("Lamp"), isScanResponse: true)
    }
    #expect(found.map(\.address) == [lamp, lamp] && found[0].rssi == -50)
    #expect(found[0].contents.localName == nil && found[0].contents.serviceUUIDs == ["180D"])
    #expect(found[1].contents.localName?.displayText == "Lamp" && found[1].contents.serviceUUIDs == ["180D"])
  }

  @Test func devicesWithoutTheServiceAreNotReported() async throws {
    let found = try await results(ScanOptions(services: ["180D"]), count: 1) {
      try advertise(clock, Advertisement(localName: "Clock", serviceUUIDs: ["1805"]))
      try advertise(lamp, Advertisement(serviceUUIDs: ["180D"]))
    }
    #expect(found.map(\.address) == [lamp])
  }

  @Test func eachDeviceIsReportedOnceUnlessDuplicatesAreWanted() async throws {
    let once = try await results(ScanOptions(), count: 2) {
      for _ in 0..<3 { try advertise(lamp, named("Lamp")) }
      try advertise(clock, named("Clock"))
    }
    #expect(once.map(\.address) == [lamp, clock])
    var options = ScanOptions()
    options.allowsDuplicates = true
    let all = try await results(options, count: 4) {
      for _ in 0..<3 { try advertise(lamp, named("Lamp")) }
      try advertise(clock, named("Clock"))
    }
    #expect(all.map(\.address) == [lamp, lamp, lamp, clock])
  }

  @Test func theEndOfTheLoopEndsTheScan() async throws {
    _ = try await results(ScanOptions(), count: 1) { try advertise(lamp, named("Lamp")) }
    while true { if case .scanning(.stop) = try await host.next() { break } }
  }

  @Test func aSlowReaderLosesTheOldestBeyond1024() async throws {
    let adapter = try await host.open()
    var options = ScanOptions()
    options.allowsDuplicates = true
    var scan = adapter.scan(options).makeAsyncIterator()
    for number in 0..<1030 {
      host.say(
        .scanning(
          .discovered([
            ScanReport(
              address: lamp, isConnectable: true, isScanResponse: false, data: [2, 1, 6], rssi: Int8(number % 100))
          ])))
    }
    await host.connection.untilTaken(1031)
    var strengths: [Int] = []
    var dropped: [Int] = []
    while strengths.count < 1024, let result = try await scan.next() {
      strengths.append(result.rssi ?? 0)
      dropped.append(result.droppedBefore)
    }
    #expect(strengths == (6..<1030).map { $0 % 100 })
    #expect(dropped.first == 6 && dropped.dropFirst().allSatisfy { $0 == 0 })
    try advertise(clock, named("Clock"))
    let next = try await scan.next()
    #expect(next?.address == clock && next?.droppedBefore == 0)
  }

  @Test func aCancelledReaderGetsWhatIsThereThenTheEnd() async throws {
    let adapter = try await host.open()
    let begun = Notes<Void>()
    let reader = Task {
      var scan = adapter.scan().makeAsyncIterator()
      begun.note(())
      var count = 0
      while try await scan.next() != nil { count += 1 }
      while true { if case .scanning(.stop) = try await host.next() { break } }
      return (count, try await scan.next() == nil)
    }
    try await begun.next()
    try advertise(lamp, named("Lamp"))
    await host.connection.untilTaken(2)
    reader.cancel()
    let (count, hasEnded) = try await reader.value
    #expect(count == 1 && hasEnded)
  }

  @Test func theReaderGetsTheErrorOnceThenTheEnd() async throws {
    let adapter = try await host.open()
    var scan = adapter.scan().makeAsyncIterator()
    try advertise(lamp, named("Lamp"))
    host.say(.scanning(.stopped(.notPoweredOn)))
    try advertise(clock, named("Clock"))
    #expect(try await scan.next()?.address == lamp)
    await #expect(throws: BLEError.self) { _ = try await scan.next() }
    #expect(try await scan.next() == nil)
  }
}
