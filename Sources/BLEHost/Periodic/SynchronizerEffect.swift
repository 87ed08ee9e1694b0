/// An effect of the synchronizer.
enum SynchronizerEffect: Equatable, Sendable {
  /// The controller has begun or ended to search for a train.
  case activityChanged
  /// Trains are searched for from now on, or no longer: a scan for them may be due.
  case searchMayChange
  /// The controller lacks a command that it reports.
  case missing(MissingCommand)
}
