public import BLEAdapter
public import BLEHost
import BLEWire
public import Foundation

extension PeerIdentifier {
  /// The identifier in Foundation's type, which ``CBPeer/identifier`` has.
  public var uuid: UUID {
    let o = octets
    return UUID(
      uuid: (
        o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11], o[12], o[13], o[14], o[15]
      ))
  }
}

extension PeerIdentifier {
  /// The identifier that ``CBPeer/identifier`` has as `uuid`.
  public init(_ uuid: UUID) {
    let u = uuid.uuid
    let octets = [
      u.0, u.1, u.2, u.3, u.4, u.5, u.6, u.7, u.8, u.9, u.10, u.11, u.12, u.13, u.14, u.15,
    ]
    self.init(rawValue: octets.reduce(0) { $0 << 8 | UInt128($1) })
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
