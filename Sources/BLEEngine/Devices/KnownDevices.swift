package import BLEHost
package import BLEWire
import Synchronization

/// The devices that all clients of one adapter know together, and the links that are up.
///
/// A device is known when a client has reported it, when it has connected, or from a file of an earlier run (``DeviceFile``). With
/// more than ``limit`` devices the one that was not used for the longest time is removed, unless a link to it is up.
///
/// ```swift
/// client.hub?.devices.note(.seen(address, name: "Clock", services: ["1805"]))
/// let address = client.hub?.devices.device(of: identifier)?.address
/// ```
package final class KnownDevices: Sendable {
  /// One device.
  package struct Device: Hashable, Sendable {
    package var address: DeviceAddress
    package var name: String?
    /// The services that it advertises.
    package var services: [BluetoothUUID] = []
  }

  /// What a client has found out.
  package enum Fact: Sendable {
    /// An advertisement that was reported.
    case seen(DeviceAddress, name: String?, services: [BluetoothUUID])
    /// The Device Name characteristic (Vol 3, Part C, 12.1).
    case named(DeviceAddress, String)
    /// The services that a client has discovered on a link.
    case discovered([BluetoothUUID], on: PeerID)
  }

  fileprivate struct Entry: Sendable {
    var identifier: PeerIdentifier
    var device: Device
  }

  fileprivate struct Link: Sendable {
    var address: DeviceAddress
    var services: [BluetoothUUID] = []
  }

  fileprivate struct State: Sendable {
    /// Has slots of the same numbers as ``entries``.
    var addresses = RecencyTable()
    var identifiers: [PeerIdentifier: Int] = [:]
    var links: [PeerID: Link] = [:]
    /// The devices that other programs of this machine are connected to.
    var foreignLinks: Set<DeviceAddress> = []
    var entries: ContiguousArray<Entry> = []
  }

  /// The number of devices at most. A device takes about 300 octets, its name and services included.
  package static let limit = 32_768
  /// The number of devices in the file at most: those that were used last.
  static let fileLimit = 1024

  private let state = Mutex(State())
  private let file: DeviceFile?

  /// - Parameter file: keeps the devices between runs; nil is none.
  package init(_ file: DeviceFile? = nil) {
    self.file = file
    guard let file else { return }
    state.withLock { state in
      for device in file.load() { _ = state.update(device.address) { $0 = device } }
    }
  }

  deinit { settle() }

  package func note(_ fact: Fact) {
    let isChanged = state.withLock { state in
      switch fact {
      case .seen(let address, let name, let services):
        return state.update(address) { device in
          device.name = name ?? device.name
          if !services.isEmpty { device.services = services }
        }
      case .named(let address, let name): return state.update(address) { $0.name = name }
      case .discovered(let services, let peer):
        return state.note(services, on: peer)
      }
    }
    if isChanged { save() }
  }

  /// Notes reports that say the same as the last ones of their devices.
  package func noteAgain(_ addresses: [DeviceAddress]) {
    guard !addresses.isEmpty else { return }
    let isChanged = state.withLock { state in
      var isChanged = false
      for address in addresses {
        if let slot = state.addresses.slot(of: address.tableKey) {
          state.addresses.touch(slot)
        } else if state.update(address) {
          isChanged = true
        }
      }
      return isChanged
    }
    if isChanged { save() }
  }

  /// What the host reports to everyone.
  package func receive(_ event: HostEvent) {
    let isChanged = state.withLock { state in
      switch event {
      case .connected(let connection):
        let address = connection.address.identity
        state.links[connection.peer] = Link(address: address)
        return state.update(address)
      case .identified(let peer, let identity):
        state.links[peer]?.address = identity.identity
        return state.update(identity.identity)
      case .disconnected(let peer, _): state.links[peer] = nil
      case .foreignLink(let device, isUp: true):
        state.foreignLinks.insert(device)
        return state.update(device)
      case .foreignLink(let device, isUp: false): state.foreignLinks.remove(device)
      case .state(let adapter, _) where adapter < .poweredOn: (state.links, state.foreignLinks) = ([:], [])
      default: break
      }
      return false
    }
    if isChanged { save() }
  }

  /// The device with an identifier; nil where it is not known.
  package func device(of identifier: PeerIdentifier) -> Device? {
    state.withLock { state in
      guard let slot = state.identifiers[identifier] else { return nil }
      state.addresses.touch(slot)
      return state.entries[slot].device
    }
  }

  /// The devices that are connected, by another program of this machine too, and have one of these services, as far as it is known:
  /// they advertise it, a client has discovered it, or `stored` has it.
  ///
  /// - Parameter stored: the services of a device that are stored with its bond.
  package func connected(
    with services: [BluetoothUUID], stored: (DeviceAddress) -> [BluetoothUUID] = { _ in [] }
  ) -> [Device] {
    let links = state.withLock { state in
      let own = state.links.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
      let others = state.foreignLinks.sorted { $0.octets.value < $1.octets.value }.map { Link(address: $0) }
      return (own + others.filter { other in !own.contains { $0.address == other.address } }).compactMap { link in
        state.device(at: link.address).map { (device: $0, services: link.services + $0.services) }
      }
    }
    return links.filter { ($0.services + stored($0.device.address)).contains(where: services.contains) }.map(\.device)
  }

  /// The services that a device is known by: those that it advertises, and those that were discovered on its links.
  package func services(of address: DeviceAddress) -> [BluetoothUUID] {
    state.withLock { state in
      let discovered = state.links.values.filter { $0.address == address }.flatMap(\.services)
      return (state.device(at: address)?.services ?? []) + discovered
    }
  }

  /// Whether a link is up.
  package func isUp(_ peer: PeerID) -> Bool { state.withLock { $0.links[peer] != nil } }

  /// Waits until everything is in the file.
  package func settle() { file?.settle(lasting) }

  private func save() {
    guard let file else { return }
    file.save { [weak self] in self?.lasting }
  }

  /// The devices whose addresses do not change, the one that was used last at the end.
  private var lasting: [Device] {
    let devices = state.withLock { state in state.addresses.slots.map { state.entries[$0].device } }
    return devices.filter(\.address.isIdentityAddress)
  }
}

