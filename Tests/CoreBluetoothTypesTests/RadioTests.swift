import AdapterFixtures
import BluetoothLE
import Synchronization
import Testing

/// A peripheral and centrals of this process talk over the simulated radio, through everything from the delegate to the
/// link layer and back: public names only.
@Suite(.serialized, .usesRadio) struct RadioTests {
  private let server: Server
  private let central: AsyncCentral

  /// A service of its own for each test: all of them share one radio.
  private let service = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
  private let name = UUID().uuidString

  init() {
    server = Server()
    central = AsyncCentral(AdapterOptions(transport: "virtual:c-\(name)"))
  }

  /// Publishes what it is given, advertises it and answers from memory.
  final class Server: NSObject, PeripheralManagerDelegate, Sendable {
    private let state = Mutex(State())
    let lines: AsyncStream<String>
    private let said: AsyncStream<String>.Continuation

    private struct State {
      var manager: PeripheralManager?
      var service: MutableService?
      var ready = 0
      var parts: [Int] = []
    }

    override init() { (lines, said) = AsyncStream.makeStream(of: String.self) }

    var manager: PeripheralManager? { state.withLock { $0.manager } }
    /// How many parts each write had.
    var parts: [Int] { state.withLock { $0.parts } }

    func publish(_ service: MutableService, at transport: String) {
      publish(service, at: AdapterOptions(transport: transport))
    }

    func publish(_ service: MutableService, at adapter: AdapterOptions) {
      state.withLock { $0.service = service }
      let manager = PeripheralManager(delegate: self, queue: DispatchQueue(label: "peripheral"), adapter: adapter)
      state.withLock { $0.manager = manager }
    }

