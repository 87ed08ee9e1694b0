import BLEWire

extension Advertisement {
  /// Lays the advertisement out in octets.
  ///
  /// Elements come first and must fit. Then the service UUIDs, in the order given, as far as there is room beside a name of
  /// ten octets. The name takes what is left, shortened between characters where it must be. UUIDs that found no place go
  /// to the overflow area, for which 21 octets are kept free then; Docs/Decisions/0010 says where and why.
  ///
  /// - Throws: ``AdvertisingDataError``, when something would have to be dropped that may not be.
  public func payload(under policy: AdvertisingPolicy) throws(AdvertisingDataError) -> AdvertisingPayload {
    let name = try checkedName(under: policy)
    let areas = try areasWithElements(under: policy)
    let uuids = distinctServiceUUIDs

    if policy != .background {
      // In the order given; else the long ones first, which packs better; the first that leaves none over.
      for order in [uuids, uuids.sorted { $0.size.rawValue > $1.size.rawValue }] {
        var layout = AdvertisingLayout(areas: areas, policy: policy, name: name)
        if layout.place(order).isEmpty { return layout.finish(self, uuids, overflow: []) }
      }
    }
    var layout = AdvertisingLayout(areas: areas, policy: policy, name: name)
    if !uuids.isEmpty { layout.keepRoomForOverflowArea() }
    let overflow = Set(policy == .background ? uuids : layout.place(uuids))
    return layout.finish(self, uuids, overflow: uuids.filter(overflow.contains))
  }

  private var distinctServiceUUIDs: [BluetoothUUID] {
    var seen: Set<BluetoothUUID> = []
    return serviceUUIDs.filter { seen.insert($0).inserted }
  }

  private func checkedName(under policy: AdvertisingPolicy) throws(AdvertisingDataError) -> String {
    guard let localName else { return "" }
    guard !localName.utf8.contains(0) else { throw .nameHoldsNUL }
    return policy == .background ? "" : localName
  }

  private func areasWithElements(under policy: AdvertisingPolicy) throws(AdvertisingDataError) -> [AdvertisingArea] {
    for element in elements {
      switch element {
      case .flags, .localName, .serviceUUIDs: throw .saidByProperty(element.type)
      default: break
      }
    }
    let limits: [Int] =
      switch policy {
      case .extended(let limit): [min(limit, AdvertisingPolicy.extendedLimit)]
      default: [AdvertisingPolicy.legacyLimit, AdvertisingPolicy.legacyLimit]
      }
    var areas = limits.map(AdvertisingArea.init(limit:))
    if let flags, areas[0].free >= 3 { areas[0].put(flags) }
    guard let shares = shares(of: areas.map(\.free)), flags == nil || areas[0].used == 3 else {
      let flagsItem = flags.map {
        [AdvertisingDataError.Item(name: "\(ADType.flags)", octets: ADElement.flags($0).encodedLength)]
      }
      let items = elements.map { AdvertisingDataError.Item(name: $0.description, octets: $0.encodedLength) }
      throw .tooLarge((flagsItem ?? []) + items, areas: limits)
    }
    for (element, share) in zip(elements, shares) { areas[share].put(element) }
    return areas
  }

  /// Which area each element goes to: each to the first with room for it, in the order given; where that leaves one over,
  /// any way in which all of them fit. Nil when there is none.
  private func shares(of rooms: [Int]) -> [Int]? {
    let lengths = elements.map(\.encodedLength)
    guard lengths.allSatisfy({ $0 <= ADStructure.maximumDataLength + 2 }) else { return nil }
    var free = rooms
    var shares: [Int] = []
    for length in lengths {
      guard let area = free.firstIndex(where: { $0 >= length }) else { break }
      free[area] -= length
      shares.append(area)
    }
    if shares.count == lengths.count { return shares }
    guard rooms.count == 2, lengths.reduce(0, +) <= rooms[0] + rooms[1] else { return nil }

    // sums[n]: bit s is set when some of the first n elements take s octets of the first area together.
    var sums: [UInt64] = [1]
    let within = UInt64(1) << UInt64(rooms[0] + 1) - 1
    for length in lengths { sums.append((sums[sums.count - 1] | sums[sums.count - 1] << UInt64(length)) & within) }
    let total = lengths.reduce(0, +)
    guard var sum = (0...rooms[0]).last(where: { sums[lengths.count] >> UInt64($0) & 1 == 1 }), total - sum <= rooms[1]
    else { return nil }
    shares = Array(repeating: 1, count: lengths.count)
    for index in lengths.indices.reversed() where sums[index] >> UInt64(sum) & 1 == 0 {
      shares[index] = 0
      sum -= lengths[index]
    }
    return shares
  }
}

