import BLEHCI
import BLEWire

/// The links that other programs of this machine have made as a central, on an adapter that the kernel runs. The
/// controller reports them, and this host does not use them.
///
/// They count by device: two events for one device, with other handles, are one link.
struct ForeignLinks: Sendable {
  /// The links at most; more are not reported. A controller has fewer.
  static let limit = 64

  private var links: [(handle: ConnectionHandle, device: DeviceAddress)] = []

  /// Another program's link is up.
  ///
  /// - Returns: the event for the application; nil where it has been reported.
  mutating func added(_ handle: ConnectionHandle, to device: DeviceAddress) -> HostEvent? {
    let isReported = has(device)
    links.removeAll { $0.handle == handle }
    guard links.count < Self.limit else { return nil }
    links.append((handle, device))
    return isReported ? nil : .foreignLink(device, isUp: true)
  }

  /// A link has ended, or is ours from now on.
  ///
  /// - Returns: the event for the application; nil if it was not a link of another program.
  mutating func removed(_ handle: ConnectionHandle) -> HostEvent? {
    guard let place = links.firstIndex(where: { $0.handle == handle }) else { return nil }
    let device = links.remove(at: place).device
    return has(device) ? nil : .foreignLink(device, isUp: false)
  }

  private func has(_ device: DeviceAddress) -> Bool { links.contains { $0.device == device } }

  /// The adapter is lost: the links have ended, which its state reports.
  mutating func reset() { links = [] }

  /// For an owner that attaches.
  var events: [HostEvent] {
    var devices: [DeviceAddress] = []
    for link in links where !devices.contains(link.device) { devices.append(link.device) }
    return devices.map { .foreignLink($0, isUp: true) }
  }
}
