import BluetoothLE
import Synchronization
import Testing

/// Several managers of one process on one adapter, over the simulated radio.
@Suite(.timeLimit(.minutes(2)), .serialized) struct SharedAdapterTests {
  private let name = UUID().uuidString
  private let service = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
  private let server = RadioTests.Server()
  private let first: AsyncCentral
  private let second: AsyncCentral

  init() {
    let adapter = AdapterOptions(transport: "virtual:c-\(name)")
    first = AsyncCentral(adapter, label: "first")
    second = AsyncCentral(adapter, label: "second")
  }

  private func characteristic(
    _ uuid: CBUUID, _ properties: CharacteristicProperties,
    _ permissions: AttributePermissions = [.readable, .writeable]
  ) -> MutableCharacteristic {
    MutableCharacteristic(type: uuid, properties: properties, value: nil, permissions: permissions)
  }

  private func publish(_ characteristics: MutableCharacteristic...) async {
    service.characteristics = characteristics
    server.publish(service, at: "virtual:p-\(name)")
    await server.wait(for: "advertising")
  }

  /// Counts the reports of a scan.
  final class Counter: NSObject, CentralManagerDelegate, Sendable {
    private let state = Mutex<(count: Int, wanted: Int, task: CheckedContinuation<Void, Never>?)>((0, 0, nil))
    var count: Int { state.withLock { $0.count } }

    func wait(for more: Int) async {
      await withCheckedContinuation { task in state.withLock { ($0.wanted, $0.task) = ($0.count + more, task) } }
    }
    func centralManagerDidUpdateState(_ central: CentralManager) {}
    func centralManager(
      _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
      let task = state.withLock { state in
        state.count += 1
        return state.count >= state.wanted ? state.task.take() : nil
      }
      task?.resume()
    }
  }

  @Test func theEndOfOneScanLeavesTheScanOfAnotherManager() async throws {
    await publish(characteristic("2A37", [.read]))
    try await first.waitUntilPoweredOn()
    try await second.waitUntilPoweredOn()
    let (ours, theirs) = (Counter(), Counter())
    (first.manager.delegate, second.manager.delegate) = (ours, theirs)
    let all = [CentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)]
    first.manager.scanForPeripherals(withServices: [service.uuid], options: all)
    second.manager.scanForPeripherals(withServices: [service.uuid], options: all)
    await ours.wait(for: 2)
    await theirs.wait(for: 2)
    second.manager.stopScan()
    #expect(first.manager.isScanning && !second.manager.isScanning)
    await ours.wait(for: 1)
    let before = theirs.count
    await ours.wait(for: 5)
    #expect(theirs.count == before)
    first.manager.stopScan()
  }

  @Test func aManagerMadeWhileACentralIsConnectedServesIt() async throws {
    await publish(characteristic("2A37", [.read]))
    let peripheral = try await first.find(service.uuid)
    try await first.connect(peripheral)
    _ = try await first.discover(service.uuid, of: peripheral)

    let lateService = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
    let level = characteristic("2A19", [.read, .notify])
    lateService.characteristics = [level]
    let late = RadioTests.Server()
    late.publish(lateService, at: "virtual:p-\(name)")
    await late.wait(for: "advertising")
    level.value = Data([87])
    let manager = try #require(late.manager)
    let central = try #require(manager.connectedCentrals.first)
    let known = try #require(server.manager?.connectedCentrals.first)
    #expect(central == known && central.maximumUpdateValueLength == known.maximumUpdateValueLength)
    #expect(central.maximumUpdateValueLength > 20)

    let found = try await first.discover(lateService.uuid, of: peripheral)
    #expect(try await first.value(of: found[0], of: peripheral) == Data([87]))
    try await first.subscribe(to: found[0], of: peripheral)
    await late.wait(for: "subscribed")
    #expect(level.subscribedCentrals == [central])
  }

  @Test func aConcurrentQueueKeepsTheOrderOfValues() async throws {
    let mine = characteristic("2A37", [.notify])
    await publish(mine)
    let adapter = AdapterOptions(transport: "virtual:c-\(name)")
    let central = AsyncCentral(adapter, queue: .global())
    let peripheral = try await central.find(service.uuid)
    try await central.connect(peripheral)
    let found = try await central.discover(service.uuid, of: peripheral)
    let values = central.values(of: found[0])
    try await central.subscribe(to: found[0], of: peripheral)
    await server.wait(for: "subscribed")
    let manager = try #require(server.manager)
    let sending = Task { [server] in
      for number in 0..<3000 as Range<UInt16> {
        let value = Data([UInt8(number & 0xFF), UInt8(number >> 8)])
        while !manager.updateValue(value, for: mine, onSubscribedCentrals: nil) { await server.wait(for: "ready") }
      }
    }
    var seen: [UInt16] = []
    for await value in values {
      seen.append(UInt16(value[value.startIndex]) | UInt16(value[value.startIndex + 1]) << 8)
      if seen.count == 3000 { break }
    }
    await sending.value
    #expect(seen == Array(0..<3000))
  }

  /// Counts the pairings of a central.
  final class PairingCounter: PairingDelegate, Sendable {
    let count = Mutex(0)
    func manager(_ manager: Manager, didPairWith peer: Peer, bond: Bond?) { count.withLock { $0 += 1 } }
    func manager(_ manager: Manager, didFailToPairWith peer: Peer, error: PairingError) { count.withLock { $0 += 1 } }
  }

  @Test func withoutPairingOnDemandTheRefusalIsTheResult() async throws {
    await publish(characteristic("2A37", [.read], [.readEncryptionRequired]))
    var adapter = AdapterOptions(transport: "virtual:d-\(name)")
    adapter.pairing.pairsOnDemand = false
    let central = AsyncCentral(adapter)
    let counter = PairingCounter()
    central.manager.pairingDelegate = counter
    let peripheral = try await central.find(service.uuid)
    try await central.connect(peripheral)
    let found = try await central.discover(service.uuid, of: peripheral)
    do {
      _ = try await central.value(of: found[0], of: peripheral)
      Issue.record("the value was read")
    } catch let error as ATTError {
      #expect(error.code == .insufficientAuthentication)
    }
    #expect(counter.count.withLock { $0 } == 0 && central.manager.bonds.isEmpty)
  }

  @Test func theLongestWriteWithoutResponseArrives() async throws {
    let mine = characteristic("2A37", [.write, .writeWithoutResponse])
    await publish(mine)
    let peripheral = try await first.find(service.uuid)
    try await first.connect(peripheral)
    let found = try await first.discover(service.uuid, of: peripheral)
    let length = peripheral.maximumWriteValueLength(for: .withoutResponse)
    #expect(length == 512)
    peripheral.writeValue(Data(repeating: 7, count: length), for: found[0], type: .withoutResponse)
    // Behind it, and answered.
    try await first.write(Data([1]), to: found[0], of: peripheral)
    #expect(server.parts == [1, 1])
  }
}