/// The sharing out of what is left beside the elements: service UUIDs, name, overflow area.
private struct AdvertisingLayout {
  var areas: [AdvertisingArea]
  let policy: AdvertisingPolicy
  let name: String
  /// The area in which 21 octets are spoken for, if any.
  private var overflowIn: Int?

  /// Octets of the name that UUIDs do not push out: those that CoreBluetooth has in the scan response.
  private static let nameShare = 10
  /// The same beside an overflow area: what is left of a scan response.
  private static let nameShareBesideOverflow = AdvertisingPolicy.legacyLimit - OverflowArea.structureLength - 2

  init(areas: [AdvertisingArea], policy: AdvertisingPolicy, name: String) {
    self.areas = areas
    self.policy = policy
    self.name = name
  }

  /// The scan response is the place for it, or the only area; under the background policy there is nothing else to say,
  /// so it goes where a passive scanner sees it.
  mutating func keepRoomForOverflowArea() {
    let order = policy == .background ? Array(areas.indices) : areas.indices.reversed()
    overflowIn = order.first { areas[$0].free >= OverflowArea.structureLength }
  }

  /// Places UUIDs and returns those that found no place.
  mutating func place(_ uuids: [BluetoothUUID]) -> [BluetoothUUID] {
    let nameKept = keptForName
    var left: [BluetoothUUID] = []
    for uuid in uuids {
      let area = areas.indices.first { index in
        takesUUIDs(index)
          && areas[index].take(
            uuid, keeping: keptForOverflow(index) + (nameKept?.area == index ? nameKept?.octets ?? 0 : 0))
      }
      if area == nil { left.append(uuid) }
    }
    return left
  }

  mutating func finish(
    _ wish: Advertisement, _ uuids: [BluetoothUUID], overflow: [BluetoothUUID]
  ) -> AdvertisingPayload {
    var payload = AdvertisingPayload()
    payload.overflowServiceUUIDs = overflow
    if overflow.isEmpty { overflowIn = nil }
    payload.localName = placeName()
    if let overflowIn {
      let area = OverflowArea(overflow)
      payload.overflowArea = area
      areas[overflowIn].put(area)
    }
    func octets(_ area: AdvertisingArea) -> [UInt8] {
      area.encoded { size, count in
        !wish.marksServiceUUIDsIncomplete && count == uuids.count { $0.size == size }
      }
    }
    payload.advertisingData = octets(areas[0])
    if areas.count > 1 { payload.scanResponse = octets(areas[1]) }
    return payload
  }

  private func takesUUIDs(_ area: Int) -> Bool { area == 0 || policy == .full }

  private func keptForOverflow(_ area: Int) -> Int { overflowIn == area ? OverflowArea.structureLength : 0 }

  /// The octets that UUIDs leave to the name, and where: in the last area that has them.
  private var keptForName: (area: Int, octets: Int)? {
    guard !name.isEmpty else { return nil }
    let share = overflowIn == nil ? Self.nameShare : Self.nameShareBesideOverflow
    let octets = min(name.utf8.count, share) + 2
    return areas.indices.last { areas[$0].free - keptForOverflow($0) >= octets }.map { ($0, octets) }
  }

  /// Puts the name where it is complete, else where most of it fits; the first area where it makes no difference.
  private mutating func placeName() -> LocalName? {
    var best: (area: Int, name: LocalName)?
    for index in areas.indices {
      var room = areas[index].roomForName - keptForOverflow(index)
      if policy == .coreBluetooth, index == 1 { room = min(room, Self.nameShare) }
      guard let fitting = LocalName.fitting(name, in: room) else { continue }
      if fitting.octets.count > best?.name.octets.count ?? 0 { best = (index, fitting) }
    }
    guard let best else { return nil }
    areas[best.area].put(best.name)
    return best.name
  }
}
