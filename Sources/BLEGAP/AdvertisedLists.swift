import BLEWire

/// The lists of ``AdvertisedData``.
struct AdvertisedLists: Equatable, Sendable {
  var serviceUUIDs: [BluetoothUUID] = []
  var solicitedServiceUUIDs: [BluetoothUUID] = []
  var serviceData: [ServiceData] = []
  var manufacturerData: [ManufacturerData] = []
  var serviceUUIDLists: [AdvertisedUUIDList] = []
  var otherElements: [ADElement] = []

  init() {}

  /// The lists in the AD structures of some areas.
  init(parsing areas: [Bytes]) {
    var parser = AdvertisedListParser()
    for area in areas {
      for structure in ADStructures(area) { parser.add(structure) }
    }
    self = parser.finish()
  }

  var isEmpty: Bool {
    serviceUUIDs.isEmpty && solicitedServiceUUIDs.isEmpty && serviceData.isEmpty && manufacturerData.isEmpty
      && serviceUUIDLists.isEmpty && otherElements.isEmpty
  }

  /// The octets of memory of the lists, without the octets received, to which their elements refer.
  var allocatedOctets: Int {
    serviceUUIDs.allocatedOctets + solicitedServiceUUIDs.allocatedOctets + serviceData.allocatedOctets
      + manufacturerData.allocatedOctets + serviceUUIDLists.allocatedOctets + otherElements.allocatedOctets
      + serviceUUIDLists.reduce(0) { $0 + $1.uuids.allocatedOctets }
      + otherElements.reduce(0) { $0 + $1.allocatedOctets }
  }

  /// The upper bound of ``allocatedOctets`` for the lists in these octets: an array can have twice the capacity that it
  /// needs.
  static func memoryBound(of octets: Bytes) -> Int {
    ADStructures(octets).reduce(0) { $0 + memoryBound(of: $1) }
  }

  private static func memoryBound(of structure: ADStructure) -> Int {
    // A UUID takes 24 octets: once in the list of its structure, and up to twice in the joined one.
    func uuids(_ size: BluetoothUUID.Size) -> Int { 192 + structure.data.count / size.rawValue * 72 }
    switch structure.type {
    case .flags, .completeLocalName, .shortenedLocalName, .txPowerLevel, .appearance, .uri,
      .peripheralConnectionIntervalRange:
      return 0
    case .incompleteServiceUUIDs16, .completeServiceUUIDs16, .serviceSolicitation16: return uuids(.uuid16)
    case .incompleteServiceUUIDs32, .completeServiceUUIDs32, .serviceSolicitation32: return uuids(.uuid32)
    case .incompleteServiceUUIDs128, .completeServiceUUIDs128, .serviceSolicitation128: return uuids(.uuid128)
    case .serviceData16, .serviceData32, .serviceData128, .manufacturerSpecificData: return 160
    // A list of addresses of 8 octets each has an array of its own.
    default: return 320 + structure.data.count * 3
    }
  }
}

extension ADElement {
  /// The octets of memory of the arrays in the element.
  fileprivate var allocatedOctets: Int {
    switch self {
    case .serviceUUIDs(let uuids, _, _), .serviceSolicitation(let uuids, _): uuids.allocatedOctets
    case .publicTargetAddress(let addresses), .randomTargetAddress(let addresses): addresses.allocatedOctets
    default: 0  // The others have no array.
    }
  }
}

/// The lists of ``AdvertisedData``, or the octets that they are in.
///
/// A list can take more than twenty times the memory of its octets. Lists that could take more than ``maximumOctets``
/// are parsed each time one is read. Copies share the lists: a copy of a value counts one reference for all of them.
struct AdvertisedListStorage: Equatable, Sendable {
  /// The memory limit of lists that are kept, in octets. The lists of an ordinary advertisement take a few hundred.
  static let maximumOctets = 2048

  private enum Content: Sendable {
    case empty
    indirect case parsed(AdvertisedLists)
    /// The octets of long lists.
    case areas([Bytes])
  }

  private var content = Content.empty

  init() {}

