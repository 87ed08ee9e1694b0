/// The coming and going of centrals, as ``PeripheralManager/connectionEvents`` tells it.
public enum CentralEvent: Sendable {
  case connected(Central)
  case disconnected(Central, reason: DisconnectReason)
}
