import BLEGATT
package import BLEHost
package import BLEWire
import Synchronization

/// The devices that all clients of one adapter know together, and the links that are up.
///
/// A device is known when a client has reported it, or when it has connected. With more than ``limit`` devices, or
/// ``maximumOctets`` of names and services, the one that was not used for the longest time is removed, unless a link to
/// it is up. A device that the program has connected to, in this run or an earlier one, is also known by its identifier
/// (``DeviceFile``).
///
/// ```swift
/// client.hub?.note(.seen(address, name: "Clock", services: ["1805"]))
/// let address = client.hub?.devices.device(of: identifier)?.address
/// ```
package final class AdapterDevices: Sendable {
  /// One device.
  package struct Device: Hashable, Sendable {
    package var address: DeviceAddress
    package var name: String?
    /// The services that it advertises.
    package var services: [BluetoothUUID] = []
  }

  /// A fact that a client has found out.
  package enum Fact: Sendable {
    /// An advertisement that was reported.
    case seen(DeviceAddress, name: String?, services: [BluetoothUUID])
    /// A client has connected to the device as a central, and the program may store its identifier.
    case connected(DeviceAddress)
    /// The Device Name characteristic (Vol 3, Part C, 12.1).
    case named(DeviceAddress, String)
    /// The name that the device of a link has advertised.
    case advertised(String, by: LinkID)
    /// The services that a client has discovered on a link.
    case discovered([BluetoothUUID], on: LinkID)
  }

  fileprivate struct Entry: Sendable {
    let identifier: PeerIdentifier
    let address: DeviceAddress
    var name: String?
    var services = PackedUUIDs()

    init(_ address: DeviceAddress) { (identifier, self.address) = (PeerIdentifier(address), address) }

    var device: Device { Device(address: address, name: name, services: services.uuids) }
    /// The octets of memory that the entry refers to.
    var allocatedOctets: Int { (name?.allocatedOctets ?? 0) + services.allocatedOctets }
  }

  fileprivate struct Link: Sendable {
    var address: DeviceAddress
    var isBondProven = false
    var services: [BluetoothUUID] = []
  }

  fileprivate struct State: Sendable {
    /// Has slots of the same numbers as ``entries``.
    var addresses = RecencyTable()
    var identifiers: [PeerIdentifier: Int] = [:]
    var links: [LinkID: Link] = [:]
    /// The devices that other programs of this machine are connected to.
    var foreignLinks: Set<DeviceAddress> = []
    var entries: ContiguousArray<Entry> = []
    /// The octets of memory that all entries together refer to.
    var allocatedOctets = 0
  }

  /// The number of devices at most. A device takes about 150 octets besides its name and services.
  package static let limit = 32_768
  /// The octets of memory of names and services at most, besides those of devices with a link.
  package static let maximumOctets = 8 << 20
  /// The maximum number of services that are stored of those that clients discover on one link.
  static let linkServiceLimit = 4096

  private let state = Mutex(State())
  /// The devices that the program has connected to; nil where they are not remembered.
  package let remembered: DeviceFile?

  package init(_ remembered: DeviceFile? = nil) { self.remembered = remembered }

  package func note(_ fact: Fact) {
    let toRemember: (address: DeviceAddress, name: String?)? = state.withLock { state in
      switch fact {
      case .seen(let address, let name, let services):
        state.update(address) { device in
          device.name = name ?? device.name
          if !services.isEmpty { device.services = PackedUUIDs(services) }
        }
      case .connected(let address): return (address, state.device(at: address)?.name)
      case .named(let address, let name):
        state.update(address) { $0.name = name }
        return (address, name)
      case .advertised(let name, let peer):
        if let address = state.links[peer]?.address { state.update(address) { $0.name = name } }
      case .discovered(let services, let peer): state.note(services, on: peer)
      }
      return nil
    }
    if let toRemember { remembered?.connected(to: toRemember.address, name: toRemember.name) }
  }

  /// The octets of memory of names and services.
  package var allocatedOctets: Int { state.withLock(\.allocatedOctets) }

  /// Records reports that are equal to the last ones of their devices.
  package func noteAgain(_ addresses: [DeviceAddress]) {
    guard !addresses.isEmpty else { return }
    state.withLock { state in
      for address in addresses {
        if let slot = state.addresses.slot(of: address.tableKey) {
          state.addresses.touch(slot)
        } else {
          state.update(address)
        }
      }
    }
  }

  /// Receives an event that the host reports to all clients.
  package func receive(_ event: HostEvent) {
    state.withLock { state in
      switch event {
      case .connected(let connection):
        let address = connection.address.identity
        state.links[connection.peer] = Link(address: address)
        state.update(address)
      case .link(let peer, let event): state.receive(event, of: peer)
      case .foreignLink(let device, isUp: true):
        state.foreignLinks.insert(device)
        state.update(device)
      case .foreignLink(let device, isUp: false): state.foreignLinks.remove(device)
      case .state(let adapter, _): if adapter < .poweredOn { (state.links, state.foreignLinks) = ([:], []) }
      // The others change nothing here.
      case .address, .capabilities, .refused, .diagnostic, .services, .advertising, .scanning, .synchronizing,
        .connectionFailed, .client, .server, .pairing, .bonds, .channels, .channel:
        break
      }
    }
  }

  /// The device with an identifier; nil if it is not known.
  package func device(of identifier: PeerIdentifier) -> Device? {
    let known: Device? = state.withLock { state in
      guard let slot = state.identifiers[identifier] else { return nil }
      state.addresses.touch(slot)
      return state.entries[slot].device
    }
    if let known, known.name != nil { return known }
    let stored = remembered?.device(of: identifier).map { Device(address: $0, name: remembered?.name(of: $0)) }
    guard var known else { return stored }
    known.name = stored?.name
    return known
  }

  /// The devices that are connected, also by another program of this machine, and are known to have one of these
  /// services: they advertise it, a client has discovered it, or `stored` has it.
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

  /// The services that are known of a device: those that it advertises, and those that were discovered on its links.
  package func services(of address: DeviceAddress) -> [BluetoothUUID] {
    state.withLock { state in
      let discovered = state.links.values.filter { $0.address == address }.flatMap(\.services)
      return (state.device(at: address)?.services ?? []) + discovered
    }
  }

  /// The name of the device on a link that is up; nil if none is known.
  func name(of peer: LinkID) -> String? {
    state.withLock { state in state.links[peer].flatMap { state.device(at: $0.address)?.name } }
  }

  /// The device on a link that has proven its bond, and its name; nil for any other link, and without a name.
  func bonded(on peer: LinkID) -> (address: DeviceAddress, name: String)? {
    state.withLock { state in
      guard let link = state.links[peer], link.isBondProven, let name = state.device(at: link.address)?.name else {
        return nil
      }
      return (link.address, name)
    }
  }

  /// The links to a device.
  func links(to address: DeviceAddress) -> [LinkID] {
    state.withLock { state in state.links.filter { $0.value.address == address }.map(\.key) }
  }

  /// The address of the device on a link that is up.
  package func address(of peer: LinkID) -> DeviceAddress? { state.withLock { $0.links[peer]?.address } }

  package var linkCount: Int { state.withLock { $0.links.count } }

  /// Whether a link is up.
  package func isUp(_ peer: LinkID) -> Bool { state.withLock { $0.links[peer] != nil } }
}

