import AdapterFixtures
import BLEHCI
import BLEHost
import BLEWire
import BluetoothLE
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

/// The options of scans and connections beside CoreBluetooth's, the PHYs of a link, and the address of the adapter.
@Suite struct RadioOptionTests {
  private func scan(_ options: [String: Any]?) -> (ScanParameters?, log: [String]) {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil, options: options)
    guard case .scanning(.start(let parameters))? = fixture.commands().last else { return (nil, fixture.logged()) }
    return (parameters, fixture.logged())
  }

  @Test func aScanIsActiveOnLE1MWithoutOptions() {
    var expected = ScanParameters()
    expected.reportsChanges = true
    #expect(scan(nil).0 == expected)
  }

  @Test func aScanHasItsOptions() {
    let (parameters, log) = scan([
      CentralManagerScanOptionPassiveKey: true, CentralManagerScanOptionIntervalKey: 0.1,
      CentralManagerScanOptionWindowKey: NSNumber(value: 0.05),
      CentralManagerScanOptionPHYsKey: [LEPHY.le1M, .leCoded],
      CentralManagerScanOptionWaitsForScanResponseKey: true,
    ])
    #expect(parameters?.isActive == false && parameters?.waitsForScanResponse == true)
    #expect(parameters?.interval == 160 && parameters?.window == 80 && parameters?.phys == [.le1M, .leCoded])
    #expect(log.isEmpty)
  }

  @Test func anOptionThatCannotBeUsedIsLoggedAndIgnored() {
    for (key, value) in [
      (CentralManagerScanOptionIntervalKey, "soon" as Any), (CentralManagerScanOptionIntervalKey, 20),
      (CentralManagerScanOptionPHYsKey, [LEPHY.le2M]), (CentralManagerScanOptionPHYsKey, "LE Coded"),
    ] {
      let (parameters, log) = scan([key: value])
      #expect(parameters?.interval == 0x60 && parameters?.window == 0x30 && parameters?.phys == .le1M, "\(value)")
      #expect(log.count == 1, "\(value)")
    }
  }

  @Test func aConnectionHasItsTimingAndItsPHYs() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    let timing = ConnectionParameterRequest(interval: .milliseconds(15)...Duration.milliseconds(15))
    fixture.manager.connect(
      peripheral,
      options: [
        ConnectPeripheralOptionParametersKey: timing, ConnectPeripheralOptionPHYsKey: Set([LEPHY.leCoded, .le2M]),
      ])
    guard case .initiating(.connect(_, _, let parameters, let scan))? = fixture.commands().last else {
      Issue.record("not posted"); return
    }
    #expect(parameters.interval == 12...12 && scan.phys == [.le2M, .leCoded])
  }

  @Test func aConnectionIsOnThePHYsOfTheLastAdvertisement() throws {
    let fixture = CentralFixture()
    fixture.manager.scanForPeripherals(withServices: nil)
    var scanReport = ScanReport(
      address: CentralFixture.address(1), isConnectable: true, isScanResponse: false, data: [], rssi: -40)
    (scanReport.isLegacy, scanReport.primaryPHY, scanReport.secondaryPHY) = (false, .leCoded, .le2M)
    fixture.say(.scanning(.discovered([scanReport])))
    let peripheral = try #require(fixture.recorder.takeFound())
    fixture.manager.connect(peripheral)
    guard case .initiating(.connect(_, _, _, let scan))? = fixture.commands().last else {
      Issue.record("not posted"); return
    }
    #expect(scan.phys == [.le2M, .leCoded])
  }

  @Test func aConnectionWithoutAPrimaryChannelFails() throws {
    for options in [
      [ConnectPeripheralOptionPHYsKey: [LEPHY.le2M] as Any], [ConnectPeripheralOptionParametersKey: 5],
    ] {
      let fixture = CentralFixture()
      let peripheral = try fixture.find(1)
      fixture.manager.connect(peripheral, options: options)
      #expect(fixture.posted().isEmpty && fixture.takeCalls().count == 1)
    }
  }

  @Test func aConnectionHasItsPriority() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.find(1)
    fixture.manager.connect(peripheral, options: [ConnectPeripheralOptionPriorityKey: ConnectionPriority.throughput])
    guard case .initiating(.connect(let id, _, _, _))? = fixture.commands().last else {
      Issue.record("not posted"); return
    }
    let connection = ConnectedLink(
      peer: LinkID(rawValue: 7), address: CentralFixture.address(1), role: .central,
      timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: id)
    fixture.say(.connected(connection))
    let isAsked = fixture.commands().contains {
      if case .link(LinkID(rawValue: 7), .prioritize(.throughput)) = $0 { true } else { false }
    }
    #expect(isAsked)
    fixture.manager.connect(try fixture.find(2), options: [ConnectPeripheralOptionPriorityKey: "fast"])
    #expect(!fixture.commands().contains { if case .initiating(.connect) = $0 { true } else { false } })
  }

  @Test("6.17 An option moves the file of devices, or turns it off")
  func theFileOfDevicesIsAnOption() {
    var misuses: [String] = []
    func storage(_ value: Any) -> AdapterOptions.DeviceStorage {
      AdapterOptions([ManagerOptionDeviceStorageKey: value]) { misuses.append($0) }.deviceStorage
    }
    #expect(AdapterOptions([:]) { misuses.append($0) }.deviceStorage == .standard)
    #expect(storage(false) == .memory && storage(NSNumber(value: false)) == .memory)
    #expect(storage(true) == .standard && storage("/var/lib/clock.json") == .file("/var/lib/clock.json"))
    #expect(misuses.isEmpty)
    #expect(storage([1]) == .standard && misuses.count == 1)
  }

  @Test func anAdapterHasAPriority() throws {
    var misuses: [String] = []
    let options = AdapterOptions([ManagerOptionConnectionPriorityKey: ConnectionPriority.lowPower]) {
      misuses.append($0)
    }
    #expect(options.connectionPriority == .lowPower && misuses.isEmpty)
    #expect(AdapterOptions([ManagerOptionConnectionPriorityKey: 3]) { misuses.append($0) }.connectionPriority == nil)
    #expect(misuses.count == 1)
  }

  @Test func aLinkThatIsUpGetsAPriority() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.requestConnectionPriority(.throughput)
    guard case .link(_, .prioritize(.throughput))? = fixture.commands().last else { Issue.record("not posted"); return }
  }

  private final class Observer: NSObject, CentralManagerDelegate, PeripheralDelegate, PeripheralManagerDelegate,
    @unchecked Sendable
  {
    var devices: [DiscoveredDevice] = []
    var phys: [ConnectionPHY] = []
    var timings: [ConnectionTiming] = []
    var errors = 0
    func centralManagerDidUpdateState(_ central: CentralManager) {}
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
    func centralManager(_ central: CentralManager, didDiscover peripheral: Peripheral, device: DiscoveredDevice) {
      devices.append(device)
    }
    func peripheral(_ peripheral: Peripheral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?) {
      if let phy { phys.append(phy) }
      if error != nil { errors += 1 }
    }
    func peripheral(
      _ peripheral: Peripheral, didUpdateConnectionTiming timing: ConnectionTiming?, error: (any Error)?
    ) {
      if let timing { timings.append(timing) }
      if error != nil { errors += 1 }
    }
  }

  @Test func theLinkChangesItsPHYs() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let observer = Observer()
    peripheral.delegate = observer
    peripheral.setPreferredPHY(transmit: [.le2M], receive: [], coding: .s8)
    peripheral.readPHY()
    let commands = fixture.commands()
    guard
      case .link(LinkID(rawValue: 1), .setPHY(PHYPreference(transmit: .le2M, receive: [], coding: .s8)))? = commands
        .first,
      case .link(LinkID(rawValue: 1), .readPHY)? = commands.last
    else { Issue.record("\(commands)"); return }
    fixture.say(
      .link(LinkID(rawValue: 1), .phy(.success(ConnectionPHY(transmit: .le2M, receive: .leCoded)))),
      .link(LinkID(rawValue: 1), .phy(.failure(.unsupported("LE 2M PHY")))))
    #expect(observer.phys == [ConnectionPHY(transmit: .le2M, receive: .leCoded)] && observer.errors == 1)
  }

  @Test func theLinkChangesItsConnectionRate() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let observer = Observer()
    peripheral.delegate = observer
    peripheral.requestConnectionRate(
      ConnectionRateRequest(interval: .milliseconds(1)...Duration.milliseconds(2), continuationNumber: 1))
    peripheral.requestConnectionRate(
      ConnectionRateRequest(interval: .milliseconds(1)...Duration.milliseconds(2), subrateFactor: 2...4))
    let commands = fixture.commands()
    let subrating = SubratingParameters(factor: 2...4, supervisionTimeout: 600)
    guard case .link(LinkID(rawValue: 1), .requestConnectionRate(let parameters))? = commands.first else {
      Issue.record("\(commands)"); return
    }
    #expect(commands.count == 1 && parameters == LinkRateParameters(interval: 8...16, subrating: subrating))
    let changed = LinkSubrating(factor: 4, latency: 2, continuation: 0, supervisionTimeout: 600)
    fixture.say(
      .link(LinkID(rawValue: 1), .connectionRate(.success(LinkRate(interval: 8, subrating: changed)))),
      .link(LinkID(rawValue: 1), .connectionRate(.failure(.unsupported("Shorter Connection Intervals")))))
    let timing = ConnectionTiming(interval: .milliseconds(1), latency: 2, supervisionTimeout: .seconds(6))
    #expect(observer.timings == [timing] && observer.errors == 2)
  }

  @Test func aDelegateMayReceiveTheWholeReport() {
    let fixture = CentralFixture()
    let observer = Observer()
    fixture.manager.delegate = observer
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.advertise(1, ScanTests.strap)
    #expect(observer.devices.count == 1 && observer.devices.first?.report.address == CentralFixture.address(1))
    #expect(observer.devices.first?.data.serviceUUIDLists.first?.isComplete == true)
  }

  @Test func theManagerHasTheAddressOfItsAdapter() {
    let fixture = CentralFixture()
    #expect(fixture.manager.address == nil)
    fixture.say(.address(CentralFixture.address(7)))
    #expect(fixture.manager.address == CentralFixture.address(7))
  }
}
