import BLEATT
import BLEWire

/// Two orders of the attributes, for searches that do not go by handle.
struct DatabaseIndex: Sendable {
  var isCurrent = false
  /// The places of all attributes, by type and then by handle.
  var byType: [UInt16] = []
  /// The places in `services`, by service UUID, its size, and then by handle.
  var servicesByUUID: [UInt16] = []
}

extension AttributeDatabase {
  /// Sorts what changed since the last search; all searches that use the index call it first.
  mutating func bringIndexUpToDate() {
    guard !index.isCurrent else { return }
    index.byType = attributes.indices.map { UInt16(truncatingIfNeeded: $0) }
    index.byType.sort { a, b in
      let (left, right) = (attributes[Int(a)].type, attributes[Int(b)].type)
      return left == right ? a < b : left < right
    }
    index.servicesByUUID = services.indices.map { UInt16(truncatingIfNeeded: $0) }
    index.servicesByUUID.sort { a, b in
      let (left, right) = (services[Int(a)], services[Int(b)])
      if left.uuid != right.uuid { return left.uuid < right.uuid }
      return left.uuidSize == right.uuidSize ? a < b : left.uuidSize < right.uuidSize
    }
    index.isCurrent = true
  }

  /// Where in `index.byType` the attributes of this type begin that do not lie before `place`.
  func firstEntry(ofType type: UInt128, fromPlace place: Int) -> Int {
    var low = 0
    var high = index.byType.count
    while low < high {
      let middle = (low + high) / 2
      let entry = Int(index.byType[middle])
      let candidate = attributes[entry].type
      if candidate < type || (candidate == type && entry < place) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Where in `index.servicesByUUID` the services with this UUID begin that do not lie below `handle`.
  func firstEntry(ofService uuid: BluetoothUUID, from handle: AttributeHandle) -> Int {
    var low = 0
    var high = index.servicesByUUID.count
    let size = UInt8(truncatingIfNeeded: uuid.size.rawValue)
    while low < high {
      let middle = (low + high) / 2
      let candidate = services[Int(index.servicesByUUID[middle])]
      let isBefore =
        candidate.uuid != uuid.value
        ? candidate.uuid < uuid.value
        : candidate.uuidSize != size ? candidate.uuidSize < size : candidate.start < handle
      if isBefore { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The place in `services` of the first one that does not begin below `handle`.
  func firstService(from handle: AttributeHandle) -> Int {
    var low = 0
    var high = services.count
    while low < high {
      let middle = (low + high) / 2
      if services[middle].start < handle { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Where the group ends that the attribute at `place` begins; its own handle where it begins none
  /// (Vol 3, Part G, 2.5.3: services and characteristics are groups).
  func groupEnd(of place: Int) -> AttributeHandle {
    let attribute = attributes[place]
    guard attribute.kind == .service || attribute.kind == .characteristic else { return attribute.handle }
    let next = firstService(from: attribute.handle)
    if attribute.kind == .service {
      return next < services.count && services[next].start == attribute.handle ? services[next].end : attribute.handle
    }
    let serviceEnd = next > 0 ? services[next - 1].end : .last
    var following = place + 1
    while following < attributes.count, attributes[following].handle <= serviceEnd {
      let kind = attributes[following].kind
      if kind == .characteristic || kind == .service || kind == .include { break }
      following += 1
    }
    if following < attributes.count, attributes[following].handle <= serviceEnd {
      return attributes[following - 1].handle
    }
    return serviceEnd
  }
}
