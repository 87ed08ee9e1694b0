public import BLEATT
public import BLEWire

/// The state of a bonded client that is stored between connections (Vol 3, Part G, 2.5.2 and 3.3.3.3).
public struct ClientRecord: Hashable, Sendable {
  /// A Client Characteristic Configuration descriptor that is not zero.
  public struct Configuration: Hashable, Sendable {
    /// The handle of the descriptor.
    public var descriptor: AttributeHandle
    /// Its value.
    public var value: Subscription

    /// A configuration with these fields.
    public init(descriptor: AttributeHandle, value: Subscription) {
      self.descriptor = descriptor
      self.value = value
    }
  }

  /// The subscriptions.
  public var configurations: [Configuration]
  /// The Client Supported Features.
  public var supportedFeatures: ClientSupportedFeatures
  /// The Database Hash of the database that the client has discovered, 16 octets, least significant octet first. Empty:
  /// no hash was computed, or the client has not confirmed a change.
  public var databaseHash: [UInt8]

  /// A record with these fields; without arguments, that of a new client.
  public init(
    configurations: [Configuration] = [], supportedFeatures: ClientSupportedFeatures = [], databaseHash: [UInt8] = []
  ) {
    self.configurations = configurations
    self.supportedFeatures = supportedFeatures
    self.databaseHash = databaseHash
  }
}

/// The bits of the Client Supported Features characteristic (Vol 3, Part G, 7.2).
public struct ClientSupportedFeatures: AssignedBits {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Robust caching (bit 0).
  public static let robustCaching = Self(rawValue: 0x01)
  /// Enhanced ATT bearers (bit 1). The server supports them if its host does.
  public static let enhancedATTBearer = Self(rawValue: 0x02)
  /// Multiple Handle Value Notifications (bit 2).
  public static let multipleHandleValueNotifications = Self(rawValue: 0x04)

  public static let names: [Self: StaticString] = [
    .robustCaching: "Robust Caching", .enhancedATTBearer: "Enhanced ATT Bearer",
    .multipleHandleValueNotifications: "Multiple Handle Value Notifications",
  ]
}

/// Whether a client has the current database (Vol 3, Part G, 2.5.2.1).
///
/// ```
///   aware ──database changes──► unaware ──request with a handle──► outOfSyncSent ──next request──► aware
///                                  ├──reads the Database Hash──► hashRead ──next request─────────► aware
///                                  └──confirms Service Changed──────────────────────────────────► aware
/// ```
///
/// A client without Robust Caching in its Client Supported Features is always aware.
enum ChangeAwareness: Sendable {
  case aware
  case unaware
  /// A request was rejected with Database Out Of Sync (0x12).
  case outOfSyncSent
  case hashRead
}

/// The state of the client: subscriptions, features, change awareness.
extension GATTServer {
  /// The client's subscription to a characteristic value, empty if there is none.
  public func subscription(to attribute: AttributeID, database: AttributeDatabase) -> Subscription {
    guard let handle = database.handles[attribute], let place = database.place(of: handle) else { return [] }
    return configuration(of: AttributeHandle(database.attributes[place].configuration))
  }

  /// The client's subscriptions.
  public func subscriptions(database: AttributeDatabase) -> [AttributeID: Subscription] {
    subscriptions(database) { _ in true }
  }

  /// The client's subscriptions whose ``CharacteristicDefinition/updateRequirement`` a link with this security meets.
  ///
  /// The subscriptions of a bonded client outlive its links. On a link that is not yet encrypted, the server sends
  /// nothing to those that require encryption.
  public func subscriptions(
    inForceFor security: SecurityState, database: AttributeDatabase
  ) -> [AttributeID: Subscription] {
    subscriptions(database) { $0.write.error(for: security, otherwise: .writeNotPermitted) == nil }
  }

  private func subscriptions(
    _ database: AttributeDatabase, where isIncluded: (AttributeEntry) -> Bool
  ) -> [AttributeID: Subscription] {
    var subscriptions: [AttributeID: Subscription] = [:]
    for configuration in configurations {
      guard let place = database.place(of: configuration.descriptor) else { continue }
      let descriptor = database.attributes[place]
      if descriptor.id != .stack, isIncluded(descriptor) { subscriptions[descriptor.id] = configuration.value }
    }
    return subscriptions
  }

