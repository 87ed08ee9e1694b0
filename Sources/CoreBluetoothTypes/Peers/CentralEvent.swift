public import BLEEngine

/// The coming and going of centrals, as ``CBPeripheralManager/connectionEvents`` tells it.
public enum CentralEvent: Sendable {
  case connected(CBCentral)
  /// The link of the first central is that of a bonded device, which the second one stands for
  /// (``CBPeripheralManagerDelegate/peripheralManager(_:didIdentify:as:)``).
  case identified(CBCentral, as: CBCentral)
  case disconnected(CBCentral, reason: DisconnectReason)
}
