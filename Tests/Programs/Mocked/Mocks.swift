import CoreBluetooth

/// A central manager without a radio: a subclass that overrides what the program calls, and calls the delegate itself.
open class MockCentralManager: CBCentralManager, @unchecked Sendable {
  public private(set) var scannedServices: [[CBUUID]?] = []
  public private(set) var connections = 0
  private var mockedState = CBManagerState.unknown
  private var scanning = false

  open override var state: CBManagerState { mockedState }
  open override var isScanning: Bool { scanning }

  public func change(to state: CBManagerState) {
    mockedState = state
    delegate?.centralManagerDidUpdateState(self)
  }

  open override func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
    scannedServices.append(serviceUUIDs)
    scanning = true
  }

  open override func stopScan() { scanning = false }
  open override func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) { connections += 1 }
  open override func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] { [] }
}

/// A peripheral manager without a radio, with room for so many values.
open class MockPeripheralManager: CBPeripheralManager, @unchecked Sendable {
  public private(set) var added: [CBMutableService] = []
  public private(set) var sent: [Data] = []
  public private(set) var responses: [CBATTError.Code] = []
  public var room = 2
  private var advertisement: [String: Any]?

  open override var state: CBManagerState { .poweredOn }
  open override var isAdvertising: Bool { advertisement != nil }

  open override func add(_ service: CBMutableService) {
    added.append(service)
    delegate?.peripheralManager(self, didAdd: service, error: nil)
  }

  open override func startAdvertising(_ advertisementData: [String: Any]?) {
    advertisement = advertisementData ?? [:]
    delegate?.peripheralManagerDidStartAdvertising(self, error: nil)
  }

  open override func stopAdvertising() { advertisement = nil }

  open override func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    guard room > 0 else { return false }
    room -= 1
    sent.append(value)
    return true
  }

  open override func respond(to request: CBATTRequest, withResult result: CBATTError.Code) { responses.append(result) }
}

/// A peripheral that is none: CBPeripheral has no initializer.
public final class MockPeripheral: Peripheral {
  public let identifier = UUID()
  public var name: String? = "Mock"
  public var state = CBPeripheralState.connected
  public var services: [CBService]?
  public weak var delegate: CBPeripheralDelegate?
  public private(set) var calls: [String] = []

  public init() {}

  public func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    calls.append("discoverServices \(serviceUUIDs?.map(\.uuidString) ?? [])")
    let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
    service.characteristics = [
      CBMutableCharacteristic(
        type: CBUUID(string: "2A19"), properties: [.read], value: Data([87]), permissions: .readable)
    ]
    services = [service]
  }

  public func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    calls.append("discoverCharacteristics \(service.uuid.uuidString)")
  }

  public func readValue(for characteristic: CBCharacteristic) { calls.append("readValue") }

  public func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
    calls.append("writeValue \(data.count) \(type == .withResponse)")
  }

  public func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    calls.append("setNotifyValue \(enabled)")
  }

  public func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int { 20 }
}

/// A central that is none, with the length that a test wants.
public struct MockCentral: Central {
  public let identifier = UUID()
  public let maximumUpdateValueLength: Int
  public init(maximumUpdateValueLength: Int) { self.maximumUpdateValueLength = maximumUpdateValueLength }
}
