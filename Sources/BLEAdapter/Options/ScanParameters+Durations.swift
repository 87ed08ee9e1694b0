package import BLEHost

extension ScanParameters {
  /// The interval and the window in the units of HCI, 0.625 ms; nil if they are not allowed.
  package init?(interval: Duration, window: Duration) {
    func units(_ duration: Duration) -> UInt16? { UInt16(exactly: (duration / .microseconds(625)).rounded()) }
    guard let interval = units(interval), let window = units(window), 4...0x4000 ~= interval, 4...interval ~= window
    else { return nil }
    self.init()
    (self.interval, self.window) = (interval, window)
  }
}
