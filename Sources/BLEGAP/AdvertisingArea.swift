import BLEWire

/// One area of an advertisement while it is filled: it knows how many octets are left, and writes them in the end.
struct AdvertisingArea {
  let limit: Int
  private(set) var used = 0

  private var flags: AdvertisingFlags?
  private var uuids: [BluetoothUUID] = []
  private var elements: [ADElement] = []
  private var name: LocalName?
  private var overflow: OverflowArea?

  init(limit: Int) { self.limit = limit }

  var free: Int { limit - used }
  /// Room for a name, without its header.
  var roomForName: Int { min(free - 2, ADStructure.maximumDataLength) }

  mutating func put(_ flags: AdvertisingFlags) {
    self.flags = flags
    used += 3
  }

  mutating func put(_ element: ADElement) {
    elements.append(element)
    used += element.encodedLength
  }

  mutating func put(_ name: LocalName) {
    self.name = name
    used += 2 + name.octets.count
  }

  mutating func put(_ overflow: OverflowArea) {
    self.overflow = overflow
    used += OverflowArea.structureLength
  }

  /// Takes the UUID if it fits and leaves `kept` octets free.
  mutating func take(_ uuid: BluetoothUUID, keeping kept: Int) -> Bool {
    let cost = cost(of: uuid.size)
    guard cost <= free - kept else { return false }
    uuids.append(uuid)
    used += cost
    return true
  }

  /// The octets of the area: flags, lists of UUIDs by size, elements, name, overflow area.
  ///
  /// - Parameter isComplete: whether so many UUIDs of a size are all there are.
  func encoded(isComplete: (BluetoothUUID.Size, Int) -> Bool) -> [UInt8] {
    var octets: [UInt8] = []
    octets.reserveCapacity(used)
    if let flags { ADElement.flags(flags).encode(to: &octets) }
    for size in [BluetoothUUID.Size.uuid16, .uuid32, .uuid128] {
      var rest = uuids.filter { $0.size == size }[...]
      // More than one structure holds can only be in an extended advertisement; no single one is complete then.
      while !rest.isEmpty {
        let part = rest.prefix(Self.capacity(of: size))
        rest = rest.dropFirst(part.count)
        let complete = isComplete(size, part.count)
        ADElement.serviceUUIDs(Array(part), size: size, isComplete: complete).encode(to: &octets)
      }
    }
    for element in elements { element.encode(to: &octets) }
    if let name { ADElement.localName(name).encode(to: &octets) }
    if let overflow { ADElement.manufacturerData(overflow.manufacturerData).encode(to: &octets) }
    return octets
  }

  /// What one more UUID costs: a new list has a header of two octets.
  private func cost(of size: BluetoothUUID.Size) -> Int {
    let same = uuids.count { $0.size == size }
    return size.rawValue + (same % Self.capacity(of: size) == 0 ? 2 : 0)
  }

  private static func capacity(of size: BluetoothUUID.Size) -> Int { ADStructure.maximumDataLength / size.rawValue }
}
