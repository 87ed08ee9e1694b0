public import BLEEngine
import BLEWire
public import Foundation

extension PeerIdentifier {
  /// The same as Foundation's type, which ``CBPeer/identifier`` is.
  public var uuid: UUID {
    let o = octets
    return UUID(
      uuid: (
        o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11], o[12], o[13], o[14], o[15]
      ))
  }
}

extension Bond: Identifiable {
  /// The device's identifier, as its ``CBPeer/identifier`` is when it connects.
  public var id: UUID { identifier.uuid }
}

extension UUID {
  /// The ``CBPeer/identifier`` of a device.
  init(_ address: DeviceAddress) { self = PeerIdentifier(address).uuid }
}
