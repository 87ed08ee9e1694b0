extension HostCommand {
  /// A command about the scan of its owner, which is a declared intent. ``Scanner`` performs it.
  package enum Scanning: Sendable {
    indirect case start(ScanParameters)
    case stop
  }
}
