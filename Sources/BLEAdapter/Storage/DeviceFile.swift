import BLEJSON
package import BLELinux
package import BLEWire
import Dispatch
import Synchronization

/// The devices that the program has connected to, in a file, so that an identifier of an earlier run still names its
/// device.
///
/// The file has the address of each device with its kind, and its name, so that a device that is retrieved has its name
/// before it advertises. It has no private addresses, which change soon.
///
/// A device is written when the program connects to it for the first time in a run, so that a program that connects
/// again and again does not wear out the disk, and when its name changes. The next write, or ``settle()``, stores the
/// order of the last connections. With more than ``limit`` devices, the one whose last connection is the oldest is
/// removed.
///
/// The file has the permissions 0600, and is trusted by the rules of the file of bonds (``FileBondStore``): it and its
/// folder belong to the user, and no other user may write them. A file that differs, is not a file of devices, or is
/// one of a newer version, is neither read nor replaced; a line in the log says why. Programs may share a file: a
/// program adds its devices to those in it.
///
/// The content is JSON: `{"version": 1, "program": …, "devices": [{"address": "C0:11:22:33:44:55", "random": true,
/// "name": "Lamp"}]}`, the device that was connected to last at the end. A name is optional.
package final class DeviceFile: Sendable {
  private struct Content: Codable {
    struct Device: Codable {
      var address: String
      var random: Bool
      var name: String?
    }
    var version = 1
    /// Files of older programs have none.
    var program: String? = NewerVersion.writer
    var devices: [Device] = []
  }

  /// A device in the file.
  private struct Stored: Equatable {
    var address: DeviceAddress
    var name: String?
  }

  private struct State {
    /// All devices, those of earlier runs once the file was read.
    var known: [PeerIdentifier: DeviceAddress] = [:]
    var isLoaded = false
    /// The names of ``known`` devices.
    var names: [DeviceAddress: String] = [:]
    /// Those of this run, the one that was connected to last at the end.
    var connected: [DeviceAddress] = []
    /// Whether the file does not have ``connected`` at its end.
    var isChanged = false
    /// Whether a write is pending.
    var isDue = false
    /// The failures that were logged.
    var reported: Set<String> = []

    mutating func forget(_ address: DeviceAddress) {
      known[PeerIdentifier(address)] = nil
      names[address] = nil
    }
  }

  /// The devices in the file at most.
  package static let limit = 1_024
  /// The octets of a name at most (Vol 3, Part C, 12.1); a longer one is not stored.
  static let nameLimit = 248

  private let path: String
  private let log: Log
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "BluetoothLE.devices")

  package init(path: String, log: @escaping Log = BluetoothLog.write) { (self.path, self.log) = (path, log) }

  // The last reference may end on the queue.
  deinit { write() }

  /// The program has connected to a device, or has found out the name of one that it has connected to.
  package func connected(to address: DeviceAddress, name: String? = nil) {
    guard address.isIdentityAddress else { return }
    let isNews = state.withLock { state in
      var isRenamed = false
      if let name, name.utf8.count <= Self.nameLimit {
        isRenamed = state.names.updateValue(name, forKey: address) != name
      }
      guard state.connected.last != address || isRenamed else { return false }
      let place = state.connected.firstIndex(of: address)
      if let place { state.connected.remove(at: place) } else { state.known[PeerIdentifier(address)] = address }
      if state.connected.count == Self.limit { state.forget(state.connected.removeFirst()) }
      state.connected.append(address)
      state.isChanged = true
      guard place == nil || isRenamed, !state.isDue else { return false }
      state.isDue = true
      return true
    }
    guard isNews else { return }
    // A program may call `exit` as soon as it has what it connected for.
    OrderlyEnd.holdExit()
    queue.async {
      self.write()
      OrderlyEnd.releaseExit()
    }
  }

  /// The device with an identifier; nil if it is not remembered.
  package func device(of identifier: PeerIdentifier) -> DeviceAddress? {
    let (device, isLoaded) = state.withLock { ($0.known[identifier], $0.isLoaded) }
    if device != nil || isLoaded { return device }
    let loaded = load()
    return state.withLock { state in
      state.isLoaded = true
      for device in loaded {
        state.known[PeerIdentifier(device.address)] = device.address
        if state.names[device.address] == nil { state.names[device.address] = device.name }
      }
      return state.known[identifier]
    }
  }

  /// The name of a device that ``device(of:)`` has returned; nil if none is known.
  package func name(of address: DeviceAddress) -> String? { state.withLock { $0.names[address] } }

  /// All devices, in the order of the file.
  package var all: [DeviceAddress] {
    queue.sync { Self.merged(load().map(\.address), state.withLock { $0.connected }) }
  }

  /// The names of all devices that have one.
  package var allNames: [DeviceAddress: String] {
    queue.sync {
      let stored = load().compactMap { device in device.name.map { (device.address, $0) } }
      return Dictionary(stored) { $1 }.merging(state.withLock(\.names)) { $1 }
    }
  }

  /// Removes a device.
  ///
  /// - Returns: whether it was remembered.
  package func remove(_ address: DeviceAddress) -> Bool {
    queue.sync {
      let wasConnected = state.withLock { state in
        state.forget(address)
        let index = state.connected.firstIndex(of: address)
        if let index { state.connected.remove(at: index) }
        return index != nil
      }
      guard load().contains(where: { $0.address == address }) else { return wasConnected }
      update { $0.filter { $0 != address } }
      return true
    }
  }

  /// Waits until everything is in the file.
  package func settle() { queue.sync { write() } }

  private static func merged(_ others: [DeviceAddress], _ own: [DeviceAddress]) -> [DeviceAddress] {
    let known = Set(own)
    return Array((others.filter { !known.contains($0) } + own).suffix(limit))
  }
}