  /// The lists in advertising data and scan response; long ones are not parsed.
  init(_ advertisingData: Bytes, _ scanResponse: Bytes = []) {
    let bound = AdvertisedLists.memoryBound(of: advertisingData) + AdvertisedLists.memoryBound(of: scanResponse)
    guard bound > Self.maximumOctets else { return }
    content = .areas(scanResponse.isEmpty ? [advertisingData] : [advertisingData, scanResponse])
  }

  /// Whether the lists are parsed.
  var isParsed: Bool {
    if case .areas = content { false } else { true }
  }

  /// All lists. A change of unparsed lists parses them first.
  var lists: AdvertisedLists {
    get { read { $0 } }
    set { content = newValue.isEmpty ? .empty : .parsed(newValue) }
    _modify {
      var lists = lists
      // The lists have one reference while they change.
      content = .empty
      defer { self.lists = lists }
      yield &lists
    }
  }

  /// One of the lists.
  @inline(__always) func read<List>(_ list: (AdvertisedLists) -> List) -> List {
    switch content {
    case .empty: list(AdvertisedLists())
    case .parsed(let lists): list(lists)
    case .areas(let areas): list(AdvertisedLists(parsing: areas))
    }
  }

  /// Parses the lists.
  mutating func parse() {
    if case .areas(let areas) = content { lists = AdvertisedLists(parsing: areas) }
  }

  /// Adds an area whose lists are not parsed.
  mutating func append(_ area: Bytes) {
    guard case .areas(var areas) = content else { return }
    content = .empty
    areas.append(area)
    content = .areas(areas)
  }

  /// The octets of memory of the lists.
  var allocatedOctets: Int {
    switch content {
    case .empty: 0
    case .parsed(let lists): BLEWire.allocatedOctets(16 + MemoryLayout<AdvertisedLists>.size) + lists.allocatedOctets
    case .areas(let areas): areas.allocatedOctets
    }
  }

  static func == (a: Self, b: Self) -> Bool {
    switch (a.content, b.content) {
    case (.areas(let areas), .areas(let others)) where areas == others: true
    default: a.lists == b.lists  // Equal content in another form.
    }
  }
}

/// Adds AD structures to lists, without repeats. The work is in proportion to the octets of the structures and of the
/// lists.
struct AdvertisedListParser {
  private var lists: AdvertisedLists
  private var serviceUUIDs = RepeatFilter<BluetoothUUID>()
  private var solicitedServiceUUIDs = RepeatFilter<BluetoothUUID>()
  private var manufacturerData = RepeatFilter<ManufacturerData>()
  private var serviceUUIDLists = RepeatFilter<UUIDListKey>()
  private var otherElements = RepeatFilter<ElementKey>()
  /// Whether the list of service data can have repeats, which ``finish()`` removes.
  private var hasServiceDataRepeats = false
  private var serviceDataComparisons = 0

  private struct UUIDListKey: Hashable {
    let uuids: [BluetoothUUID]
    let size: BluetoothUUID.Size
    let isComplete: Bool
  }

  /// Equal for equal elements.
  private struct ElementKey: Hashable {
    let type: ADType
    let data: Bytes
  }

  init(_ lists: AdvertisedLists = AdvertisedLists()) { self.lists = lists }

  /// The comparisons of elements, and the entries in hash tables, so far.
  var comparisons: Int {
    serviceUUIDs.comparisons + solicitedServiceUUIDs.comparisons + manufacturerData.comparisons
      + serviceUUIDLists.comparisons + otherElements.comparisons + serviceDataComparisons
  }

  /// Adds a structure. A type with one value has a property instead of a list, and adds nothing.
  mutating func add(_ structure: ADStructure) {
    let data = structure.data
    switch structure.type {
    case .flags, .completeLocalName, .shortenedLocalName, .txPowerLevel, .appearance, .uri,
      .peripheralConnectionIntervalRange:
      break
    case .incompleteServiceUUIDs16: addServices(data, .uuid16, isComplete: false)
    case .completeServiceUUIDs16: addServices(data, .uuid16, isComplete: true)
    case .incompleteServiceUUIDs32: addServices(data, .uuid32, isComplete: false)
    case .completeServiceUUIDs32: addServices(data, .uuid32, isComplete: true)
    case .incompleteServiceUUIDs128: addServices(data, .uuid128, isComplete: false)
    case .completeServiceUUIDs128: addServices(data, .uuid128, isComplete: true)
    case .serviceSolicitation16: addSolicitedServices(data, .uuid16)
    case .serviceSolicitation32: addSolicitedServices(data, .uuid32)
    case .serviceSolicitation128: addSolicitedServices(data, .uuid128)
    default: add(ADElement(structure))
    }
  }

