import BLEATT
import BLEWire

/// What a client does with an ``AttributeCache`` (Vol 3, Part G, 2.5.2).
///
/// ```
///   off ──startCaching──► unverified ──next discovery: reads the Database Hash──► inUse
///    ▲                       ▲ ▲ └──── the server has no Database Hash ──► off     │
///    │                       │ └── next discovery, without a cache ── changing ◄── │ Service Changed while the hash is read
///    └──────stopCaching──────┴──── Service Changed, or Database Out Of Sync ───────┘
/// ```
///
/// A server that sends Service Changed during each verification delays each operation by one verification: the operation that
/// the verification precedes is performed without a cache then, and not after another verification.
enum Caching: Sendable {
  case off
  /// The hash must be read before the cache answers anything.
  case unverified(AttributeCache?)
  /// The database has changed while the hash was read, which may be the old one. The next discovery is performed and not cached.
  case changing
  case inUse(AttributeCache)
}

extension GATTClient {
  /// What has been discovered, to be stored with the bond of the server. Nil while the client does not cache, and when the
  /// server has no Database Hash.
  public var attributeCache: AttributeCache? {
    switch caching {
    case .off, .changing: nil
    case .unverified(let stored): stored
    case .inUse(let cache): cache
    }
  }

  /// Starts to cache what is discovered. Call it when the link with a bonded server is encrypted: a server without a bond
  /// may have another database on each link.
  ///
  /// Before the next discovery the client reads the Database Hash, and asks the server for Robust Caching. With the hash of
  /// `stored` what was discovered on earlier links is not discovered again.
  ///
  /// - Parameter stored: the ``attributeCache`` of an earlier link with this server.
  public mutating func startCaching(_ stored: AttributeCache?) {
    guard case .off = caching else { return }
    caching = .unverified(stored)
    // The server may indicate Service Changed before anything is discovered.
    serviceChangedHandle = stored?.serviceChanged?.valueHandle ?? serviceChangedHandle
  }

  /// Stops to cache, and removes the cache.
  public mutating func stopCaching() { caching = .off }

  /// Another bearer of the server has reported that the database has changed: nothing that was discovered holds.
  package mutating func discardCache() {
    if case .off = caching { return }
    caching = active?.procedure is CacheVerification ? .changing : .unverified(nil)
  }

  /// The outcome of an operation, where it need not be asked.
  func cachedOutcome(of kind: Operation.Kind) -> Outcome? {
    guard case .inUse(let cache) = caching else { return nil }
    return cache.outcome(of: kind)
  }

  /// Whether the Database Hash is to be read before this operation.
  func needsVerification(before kind: Operation.Kind) -> Bool {
    guard case .unverified = caching else { return false }
    return kind.isVerified
  }

  /// An operation begins. The one after a void verification is not cached, and the next one is verified again.
  mutating func endVerification(before kind: Operation.Kind) {
    if case .changing = caching, kind.isVerified { caching = .unverified(nil) }
  }

  /// Stores what an operation has found.
  mutating func cache(_ outcome: Outcome, of ended: Active) {
    guard case .inUse(var cache) = caching else { return }
    if let procedure = ended.procedure as? ServiceChangedProcedure { cache.serviceChanged = procedure.found }
    if let kind = ended.kind { cache.insert(outcome, for: kind, limit: limits.cachedResults) }
    caching = .inUse(cache)
  }

  /// The hash was read, or could not be.
  mutating func verified(_ verification: CacheVerification) {
    guard case .unverified(let stored) = caching else { return }
    guard let hash = verification.hash, var cache = stored?.hash == hash ? stored : AttributeCache(hash: hash) else {
      return caching = .off
    }
    cache.hasRobustCaching = verification.hasRobustCaching
    caching = .inUse(cache)
  }

  /// The database has changed: nothing that was discovered holds.
  mutating func databaseChanged(_ range: ClosedRange<AttributeHandle>, into output: inout Output) {
    discardCache()
    output.events.append(.servicesChanged(range))
  }
}

extension GATTClient.Operation.Kind {
  /// Whether the cache may answer a part of it, so that the Database Hash is read before.
  fileprivate var isVerified: Bool { isDiscovery || self == .subscribeToServiceChanged }
}

/// Reads the Database Hash (Vol 3, Part G, 7.3). Where it is not the one of the stored cache, asks the server for Robust
/// Caching, by the Client Supported Features (7.2).
struct CacheVerification: ClientProcedure {
  private enum State {
    case readingHash
    case readingFeatures
    case writingFeatures
  }

  private let stored: AttributeCache?
  private var state = State.readingHash
  /// The Database Hash; nil where the server has none.
  private(set) var hash: [UInt8]?
  private(set) var hasRobustCaching = false

  init(_ stored: AttributeCache?) { self.stored = stored }

  mutating func begin(mtu: Int) -> ClientStep { read(.databaseHash) }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    switch state {
    case .readingHash:
      let values = try decode(ReadByTypeResponse.self, response).attributeDataList
      guard values.count == 1, values[0].value.count == AttributeCache.hashLength else { return .finish(.done) }
      hash = Array(values[0].value)
      if let stored, stored.hash == hash, stored.hasRobustCaching {
        hasRobustCaching = true
        return .finish(.done)
      }
      state = .readingFeatures
      return read(.clientSupportedFeatures)
    case .readingFeatures:
      guard let features = try decode(ReadByTypeResponse.self, response).attributeDataList.first else {
        return .finish(.done)
      }
      // A bit that is set stays set; octets that are missing are zero.
      var value = Array(features.value)
      if value.isEmpty { value = [0] }
      value[0] |= ClientSupportedFeatures.robustCaching.rawValue
      state = .writingFeatures
      return .send(WriteRequest(handle: features.handle, value: value[...]))
    case .writingFeatures:
      _ = try decode(WriteResponse.self, response)
      hasRobustCaching = true
      return .finish(.done)
    }
  }

  /// A server need not have a hash, nor the features.
  mutating func receive(_ error: ErrorResponse) -> ClientStep { .finish(.done) }

  private func read(_ type: BluetoothUUID) -> ClientStep {
    .send(ReadByTypeRequest(startingHandle: .first, endingHandle: .last, attributeType: type))
  }
}
