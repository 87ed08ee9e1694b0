extension HostEvent {
  /// An event of the scan of its owner. ``Scanner`` reports it.
  package enum Scanning: Sendable {
    /// Advertisements and scan responses in order, at most ``HostOutput/maximumDiscoveries``.
    case discovered([ScanReport])
    indirect case stopped(HostError?)
  }
}
