import BLEWire

extension Advertisement {
  /// The advertisement as octets.
  ///
  /// Elements are placed first and must fit. Service UUIDs follow in the given order, as long as ten octets of the name
  /// still fit. The name takes the remaining space and is shortened between characters where necessary. UUIDs that do
  /// not fit go to the overflow area, for which 21 octets are reserved in this case
  /// (Docs/Decisions/radio.md#the-overflow-area describes where and why).
  ///
  /// - Throws: ``AdvertisingDataError`` if flags or elements do not fit, and for a name or an element that is not
  ///   allowed.
  public func payload(under policy: AdvertisingPolicy) throws(AdvertisingDataError) -> AdvertisingPayload {
    let name = try checkedName(under: policy)
    let areas = try areasWithElements(under: policy)
    let uuids = distinctServiceUUIDs

    if policy != .background {
      // First the given order, then the long UUIDs first, which packs better: the first order in which all fit.
      for order in [uuids, uuids.sorted { $0.size.rawValue > $1.size.rawValue }] {
        var layout = AdvertisingLayout(areas: areas, policy: policy, name: name)
        if layout.place(order).isEmpty { return layout.finish(self, uuids, overflow: []) }
      }
    }
    var layout = AdvertisingLayout(areas: areas, policy: policy, name: name)
    if !uuids.isEmpty { layout.reserveOverflowArea() }
    let overflow = Set(policy == .background ? uuids : layout.place(uuids))
    return layout.finish(self, uuids, overflow: uuids.filter(overflow.contains))
  }

  private var distinctServiceUUIDs: [BluetoothUUID] {
    var seen: Set<BluetoothUUID> = []
    return serviceUUIDs.filter { seen.insert($0).inserted }
  }

  private func checkedName(under policy: AdvertisingPolicy) throws(AdvertisingDataError) -> String {
    guard let localName else { return "" }
    guard !localName.utf8.contains(0) else { throw .nameContainsNUL }
    return policy == .background ? "" : localName
  }

  private func areasWithElements(under policy: AdvertisingPolicy) throws(AdvertisingDataError) -> [AdvertisingArea] {
    for element in elements {
      switch element {
      case .flags, .localName, .serviceUUIDs: throw .setByProperty(element.type)
      default: break  // The others have no property.
      }
    }
    let limits: [Int] =
      switch policy {
      case .extended(let limit): [min(limit, LinkLayerLimits.extendedAdvertisingData)]
      // The others are legacy advertisements.
      default: [LinkLayerLimits.legacyAdvertisingData, LinkLayerLimits.legacyAdvertisingData]
      }
    var areas = limits.map(AdvertisingArea.init(limit:))
    if let flags, areas[0].free >= 3 { areas[0].append(flags) }
    guard let placement = placement(in: areas.map({ $0.free })), flags == nil || areas[0].used == 3 else {
      let flagsItem = flags.map {
        [AdvertisingDataError.Item(name: "\(ADType.flags)", octets: ADElement.flags($0).encodedLength)]
      }
      let items = elements.map { AdvertisingDataError.Item(name: $0.description, octets: $0.encodedLength) }
      throw .tooLarge((flagsItem ?? []) + items, areas: limits)
    }
    for (element, area) in zip(elements, placement) { areas[area].append(element) }
    return areas
  }

  /// The area of each element: the first with enough space, in the given order; if that leaves an element without a
  /// place, any distribution in which all elements fit. Nil if there is none.
  private func placement(in spaces: [Int]) -> [Int]? {
    let lengths = elements.map { $0.encodedLength }
    guard lengths.allSatisfy({ $0 <= ADStructure.maximumDataLength + 2 }) else { return nil }
    var free = spaces
    var placement: [Int] = []
    for length in lengths {
      guard let area = free.firstIndex(where: { $0 >= length }) else { break }
      free[area] -= length
      placement.append(area)
    }
    if placement.count == lengths.count { return placement }
    guard spaces.count == 2, lengths.reduce(0, +) <= spaces[0] + spaces[1] else { return nil }

    // sums[n]: bit s is set if some of the first n elements have s octets together.
    var sums: [UInt64] = [1]
    let within = UInt64(1) << UInt64(spaces[0] + 1) - 1
    for length in lengths { sums.append((sums[sums.count - 1] | sums[sums.count - 1] << UInt64(length)) & within) }
    let total = lengths.reduce(0, +)
    guard var sum = (0...spaces[0]).last(where: { sums[lengths.count] >> UInt64($0) & 1 == 1 }),
      total - sum <= spaces[1]
    else { return nil }
    placement = Array(repeating: 1, count: lengths.count)
    for index in lengths.indices.reversed() where sums[index] >> UInt64(sum) & 1 == 0 {
      placement[index] = 0
      sum -= lengths[index]
    }
    return placement
  }
}

/// The placement of service UUIDs, name and overflow area in the space beside the elements.
private struct AdvertisingLayout {
  var areas: [AdvertisingArea]
  let policy: AdvertisingPolicy
  let name: String
  /// The area in which 21 octets are reserved for the overflow area, if any.
  private var overflowIn: Int?

  /// The octets of the name that UUIDs do not displace: the length that CoreBluetooth sends in the scan response.
  private static let reservedNameLength = 10
  /// That length beside an overflow area: the remaining octets of a scan response.
  private static let reservedNameLengthBesideOverflow =
    LinkLayerLimits.legacyAdvertisingData - OverflowArea.structureLength - 2

  init(areas: [AdvertisingArea], policy: AdvertisingPolicy, name: String) {
    self.areas = areas
    self.policy = policy
    self.name = name
  }