/// The file. It is changed on the queue.
extension DeviceFile {
  private func write() {
    let own: [DeviceAddress] = state.withLock { state in
      defer { (state.isDue, state.isChanged) = (false, false) }
      return state.isChanged ? state.connected : []
    }
    guard !own.isEmpty else { return }
    update { Self.merged($0, own) }
  }

  private func update(_ change: ([DeviceAddress]) -> [DeviceAddress]) {
    do {
      let (path, name) = FileBondStore.split(path)
      guard let folder = try PrivateFolder.open(path, isMade: true) else { return }
      // Before any file is created beside it.
      try folder.check(name)
      let lock = try folder.lock(name, waiting: .seconds(2))
      let before = try read(name, in: folder)
      let own = state.withLock { $0.names }
      let names = Dictionary(before.map { ($0.address, $0.name) }) { $1 }
      let after = change(before.map(\.address)).map { Stored(address: $0, name: own[$0] ?? names[$0] ?? nil) }
      if after != before {
        let devices = after.map {
          Content.Device(address: "\($0.address.octets)", random: $0.address.kind == .random, name: $0.name)
        }
        try folder.replace(name, with: try JSON(encoding: Content(devices: devices)).encoded)
      }
      lock.release()
    } catch {
      report("the identifiers of devices cannot be saved", error)
    }
  }

  /// The devices in the file; none if it cannot be read.
  private func load() -> [Stored] {
    do {
      let (folder, name) = FileBondStore.split(path)
      guard let folder = try PrivateFolder.open(folder) else { return [] }
      return try read(name, in: folder)
    } catch {
      report("the identifiers of devices cannot be loaded", error)
      return []
    }
  }

  private func read(_ name: String, in folder: borrowing PrivateFolder) throws -> [Stored] {
    guard let octets = try folder.read(name) else { return [] }
    let json = try JSON(decoding: octets)
    try NewerVersion.check(json, reads: Content().version)
    let content = try json.decode(Content.self)
    return content.devices.suffix(Self.limit).compactMap { device in
      let address = DeviceAddress(device.address, kind: device.random ? .random : .public)
      let name = device.name.flatMap { $0.utf8.count <= Self.nameLimit ? $0 : nil }
      return address.flatMap { $0.isIdentityAddress ? Stored(address: $0, name: name) : nil }
    }
  }

  /// Logs a failure, the first time that it happens.
  private func report(_ failure: String, _ error: any Error) {
    guard state.withLock({ $0.reported.insert(failure).inserted }) else { return }
    let reason = error is DecodingError ? "it is not a file of devices" : "\(error)"
    let another = "ame another file with AdapterOptions.deviceStorage, or set it to memory."
    let remedy = error is NewerVersion ? "\(NewerVersion.remedy), or n\(another)" : "N\(another)"
    log(.notice("\(path): \(failure) (\(reason)). \(remedy)", .storage))
  }
}
