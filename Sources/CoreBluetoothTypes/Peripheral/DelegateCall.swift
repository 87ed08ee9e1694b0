import BLEEngine

/// One thing to do on the delegate's queue, as a value.
enum DelegateCall: Sendable {
  case didAdd(CBMutableService, CBError?)
  case didStartAdvertising(CBError?)
  case advertisingPaused(DisconnectReason?)
  case advertisingResumed
  case connected(CBCentral)
  case identified(CBCentral, CBCentral)
  case disconnected(CBCentral, DisconnectReason)
  case connectionUpdated(CBCentral, ConnectionTiming?, CBError?)
  case rssi(CBCentral, Int?, CBError?)
  case didSubscribe(CBCentral, CBMutableCharacteristic)
  case didUnsubscribe(CBCentral, CBMutableCharacteristic)
  case didReceiveRead(CBATTRequest)
  case didReceiveWrite([CBATTRequest])
  case stored(CBCentral, CBAttribute)
  case isReady
  case didPublishL2CAPChannel(CBL2CAPPSM, CBError)
  case didUnpublishL2CAPChannel(CBL2CAPPSM, CBError)
}

extension CBPeripheralManager {
  /// Calls the delegate; on its queue only.
  func make(_ call: DelegateCall) {
    let delegate = delegate
    switch call {
    case .didAdd(let service, let error): delegate?.peripheralManager(self, didAdd: service, error: error)
    case .didStartAdvertising(let error): delegate?.peripheralManagerDidStartAdvertising(self, error: error)
    case .advertisingPaused(let reason): delegate?.peripheralManager(self, didPauseAdvertising: reason)
    case .advertisingResumed: delegate?.peripheralManagerDidResumeAdvertising(self)
    case .connected(let central): delegate?.peripheralManager(self, didConnect: central)
    case .identified(let central, let identified):
      delegate?.peripheralManager(self, didIdentify: central, as: identified)
    case .disconnected(let central, let reason):
      delegate?.peripheralManager(self, didDisconnect: central, reason: reason)
    case .connectionUpdated(let central, let timing, let error):
      delegate?.peripheralManager(self, didUpdateConnectionOf: central, timing: timing, error: error)
    case .rssi(let central, let rssi, let error):
      delegate?.peripheralManager(self, didReadRSSI: rssi, of: central, error: error)
    case .didSubscribe(let central, let characteristic):
      delegate?.peripheralManager(self, central: central, didSubscribeTo: characteristic)
    case .didUnsubscribe(let central, let characteristic):
      delegate?.peripheralManager(self, central: central, didUnsubscribeFrom: characteristic)
    case .didReceiveRead(let request):
      if let delegate {
        delegate.peripheralManager(self, didReceiveRead: request)
      } else {
        respond(to: request, withResult: .requestNotSupported)
      }
    case .didReceiveWrite(let requests):
      if let delegate {
        delegate.peripheralManager(self, didReceiveWrite: requests)
      } else if let first = requests.first {
        respond(to: first, withResult: .requestNotSupported)
      }
    case .stored(let central, let attribute):
      delegate?.peripheralManager(self, central: central, didStoreValueOf: attribute)
    case .isReady: delegate?.peripheralManagerIsReady(toUpdateSubscribers: self)
    case .didPublishL2CAPChannel(let psm, let error):
      delegate?.peripheralManager(self, didPublishL2CAPChannel: psm, error: error)
    case .didUnpublishL2CAPChannel(let psm, let error):
      delegate?.peripheralManager(self, didUnpublishL2CAPChannel: psm, error: error)
    }
  }
}