  /// Reserves octets for the overflow area: in the scan response, or in the only area. Under the background policy,
  /// which sends no other UUIDs, it goes to the advertising data, which a passive scanner receives.
  mutating func reserveOverflowArea() {
    let order = policy == .background ? Array(areas.indices) : areas.indices.reversed()
    overflowIn = order.first { areas[$0].free >= OverflowArea.structureLength }
  }

  /// Places UUIDs and returns those that do not fit.
  mutating func place(_ uuids: [BluetoothUUID]) -> [BluetoothUUID] {
    let forName = reservedForName
    var left: [BluetoothUUID] = []
    for uuid in uuids {
      let area = areas.indices.first { index in
        canHaveUUIDs(index)
          && areas[index].append(
            uuid, leaving: reservedForOverflow(index) + (forName?.area == index ? forName?.octets ?? 0 : 0))
      }
      if area == nil { left.append(uuid) }
    }
    return left
  }

  mutating func finish(
    _ advertisement: Advertisement, _ uuids: [BluetoothUUID], overflow: [BluetoothUUID]
  ) -> AdvertisingPayload {
    var payload = AdvertisingPayload()
    payload.overflowServiceUUIDs = overflow
    if overflow.isEmpty { overflowIn = nil }
    payload.localName = placeName()
    if let overflowIn {
      let area = OverflowArea(overflow)
      payload.overflowArea = area
      areas[overflowIn].append(area)
    }
    func octets(_ area: AdvertisingArea) -> [UInt8] {
      area.encoded { size, count in
        !advertisement.marksServiceUUIDsIncomplete && count == uuids.count { $0.size == size }
      }
    }
    payload.advertisingData = octets(areas[0])
    if areas.count > 1 { payload.scanResponse = octets(areas[1]) }
    return payload
  }

  private func canHaveUUIDs(_ area: Int) -> Bool { area == 0 || policy == .full }

  private func reservedForOverflow(_ area: Int) -> Int { overflowIn == area ? OverflowArea.structureLength : 0 }

  /// The octets that UUIDs leave to the name, and their area: the last that has enough space.
  private var reservedForName: (area: Int, octets: Int)? {
    guard !name.isEmpty else { return nil }
    let length = overflowIn == nil ? Self.reservedNameLength : Self.reservedNameLengthBesideOverflow
    let octets = min(name.utf8.count, length) + 2
    return areas.indices.last { areas[$0].free - reservedForOverflow($0) >= octets }.map { ($0, octets) }
  }

  /// Places the name in the area where it is complete, otherwise where most of it fits; the first of two equal areas.
  private mutating func placeName() -> LocalName? {
    var best: (area: Int, name: LocalName)?
    for index in areas.indices {
      var length = areas[index].freeForName - reservedForOverflow(index)
      if policy == .coreBluetooth, index == 1 { length = min(length, Self.reservedNameLength) }
      guard let fitting = LocalName.fitting(name, in: length) else { continue }
      if fitting.octets.count > best?.name.octets.count ?? 0 { best = (index, fitting) }
    }
    guard let best else { return nil }
    areas[best.area].append(best.name)
    return best.name
  }
}

/// One area of an advertisement while content is placed: it counts the used octets, and encodes the content at the end.
private struct AdvertisingArea {
  let limit: Int
  private(set) var used = 0

  private var flags: AdvertisingFlags?
  private var uuids: [BluetoothUUID] = []
  private var elements: [ADElement] = []
  private var name: LocalName?
  private var overflow: OverflowArea?

  init(limit: Int) { self.limit = limit }

  var free: Int { limit - used }
  /// The space for a name, without its header.
  var freeForName: Int { min(free - 2, ADStructure.maximumDataLength) }

  mutating func append(_ flags: AdvertisingFlags) {
    self.flags = flags
    used += 3
  }

  mutating func append(_ element: ADElement) {
    elements.append(element)
    used += element.encodedLength
  }

  mutating func append(_ name: LocalName) {
    self.name = name
    used += 2 + name.octets.count
  }

  mutating func append(_ overflow: OverflowArea) {
    self.overflow = overflow
    used += OverflowArea.structureLength
  }

  /// Appends the UUID if it fits with `reserved` octets to spare; returns whether it did.
  mutating func append(_ uuid: BluetoothUUID, leaving reserved: Int) -> Bool {
    let cost = cost(of: uuid.size)
    guard cost <= free - reserved else { return false }
    uuids.append(uuid)
    used += cost
    return true
  }

  /// The octets of the area: flags, lists of UUIDs by size, elements, name, overflow area.
  ///
  /// - Parameter isComplete: whether a list with this number of UUIDs of a size is complete.
  func encoded(isComplete: (BluetoothUUID.Size, Int) -> Bool) -> [UInt8] {
    var octets: [UInt8] = []
    octets.reserveCapacity(used)
    if let flags { ADElement.flags(flags).encode(to: &octets) }
    for size in [BluetoothUUID.Size.uuid16, .uuid32, .uuid128] {
      var rest = uuids.filter { $0.size == size }[...]
      // Only an extended advertisement can have several lists of one size; none of them is complete then.
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

  /// The octets that one more UUID takes: a new list has a header of two octets.
  private func cost(of size: BluetoothUUID.Size) -> Int {
    let same = uuids.count { $0.size == size }
    return size.rawValue + (same % Self.capacity(of: size) == 0 ? 2 : 0)
  }

  private static func capacity(of size: BluetoothUUID.Size) -> Int { ADStructure.maximumDataLength / size.rawValue }
}
