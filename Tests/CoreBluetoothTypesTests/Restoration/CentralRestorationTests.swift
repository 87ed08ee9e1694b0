import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

/// What a central manager declares is there again in a manager with the same restoration identifier.
@Suite struct CentralRestorationTests {
  private let place: RestorationPlace

  init() throws { place = try RestorationPlace() }

  private func opened() throws -> RestorationStore {
    let store = place.open(.central)
    return try #require(store)
  }

  /// A manager with this identifier, declared by `body`, whose process was killed while it held what `body` returns.
  private func earlier(_ body: (CentralFixture) throws -> [Peripheral]) throws {
    let fixture = CentralFixture(restoration: try opened())
    let held = try body(fixture)
    fixture.settle()
    try place.kill(.central) { fixture.releaseManager() }
    withExtendedLifetime(held) {}
  }

  private func later(_ states: AdapterState...) throws -> CentralFixture {
    let fixture = CentralFixture(.unknown, restoration: try opened())
    for state in states { fixture.say(.state(state, nil)) }
    return fixture
  }

  @Test("7.3 A scan is restored with its arguments, before the state of the adapter")
  func aScanIsRestored() throws {
    try earlier { fixture in
      fixture.manager.scanForPeripherals(
        withServices: ["180D", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961"],
        options: [
          CBCentralManagerScanOptionAllowDuplicatesKey: true,
          CBCentralManagerScanOptionSolicitedServiceUUIDsKey: [CBUUID(string: "180A")],
          CBCentralManagerScanOptionPHYsKey: [LEPHY.le1M, .leCoded], CBCentralManagerScanOptionIntervalKey: 0.1,
          CBCentralManagerScanOptionWindowKey: NSNumber(value: 0.05), CBCentralManagerScanOptionPassiveKey: true,
        ])
      return []
    }
    let later = try later(.poweredOn)
    #expect(
      later.takeCalls() == [
        "willRestore scan [180D, E20A39F4-73F5-4BC4-A12F-17D1AD07A961] [\"BLEScanOptionInterval\", \"BLEScanOptionPHYs\", \"BLEScanOptionPassive\", \"BLEScanOptionWindow\", \"kCBScanOptionAllowDuplicates\", \"kCBScanOptionSolicitedServiceUUIDs\"]",
        "state poweredOn",
      ])
    guard case .scanning(.start(let parameters))? = later.commands().first else { throw CentralFixture.NothingFound() }
    #expect(parameters.allowsDuplicates && !parameters.isActive)
    #expect(parameters.interval == 160 && parameters.window == 80 && parameters.phys == [.le1M, .leCoded])
    #expect(later.manager.isScanning)
    // It is the manager's as if it had started it, and is kept for the manager after this one.
    later.advertise(1, "03030d18")
    #expect(later.takeCalls() == ["discovered - -40"])
    later.manager.stopScan()
    later.settle()
    later.releaseManager()
    let last = try self.later(.poweredOn)
    #expect(last.takeCalls() == ["state poweredOn"])
  }

  @Test func linksAndPendingConnectionsAreRestoredAsPendingOnes() throws {
    var identifiers: [UUID] = []
    try earlier { fixture in
      let connected = try fixture.connect(
        1,
        options: [
          CBConnectPeripheralOptionEnableAutoReconnect: true,
          CBConnectPeripheralOptionParametersKey: ConnectionParameterRequest(
            interval: .milliseconds(100)...Duration.milliseconds(200), latency: 2, supervisionTimeout: .seconds(6)),
        ])
      let pending = try fixture.find(2, "0509616c6163")
      fixture.manager.connect(pending, options: [CBConnectPeripheralOptionStartDelayKey: 600])
      let cancelled = try fixture.connect(3, peer: 3)
      fixture.manager.cancelPeripheralConnection(cancelled)
      let lost = try fixture.connect(4, peer: 4)
      fixture.say(.link(LinkID(rawValue: 4), .disconnected(.connectionTimeout)))
      identifiers = [connected.identifier, pending.identifier]
      return [connected, pending, cancelled, lost]
    }
    let later = try later(.poweredOn)
    #expect(later.takeCalls() == ["willRestore - connecting alac connecting", "state poweredOn"])
    let commands = later.commands()
    #expect(commands.map(CentralFixture.describe) == ["connect 1", "connect 2"])
    guard case .initiating(.connect(_, _, let parameters, _))? = commands.first else {
      throw CentralFixture.NothingFound()
    }
    #expect(parameters.interval == 80...160 && parameters.latency == 2 && parameters.supervisionTimeout == 600)
    #expect(later.manager.retrievePeripherals(withIdentifiers: identifiers).map(\.identifier) == identifiers)
    later.linkUp(2)
    #expect(later.takeCalls() == ["connected"])
  }