  private mutating func addServices(_ data: Bytes, _ size: BluetoothUUID.Size, isComplete: Bool) {
    var uuids: [BluetoothUUID] = []
    uuids.reserveCapacity(data.count / size.rawValue)
    ADElement.forEachUUID(data, size) { uuids.append($0) }
    for uuid in uuids where serviceUUIDs.admits(uuid, to: lists.serviceUUIDs, key: { $0 }) {
      lists.serviceUUIDs.append(uuid)
    }
    guard data.count % size.rawValue == 0 else { return }
    let list = AdvertisedUUIDList(uuids, size: size, isComplete: isComplete)
    let isNew = serviceUUIDLists.admits(list, to: lists.serviceUUIDLists) {
      UUIDListKey(uuids: $0.uuids, size: $0.size, isComplete: $0.isComplete)
    }
    if isNew { lists.serviceUUIDLists.append(list) }
  }

  private mutating func addSolicitedServices(_ data: Bytes, _ size: BluetoothUUID.Size) {
    ADElement.forEachUUID(data, size) { uuid in
      if solicitedServiceUUIDs.admits(uuid, to: lists.solicitedServiceUUIDs, key: { $0 }) {
        lists.solicitedServiceUUIDs.append(uuid)
      }
    }
  }

  private mutating func add(_ element: ADElement) {
    switch element {
    case .opaque: break
    case .serviceData(let data): add(data)
    case .manufacturerData(let data):
      if manufacturerData.admits(data, to: lists.manufacturerData, key: { $0 }) { lists.manufacturerData.append(data) }
    // An element without a list of its own stays as it is.
    default:
      let isNew = otherElements.admits(element, to: lists.otherElements) { ElementKey(type: $0.type, data: $0.data) }
      if isNew { lists.otherElements.append(element) }
    }
  }

  /// The last data of a service replaces earlier data, in its place.
  private mutating func add(_ data: ServiceData) {
    if lists.serviceData.count < RepeatFilter<BluetoothUUID>.shortList {
      serviceDataComparisons += lists.serviceData.count
      lists.serviceData.removeAll { $0.uuid == data.uuid }
    } else {
      hasServiceDataRepeats = true
    }
    lists.serviceData.append(data)
  }

  /// The lists. The parser is not used afterwards.
  mutating func finish() -> AdvertisedLists {
    if hasServiceDataRepeats {
      serviceDataComparisons += lists.serviceData.count
      var services: Set<BluetoothUUID> = []
      let last = lists.serviceData.reversed().filter { services.insert($0.uuid).inserted }
      lists.serviceData = last.reversed()
    }
    return lists
  }
}

/// Finds elements that a list already has: it searches a short list, and looks them up in a hash table for a long one.
/// An element costs the same for any length of the list.
struct RepeatFilter<Key: Hashable> {
  /// Lists with fewer elements than this are searched.
  static var shortList: Int { 16 }

  /// The keys of all elements; nil for a short list.
  private var keys: Set<Key>?
  /// The comparisons of elements, and the entries in the hash table, so far.
  private(set) var comparisons = 0

  /// Whether a list lacks an element, which the caller then adds.
  ///
  /// - Parameter key: equal for elements that are equal.
  @inline(__always) mutating func admits<Element: Equatable>(
    _ element: Element, to list: [Element], key: (Element) -> Key
  ) -> Bool {
    if list.count < Self.shortList {
      comparisons += list.count
      return !list.contains(element)
    }
    if keys == nil {
      comparisons += list.count
      keys = Set(list.map(key))
    }
    comparisons += 1
    return keys?.insert(key(element)).inserted ?? true
  }
}
