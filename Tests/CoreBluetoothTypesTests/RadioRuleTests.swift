import AdapterFixtures
import BluetoothLE
import Synchronization
import Testing

/// Rules of CoreBluetooth (Docs/CoreBluetooth.md) that a server, a link and a client keep together, over the simulated
/// radio.
@Suite(.serialized, .usesRadio) struct RadioRuleTests {
  private let name = UUID().uuidString
  private let service = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
  private let program = Program()

  /// A peripheral whose requests wait for the test.
  final class Program: NSObject, PeripheralManagerDelegate, Sendable {
    private let state = Mutex(State())
    let lines: AsyncStream<String>
    private let said: AsyncStream<String>.Continuation

    private struct State {
      var manager: PeripheralManager?
      var service: MutableService?
      var requests: [ATTRequest] = []
    }

    override init() { (lines, said) = AsyncStream.makeStream(of: String.self) }

    var manager: PeripheralManager? { state.withLock { $0.manager } }
    var requests: [ATTRequest] { state.withLock { $0.requests } }

    func publish(_ service: MutableService, at transport: String) {
      state.withLock { $0.service = service }
      let manager = PeripheralManager(
        delegate: self, queue: DispatchQueue(label: "peripheral"), adapter: AdapterOptions(transport: transport))
      state.withLock { $0.manager = manager }
    }

