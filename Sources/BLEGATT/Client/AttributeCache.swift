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
  public private(set) var discoveries: [GATTClient.Operation.Kind: GATTClient.Outcome] = [:]
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
    if let known = discoveries[kind] { return known }
    switch kind {
    case .discoverPrimaryServicesByUUID(let uuid):
      guard case .services(let all) = discoveries[.discoverPrimaryServices] else { return nil }
      return .services(all.filter { $0.uuid == uuid })
    case .discoverCharacteristicsByUUID(let uuid, let range):
      guard case .characteristics(let all) = discoveries[.discoverCharacteristics(range)] else { return nil }
      return .characteristics(all.filter { $0.uuid == uuid })
    default: return nil  // No other result follows from a larger discovery.
    }
  }

  /// Adds the outcome of a discovery, if ``count`` is then at most `limit`. Other outcomes are ignored. A discovery
  /// counts even without a result: a server decides how many discoveries have none.
  mutating func insert(_ outcome: GATTClient.Outcome, for kind: GATTClient.Operation.Kind, limit: Int) {
    guard discoveries[kind] == nil, let results = outcome.resultCount(of: kind), results < limit - count else {
      return
    }
    discoveries[kind] = outcome
    count += results + 1
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

extension GATTClient.Outcome {
  /// The number of results; nil if this is not the outcome of such a discovery.
  fileprivate func resultCount(of kind: GATTClient.Operation.Kind) -> Int? {
    switch (kind, self) {
    case (.discoverPrimaryServices, .services(let found)), (.discoverPrimaryServicesByUUID, .services(let found)):
      found.count
    case (.findIncludedServices, .includedServices(let found)): found.count
    case (.discoverCharacteristics, .characteristics(let found)),
      (.discoverCharacteristicsByUUID, .characteristics(let found)):
      found.count
    case (.discoverDescriptors, .descriptors(let found)): found.count
    default: nil  // An outcome of another operation.
    }
  }
}
