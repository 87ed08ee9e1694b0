import CoreBluetooth

// Protocols that CoreBluetooth's classes conform to as they are, so that a test puts mocks in their place.

public protocol Peripheral: AnyObject {
  var identifier: UUID { get }
  var name: String? { get }
  var state: CBPeripheralState { get }
  var services: [CBService]? { get }
  var delegate: CBPeripheralDelegate? { get set }
  func discoverServices(_ serviceUUIDs: [CBUUID]?)
  func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService)
  func readValue(for characteristic: CBCharacteristic)
  func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType)
  func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic)
  func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int
}

extension CBPeripheral: Peripheral {}

public protocol PeripheralManaging: AnyObject {
  var state: CBManagerState { get }
  var isAdvertising: Bool { get }
  func add(_ service: CBMutableService)
  func startAdvertising(_ advertisementData: [String: Any]?)
  func stopAdvertising()
  func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool
}

extension CBPeripheralManager: PeripheralManaging {}

public protocol Central {
  var identifier: UUID { get }
  var maximumUpdateValueLength: Int { get }
}

extension CBCentral: Central {}

/// The code under test: it sends a text in chunks that fit the central, and goes on when there is room.
public final class ChunkSender {
  private let manager: PeripheralManaging
  private let characteristic: CBMutableCharacteristic
  private var rest: [Data] = []

  public init(manager: PeripheralManaging, characteristic: CBMutableCharacteristic) {
    self.manager = manager
    self.characteristic = characteristic
  }

  public var isDone: Bool { rest.isEmpty }

  public func send(_ text: String, to central: Central) {
    let data = Data(text.utf8)
    let length = central.maximumUpdateValueLength
    rest = stride(from: 0, to: data.count, by: length).map { data[$0..<min($0 + length, data.count)] }
    continueSending()
  }

  public func continueSending() {
    while let chunk = rest.first, manager.updateValue(chunk, for: characteristic, onSubscribedCentrals: nil) {
      rest.removeFirst()
    }
  }
}
