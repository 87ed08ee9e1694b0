package import BLEWire

extension HostCommand {
  /// A command about a pending connection, which is a declared intent. ``Initiator`` performs it.
  package enum Initiating: Sendable {
    /// Connects to a device. ``HostEvent/connected(_:)`` or ``HostEvent/connectionFailed(_:_:)`` answers; a link that
    /// our central made for another owner is shared, and reported at once.
    indirect case connect(ConnectID, DeviceAddress, ConnectionParameters, InitiatingParameters = InitiatingParameters())
    /// Cancels a pending connection; ``HostEvent/connectionFailed(_:_:)`` follows.
    case cancel(ConnectID)
  }
}
