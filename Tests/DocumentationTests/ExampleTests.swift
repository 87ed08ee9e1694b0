import BLEATT
import BLECrypto
import BLEGAP
import BLEHCI
import BLEKit
import BLEL2CAP
import BLEPeripheral
import BLESMP
import BLEVirtual
import BLEVirtualServer
import BLEWire
import Testing

/// The examples of the documentation catalogues do what their pages say. They use public API only: the target has no
/// access to the package's own declarations.
@Suite struct ExampleTests {
  @Test func declaredPacketIsDecoded() throws {
    let (temperature, text) = try warmest(in: [0x07, 0x00, 0x02, 0x01, 0xC8, 0x00, 0x02, 0xFA, 0x00])
    #expect(temperature == 250)
    #expect(text.first == "0..<2  Sequence: 0x7" && text.count == 6)
    #expect(throws: CodecError.truncated(field: "Temperature")) { try warmest(in: [0x07, 0x00, 0x01, 0x01, 0xC8]) }
  }

  /// Records what a peripheral sends, and ends with the first deadline.
  struct RecordingBoard: PeripheralBoard {
    let now = Instant.start
    var sent: [UInt8] = []
    var deadline: Instant?

    mutating func send(_ octets: Span<UInt8>) { sent += [UInt8](copying: octets) }
    mutating func receive(until deadline: Instant?) -> [UInt8]? {
      self.deadline = deadline
      return nil
    }
    mutating func store(_ bond: [UInt8], of address: String) {}
    mutating func show(_ digits: String) {}
  }

  @Test func thePeripheralOfALoopResetsItsController() throws {
    var peripheral = try Peripheral(
      PeripheralConfiguration(name: "Lamp"), services: [], cryptography: LibCrypto(), random: .seeded(1))
    var board = RecordingBoard()
    try run(&peripheral, on: &board)
    #expect(board.sent == [0x01, 0x03, 0x0C, 0x00])
    #expect(board.deadline == .start + .seconds(2))
  }

  /// AES by libcrypto, instead of hardware.
  struct Engine: AESEngine {
    func encrypt(_ block: [UInt8], key: [UInt8]) -> [UInt8] {
      guard let block = UInt128(bigEndian: block), let key = UInt128(bigEndian: key) else { return [] }
      return (try? LibCrypto().encrypt(block, key: key).bigEndianOctets) ?? []
    }
  }

