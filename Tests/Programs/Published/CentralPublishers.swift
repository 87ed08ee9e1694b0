// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth

/// CoreBluetooth's central role as publishers: a delegate that only sends, and extensions that combine.
public final class CentralPublishers: NSObject {
  public private(set) var manager: CBCentralManager!
  public let state = CurrentValueSubject<CBManagerState>(.unknown)
  fileprivate let discovered = PassthroughSubject<
    (peripheral: CBPeripheral, advertisementData: [String: Any], rssi: Int)
  >()
  fileprivate let connected = PassthroughSubject<(CBPeripheral, Result<Void, Error>)>()
  fileprivate let disconnected = PassthroughSubject<(CBPeripheral, Error?)>()

  public override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: .main)
  }

  /// The peripherals that a scan finds, which ends with the subscription.
  public func scan(for services: [CBUUID]?) -> AnyPublisher<CBPeripheral> {
    AnyPublisher { [self] value, completion in
      let subscription = discovered.map(\.peripheral).receive(value, completion: completion)
      manager.scanForPeripherals(withServices: services)
      return AnyCancellable { [manager] in
        subscription.cancel()
        manager?.stopScan()
      }
    }
  }

  public func connect(_ peripheral: CBPeripheral) -> AnyPublisher<PeripheralPublishers> {
    AnyPublisher { [self] value, completion in
      let subscription = connected.filter { $0.0 == peripheral }.sink { _, result in
        switch result {
        case .success: value(PeripheralPublishers(peripheral))
        case .failure(let error): completion(.failure(error))
        }
      }
      manager.connect(peripheral)
      return subscription
    }
  }

  public func disconnect(_ peripheral: CBPeripheral) -> AnyPublisher<CBPeripheral> {
    AnyPublisher { [self] value, completion in
      let subscription = disconnected.filter { $0.0 == peripheral }.sink { peripheral, error in
        if let error = error { completion(.failure(error)) } else { value(peripheral) }
      }
      manager.cancelPeripheralConnection(peripheral)
      return subscription
    }
  }
}

extension CentralPublishers: CBCentralManagerDelegate {
  public func centralManagerDidUpdateState(_ central: CBCentralManager) { state.value = central.state }

  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    discovered.send((peripheral, advertisementData, RSSI.intValue))
  }

  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    connected.send((peripheral, .success(())))
  }

  public func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    connected.send((peripheral, .failure(error ?? CBError(.connectionFailed))))
  }

  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    disconnected.send((peripheral, error))
  }
}

/// A peripheral whose delegate calls are publishers.
public final class PeripheralPublishers: NSObject, CBPeripheralDelegate {
  public let peripheral: CBPeripheral
  private let services = PassthroughSubject<Result<[CBService], Error>>()
  private let characteristics = PassthroughSubject<(CBService, Error?)>()
  private let values = PassthroughSubject<(CBCharacteristic, Error?)>()
  private let writes = PassthroughSubject<(CBCharacteristic, Error?)>()

  init(_ peripheral: CBPeripheral) {
    self.peripheral = peripheral
    super.init()
    peripheral.delegate = self
  }

  public func characteristic(_ uuid: CBUUID, in service: CBUUID) -> AnyPublisher<CBCharacteristic> {
    AnyPublisher { [self] value, completion in
      let found = characteristics.compactMap { service, _ in service.characteristics?.first { $0.uuid == uuid } }
        .sink(receiveValue: value)
      let wanted = services.sink { [peripheral] result in
        switch result {
        case .success(let all):
          for one in all where one.uuid == service { peripheral.discoverCharacteristics([uuid], for: one) }
        case .failure(let error): completion(.failure(error))
        }
      }
      peripheral.discoverServices([service])
      return AnyCancellable {
        found.cancel()
        wanted.cancel()
      }
    }
  }

  public func read(_ characteristic: CBCharacteristic) -> AnyPublisher<Data> {
    values(of: characteristic) { $0.readValue(for: characteristic) }
  }

  public func notifications(of characteristic: CBCharacteristic) -> AnyPublisher<Data> {
    values(of: characteristic) { $0.setNotifyValue(true, for: characteristic) }
  }

  public func write(_ data: Data, to characteristic: CBCharacteristic) -> AnyPublisher<CBCharacteristic> {
    AnyPublisher { [self] value, completion in
      let subscription = writes.filter { $0.0 == characteristic }.sink { characteristic, error in
        if let error = error { completion(.failure(error)) } else { value(characteristic) }
      }
      peripheral.writeValue(data, for: characteristic, type: .withResponse)
      return subscription
    }
  }

  private func values(of characteristic: CBCharacteristic, _ start: @escaping (CBPeripheral) -> Void) -> AnyPublisher<
    Data
  > {
    AnyPublisher { [self] value, completion in
      let subscription = values.filter { $0.0 == characteristic }.sink { characteristic, error in
        if let error = error { completion(.failure(error)) } else { characteristic.value.map(value) }
      }
      start(peripheral)
      return subscription
    }
  }

  public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    services.send(error.map { .failure($0) } ?? .success(peripheral.services ?? []))
  }

  public func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    characteristics.send((service, error))
  }

  public func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?)
  {
    values.send((characteristic, error))
  }

  public func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
    writes.send((characteristic, error))
  }
}
