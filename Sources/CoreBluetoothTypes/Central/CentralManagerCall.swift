import BLEAdapter
import BLEGAP
import BLEHost
import BLEL2CAP
import Foundation
import Synchronization

/// One thing to do on the delegate's queue, as a value.
enum CentralManagerCall: Sendable {
  indirect case willRestore(CentralRole.RestoredObjects)
  /// Not made if the scan of the report has ended in the meantime.
  case discovered(CBPeripheral, DiscoveredDevice)
  /// A device that the scan has kept back for its scan response until the end of the scan.
  case discoveredAtEnd(CBPeripheral, DiscoveredDevice)
  case connected(CBPeripheral)
  case failedToConnect(CBPeripheral, any Error)
  case disconnected(CBPeripheral, isReconnecting: Bool, (any Error)?)
  case connectionEvent(CBConnectionEvent, CBPeripheral)
  case peripheral(CBPeripheral, PeripheralCall)
  /// Not a delegate call: closes a channel whose peripheral was released.
  indirect case unusedChannel(OpenedChannel)
  /// Not a delegate call: starts a delayed connection when this time has passed.
  case startLater(seconds: Int, ConnectID)
}

/// A call of a peripheral's own delegate.
enum PeripheralCall: Sendable {
  case updatedName
  case modifiedServices([PeerService])
  case rssi(Int, (any Error)?)
  indirect case phy(ConnectionPHY?, (any Error)?)
  indirect case timing(ConnectionTiming?, (any Error)?)
  case discoveredServices((any Error)?)
  case discoveredIncludedServices(PeerService, (any Error)?)
  case discoveredCharacteristics(PeerService, (any Error)?)
  case discoveredDescriptors(PeerCharacteristic, (any Error)?)
  case updatedValue(PeerCharacteristic, (any Error)?)
  case updatedDescriptor(PeerDescriptor, (any Error)?)
  case wrote(PeerCharacteristic, (any Error)?)
  case wroteDescriptor(PeerDescriptor, (any Error)?)
  case updatedNotificationState(PeerCharacteristic, (any Error)?)
  case isReady
  indirect case openedChannel(OpenedChannel)
  case didNotOpenChannel(any Error)
}

extension CBCentralManager {
  /// Performs a call that the machine requested; on the queue only.
  func make(_ call: CentralManagerCall) {
    let delegate = delegate
    switch call {
    case .willRestore(let restored):
      if let delegate {
        delegate.centralManager(self, willRestoreState: restored.dictionary)
      } else {
        reportUnusedRestoration()
      }
    case .discovered(let peripheral, let device):
      guard device.content.scan == activeScan.load(ordering: .acquiring) else { return }
      delegate?.centralManager(self, didDiscover: peripheral, device: device)
    case .discoveredAtEnd(let peripheral, let device):
      delegate?.centralManager(self, didDiscover: peripheral, device: device)
    case .connected(let peripheral): delegate?.centralManager(self, didConnect: peripheral)
    case .failedToConnect(let peripheral, let error):
      delegate?.centralManager(self, didFailToConnect: peripheral, error: error)
    case .disconnected(let peripheral, let isReconnecting, let error):
      delegate?.centralManager(
        self, didDisconnectPeripheral: peripheral, timestamp: Date().timeIntervalSinceReferenceDate,
        isReconnecting: isReconnecting, error: error)
    case .connectionEvent(let event, let peripheral):
      delegate?.centralManager(self, connectionEventDidOccur: event, for: peripheral)
    case .peripheral(let peripheral, .openedChannel(let channel)):
      guard let stream = client.stream(of: channel) else { return }
      guard let delegate = peripheral.delegate else { return stream.close() }
      let made = CBL2CAPChannel(stream, psm: channel.spsm.rawValue, peer: peripheral)
      delegate.peripheral(peripheral, didOpen: made, error: nil)
    case .peripheral(let peripheral, .isReady):
      if takeReadyCall(of: peripheral) { peripheral.make(.isReady) }
    case .peripheral(let peripheral, let call): peripheral.make(call)
    case .unusedChannel(let channel): client.stream(of: channel)?.close()
    case .startLater(let seconds, let id):
      client.later(.seconds(seconds)) { [weak self] in
        guard let self else { return }
        client.queue.async { [weak self] in self?.run { $0.start(id, into: &$1) } }
      }
    }
  }
}

extension CBPeripheral {
  /// Calls the peripheral's delegate; on the manager's queue only.
  func make(_ call: PeripheralCall) {
    let delegate = delegate
    switch call {
    case .updatedName: delegate?.peripheralDidUpdateName(self)
    case .modifiedServices(let services): delegate?.peripheral(self, didModifyServices: services)
    case .rssi(let rssi, let error):
      delegate?.peripheral(self, didReadRSSI: NSNumber(value: rssi), error: error)
      delegate?.peripheralDidUpdateRSSI(self, error: error)
    case .phy(let phy, let error): delegate?.peripheral(self, didUpdatePHY: phy, error: error)
    case .timing(let timing, let error): delegate?.peripheral(self, didUpdateConnectionTiming: timing, error: error)
    case .discoveredServices(let error): delegate?.peripheral(self, didDiscoverServices: error)
    case .discoveredIncludedServices(let service, let error):
      delegate?.peripheral(self, didDiscoverIncludedServicesFor: service, error: error)
    case .discoveredCharacteristics(let service, let error):
      delegate?.peripheral(self, didDiscoverCharacteristicsFor: service, error: error)
    case .discoveredDescriptors(let characteristic, let error):
      delegate?.peripheral(self, didDiscoverDescriptorsFor: characteristic, error: error)
    case .updatedValue(let characteristic, let error):
      delegate?.peripheral(self, didUpdateValueFor: characteristic, error: error)
    case .updatedDescriptor(let descriptor, let error):
      delegate?.peripheral(self, didUpdateValueFor: descriptor, error: error)
    case .wrote(let characteristic, let error):
      delegate?.peripheral(self, didWriteValueFor: characteristic, error: error)
    case .wroteDescriptor(let descriptor, let error):
      delegate?.peripheral(self, didWriteValueFor: descriptor, error: error)
    case .updatedNotificationState(let characteristic, let error):
      delegate?.peripheral(self, didUpdateNotificationStateFor: characteristic, error: error)
    case .isReady: delegate?.peripheralIsReady(toSendWriteWithoutResponse: self)
    case .didNotOpenChannel(let error): delegate?.peripheral(self, didOpen: nil, error: error)
    case .openedChannel: break
    }
  }
}