  /// Whether the client is change-aware (Vol 3, Part G, 2.5.2.1). A client without robust caching is always aware.
  public func isChangeAware(database: AttributeDatabase) -> Bool {
    guard supportedFeatures.contains(.robustCaching), let knownRevision else { return true }
    return awareness == .aware && knownRevision == database.revision
  }

  /// Informs the client that the attributes in `range` were added, removed or changed. Call it for each link after a
  /// change of the database.
  ///
  /// The client gets an indication if it has subscribed to Service Changed (Vol 3, Part G, 7.1). Its subscriptions to
  /// removed attributes end.
  public mutating func serviceChanged(
    _ range: ClosedRange<AttributeHandle>, database: AttributeDatabase, now: Instant, into output: inout Output
  ) {
    configurations.removeAll { range.contains($0.descriptor) && database.place(of: $0.descriptor) == nil }
    discardIndications(into: &output) { _, handle in range.contains(handle) && database.place(of: handle) == nil }
    updateRevision(database)
    guard !hasFailed, let handle = database.serviceChangedHandle, isConfigured(handle, database) else { return }
    var whole = range
    if let waiting = indications.changedRange?.range {
      whole = min(range.lowerBound, waiting.lowerBound)...max(range.upperBound, waiting.upperBound)
    }
    indications.changedRange = (handle, whole)
    sendServiceChanged(now: now, into: &output)
  }

  private func isConfigured(_ handle: AttributeHandle, _ database: AttributeDatabase) -> Bool {
    guard let place = database.place(of: handle) else { return false }
    return configuration(of: AttributeHandle(database.attributes[place].configuration)).contains(.indicate)
  }

  /// The record of a bonded client. If the client has not confirmed a change, the record has no hash:
  /// ``restore(_:database:now:into:)`` then indicates Service Changed again.
  public func record(database: AttributeDatabase) -> ClientRecord {
    let isUpToDate = isChangeAware(database: database) && !indications.hasUnconfirmedChange
    return ClientRecord(
      configurations: configurations, supportedFeatures: supportedFeatures,
      databaseHash: isUpToDate ? database.databaseHash() ?? [] : [])
  }

  /// Restores the state of a bonded client. If the database is not that of the record, Service Changed is indicated for
  /// all handles. Configurations of descriptors that no longer exist are dropped.
  public mutating func restore(
    _ record: ClientRecord, database: AttributeDatabase, now: Instant, into output: inout Output
  ) {
    supportedFeatures = record.supportedFeatures
    configurations = record.configurations.filter { configuration in
      database.place(of: configuration.descriptor).map { database.attributes[$0].kind == .clientConfiguration } ?? false
    }
    configurations.sort { $0.descriptor < $1.descriptor }
    knownRevision = database.revision
    guard let hash = database.databaseHash(), hash != record.databaseHash else { return }
    awareness = supportedFeatures.contains(.robustCaching) ? .unaware : .aware
    serviceChanged(.first ... .last, database: database, now: now, into: &output)
  }

  /// Sets the Client Supported Features, except those that the server does not support. A client must not clear a bit
  /// (Vol 3, Part G, 7.2).
  ///
  /// - Returns: false if the client clears a bit; the features are then unchanged.
  mutating func setFeatures(_ new: ClientSupportedFeatures) -> Bool {
    guard supportedFeatures.isSubset(of: new) else { return false }
    supportedFeatures = new.intersection([.robustCaching, .multipleHandleValueNotifications])
    if allowsEnhancedBearers, new.contains(.enhancedATTBearer) { supportedFeatures.insert(.enhancedATTBearer) }
    return true
  }

  /// Updates ``awareness`` before a PDU is handled, if the database has changed or the client is not aware.
  mutating func updateAwareness(_ opcode: UInt8, _ database: AttributeDatabase) {
    updateRevision(database)
    let isRequest = !ATTOpcode(rawValue: opcode).isCommand && !ATTOpcode(rawValue: opcode).isSentByServer
    if isRequest, awareness == .outOfSyncSent || awareness == .hashRead { awareness = .aware }
  }

  private mutating func updateRevision(_ database: AttributeDatabase) {
    if let knownRevision, knownRevision != database.revision, supportedFeatures.contains(.robustCaching) {
      awareness = .unaware
    }
    knownRevision = database.revision
  }

  @inline(__always)
  mutating func recordRead(of attribute: AttributeEntry) {
    if attribute.kind == .databaseHash, awareness != .aware { awareness = .hashRead }
  }
}