    /// Waits until the delegate has heard this.
    func wait(for line: String) async {
      for await said in lines where said.hasPrefix(line) { return }
    }

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
      guard peripheral.state == .poweredOn, let service = state.withLock({ $0.service }) else { return }
      peripheral.add(service)
      peripheral.startAdvertising([AdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
      said.yield("advertising \(error.map { "\($0)" } ?? "")")
    }
    func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?) {
      if let error { Issue.record(error) }
    }
    func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
      guard let value = request.characteristic.value, request.offset <= value.count else {
        return peripheral.respond(to: request, withResult: .invalidOffset)
      }
      request.value = value.dropFirst(request.offset)
      peripheral.respond(to: request, withResult: .success)
    }
    func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
      state.withLock { $0.parts.append(requests.count) }
      guard let first = requests.first, let characteristic = first.characteristic as? MutableCharacteristic else {
        return
      }
      var value = first.offset == 0 ? Data() : characteristic.value ?? Data()
      for request in requests {
        guard request.offset <= value.count, let part = request.value else {
          return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        value = value.prefix(request.offset) + part
      }
      if value == Data([0xFF]) {
        return peripheral.respond(to: first, withResult: ATTError.Code(rawValue: 0x80) ?? .success)
      }
      characteristic.value = value
      peripheral.respond(to: first, withResult: .success)
    }
    func peripheralManager(
      _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
    ) { said.yield("subscribed") }
    func peripheralManager(
      _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic
    ) { said.yield("unsubscribed") }
    func peripheralManagerIsReady(toUpdateSubscribers peripheral: PeripheralManager) { said.yield("ready") }
    func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central) { said.yield("connected") }
    func peripheralManager(
      _ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason
    ) { said.yield("disconnected \(reason.rawValue)") }
    func peripheralManager(_ peripheral: PeripheralManager, central: Central, didStoreValueOf attribute: Attribute) {
      said.yield("stored")
    }
  }

  /// Publishes, finds, connects and discovers.
  private func meet(_ characteristics: MutableCharacteristic...) async throws -> (Peripheral, [Characteristic]) {
    service.characteristics = characteristics
    server.publish(service, at: "virtual:p-\(name)")
    await server.wait(for: "advertising")
    let peripheral = try await find(with: central)
    return (peripheral, try await central.discover(service.uuid, of: peripheral))
  }

  private func find(with central: AsyncCentral) async throws -> Peripheral {
    let peripheral = try await central.find(service.uuid)
    try await central.connect(peripheral)
    return peripheral
  }

  private func dynamic(_ uuid: CBUUID, _ properties: CharacteristicProperties) -> MutableCharacteristic {
    MutableCharacteristic(type: uuid, properties: properties, value: nil, permissions: [.readable, .writeable])
  }

  @Test("3.7 A value that is longer than a response is cut")
  func valuesAreReadAndWrittenHoweverLong() async throws {
    let mine = dynamic("2A37", [.read, .write])
    let fixed = MutableCharacteristic(
      type: "2A38", properties: [.read], value: Data([1, 2, 3]), permissions: [.readable])
    let (peripheral, found) = try await meet(mine, fixed)
    mine.value = Data((0..<300).map { UInt8(truncatingIfNeeded: $0) })
    #expect(found.map(\.uuid) == ["2A37", "2A38"])
    #expect(try await central.value(of: found[0], of: peripheral) == mine.value)
    #expect(try await central.value(of: found[1], of: peripheral) == Data([1, 2, 3]))

    let long = Data((0..<512).map { UInt8(truncatingIfNeeded: 7 &* $0) })
    try await central.write(long, to: found[0], of: peripheral)
    #expect(mine.value == long)
    try await central.write(Data([5]), to: found[0], of: peripheral)
    #expect(mine.value == Data([5]))
    #expect(server.parts.last == 1)

    do {
      try await central.write(Data([0xFF]), to: found[0], of: peripheral)
      #expect(Bool(false), "it had to be refused")
    } catch let error as ATTError {
      #expect(error.errorCode == 0x80)
    }
    await #expect(throws: ATTError.self) {
      try await central.write(Data([1]), to: found[1], of: peripheral)
    }
  }

  @Test func aThousandValuesArriveInOrderThroughAQueueOf32() async throws {
    let mine = dynamic("2A37", [.notify])
    let (peripheral, found) = try await meet(mine)
    let values = central.values(of: found[0])
    try await central.subscribe(to: found[0], of: peripheral)
    await server.wait(for: "subscribed")
    let manager = try #require(server.manager)
    #expect(mine.subscribedCentrals?.count == 1)

    let sending = Task { [server] in
      var refusals = 0
      for number in 0..<1000 as Range<UInt16> {
        let value = Data([UInt8(number & 0xFF), UInt8(number >> 8)])
        while !manager.updateValue(value, for: mine, onSubscribedCentrals: nil) {
          refusals += 1
          await server.wait(for: "ready")
        }
      }
      return refusals
    }
    var next: UInt16 = 0
    for await value in values {
      let number = value.reduce(into: (shift: 0, sum: UInt16(0))) { result, octet in
        result.sum |= UInt16(octet) << result.shift
        result.shift += 8
      }.sum
      #expect(number == next)
      next += 1
      if next == 1000 || number != next - 1 { break }
    }
    #expect(next == 1000)
    #expect(await sending.value > 0)
  }

  @Test func indicationsAreCutToTheCentralsLengthAndConfirmed() async throws {
    let mine = dynamic("2A37", [.indicate])
    let (peripheral, found) = try await meet(mine)
    let values = central.values(of: found[0])
    try await central.subscribe(to: found[0], of: peripheral)
    await server.wait(for: "subscribed")
    let manager = try #require(server.manager)
    let length = try #require(manager.connectedCentrals.first).maximumUpdateValueLength
    for number in 0..<3 as Range<UInt8> {
      while !manager.updateValue(Data(repeating: number, count: 600), for: mine, onSubscribedCentrals: nil) {
        await server.wait(for: "ready")
      }
    }
    var seen: [Data] = []
    for await value in values {
      seen.append(value)
      if seen.count == 3 { break }
    }
    #expect(seen == (0..<3).map { Data(repeating: $0, count: length) })
  }

  @Test func storedValuesNeedNoDelegate() async throws {
    let mine = MutableCharacteristic(
      type: "2A37", properties: [.read, .write], storedValue: Data([1]), length: 1...4,
      permissions: [.readable, .writeable])
    let (peripheral, found) = try await meet(mine)
    try await central.write(Data([1, 2, 3, 4]), to: found[0], of: peripheral)
    await server.wait(for: "stored")
    #expect(mine.value == Data([1, 2, 3, 4]))
    do {
      try await central.write(Data([1, 2, 3, 4, 5]), to: found[0], of: peripheral)
      #expect(Bool(false), "five octets had to be refused")
    } catch ATTError.invalidAttributeValueLength {}
    try server.manager?.setStoredValue(Data([9]), for: mine)
    #expect(try await central.value(of: found[0], of: peripheral) == Data([9]))
  }

  @Test func subscriptionsEndBeforeTheLinkAndTheReasonIsTold() async throws {
    let mine = dynamic("2A37", [.notify])
    let (peripheral, found) = try await meet(mine)
    try await central.subscribe(to: found[0], of: peripheral)
    await server.wait(for: "subscribed")
    try await central.disconnect(peripheral)
    await server.wait(for: "unsubscribed")
    await server.wait(for: "disconnected 19")
    #expect(mine.subscribedCentrals == [])

    // The advertisement is there again, and the same device has the same identifier.
    let again = try await find(with: central)
    #expect(again.identifier == peripheral.identifier)
    await server.wait(for: "connected")
    let manager = try #require(server.manager)
    manager.cancelConnection(of: try #require(manager.connectedCentrals.first))
    await server.wait(for: "disconnected 22")
  }

  @Test func severalCentralsAreServedAtOnce() async throws {
    let mine = dynamic("2A37", [.read, .notify])
    let (first, found) = try await meet(mine)
    mine.value = Data([42])
    let other = AsyncCentral(AdapterOptions(transport: "virtual:o-\(name)"), label: "other")
    let second = try await find(with: other)
    let theirs = try await other.discover(service.uuid, of: second)
    let manager = try #require(server.manager)
    #expect(Set(manager.connectedCentrals.map(\.identifier)).count == 2)
    #expect(try await central.value(of: found[0], of: first) == Data([42]))
    #expect(try await other.value(of: theirs[0], of: second) == Data([42]))

    try await other.subscribe(to: theirs[0], of: second)
    let values = other.values(of: theirs[0])
    await server.wait(for: "subscribed")
    #expect(mine.subscribedCentrals?.count == 1)
    manager.updateValue(Data([7]), for: mine, onSubscribedCentrals: nil)
    for await value in values {
      #expect(value == Data([7]))
      break
    }
  }
}