    func wait(for line: String) async { for await said in lines where said == line { return } }

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
      guard peripheral.state == .poweredOn, let service = state.withLock({ $0.service }) else { return }
      peripheral.add(service)
      peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
    func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?) {
      said.yield("added")
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
      let code = (error as? BluetoothError).map { " \($0.code)" } ?? ""
      said.yield(error == nil ? "advertising" : "not advertising\(code)")
    }
    func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
      state.withLock { $0.requests.append(request) }
      said.yield("read \(request.characteristic.uuid)")
    }
    func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
      for request in requests { said.yield("write \(request.characteristic.uuid) \([UInt8](request.value ?? Data()))") }
      peripheral.respond(to: requests[0], withResult: .success)
    }
    func peripheralManager(
      _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
    ) { said.yield("subscribed") }
    func peripheralManager(
      _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic
    ) { said.yield("unsubscribed") }
  }

  private func characteristic(
    _ uuid: CBUUID, _ properties: CharacteristicProperties, _ permissions: AttributePermissions
  ) -> MutableCharacteristic {
    MutableCharacteristic(type: uuid, properties: properties, value: nil, permissions: permissions)
  }

  private func meet(
    _ characteristics: MutableCharacteristic...
  ) async throws -> (AsyncCentral, Peripheral, [Characteristic]) {
    service.characteristics = characteristics
    program.publish(service, at: "virtual:p-\(name)")
    await program.wait(for: "advertising")
    var adapter = AdapterOptions(transport: "virtual:c-\(name)")
    adapter.pairing.pairsOnDemand = false
    let central = AsyncCentral(adapter)
    let peripheral = try await central.find(service.uuid)
    try await central.connect(peripheral)
    return (central, peripheral, try await central.discover(service.uuid, of: peripheral))
  }

  @Test("3.8 Permissions are checked before the delegate is called")
  func permissionsAreCheckedFirst() async throws {
    let (central, peripheral, found) = try await meet(
      characteristic("2A37", [.read, .write], .writeable), characteristic("2A38", [.read, .write], .readable),
      characteristic("2A39", [.read], .readEncryptionRequired))
    let unreadable = await #expect(throws: ATTError.self) { try await central.value(of: found[0], of: peripheral) }
    #expect(unreadable?.code == .readNotPermitted)
    let unwriteable = await #expect(throws: ATTError.self) {
      try await central.write(Data([1]), to: found[1], of: peripheral)
    }
    #expect(unwriteable?.code == .writeNotPermitted)
    let unencrypted = await #expect(throws: ATTError.self) { try await central.value(of: found[2], of: peripheral) }
    #expect([.insufficientEncryption, .insufficientAuthentication].contains(unencrypted?.code))
    #expect(program.requests.isEmpty)
  }

  @Test("3.8 A Write Request to a characteristic with writeWithoutResponse alone is allowed by its permission")
  func aPermissionAllowsBothKindsOfWrites() async throws {
    let (central, peripheral, found) = try await meet(characteristic("2A37", .writeWithoutResponse, .writeable))
    try await central.write(Data([1]), to: found[0], of: peripheral)
    await program.wait(for: "write 2A37 [1]")
  }

  @Test("5.5 Each start has one answer, also one that is stopped at once")
  func eachStartIsAnswered() async throws {
    program.publish(service, at: "virtual:p-\(name)")
    await program.wait(for: "advertising")
    let manager = try #require(program.manager)
    for _ in 0..<3 {
      manager.stopAdvertising()
      manager.startAdvertising([CBAdvertisementDataLocalNameKey: "withdrawn"])
    }
    manager.stopAdvertising()
    manager.startAdvertising([CBAdvertisementDataLocalNameKey: "started"])
    for _ in 0..<3 { await program.wait(for: "not advertising operationCancelled") }
    await program.wait(for: "advertising")
    #expect(manager.isAdvertising)
  }

  @Test("6.12 What a program asks of a peripheral takes effect there in the order of the calls")
  func theOrderOfTheCallsIsThatOfTheirEffects() async throws {
    let (central, peripheral, found) = try await meet(
      characteristic("2A37", .notify, .readable), characteristic("2A38", [.write, .writeWithoutResponse], .writeable),
      characteristic("2A39", .write, .writeable))
    let long = Data(count: 512)
    for turn in 1...3 as ClosedRange<UInt8> {
      peripheral.setNotifyValue(true, for: found[0])
      peripheral.writeValue(Data([turn]), for: found[1], type: .withoutResponse)
      peripheral.writeValue(long, for: found[2], type: .withResponse)
      peripheral.writeValue(Data([turn + 10]), for: found[1], type: .withoutResponse)
      peripheral.setNotifyValue(false, for: found[0])
      peripheral.writeValue(Data([turn + 20]), for: found[1], type: .withoutResponse)
      var lines: [String] = []
      for await line in program.lines {
        lines.append(line.hasPrefix("write 2A39") ? "long write" : line)
        if lines.count == 6 { break }
      }
      #expect(
        lines == [
          "subscribed", "write 2A38 [\(turn)]", "long write", "write 2A38 [\(turn + 10)]", "unsubscribed",
          "write 2A38 [\(turn + 20)]",
        ])
    }
    _ = central
  }

  @Test("3.9 The next request of a central comes after the answer")
  func requestsComeOneByOne() async throws {
    let (central, peripheral, found) = try await meet(
      characteristic("2A37", .read, .readable), characteristic("2A38", .read, .readable))
    peripheral.readValue(for: found[0])
    peripheral.readValue(for: found[1])
    await program.wait(for: "read 2A37")
    #expect(program.requests.count == 1)
    let manager = try #require(program.manager)
    manager.respond(to: try #require(program.requests.first), withResult: .success)
    await program.wait(for: "read 2A38")
    #expect(program.requests.map(\.characteristic.uuid) == ["2A37", "2A38"])
    withExtendedLifetime(central) {}
  }

  @Test("2.10 A service that is removed and added again has no subscribers")
  func aServiceThatIsAddedAgainHasNoSubscribers() async throws {
    let own = characteristic("2A37", .notify, .readable)
    let (central, peripheral, found) = try await meet(own)
    try await central.subscribe(to: found[0], of: peripheral)
    await program.wait(for: "subscribed")
    #expect(own.subscribedCentrals?.count == 1)
    let values = central.values(of: found[0])
    let manager = try #require(program.manager)
    manager.remove(service)
    manager.add(service)
    await program.wait(for: "added")
    #expect(own.subscribedCentrals == [] && peripheral.state == .connected)
    manager.updateValue(Data([1]), for: own, onSubscribedCentrals: nil)
    // The client discovers again and subscribes; only what is sent from then on arrives.
    let again = try await central.discover(service.uuid, of: peripheral)
    try await central.subscribe(to: try #require(again.first), of: peripheral)
    await program.wait(for: "subscribed")
    let later = central.values(of: try #require(again.first))
    manager.updateValue(Data([2]), for: own, onSubscribedCentrals: nil)
    for await value in later {
      #expect(value == Data([2]))
      break
    }
    withExtendedLifetime(values) {}
  }
}
