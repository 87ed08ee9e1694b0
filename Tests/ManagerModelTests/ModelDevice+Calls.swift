import BLEAdapter
import BLEHost
import Foundation

@testable import CoreBluetoothTypes

/// The calls of a program.
extension ModelDevice {
  /// Makes a call if it is one that has an answer, or an effect.
  func perform(_ action: ModelMove.Action) {
    guard let central, let peripheral else { return }
    count(action)
    if action.isOfChannel { return performOnChannel(action) }
    if action.isOfPeripheral {
      guard peripheral.state == .poweredOn else { return }
      return performAsPeripheral(action, peripheral)
    }
    guard central.state == .poweredOn, let peer else { return }
    switch action {
    case .connect:
      guard peer.state == .disconnected else { return }
      promise(.connection)
      return central.connect(peer)
    case .cancel: return central.cancelPeripheralConnection(peer)
    case .scan: return central.scanForPeripherals(withServices: nil)
    case .stopScan: return central.stopScan()
    case .registerForConnectionEvents: return central.registerForConnectionEvents(options: nil)
    case .retrieve:
      let same = central.retrievePeripherals(withIdentifiers: [peer.identifier])
      if same.count != 1 || same.first !== peer { faults.append("retrieved \(same) for \(peer)") }
      return
    case .retrieveConnected:
      let all = central.retrieveConnectedPeripherals(withServices: Self.services)
      if all.contains(where: { $0 !== peer }) { faults.append("retrieved \(all), connected is \(peer)") }
      return
    default: break
    }
    guard peer.state == .connected else { return }
    perform(action, on: peer, central)
  }

  private func perform(_ action: ModelMove.Action, on peer: CBPeripheral, _ central: CBCentralManager) {
    switch action {
    case .discoverServices:
      promise(.services)
      peer.discoverServices(nil)
    case .readRSSI:
      promise(.rssi)
      peer.readRSSI()
    case .readPHY:
      promise(.phy)
      peer.readPHY()
    case .discoverCharacteristics:
      guard let service = peer.services?.first else { return }
      promise(.characteristics)
      peer.discoverCharacteristics(nil, for: service)
    case .discoverIncluded:
      guard let service = peer.services?.last else { return }
      promise(.included)
      peer.discoverIncludedServices(nil, for: service)
    case .discoverDescriptors:
      guard let value = found(Self.stored) else { return }
      promise(.descriptors)
      peer.discoverDescriptors(for: value)
    case .readDescriptor:
      guard let descriptor = found(Self.stored)?.descriptors?.first else { return }
      promise(.readDescriptor)
      peer.readValue(for: descriptor)
    case .writeDescriptor:
      // It is constant: the answer is an error.
      guard let descriptor = found(Self.stored)?.descriptors?.first else { return }
      promise(.writeDescriptor)
      peer.writeValue(Data([1]), for: descriptor)
    case .pair: central.pair(with: peer)
    case .openChannel:
      promise(.channel)
      peer.openL2CAPChannel(other?.listeners.last ?? 0x00F0)
    case .readEncrypted:
      guard let value = found(Self.encrypted) else { return }
      promise(.read)
      peer.readValue(for: value)
    case .burst(let count):
      guard let value = found(Self.stored) else { return }
      for index in 0..<count {
        if index > 0 { self.count(action) }
        promise(.write)
        asked.append("write \(number)")
        peer.writeValue(octets(4), for: value, type: .withResponse)
      }
    case .read:
      guard let value = found(Self.stored) else { return }
      promise(.read)
      peer.readValue(for: value)
    case .write(let length):
      guard let value = found(Self.stored) else { return }
      promise(.write)
      asked.append("write \(number)")
      peer.writeValue(octets(length), for: value, type: .withResponse)
    case .command:
      guard let value = found(Self.command) else { return }
      asked.append("write \(number)")
      peer.writeValue(octets(8), for: value, type: .withoutResponse)
    case .notify(let isOn):
      guard let value = found(Self.notified) else { return }
      promise(.notification)
      asked.append(isOn ? "subscribe" : "unsubscribe")
      peer.setNotifyValue(isOn, for: value)
    default: break
    }
  }

  private func octets(_ length: Int) -> Data {
    var octets = Data(count: max(2, length))
    (octets[0], octets[1]) = (UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF))
    return octets
  }

  private func performAsPeripheral(_ action: ModelMove.Action, _ manager: CBPeripheralManager) {
    switch action {
    case .add(let index):
      let service = CBMutableService(type: Self.services[index], primary: true)
      service.characteristics = [
        CBMutableCharacteristic(
          type: Self.stored, properties: [.read, .write], value: nil, permissions: [.readable, .writeable]),
        CBMutableCharacteristic(type: Self.notified, properties: .notify, value: nil, permissions: .readable),
        CBMutableCharacteristic(
          type: Self.command, properties: .writeWithoutResponse, value: nil, permissions: .writeable),
        CBMutableCharacteristic(
          type: Self.encrypted, properties: .read, value: nil, permissions: .readEncryptionRequired),
      ]
      let first = service.characteristics?.first as? CBMutableCharacteristic
      first?.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "a value")]
      if index == 1, let included = published.first { service.includedServices = [included] }
      guard published.count < 4 else { return }
      promise(.add)
      published.append(service)
      manager.add(service)
    case .remove:
      // One that another includes stays.
      let removable = published.firstIndex { service in
        !published.contains { $0.includedServices?.contains { $0 === service } ?? false }
      }
      guard let removable else { return }
      manager.remove(published.remove(at: removable))
    case .removeAll:
      published = []
      manager.removeAllServices()
    case .start:
      promise(.start)
      manager.startAdvertising([CBAdvertisementDataLocalNameKey: "m\(number)"])
    case .stop: manager.stopAdvertising()
    case .update:
      for service in published {
        guard let value = service.characteristics?[1] as? CBMutableCharacteristic else { continue }
        manager.updateValue(Data([1]), for: value, onSubscribedCentrals: nil)
      }
    case .publish(let isEncrypted):
      guard listeners.count + open[.publish, default: 0] < 4 else { return }
      promise(.publish)
      manager.publishL2CAPChannel(withEncryption: isEncrypted)
    case .unpublish:
      guard let psm = listeners.popLast() else { return }
      promise(.unpublish)
      manager.unpublishL2CAPChannel(psm)
    default: break
    }
  }
}
