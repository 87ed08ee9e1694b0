import BLECrypto
import BLEHCI
import BLESMP
import BLEWire

/// A link that the controller reports: LE Connection Complete, or LE Enhanced Connection Complete (Vol 4, Part E,
/// 7.7.65.1 and 7.7.65.10).
struct NewLink: Equatable, Sendable {
  let handle: ConnectionHandle
  /// Our role.
  let role: ConnectedLink.Role
  let timing: LinkTiming
  /// The peer's address, an identity address where the controller has resolved the one on the radio.
  let address: DeviceAddress
  /// The address on the radio that the controller reports to have resolved.
  var privateAddress: BD_ADDR?
}

extension NewLink {
  init(_ event: HCI.LEConnectionComplete) {
    handle = event.connectionHandle
    role = event.role == .central ? .central : .peripheral
    timing = LinkTiming(
      interval: event.connectionInterval, latency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout
    )
    address = event.peerAddress
  }

  init(_ event: HCI.LEEnhancedConnectionComplete) {
    handle = event.connectionHandle
    role = event.role == .central ? .central : .peripheral
    timing = LinkTiming(
      interval: event.connectionInterval, latency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout
    )
    address = event.peerAddress
    privateAddress = event.peerResolvablePrivateAddress
  }

  /// The identity of the peer, where the controller has resolved its address.
  var resolved: DeviceAddress? { address.identity == address ? nil : address.identity }

  /// The peer's address on the radio, which the security manager uses even if the controller has resolved it.
  func addressOnRadio(_ bonds: inout BondTable, _ toolbox: SecurityToolbox) -> DeviceAddress {
    guard let privateAddress else { return address.identity }
    let said = DeviceAddress(octets: privateAddress, kind: .random)
    // Some controllers resolve an address without the address type that says so (RootCanal), and some report a
    // meaningless one.
    let isProven = resolved != nil || bonds.identity(of: said, toolbox) == address.identity
    return said.randomKind == .resolvablePrivate && isProven ? said : address.identity
  }
}

extension DeviceAddress {
  /// Draws an address to report one link by: a non-resolvable private address, which stands for no device (Vol 6, Part
  /// B, 1.3.2.2).
  static func drawn(_ random: inout RandomSource) -> Self {
    DeviceAddress(octets: BD_ADDR(random.next() & 0x3FFF_FFFF_FFFF), kind: .random)
  }
}
