import AdapterFixtures
import BLEAdapter
import BluetoothLE
import Synchronization
import TestSupport
import Testing

/// Managers with restoration identifiers one after the other, over the simulated radio.
@Suite(.serialized, .usesRadio) struct RadioRestorationTests {
  private let name = UUID().uuidString
  private let service = CBUUID(nsuuid: UUID())

  /// A delegate of both kinds.
  final class Program: NSObject, CentralManagerDelegate, PeripheralManagerDelegate, Sendable {
    private let state = Mutex(State())
    let lines: AsyncStream<String>
    private let said: AsyncStream<String>.Continuation

    private struct State {
      var peripherals: [Peripheral] = []
      var publishes: CBUUID?
    }

    init(publishing uuid: CBUUID? = nil) {
      (lines, said) = AsyncStream.makeStream(of: String.self)
      super.init()
      state.withLock { $0.publishes = uuid }
    }

    /// The lines up to this one.
    func wait(for line: String) async -> [String] {
      var all: [String] = []
      for await said in lines {
        all.append(said)
        if said == line { break }
      }
      return all
    }

    func centralManagerDidUpdateState(_ central: CentralManager) {
      said.yield("state \(central.state)")
      if central.state == .poweredOn, let uuid = state.withLock({ $0.publishes }) {
        central.scanForPeripherals(withServices: [uuid])
      }
    }
    func centralManager(_ central: CentralManager, willRestoreState dict: [String: Any]) {
      let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [Peripheral] ?? []
      let services = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] ?? []
      state.withLock { $0.peripherals = peripherals }
      said.yield("restored \(peripherals.count) \(services.count)")
    }
    func centralManager(
      _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
      let isFirst = state.withLock { state in
        state.peripherals.append(peripheral)
        return state.peripherals.count == 1
      }
      if isFirst { central.connect(peripheral) }
    }
    func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) { said.yield("connected") }

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
      said.yield("state \(peripheral.state)")
      guard peripheral.state == .poweredOn, let uuid = state.withLock({ $0.publishes }) else { return }
      let service = MutableService(type: uuid, primary: true)
      service.characteristics = [
        MutableCharacteristic(type: "2A37", properties: .read, value: nil, permissions: .readable)
      ]
      peripheral.add(service)
      peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [uuid]])
    }
    func peripheralManager(_ peripheral: PeripheralManager, willRestoreState dict: [String: Any]) {
      let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [MutableService] ?? []
      let advertisement = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any] ?? [:]
      said.yield("restored \(services.count) \(advertisement.count)")
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
      said.yield("advertising")
    }
    func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
      request.value = Data("restored".utf8)
      peripheral.respond(to: request, withResult: .success)
    }
  }

  private func options(_ role: RestorationStore.Role) -> AdapterOptions {
    AdapterOptions(transport: "virtual:\(role)-\(name)")
  }

  private func peripheralManager(_ program: Program) -> PeripheralManager {
    PeripheralManager(
      delegate: program, queue: DispatchQueue(label: "peripheral"), adapter: options(.peripheral),
      restoreIdentifier: "main")
  }

  private func centralManager(_ program: Program) -> CentralManager {
    CentralManager(
      delegate: program, queue: DispatchQueue(label: "central"), adapter: options(.central),
      restoreIdentifier: "main")
  }

  /// Waits until a manager that was released has ended and its state is saved: its identifier is free then. A delegate
  /// call that runs keeps it.
  private func untilReleased(_ role: RestorationStore.Role) async throws {
    try await until { RestorationStore.open("main", role, options(role), log: { _ in }) != nil }
  }

  @Test func aPeripheralServesWhatTheOneBeforeItPublished() async throws {
    let first = Program(publishing: service)
    var earlier: PeripheralManager? = peripheralManager(first)
    _ = await first.wait(for: "advertising")
    #expect(earlier?.isAdvertising == true)
    earlier = nil
    try await untilReleased(.peripheral)

    let second = Program()
    let later = peripheralManager(second)
    #expect(
      await second.wait(for: "state poweredOn").filter { !$0.hasPrefix("state re") } == [
        "restored 1 1", "state poweredOn",
      ])
    #expect(later.isAdvertising)
    let central = AsyncCentral(AdapterOptions(transport: "virtual:r-\(name)"))
    let peripheral = try await central.find(service)
    try await central.connect(peripheral)
    let characteristic = try #require(try await central.discover(service, of: peripheral).first)
    #expect(try await central.value(of: characteristic, of: peripheral) == Data("restored".utf8))
  }

  @Test func aCentralConnectsToThePeripheralOfTheOneBeforeIt() async throws {
    let server = Program(publishing: service)
    let published = peripheralManager(server)
    _ = await server.wait(for: "advertising")
    let first = Program(publishing: service)
    var earlier: CentralManager? = centralManager(first)
    _ = await first.wait(for: "connected")
    #expect(earlier?.isScanning == true)
    earlier = nil
    try await untilReleased(.central)
    // A connection to a device whose link is still ending is refused.
    try await until { published.connectedCentrals.isEmpty }

    let second = Program()
    let later = centralManager(second)
    let lines = await second.wait(for: "connected")
    #expect(lines.first == "restored 1 1" && lines.last == "connected")
    #expect(later.isScanning)
    withExtendedLifetime(published) {}
  }
}
