import BLEATT
import BLEWire

/// Two orders for searches by type and by service UUID.
struct DatabaseIndex: Sendable {
  var isCurrent = false
  /// Indexes in `attributes`, sorted by type and then by handle.
  var byType: [UInt16] = []
  /// Indexes in `services`, sorted by UUID, then by the size of the UUID, then by handle.
  var servicesByUUID: [UInt16] = []
}

extension AttributeDatabase {
  /// Builds the index if the attributes have changed. Call it before each search that uses the index.
  mutating func updateIndex() {
    guard !index.isCurrent else { return }
    var byType = attributes.indices.map { UInt16(truncatingIfNeeded: $0) }
    byType.sort { a, b in
      let (left, right) = (type(of: attributes[Int(a)]), type(of: attributes[Int(b)]))
      return left == right ? a < b : left < right
    }
    index.byType = byType
    index.servicesByUUID = services.indices.map { UInt16(truncatingIfNeeded: $0) }
    index.servicesByUUID.sort { a, b in
      let (left, right) = (services[Int(a)], services[Int(b)])
      if left.uuid != right.uuid { return left.uuid < right.uuid }
      return left.uuidSize == right.uuidSize ? a < b : left.uuidSize < right.uuidSize
    }
    index.isCurrent = true
  }

  /// The index in `index.byType` of the first attribute of this type at or after `place`.
  func firstEntry(ofType type: UInt128, fromPlace place: Int) -> Int {
    var low = 0
    var high = index.byType.count
    while low < high {
      let middle = (low + high) / 2
      let entry = Int(index.byType[middle])
      let candidate = self.type(of: attributes[entry])
      if candidate < type || (candidate == type && entry < place) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The index in `index.servicesByUUID` of the first service with this UUID at or above `handle`.
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

  /// The index in `services` of the first service at or above `handle`.
  func firstService(from handle: AttributeHandle) -> Int {
    var low = 0
    var high = services.count
    while low < high {
      let middle = (low + high) / 2
      if services[middle].start < handle { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The last handle of the group that begins with the attribute at `place`; its own handle if it is not the
  /// declaration of a service or of a characteristic (Vol 3, Part G, 2.5.3).
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
