/// An effect of the scanner.
enum ScannerEffect: Equatable, Sendable {
  /// The controller has started or stopped scanning.
  case activityChanged
  /// The controller has refused to scan while it connects.
  case cannotCombine
  /// The controller lacks a command that it reports.
  case missing(MissingCommand)
  /// The controller refuses the scan that finds trains.
  case cannotFindTrains(HostError)
}
