import BLEHCI
import BLEWire

/// A request of an owner to connect to a device.
struct PendingConnection: Equatable, Sendable {
  var id: ConnectID
  var owner: OwnerID
  /// The device's identity.
  var device: DeviceAddress
  var parameters: ConnectionParameters
}

/// The address that a device uses, as the controller is to be given it, and the request that asks for the device first.
struct InitiatorTarget: Equatable, Sendable {
  var request: PendingConnection
  var address: DeviceAddress

  /// The command that connects to this device, or to any device on the filter accept list; the address is ignored then.
  func command(usesList: Bool, extended: Bool, from own: HCI.OwnAddressType) -> any HCICommand {
    let (peer, parameters) = (address, request.parameters)
    guard extended else {
      return HCI.LECreateConnection {
        $0.scanInterval = 0x0060
        $0.scanWindow = 0x0060
        $0.initiatorFilterPolicy = usesList ? .acceptList : .peerAddress
        $0.peerAddress = peer
        $0.ownAddressType = own
        $0.parameters = parameters.wire
      }
    }
    return HCI.LEExtendedCreateConnection {
      $0.initiatorFilterPolicy = usesList ? .acceptList : .peerAddress
      $0.ownAddressType = own
      $0.peerAddress = peer
      $0.initiatingPHYs = .le1M
      $0.initiations = [
        HCI.InitiatingParameters {
          $0.scanInterval = 0x0060
          $0.scanWindow = 0x0060
          $0.parameters = parameters.wire
        }
      ]
    }
  }
}
