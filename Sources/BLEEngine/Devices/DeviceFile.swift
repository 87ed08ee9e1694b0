import BLELinux
import BLEWire
import Dispatch
import Synchronization

/// Keeps the devices that an adapter knows in a file, so that an identifier of an earlier run still names its device.
///
/// The file has the permissions 0600, and is trusted by the rules of the file of bonds (``FileBondStore``): it and its folder belong
/// to the user, and no other user may write them. A file that differs is neither read nor replaced; a line in the log says why.
/// Changes are saved at most once a second, and at the end. Programs may share a file: a program adds its devices to those in it.
///
/// The content is JSON: `{"version": 1, "devices": [{"address": "C0:11:22:33:44:55", "random": true, "name": "Clock"}]}`, the device
/// that was used last at the end.
package final class DeviceFile: Sendable {
  private struct Content: Codable {
    struct Device: Codable {
      var address: String
      var random: Bool
      var name: String?
    }
    var version = 1
    var devices: [Device] = []
  }

  /// The shortest time between two savings.
  static let interval = DispatchTimeInterval.seconds(1)

  private let path: String
  private let log: Log
  /// Whether a saving is due.
  private let isDue = Mutex(false)
  private let queue = DispatchQueue(label: "BluetoothLE.devices")

  package init(path: String, log: @escaping Log = BluetoothLog.write) { (self.path, self.log) = (path, log) }

  /// The devices in the file; none where it cannot be read.
  func load() -> [KnownDevices.Device] {
    do {
      let (folder, name) = FileBondStore.split(path)
      guard let folder = try PrivateFolder.open(folder) else { return [] }
      return try read(name, in: folder)
    } catch {
      report("the identifiers of devices cannot be loaded", error)
      return []
    }
  }

  /// Saves what `devices` returns, in a second at the latest; nil is nothing.
  func save(_ devices: @escaping @Sendable () -> [KnownDevices.Device]?) {
    let isFirst = isDue.withLock { isDue in
      defer { isDue = true }
      return !isDue
    }
    guard isFirst else { return }
    queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in devices().map { self?.write($0) } }
  }

  /// Saves these devices, if a saving is due, and waits for it.
  func settle(_ devices: [KnownDevices.Device]) { queue.sync { write(devices) } }

  private func write(_ devices: [KnownDevices.Device]) {
    let isDue = isDue.withLock { isDue in
      defer { isDue = false }
      return isDue
    }
    guard isDue, !devices.isEmpty else { return }
    do {
      let (path, name) = FileBondStore.split(path)
      guard let folder = try PrivateFolder.open(path, isMade: true) else { return }
      // Before anything is made beside it.
      try folder.check(name)
      let lock = try folder.lock(name, waiting: .seconds(2))
      let known = Set(devices.map(\.address))
      let all = try read(name, in: folder).filter { !known.contains($0.address) } + devices
      let content = Content(
        devices: all.suffix(KnownDevices.fileLimit).map { device in
          Content.Device(
            address: "\(device.address.octets)", random: device.address.kind == .random, name: device.name)
        })
      try folder.replace(name, with: try JSONEncoding.json(of: content).encoded)
      lock.release()
    } catch {
      report("the identifiers of devices cannot be saved", error)
    }
  }

  private func read(_ name: String, in folder: borrowing PrivateFolder) throws -> [KnownDevices.Device] {
    guard let octets = try folder.read(name) else { return [] }
    let content = try JSONDecoding.value(Content.self, of: JSON(decoding: octets))
    return content.devices.suffix(KnownDevices.fileLimit).compactMap { device in
      guard let address = DeviceAddress(device.address, kind: device.random ? .random : .public),
        address.isIdentityAddress
      else { return nil }
      return KnownDevices.Device(address: address, name: device.name)
    }
  }

  private func report(_ failure: String, _ error: any Error) {
    let reason = error is DecodingError ? "it is not a file of devices" : "\(error)"
    log(.notice, "\(path): \(failure) (\(reason)). Name another file with AdapterOptions.deviceFile.")
  }
}