extension KnownDevices.State {
  fileprivate func device(at address: DeviceAddress) -> KnownDevices.Device? {
    addresses.slot(of: address.tableKey).map { entries[$0].device }
  }

  /// Changes a device, which is known from now on.
  ///
  /// - Returns: whether it is another one than before.
  fileprivate mutating func update(
    _ address: DeviceAddress, _ change: (inout KnownDevices.Device) -> Void = { _ in }
  ) -> Bool {
    if let slot = addresses.slot(of: address.tableKey) {
      addresses.touch(slot)
      let before = entries[slot].device
      change(&entries[slot].device)
      return entries[slot].device != before
    }
    var device = KnownDevices.Device(address: address)
    change(&device)
    let entry = KnownDevices.Entry(identifier: PeerIdentifier(address), device: device)
    if addresses.count >= KnownDevices.limit { removeOldest() }
    let slot = addresses.insert(address.tableKey)
    if slot < entries.count { entries[slot] = entry } else { entries.append(entry) }
    identifiers[entry.identifier] = slot
    return true
  }

  fileprivate mutating func note(_ services: [BluetoothUUID], on peer: PeerID) -> Bool {
    for service in services where links[peer]?.services.contains(service) == false {
      links[peer]?.services.append(service)
    }
    return false
  }

  /// Removes the device that was not used for the longest time and has no link; one that has counts as used.
  private mutating func removeOldest() {
    let connected = Set(links.values.map(\.address))
    for _ in 0...connected.count {
      guard let oldest = addresses.oldest else { return }
      guard connected.contains(entries[oldest].device.address) else {
        identifiers[entries[oldest].identifier] = nil
        return addresses.remove(oldest)
      }
      addresses.touch(oldest)
    }
  }
}
