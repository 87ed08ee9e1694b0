// swift-format-ignore-file: AlwaysUseLowerCamelCase

// What programs do across a module's border: default arguments, public types of their own, inlinable functions,
// delegates that belong to an actor; and the modules that an import of CoreBluetooth brings with it.
import CoreBluetooth

public struct Reading: Sendable {
  public let characteristic: CBUUID
  public var values: [CBUUID: Data] = [:]
  public typealias Features = CBCentralManager.Feature

  public init(_ characteristic: CBUUID = "2A37") { self.characteristic = characteristic }
  public func write(_ type: CBCharacteristicWriteType = .withResponse, failing code: CBError.Code = .unknown) {}
  @inlinable public func state() -> CBManagerState { .poweredOn }
}

@MainActor final class Model: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  var manager: CBCentralManager!
  var peripheral: CBPeripheral?

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: nil)
  }

  nonisolated func centralManagerDidUpdateState(_ central: CBCentralManager) {
    Task { @MainActor in print(central.state, manager.isScanning) }
  }
}

@MainActor final class IsolatedModel: NSObject, @preconcurrency CBCentralManagerDelegate {
  var names: [String] = []
  func centralManagerDidUpdateState(_ central: CBCentralManager) { central.scanForPeripherals(withServices: nil) }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    names.append(peripheral.name ?? "")
  }
}

func reexports() {
  let _: CFAbsoluteTime = CFAbsoluteTimeGetCurrent()
  let _: DispatchQueue = .main
  let _: UUID = UUID()
  let _: dispatch_queue_t = DispatchQueue.main
  let _: (dispatch_group_t, dispatch_semaphore_t) = (DispatchGroup(), DispatchSemaphore(value: 0))
  let _: dispatch_block_t = {}
  let _: UInt64 = NSEC_PER_SEC / NSEC_PER_MSEC + NSEC_PER_USEC + USEC_PER_SEC + MSEC_PER_SEC
}
