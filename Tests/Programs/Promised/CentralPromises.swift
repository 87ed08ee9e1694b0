// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth

/// CoreBluetooth's central role with a promise for each command.
public class CentralPromises: NSObject {
  public enum Failure: Error { case notPoweredOn(CBManagerState), noService(CBUUID), noCharacteristic(CBUUID), noValue }

  public private(set) var centralManager: CBCentralManager!
  private var powered: [Resolver<Void>] = []
  private var scan: Resolver<CBPeripheral>?
  /// CoreBluetooth does not retain the peripherals that it finds.
  private var peripherals: Set<CBPeripheral> = []
  private var connections: [UUID: Resolver<CBPeripheral>] = [:]
  private var disconnections: [UUID: Resolver<Void>] = [:]
  private var services: [UUID: Resolver<[CBService]>] = [:]
  private var characteristics: [CBService: [Resolver<[CBCharacteristic]>]] = [:]
  private var reads: [CBCharacteristic: [Resolver<Data>]] = [:]
  private var writes: [CBCharacteristic: [Resolver<Void>]] = [:]
  private var states: [CBCharacteristic: Resolver<Bool>] = [:]
  private var handlers: [CBCharacteristic: (Data) -> Void] = [:]

  public init(queue: DispatchQueue? = .main, options: [String: Any]? = nil) {
    super.init()
    centralManager = CBCentralManager(delegate: self, queue: queue, options: options)
  }

  public func poweredOn() -> Promise<Void> {
    guard centralManager.state != .poweredOn else { return .value(()) }
    return Promise { powered.append($0) }
  }

  public func scan(for service: CBUUID) -> Promise<CBPeripheral> {
    Promise {
      scan = $0
      centralManager.scanForPeripherals(withServices: [service])
    }
  }

  public func connect(_ peripheral: CBPeripheral) -> Promise<CBPeripheral> {
    peripheral.delegate = self
    return Promise {
      connections[peripheral.identifier] = $0
      centralManager.connect(peripheral)
    }
  }

  public func disconnect(_ peripheral: CBPeripheral) -> Promise<Void> {
    Promise {
      disconnections[peripheral.identifier] = $0
      centralManager.cancelPeripheralConnection(peripheral)
    }
  }

  public func service(_ uuid: CBUUID, of peripheral: CBPeripheral) -> Promise<CBService> {
    Promise<[CBService]> {
      services[peripheral.identifier] = $0
      peripheral.discoverServices([uuid])
    }.map { found in
      guard let service = found.first(where: { $0.uuid == uuid }) else { throw Failure.noService(uuid) }
      return service
    }
  }

  public func characteristic(_ uuid: CBUUID, of service: CBService) -> Promise<CBCharacteristic> {
    Promise<[CBCharacteristic]> {
      characteristics[service, default: []].append($0)
      service.peripheral?.discoverCharacteristics([uuid], for: service)
    }.map { found in
      guard let characteristic = found.first(where: { $0.uuid == uuid }) else { throw Failure.noCharacteristic(uuid) }
      return characteristic
    }
  }

  public func read(_ characteristic: CBCharacteristic) -> Promise<Data> {
    Promise {
      reads[characteristic, default: []].append($0)
      characteristic.service?.peripheral?.readValue(for: characteristic)
    }
  }

  public func write(_ data: Data, to characteristic: CBCharacteristic) -> Promise<Void> {
    Promise {
      writes[characteristic, default: []].append($0)
      characteristic.service?.peripheral?.writeValue(data, for: characteristic, type: .withResponse)
    }
  }

  public func subscribe(to characteristic: CBCharacteristic, handler: @escaping (Data) -> Void) -> Promise<Bool> {
    handlers[characteristic] = handler
    return Promise {
      states[characteristic] = $0
      characteristic.service?.peripheral?.setNotifyValue(true, for: characteristic)
    }
  }
}

extension CentralPromises: CBCentralManagerDelegate {
  public func centralManagerDidUpdateState(_ central: CBCentralManager) {
    let waiting = powered
    powered = []
    for resolver in waiting {
      if central.state == .poweredOn {
        resolver.fulfill(())
      } else {
        resolver.reject(Failure.notPoweredOn(central.state))
      }
    }
  }

  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    central.stopScan()
    peripherals.insert(peripheral)
    scan?.fulfill(peripheral)
    scan = nil
  }

  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    connections.removeValue(forKey: peripheral.identifier)?.fulfill(peripheral)
  }

  public func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    connections.removeValue(forKey: peripheral.identifier)?.reject(error ?? CBError(.connectionFailed))
  }

  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    connections.removeValue(forKey: peripheral.identifier)?.reject(error ?? CBError(.operationCancelled))
    disconnections.removeValue(forKey: peripheral.identifier)?.resolve((), error)
  }
}

extension CentralPromises: CBPeripheralDelegate {
  public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    services.removeValue(forKey: peripheral.identifier)?.resolve(peripheral.services ?? [], error)
  }

  public func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    guard var waiting = characteristics[service], !waiting.isEmpty else { return }
    let resolver = waiting.removeFirst()
    characteristics[service] = waiting
    resolver.resolve(service.characteristics ?? [], error)
  }

  public func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?)
  {
    guard var waiting = reads[characteristic], !waiting.isEmpty else {
      if let data = characteristic.value { handlers[characteristic]?(data) }
      return
    }
    let resolver = waiting.removeFirst()
    reads[characteristic] = waiting
    if let error = error { return resolver.reject(error) }
    guard let data = characteristic.value else { return resolver.reject(Failure.noValue) }
    resolver.fulfill(data)
  }

  public func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
    guard var waiting = writes[characteristic], !waiting.isEmpty else { return }
    let resolver = waiting.removeFirst()
    writes[characteristic] = waiting
    resolver.resolve((), error)
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) {
    states.removeValue(forKey: characteristic)?.resolve(characteristic.isNotifying, error)
  }
}
