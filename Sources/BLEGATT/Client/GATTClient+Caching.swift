package import BLEATT
import BLEWire

/// The use of an ``AttributeCache`` by a client (Vol 3, Part G, 2.5.2).
///
/// ```
///   off ──startCaching──► unverified ──next discovery: reads the Database Hash──► inUse
///    ▲                       ▲ ▲ └──── the server has no Database Hash ──► off     │
///    │                       │ └── next discovery, without a cache ── changing ◄── │ Service Changed while the hash is read
///    └──────stopCaching──────┴──── Service Changed, or Database Out Of Sync ───────┘
/// ```
///
/// A server can send Service Changed during each verification. So that each operation waits for at most one
/// verification, the operation after an interrupted verification is performed without a cache.
enum Caching: Sendable {
  case off
  /// The hash must be read before the cache is used.
  case unverified(AttributeCache?)
  /// The database changed while the hash was read, so the hash may be out of date. The next discovery is performed and
  /// not cached.
  case changing
  case inUse(AttributeCache)
}

extension GATTClient {
  /// The results of discovery, to be stored with the bond of the server. Nil while the client does not cache, or if
  /// the server has no Database Hash.
  public var attributeCache: AttributeCache? {
    switch caching {
    case .off, .changing: nil
    case .unverified(let stored): stored
    case .inUse(let cache): cache
    }
  }

  /// Starts to cache the results of discovery. Call it when the link with a bonded server is encrypted: a server
  /// without a bond may have another database on each link.
  ///
  /// Before the next discovery the client reads the Database Hash, and requests Robust Caching from the server. If the
  /// hash is that of `stored`, the client does not repeat the discoveries of earlier links.
  ///
  /// - Parameter stored: the ``attributeCache`` of an earlier link with this server.
  public mutating func startCaching(_ stored: AttributeCache?) {
    guard case .off = caching else { return }
    caching = .unverified(stored)
    // The server may indicate Service Changed before anything is discovered.
    serviceChangedHandle = stored?.serviceChanged?.valueHandle ?? serviceChangedHandle
  }

  /// Stops caching, and removes the cache.
  public mutating func stopCaching() { caching = .off }

  /// Discards the cache after another bearer of the server has reported a change of the database.
  package mutating func discardCache() {
    if case .off = caching { return }
    caching = active != nil && active?.kind == nil ? .changing : .unverified(nil)
  }

  /// The outcome of an operation that needs no request, because the cache has it.
  func cachedOutcome(of kind: Operation.Kind) -> Outcome? {
    guard case .inUse(let cache) = caching else { return nil }
    return cache.outcome(of: kind)
  }

  /// Whether the Database Hash must be read before this operation.
  func needsVerification(before kind: Operation.Kind) -> Bool {
    guard case .unverified = caching else { return false }
    return kind.isVerified
  }

  /// Records that an operation begins. If its verification was interrupted, it is not cached, and the next one is
  /// verified again.
  mutating func endVerification(before kind: Operation.Kind) {
    if case .changing = caching, kind.isVerified { caching = .unverified(nil) }
  }

  /// Stores the result of an operation.
  mutating func cache(_ outcome: Outcome, of kind: Operation.Kind?, _ finding: ClientFinding?) {
    guard case .inUse(var cache) = caching else { return }
    if kind == .subscribeToServiceChanged, case .serviceChanged(_, let found)? = finding {
      cache.serviceChanged = found
    }
    if let kind { cache.insert(outcome, for: kind, limit: limits.cachedResults) }
    caching = .inUse(cache)
  }

  /// Receives the result of a verification: the hash, or nil if it could not be read.
  mutating func verified(_ hash: [UInt8]?, hasRobustCaching: Bool) {
    guard case .unverified(let stored) = caching else { return }
    guard let hash, var cache = stored?.hash == hash ? stored : AttributeCache(hash: hash) else {
      return caching = .off
    }
    cache.hasRobustCaching = hasRobustCaching
    caching = .inUse(cache)
  }

  /// The server has changed its database: discards the cache, and ends the operations whose parameters come from what
  /// has changed. The one that is performed ends, or begins again, when its response arrives.
  package mutating func databaseChanged(_ range: ClosedRange<AttributeHandle>, into output: inout Output) {
    discardCache()
    changed.insert(range)
    output.events.append(.servicesChanged(range))
    // The Service Changed characteristic keeps its handle (Vol 3, Part G, 7.1).
    if let handle = serviceChangedHandle { changed.remove(handle...handle) }
    if let kind = active?.kind, kind.beginsAgain || kind.depends(on: changed) { active?.isOutdated = true }
    for operation in waiting.removeAll() {
      if operation.kind.depends(on: changed) {
        output.events.append(.finished(operation.id, .failure(.servicesChanged)))
      } else {
        waiting.append(operation)
      }
    }
  }
}

extension GATTClient.Operation.Kind {
  /// Whether the cache may have a part of the outcome, so that the Database Hash is read first.
  fileprivate var isVerified: Bool { isDiscovery || self == .subscribeToServiceChanged }
}

/// Reads the Database Hash (Vol 3, Part G, 7.3). If it is not the hash of the stored cache, requests Robust Caching
/// from the server, by the Client Supported Features (7.2).
struct CacheVerification: ClientProcedure {
  private enum State {
    case readingHash
    case readingFeatures
    case writingFeatures
  }

  private let stored: AttributeCache?
  private var state = State.readingHash
  /// The Database Hash; nil if the server has none.
  private(set) var hash: [UInt8]?
  private(set) var hasRobustCaching = false
  var finding: ClientFinding? { .databaseHash(hash, hasRobustCaching: hasRobustCaching) }

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
      // A bit that is set must stay set. Missing octets are zero.
      var value = Array(features.value)
      if value.isEmpty { value = [0] }
      value[0] |= ClientSupportedFeatures.robustCaching.rawValue
      state = .writingFeatures
      return .send(.writeRequest(.init(handle: features.handle, value: value[...])))
    case .writingFeatures:
      _ = try decode(WriteResponse.self, response)
      hasRobustCaching = true
      return .finish(.done)
    }
  }

  /// The hash and the features are optional for a server.
  mutating func receive(_ error: ErrorResponse) -> ClientStep { .finish(.done) }

  private func read(_ type: BluetoothUUID) -> ClientStep {
    .send(.readByTypeRequest(.init(startingHandle: .first, endingHandle: .last, attributeType: type)))
  }
}
