internal import BLEHCI
internal import BLELinux
internal import BLEWire

/// What the kernel makes of our scan: it takes an active one for a discovery of its own, which the end of the scan does not
/// end, and while it discovers it begins no connections.
///
/// ```
///  none ── we scan ──► begun ── it says so ──► told ── our scan ends ──► ending ── it has seen that ──► none
/// ```
enum Discovery: Equatable {
  case none
  /// We began to scan; the kernel may still say that it discovers.
  case begun
  case told(types: UInt8)
  /// The kernel is about to see that the scan has ended.
  case ending(types: UInt8)

  /// What it is when we scan again: a kernel that discovers does not say so twice.
  var begunAgain: Self {
    switch self {
    case .none, .begun: .begun
    case .told(let types), .ending(let types): .told(types: types)
    }
  }
}

extension KernelAdapter {
  /// A command that changes nothing, and that the host sends while the controller is brought up only.
  ///
  /// Its answer says that the kernel has acted on every event before it: an event comes to us first.
  static let probedOpcode = HCIOpcode.leReadLocalSupportedFeatures
  static let probe: [UInt8] = [
    HCIPacketType.command.rawValue, UInt8(truncatingIfNeeded: probedOpcode.rawValue),
    UInt8(truncatingIfNeeded: probedOpcode.rawValue >> 8), 0,
  ]

  /// Our scan has ended: so is the kernel's discovery to end, once the kernel knows. Told at once it would end the scan itself,
  /// and where the controller refuses that for a second time it would neither discover nor connect any more.
  mutating func endDiscovery() throws(SystemError) {
    guard !scans, case .told(let types) = discovery else { return }
    discovery = .ending(types: types)
    let probe = Self.probe
    noteOwnCommand(probe)
    try sendCommand(probe.span)
  }

  mutating func probeAnswered() {
    guard case .ending(let types) = discovery else { return }
    discovery = .none
    // Refused, it has ended already.
    try? management.post(.stopDiscovery, index, [types])
  }

  /// The adapter is let go of: ends a discovery whose end the kernel has not heard yet.
  mutating func finish() {
    try? endDiscovery()
    let deadline = clock.now() + .milliseconds(500)
    while case .ending = discovery, clock.now() < deadline {
      do throws(SystemError) {
        try poller.wait(until: deadline, on: clock)
        try receiveEvents { _, _ in }
        while try management.news() != nil {}
      } catch { return }
    }
  }
}
