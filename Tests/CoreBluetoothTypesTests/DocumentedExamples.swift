import AdapterFixtures
import BluetoothLE
import Testing

/// The examples in the documentation of the peripheral role, as a program of a user's would have them: public names
/// only.
@Suite struct DocumentedExamples {
  final class Thermometer: NSObject, PeripheralManagerDelegate {
    var manager: PeripheralManager?

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
      guard peripheral.state == .poweredOn else { return print(peripheral.stateReason ?? "not on yet") }
      let temperature = MutableCharacteristic(
        type: "2A6E", properties: [.read], value: Data([0x98, 0x08]), permissions: [.readable])
      let service = MutableService(type: "181A", primary: true)
      service.characteristics = [temperature]
      peripheral.add(service)
      peripheral.startAdvertising([AdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
  }

  func advertise(_ manager: PeripheralManager) throws {
    let payload = try manager.startAdvertising(
      Advertisement(localName: "Thermometer", serviceUUIDs: ["181A"], elements: [.txPowerLevel(0)]))
    print(payload.localName ?? "no room for the name", payload.overflowServiceUUIDs)
  }

  func explain(_ error: any Error) -> String {
    do { throw error } catch BluetoothError.alreadyAdvertising { return "stop first" } catch { return "\(error)" }
  }

  /// A delegate of Swift 6: requests are answered from a task, on any thread.
  final class Slow: NSObject, PeripheralManagerDelegate, Sendable {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}

    func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
      Task {
        request.value = Data([1]).dropFirst(request.offset)
        peripheral.respond(to: request, withResult: .success)
      }
    }
  }

  /// Lets in whom it knows, once they have proved who they are.
  final class Porter: PairingDelegate {
    let door: PeripheralManager
    let residents: Set<UUID>

    init(_ door: PeripheralManager, residents: Set<UUID>) { (self.door, self.residents) = (door, residents) }

    func manager(_ manager: Manager, didChangeSecurityOf peer: Peer, to security: PeerSecurity) {
      guard security.isBondProven, let central = peer as? Central else { return }
      guard residents.contains(central.identifier) else { return }
      door.setAuthorized(true, for: central)
    }
  }

  /// A subclass overrides what CoreBluetooth lets it override.
  final class Spy: PeripheralManager, @unchecked Sendable {
    override func startAdvertising(_ advertisementData: [String: Any]?) { super.startAdvertising(advertisementData) }
    override func add(_ service: MutableService) { super.add(service) }
    override var isAdvertising: Bool { true }
    override init(delegate: (any PeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
      super.init(delegate: delegate, queue: queue, options: options)
    }
  }

  @Test(.ownsLog) func theLogHasAHandler() async {
    BluetoothLog.setHandler { line in print(line.level, line.category, line.text) }
    BluetoothLog.setHandler(nil)
  }

  @Test func theySayWhatTheyPromise() {
    #expect(explain(BluetoothError(.alreadyAdvertising)) == "stop first")
    let spy = Spy(delegate: nil, queue: nil, options: [ManagerOptionTransportKey: "virtual:facade-spy"])
    #expect(spy.isAdvertising)
    let options = AdapterOptions(transport: "virtual:facade-clock", deviceName: "Clock")
    #expect(PeripheralManager(delegate: nil, queue: nil, adapter: options).connectedCentrals == [])
    var hidden = AdapterOptions(transport: "virtual")
    hidden.privacy.usesPrivateAddress = true
    #expect(hidden != AdapterOptions(transport: "virtual") && hidden.privacy.rotation == .seconds(900))
    let tooHot = ATTError.Code(rawValue: 0x80)!
    #expect(tooHot.rawValue == 0x80)
  }
}
