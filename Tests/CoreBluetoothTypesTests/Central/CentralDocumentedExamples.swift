import BluetoothLE
import Testing

/// The examples in the documentation of the central role, as a program of a user's would have them: public names only.
@Suite struct CentralDocumentedExamples {
  final class Finder: NSObject, CentralManagerDelegate {
    var manager: CentralManager?
    var found: Peripheral?

    func centralManagerDidUpdateState(_ central: CentralManager) {
      guard central.state == .poweredOn else { return print(central.stateReason ?? "not on yet") }
      central.scanForPeripherals(withServices: ["180D"])
    }

    func centralManager(
      _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any],
      rssi: NSNumber
    ) {
      found = peripheral
      central.stopScan()
      central.connect(peripheral)
    }
  }

  /// A subclass overrides what CoreBluetooth lets it override.
  final class Spy: CentralManager, @unchecked Sendable {
    override var isScanning: Bool { true }
    override func connect(_ peripheral: Peripheral, options: [String: Any]? = nil) {
      super.connect(peripheral, options: options)
    }
    override init(delegate: (any CentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
      super.init(delegate: delegate, queue: queue, options: options)
    }
  }

  @Test func theyHearAndConnect() {
    let finder = Finder()
    let fixture = CentralFixture()
    fixture.manager.delegate = finder
    finder.centralManagerDidUpdateState(fixture.manager)
    #expect(fixture.manager.isScanning)
    fixture.advertise(1, ScanTests.strap)
    #expect(finder.found?.state == .connecting)
    #expect(fixture.posted() == ["scan", "stop scanning", "connect 1"])
    let spy = Spy(delegate: nil, queue: nil, options: [ManagerOptionTransportKey: "virtual:central-spy"])
    #expect(spy.isScanning)
    #expect(
      CentralManager(delegate: nil, queue: nil, options: [ManagerOptionTransportKey: "nonsense:"]).delegate == nil)
  }
}
