import BLEHCI
import BLEWire

/// The links that other programs of this machine have made as a central, on an adapter that the kernel runs. The
/// controller reports them, and this host does not use them.
///
/// They count by device: two events for one device, with other handles, are one link.
struct ForeignLinks: Sendable {
  /// The links at most; more are not reported. A controller has fewer.
  static let limit = 64

  private var devices: [ConnectionHandle: DeviceAddress] = [:]

  /// Another program's link is up.
  ///
  /// - Returns: the event for the application; nil where it has been reported.
  mutating func added(_ handle: ConnectionHandle, to device: DeviceAddress) -> HostEvent? {
    let isReported = devices.values.contains(device)
    guard devices.count < Self.limit || devices[handle] != nil else { return nil }
    devices[handle] = device
    return isReported ? nil : .foreignLink(device, isUp: true)
  }

  /// A link has ended, or is ours from now on.
  ///
  /// - Returns: the event for the application; nil if it was not a link of another program.
  mutating func removed(_ handle: ConnectionHandle) -> HostEvent? {
    guard let device = devices.removeValue(forKey: handle), !devices.values.contains(device) else { return nil }
    return .foreignLink(device, isUp: false)
  }

  /// The adapter is lost: the links have ended, which its state reports.
  mutating func reset() { devices = [:] }

  /// For an owner that attaches.
  var events: [HostEvent] {
    Set(devices.values).sorted { $0.octets.value < $1.octets.value }.map { .foreignLink($0, isUp: true) }
  }
}
