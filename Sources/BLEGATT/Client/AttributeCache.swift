public import BLEATT
internal import BLEWire

/// What a client has discovered of the database of one server (Vol 3, Part G, 2.5.2).
///
/// It is valid for the Database Hash of that server (7.3) only. Store it with the bond of the server, and give it to
/// the client of the next link with ``GATTClient/startCaching(_:)``.
///
/// ```swift
/// var client = GATTClient()
/// client.startCaching(nil)
/// // After the first discovery on an encrypted link with a bonded server:
/// let cache = client.attributeCache
/// ```
public struct AttributeCache: Hashable, Sendable {
  /// The length of a Database Hash, in octets.
  public static let hashLength = 16

  /// The Database Hash as it was read: 16 octets, least significant octet first.
  public let hash: [UInt8]
  /// Whether the server has Robust Caching and the client has enabled it: the server then rejects a request that could
  /// reach the wrong attribute after a change of its database.
  public internal(set) var hasRobustCaching = false
  /// The Service Changed characteristic, once a client has subscribed to it.
  public internal(set) var serviceChanged: ServiceChanged?
  /// The outcome of each discovery, by its procedure. Each is one of services, included services, characteristics or
  /// descriptors.
  public var discoveries: [GATTClient.Operation.Kind: GATTClient.Outcome] { results.mapValues { $0.outcome } }
  private var results: [GATTClient.Operation.Kind: Results] = [:]
  /// The number of ``discoveries``, and of the services, characteristics and descriptors in them.
  public private(set) var count = 0

  /// The handles of the Service Changed characteristic (Vol 3, Part G, 7.1).
  public struct ServiceChanged: Hashable, Sendable {
    /// The handle of the value.
    public var valueHandle: AttributeHandle
    /// The handle of the Client Characteristic Configuration descriptor.
    public var configuration: AttributeHandle

    /// A characteristic with these handles.
    public init(valueHandle: AttributeHandle, configuration: AttributeHandle) {
      self.valueHandle = valueHandle
      self.configuration = configuration
    }
  }

  /// An empty cache for the database with this hash. Nil if the hash is not 16 octets long.
  public init?(hash: [UInt8]) {
    guard hash.count == Self.hashLength else { return nil }
    self.hash = hash
  }

  /// A cache as it was stored. Nil if the hash is not 16 octets long. Outcomes that do not fit their procedure are
  /// omitted.
  public init?(
    hash: [UInt8], hasRobustCaching: Bool, serviceChanged: ServiceChanged?,
    discoveries: [GATTClient.Operation.Kind: GATTClient.Outcome]
  ) {
    self.init(hash: hash)
    self.hasRobustCaching = hasRobustCaching
    self.serviceChanged = serviceChanged
    for (kind, outcome) in discoveries { insert(outcome, for: kind, limit: .max) }
  }

  /// The outcome of a discovery, if the cache has it: as it was discovered, or as part of a discovery without a UUID.
  public func outcome(of kind: GATTClient.Operation.Kind) -> GATTClient.Outcome? {
    if let known = results[kind] { return known.outcome }
    switch kind {
    case .discoverPrimaryServicesByUUID(let uuid):
      guard case .services(let all) = results[.discoverPrimaryServices] else { return nil }
      return .services(all.filter { $0.uuid == uuid })
    case .discoverCharacteristicsByUUID(let uuid, let range):
      guard case .characteristics(let all) = results[.discoverCharacteristics(range)] else { return nil }
      return .characteristics(all.filter { $0.uuid == uuid })
    default: return nil  // No other result follows from a larger discovery.
    }
  }

  /// Adds the outcome of a discovery, if ``count`` is then at most `limit`. Other outcomes are ignored. A discovery
  /// counts even without a result: a server decides how many discoveries have none.
  mutating func insert(_ outcome: GATTClient.Outcome, for kind: GATTClient.Operation.Kind, limit: Int) {
    guard results[kind] == nil, let found = Results(outcome, of: kind), found.count < limit - count else { return }
    results[kind] = found
    count += found.count + 1
  }

  /// The results of one discovery. Unlike an outcome they contain no error, so that comparing caches compares no text.
  private enum Results: Hashable, Sendable {
    case services([DiscoveredService])
    case includedServices([IncludedService])
    case characteristics([DiscoveredCharacteristic])
    case descriptors([DiscoveredDescriptor])

    /// Nil if the outcome is not that of such a discovery.
    init?(_ outcome: GATTClient.Outcome, of kind: GATTClient.Operation.Kind) {
      switch (kind, outcome) {
      case (.discoverPrimaryServices, .services(let found)), (.discoverPrimaryServicesByUUID, .services(let found)):
        self = .services(found)
      case (.findIncludedServices, .includedServices(let found)): self = .includedServices(found)
      case (.discoverCharacteristics, .characteristics(let found)),
        (.discoverCharacteristicsByUUID, .characteristics(let found)):
        self = .characteristics(found)
      case (.discoverDescriptors, .descriptors(let found)): self = .descriptors(found)
      default: return nil  // An outcome of another operation.
      }
    }

    var count: Int {
      switch self {
      case .services(let found): found.count
      case .includedServices(let found): found.count
      case .characteristics(let found): found.count
      case .descriptors(let found): found.count
      }
    }

    var outcome: GATTClient.Outcome {
      switch self {
      case .services(let found): .services(found)
      case .includedServices(let found): .includedServices(found)
      case .characteristics(let found): .characteristics(found)
      case .descriptors(let found): .descriptors(found)
      }
    }
  }
}

extension GATTClient.Operation.Kind {
  /// Whether the operation is a discovery: its outcome is the same until the database changes.
  var isDiscovery: Bool {
    switch self {
    case .discoverPrimaryServices, .discoverPrimaryServicesByUUID, .findIncludedServices, .discoverCharacteristics,
      .discoverCharacteristicsByUUID, .discoverDescriptors:
      true
    case .exchangeMTU, .read, .readLong, .readUsingUUID, .readMultiple, .readMultipleVariable, .writeWithoutResponse,
      .signedWrite, .write, .writeLong, .reliableWrite, .configure, .subscribeToServiceChanged, .request:
      false
    }
  }
}