  /// As a scan of this run replaces one of an earlier run.
  @Test func aConnectionOfThisRunHasItsOwnOptions() throws {
    let own: [String: Any] = [
      CBConnectPeripheralOptionParametersKey: ConnectionParameterRequest(
        interval: .milliseconds(100)...Duration.milliseconds(200), latency: 2, supervisionTimeout: .seconds(6))
    ]
    var identifiers: [UUID] = []
    try earlier { fixture in
      let pending = [try fixture.find(1), try fixture.find(2)]
      fixture.manager.connect(pending[0], options: own)
      fixture.manager.connect(pending[1])
      identifiers = pending.map(\.identifier)
      return pending
    }
    let later = try later(.poweredOn)
    #expect(later.posted() == ["connect 1", "connect 2"])
    let pending = later.manager.retrievePeripherals(withIdentifiers: identifiers)
    later.manager.connect(pending[0], options: own)
    #expect(later.posted() == [], "the options are the same")
    later.manager.connect(pending[1], options: own)
    let commands = later.commands()
    #expect(commands.map(CentralFixture.describe) == ["cancel connect", "connect 2"])
    guard case .initiating(.connect(_, _, let parameters, _))? = commands.last else {
      throw CentralFixture.NothingFound()
    }
    #expect(parameters.interval == 80...160)
    later.manager.connect(pending[1])
    #expect(later.posted() == [], "it is a connection of this run")
    _ = later.takeCalls()
    later.linkUp(2)
    #expect(later.takeCalls() == ["connected"])
  }

  /// Nothing else keeps a peripheral, as in a connection that the application makes.
  @Test func aPeripheralThatIsNotHeldIsCancelled() throws {
    try earlier { [try $0.connect(1)] }
    let later = try later(.poweredOn)
    #expect(later.posted() == ["connect 1"])
    _ = later.recorder.takeFound()
    #expect(later.posted() == ["cancel connect"])
  }

  @Test func anAdapterThatIsOffFirstConnectsWhenItIsOn() throws {
    try earlier { fixture in
      let peripheral = try fixture.connect(1)
      fixture.manager.scanForPeripherals(withServices: nil)
      return [peripheral]
    }
    let later = try later(.poweredOff)
    #expect(later.takeCalls() == ["willRestore - disconnected scan all []", "state poweredOff"])
    #expect(later.posted() == [])
    later.say(.state(.poweredOn, nil))
    #expect(later.posted() == ["scan", "connect 1"])
    #expect(later.takeCalls() == ["state poweredOn"])
  }

  /// A private address is another one soon.
  @Test func onlyIdentityAddressesAreRestored() throws {
    try earlier { fixture in
      let found = fixture.manager.retrievePeripheral(withAddress: "40:00:00:00:00:01", isRandom: true)
      let peripheral = try #require(found)
      fixture.manager.connect(peripheral)
      return [peripheral]
    }
    #expect(try later(.poweredOn).takeCalls() == ["state poweredOn"])
  }

  @Test func theNumberOfPeripheralsIsBounded() throws {
    try earlier { fixture in
      let peripherals = try (1...UInt8(RestoredConnections.limit + 1)).map { try fixture.find($0) }
      for peripheral in peripherals { fixture.manager.connect(peripheral) }
      return peripherals
    }
    #expect(try later(.poweredOn).posted().count == RestoredConnections.limit)
  }

  @Test(arguments: [
    #"{"peripherals": [{"address": "C0:00:00:00:00:01", "isRandom": true, "reconnectsByItself": true, "parameters": [9, 1, 0, 0], "phys": ["LE 9M"]}, {"address": "1", "isRandom": false, "reconnectsByItself": false}]}"#,
    #"{"peripherals": [{"address": "C0:00:00:00:00:01", "isRandom": true, "reconnectsByItself": false, "parameters": [1]}], "scan": {"interval": 1e300, "window": -4, "phys": []}}"#,
  ]) func whatIsNotAllowedHasItsDefault(content: String) throws {
    try earlier { fixture in
      fixture.manager.scanForPeripherals(withServices: nil)
      return []
    }
    let path = try #require(place.file(.central))
    let whole = #"{"version": 1, "role": "central", "identifier": "main", "content": \#(content)}"#
    try place.write(Data(whole.utf8), to: path)
    let later = try later(.poweredOn)
    #expect(later.posted().last == "connect 1")
  }
}
