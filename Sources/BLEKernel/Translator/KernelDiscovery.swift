internal import BLEHCI
internal import BLEWire

/// The kernel's discovery that an active scan of the host starts.
///
/// The kernel regards the scan as a discovery of its own. The end of the scan does not end the discovery, and during a
/// discovery the kernel makes no connections. So the management socket stops the discovery, but only after the kernel
/// has processed the end of the scan. Otherwise the kernel would end the scan itself. If the controller rejected this
/// second command, the kernel would neither discover nor connect any longer.
///
/// ```
///   none ── scan starts ──► expected ── Discovering event ──► reported ── scan ends ──► ending ── probe answered ──► none
/// ```
struct KernelDiscovery: Sendable {
  private enum State: Equatable, Sendable {
    case none
    /// A scan has started. The kernel may still report a discovery.
    case expected
    case reported(addressTypes: UInt8)
    /// The kernel is about to process the end of the scan.
    case ending(addressTypes: UInt8)
  }

  /// A command that changes nothing, and that the host sends only while it starts up. Its answer shows that the kernel
  /// has processed every earlier event.
  typealias Probe = HCI.LEReadLocalSupportedFeatures

  private var state = State.none
  private var isScanning = false

  /// Whether the answer to the probe is pending.
  var isEnding: Bool { if case .ending = state { true } else { false } }

  /// Records that the host enables or disables scanning. A kernel that is already discovering does not report it again.
  mutating func scanning(_ isOn: Bool) {
    isScanning = isOn
    guard isOn else { return }
    switch state {
    case .none, .expected: state = .expected
    case .reported(let types), .ending(let types): state = .reported(addressTypes: types)
    }
  }

  /// Records that the kernel reports a discovery.
  mutating func reported(addressTypes: UInt8, into output: inout KernelOutput) {
    guard state == .expected else { return }
    state = .reported(addressTypes: addressTypes)
    end(into: &output)
  }

  /// Sends the probe if the scan has ended and the kernel has not processed that.
  mutating func end(into output: inout KernelOutput) {
    guard !isScanning, case .reported(let types) = state else { return }
    state = .ending(addressTypes: types)
    output.sendOwn(Probe())
  }

  /// Handles the controller's answer to the probe, or to the same command from the host.
  mutating func probeAnswered(index: UInt16, into output: inout KernelOutput) {
    guard case .ending(let types) = state else { return }
    state = .none
    // The kernel rejects this if the discovery has already ended.
    var stop = Management.StopDiscovery()
    stop.addressTypes = types
    output.send(ManagementRequest(stop), to: index)
  }
}
