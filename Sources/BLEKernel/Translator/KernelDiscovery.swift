internal import BLEHCI
internal import BLEWire

/// The kernel's discovery that an active scan of ours starts.
///
/// The kernel takes the scan for a discovery of its own. The end of the scan does not end the discovery, and while it lasts
/// the kernel makes no connections. So the management socket stops it, but only when the kernel has seen that the scan has
/// ended: it would end the scan itself, and where the controller rejects that as a second time, the kernel neither
/// discovers nor connects any more.
///
/// ```
///   none ── scan starts ──► expected ── Discovering event ──► reported ── scan ends ──► ending ── probe answered ──► none
/// ```
struct KernelDiscovery: Sendable {
  private enum State: Equatable, Sendable {
    case none
    /// A scan has started; the kernel may still report that it discovers.
    case expected
    case reported(addressTypes: UInt8)
    /// The kernel is about to see that the scan has ended.
    case ending(addressTypes: UInt8)
  }

  /// A command that changes nothing, and that the host sends during its bring-up only. Its answer shows that the kernel has
  /// acted on every event before it.
  typealias Probe = HCI.LEReadLocalSupportedFeatures

  private var state = State.none
  private var isScanning = false

  /// Whether the answer to the probe is awaited.
  var isEnding: Bool { if case .ending = state { true } else { false } }

  /// The host enables or disables scanning. A kernel that discovers does not report so twice.
  mutating func scanning(_ isOn: Bool) {
    isScanning = isOn
    guard isOn else { return }
    switch state {
    case .none, .expected: state = .expected
    case .reported(let types), .ending(let types): state = .reported(addressTypes: types)
    }
  }

  /// The kernel reports that it discovers.
  mutating func reported(addressTypes: UInt8, into output: inout KernelOutput) {
    guard state == .expected else { return }
    state = .reported(addressTypes: addressTypes)
    end(into: &output)
  }

  /// Sends the probe where the scan has ended and the kernel has not seen that.
  mutating func end(into output: inout KernelOutput) {
    guard !isScanning, case .reported(let types) = state else { return }
    state = .ending(addressTypes: types)
    output.sendOwn(Probe())
  }

  /// The controller has answered the probe, or the same command of the host.
  mutating func probeAnswered(index: UInt16, into output: inout KernelOutput) {
    guard case .ending(let types) = state else { return }
    state = .none
    // The kernel rejects it where the discovery has ended already.
    var stop = Management.StopDiscovery()
    stop.addressTypes = types
    output.send(ManagementRequest(stop), to: index)
  }
}