  @Test(arguments: [0, 1, 15, 16, 17, 32, 64]) func customCryptographyEqualsLibcrypto(count: Int) throws {
    let custom = HardwareCryptography(engine: Engine())
    let key: UInt128 = 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C
    let message = (0..<count).map { UInt8($0) }
    #expect(try custom.cmac(message, key: key) == LibCrypto().cmac(message, key: key))
    #expect(try custom.encrypt(UInt128(count), key: key) == LibCrypto().encrypt(UInt128(count), key: key))
    var random = RandomSource.seeded(UInt64(count))
    let (mine, theirs) = (try custom.keyPair(from: &random), try LibCrypto().keyPair(from: &random))
    #expect(
      try custom.sharedSecret(mine.privateKey, with: theirs.publicKey)
        == LibCrypto().sharedSecret(theirs.privateKey, with: mine.publicKey))
    #expect(custom.areEqual(key, key) && !custom.areEqual(key, 0))
  }

  @Test func devicesPairWithCustomCryptography() throws {
    var devices = PairedDevices(cryptography: HardwareCryptography(engine: Engine()), random: .seeded(1))
    devices.pair(now: .start)
    #expect(devices.failures.isEmpty && devices.outcomes.count == 2)
    let strength = KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)
    #expect(devices.outcomes.allSatisfy { $0.isBonded && $0.strength == strength && $0.peerIRK != nil })
    #expect(devices.outcomes.first?.centralKey != nil)
    #expect(devices.outcomes.first?.centralKey == devices.outcomes.last?.peripheralKey)
    #expect(devices.numbers.count == 2 && Set(devices.numbers).count == 1)
  }

  @Test func captureIsDecoded() throws {
    var capture = BTSnoopFile.header
    let packets: [([UInt8], HCIPacketDirection)] = [
      ([0x01, 0x0C, 0x20, 0x02, 0x01, 0x00], .hostToController),
      ([0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x08], .controllerToHost),
      ([0x02, 0x40, 0x20, 0x01, 0x00, 0x00], .controllerToHost),
    ]
    for (index, (packet, direction)) in packets.enumerated() {
      BTSnoopFile.append(packet.span, direction, at: Int64(index) * 2000, to: &capture)
    }
    #expect(
      try lines(of: capture[...]) == [
        "0 ms → LE Set Scan Enable (0x200C) 0..<1  LE_Scan_Enable: on, 1..<2  Filter_Duplicates: off",
        "2 ms ← Disconnection Complete (0x05) (0..<1  Status: Success (0x00), 1..<3  Connection_Handle: 0x0040, "
          + "3..<4  Reason: Connection Timeout (0x08))",
        "4 ms ← ACL data, link 0x0040, 1 octets",
      ])
  }

  /// An adapter on the simulated radio, whose bonds are in memory.
  private func open(_ name: String) async throws -> Adapter {
    var options = AdapterOptions(transport: "virtual:documentation-\(name)")
    options.pairing.storage = .memory
    return try await Adapter.open(options)
  }

  @Test func heartRateIsCollected() async throws {
    let (sensor, collector) = (try await open("sensor"), try await open("collector"))
    let server = Task { try await serveHeartRate(on: sensor) { 72 } }
    #expect(try await collectHeartRate(with: collector, count: 2) == [72, 72])
    server.cancel()
    await #expect(throws: BLEError.self) { try await server.value }
  }

  @Test func aDimmerRefusesABrightness() async throws {
    let (dimmer, remote) = (try await open("dimmer"), try await open("remote"))
    let server = Task { try await dimmer.serve([Dimmer.localService()], advertisingAs: "Documentation dimmer") }
    defer { server.cancel() }
    #expect(try await setBrightness(0.5, of: "Documentation dimmer", with: remote) == 0.5)
    do {
      _ = try await setBrightness(2, of: "Documentation dimmer", with: remote)
      Issue.record("no error")
    } catch let error as BLEError {
      #expect(error.kind == .att(.valueNotAllowed) && error.description.contains("Value Not Allowed (0x13)"))
    }
  }

  @Test func advertisementIsReceived() throws {
    let payload = try thermometer()
    #expect(
      summary(of: payload.advertisingData[...], scanResponse: payload.scanResponse[...])
        == "Thermometer, services 181A")
  }

  @Test func framesAreReassembled() {
    var channels = Channels(role: .peripheral)
    let whole = channels.receive([0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00], packetBoundary: 0b10)
    #expect(whole.pdu == [0x0A, 0x03, 0x00] && whole.answers == [])
    #expect(channels.receive([0x03, 0x00, 0x04], packetBoundary: 0b10).pdu == nil)
    #expect(channels.receive([0x00, 0x0A, 0x03, 0x00], packetBoundary: 0b01).pdu == [0x0A, 0x03, 0x00])
    // A connection request of LE Credit Based Flow Control: the SPSM is not supported.
    let request: [UInt8] = [
      0x0E, 0x00, 0x05, 0x00, 0x14, 0x01, 0x0A, 0x00, 0x80, 0x00, 0x40, 0x00, 0x17, 0x00, 0x17, 0x00, 0x01, 0x00,
    ]
    let answer = channels.receive(request, packetBoundary: 0b10)
    #expect(
      answer.pdu == nil && answer.answers.map(\.hexadecimal) == ["0e000500" + "15010a00" + "00000000000000000200"])
  }

  @Test func valueIsReadFromTheServer() throws {
    var server = try ThermometerServer()
    var reader = ValueReader()
    let requests = try reader.read(0x0003, now: .start)
    let responses = requests.flatMap { server.receive($0, now: .start) }
    let received = try responses.map { try reader.receive($0, now: .start) }
    #expect(received.compactMap(\.value) == [[0x66, 0x08]])
    #expect(throws: ATTErrorCode.invalidHandle) {
      for request in try reader.read(0x0042, now: .start) {
        for response in server.receive(request, now: .start) { _ = try reader.receive(response, now: .start) }
      }
    }
    // A subscribed client is notified.
    #expect(server.set(2200, now: .start) == [])
    #expect(server.receive([0x12, 0x04, 0x00, 0x01, 0x00], now: .start) == [[0x13]])
    #expect(server.set(2300, now: .start) == [[0x1B, 0x03, 0x00, 0xFC, 0x08]])
  }

  @Test func beaconIsReceived() throws {
    let received = try advertisements(of: Beacon(), for: .seconds(10))
    #expect(received.count >= 7)
    #expect(received.allSatisfy { $0 == [0x02, 0x01, 0x06, 0x02, 0x0A, 0x04] })
  }

  @Test func aSeedDeterminesTheFaults() throws {
    let all = try reports(with: [], seed: 1)
    let some = try reportsOfAnUnreliableController(seed: 1)
    #expect(all >= 7 && (1..<all).contains(some))
    #expect(try some == reportsOfAnUnreliableController(seed: 1))
    #expect(try reports(with: [.packets(PacketFault(.drop, .all, .toHost))], seed: 1) == 0)
  }

  @Test func radioIsServed() throws {
    let (server, transport) = try serveSmallControllers { _ in }
    defer { server.end() }
    let parts = transport.split(separator: ":")
    #expect(parts.prefix(2) == ["tcp-client", "127.0.0.1"])
    let port = try #require(parts.last.flatMap { UInt16($0) })
    let error = #expect(throws: VirtualRadioServerError.self) {
      try server.listen(on: .tcp(host: "127.0.0.1", port: port))
    }
    #expect(error?.kind == .busy)
  }
}