extension AdapterDevices.State {
  fileprivate mutating func receive(_ event: HostEvent.Link, of peer: LinkID) {
    switch event {
    case .identified(let identity):
      links[peer]?.address = identity.identity
      update(identity.identity)
    case .disconnected: links[peer] = nil
    case .security(let security): links[peer]?.isBondProven = security.isBondProven
    // No facts about the device.
    case .mtu, .connectionUpdated, .connectionUpdateRefused, .dataLength, .phy, .subrating, .connectionRate, .rssi,
      .power:
      break
    }
  }

  fileprivate func device(at address: DeviceAddress) -> AdapterDevices.Device? {
    addresses.slot(of: address.tableKey).map { entries[$0].device }
  }

  /// Changes a device, which is known from now on.
  fileprivate mutating func update(
    _ address: DeviceAddress, _ change: (inout AdapterDevices.Entry) -> Void = { _ in }
  ) {
    let slot = addresses.slot(of: address.tableKey) ?? insert(address)
    addresses.touch(slot)
    let before = entries[slot].allocatedOctets
    change(&entries[slot])
    allocatedOctets += entries[slot].allocatedOctets - before
    while allocatedOctets > AdapterDevices.maximumOctets, removeOldest(but: slot) {}
  }

  private mutating func insert(_ address: DeviceAddress) -> Int {
    if addresses.count >= AdapterDevices.limit { _ = removeOldest() }
    let entry = AdapterDevices.Entry(address)
    let slot = addresses.insert(address.tableKey)
    if slot < entries.count { entries[slot] = entry } else { entries.append(entry) }
    identifiers[entry.identifier] = slot
    return slot
  }

  fileprivate mutating func note(_ services: [BluetoothUUID], on peer: LinkID) {
    guard let link = links[peer] else { return }
    var known = Set(link.services)
    for service in services where known.count < AdapterDevices.linkServiceLimit && known.insert(service).inserted {
      links[peer]?.services.append(service)
    }
  }

  /// Removes the device that was not used for the longest time and has no link; one that has a link counts as used.
  ///
  /// - Returns: false if there is none besides the one in the slot `kept`.
  private mutating func removeOldest(but kept: Int? = nil) -> Bool {
    let connected = Set(links.values.map(\.address))
    for _ in 0...connected.count {
      guard let oldest = addresses.oldest, oldest != kept else { return false }
      guard connected.contains(entries[oldest].address) else {
        remove(oldest)
        return true
      }
      addresses.touch(oldest)
    }
    return false
  }

  private mutating func remove(_ slot: Int) {
    let entry = entries[slot]
    identifiers[entry.identifier] = nil
    allocatedOctets -= entry.allocatedOctets
    (entries[slot].name, entries[slot].services) = (nil, PackedUUIDs())
    addresses.remove(slot)
  }
}

/// UUIDs in little more than the octets in which they are sent: the size of each, then its octets, least significant
/// first.
private struct PackedUUIDs: Equatable, Sendable {
  private var octets: [UInt8] = []

  init(_ uuids: [BluetoothUUID] = []) {
    octets.reserveCapacity(uuids.reduce(0) { $0 + 1 + $1.size.rawValue })
    for uuid in uuids {
      octets.append(UInt8(uuid.size.rawValue))
      uuid.append(to: &octets)
    }
  }

  var allocatedOctets: Int { octets.allocatedOctets }

  var uuids: [BluetoothUUID] {
    var uuids: [BluetoothUUID] = []
    var rest = octets[...]
    while let size = rest.popFirst(), let uuid = BluetoothUUID(littleEndian: rest.prefix(Int(size))) {
      uuids.append(uuid)
      rest = rest.dropFirst(Int(size))
    }
    return uuids
  }
}
