/// An effect of the initiator.
enum InitiatorEffect: Equatable, Sendable {
  /// Other devices are wanted, or the controller has stopped connecting: ``Initiator/reconcile(_:addresses:into:)`` is
  /// due.
  case changed
  /// The controller has started or stopped connecting.
  case activityChanged
  /// Devices are connected to from now on, or no longer: a scan for their addresses may be due.
  case searchMayChange
  /// The controller has refused to connect while it scans or advertises.
  case cannotCombine
  /// The controller has a link that the host does not know.
  case needsReset
  /// The controller lacks a command that it reports.
  case missing(MissingCommand)
}
