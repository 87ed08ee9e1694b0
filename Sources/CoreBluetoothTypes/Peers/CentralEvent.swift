/// The coming and going of centrals, as ``PeripheralManager/connectionEvents`` tells it.
public enum CentralEvent: Sendable {
  case connected(Central)
  /// The link of the first central is that of a bonded device, which the second one stands for
  /// (``PeripheralManagerDelegate/peripheralManager(_:didIdentify:as:)``).
  case identified(Central, as: Central)
  case disconnected(Central, reason: DisconnectReason)
}
