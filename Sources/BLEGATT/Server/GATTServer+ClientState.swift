public import BLEATT
public import BLEWire

/// What a server keeps of a bonded client between connections (Vol 3, Part G, 2.5.2 and 3.3.3.3).
public struct ClientRecord: Hashable, Sendable {
  /// One Client Characteristic Configuration descriptor that is not zero.
  public struct Configuration: Hashable, Sendable {
    public var descriptor: AttributeHandle
    public var value: Subscription

    public init(descriptor: AttributeHandle, value: Subscription) {
      self.descriptor = descriptor
      self.value = value
    }
  }

  public var configurations: [Configuration]
  public var supportedFeatures: ClientSupportedFeatures
  /// The Database Hash of the database the client knows, as it travels; empty where none was computed.
  public var databaseHash: [UInt8]

  public init(
    configurations: [Configuration] = [], supportedFeatures: ClientSupportedFeatures = [], databaseHash: [UInt8] = []
  ) {
    self.configurations = configurations
    self.supportedFeatures = supportedFeatures
    self.databaseHash = databaseHash
  }
}

/// The bits of the Client Supported Features characteristic (Vol 3, Part G, 7.2).
public struct ClientSupportedFeatures: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let robustCaching = Self(rawValue: 0x01)
  public static let enhancedATTBearer = Self(rawValue: 0x02)
  public static let multipleHandleValueNotifications = Self(rawValue: 0x04)
}

/// Whether a client knows what the database looks like now (Vol 3, Part G, 2.5.2.1).
///
///     aware ──database changes──► unaware ──request with a handle──► toldOutOfSync ──another request──► aware
///                                    ├──reads the Database Hash──► hashRead ──another request──────────► aware
///                                    └──confirms Service Changed────────────────────────────────────────► aware
///
/// Only clients that set Robust Caching in their Client Supported Features leave `aware`.
enum ChangeAwareness: Sendable { case aware, unaware, toldOutOfSync, hashRead }

/// What the server knows of this client beyond the link: subscriptions, features, and how current its idea of the
/// database is.
extension GATTServer {
  /// What the client subscribed to.
  public func subscription(to attribute: AttributeID, database: AttributeDatabase) -> Subscription {
    guard let handle = database.handles[attribute], let place = database.place(of: handle) else { return [] }
    return configuration(of: AttributeHandle(database.attributes[place].configuration))
  }

  /// Every characteristic value that the client subscribed to.
  public func subscriptions(database: AttributeDatabase) -> [AttributeID: Subscription] {
    subscriptions(database) { _ in true }
  }

  /// Those of them that a link of this security may be sent.
  ///
  /// A bonded client's configuration outlives its links, and may demand more than the link that it is on has, or has yet:
  /// it is kept, and nothing is sent meanwhile.
  public func subscriptions(
    inForceFor security: SecurityState, database: AttributeDatabase
  ) -> [AttributeID: Subscription] {
    subscriptions(database) { $0.write.refusal(for: security, otherwise: .writeNotPermitted) == nil }
  }

  private func subscriptions(
    _ database: AttributeDatabase, where isWanted: (AttributeEntry) -> Bool
  ) -> [AttributeID: Subscription] {
    var subscriptions: [AttributeID: Subscription] = [:]
    for configuration in configurations {
      guard let place = database.place(of: configuration.descriptor) else { continue }
      let descriptor = database.attributes[place]
      if descriptor.id != .stack, isWanted(descriptor) { subscriptions[descriptor.id] = configuration.value }
    }
    return subscriptions
  }

  /// What the client said it can do.
  public var supportedFeatures: ClientSupportedFeatures { features }

  /// Whether the client knows how the database is now, as far as it promised to care.
  public func isChangeAware(database: AttributeDatabase) -> Bool {
    guard features.contains(.robustCaching), let knownRevision else { return true }
    return awareness == .aware && knownRevision == database.revision
  }

  /// Tells the client that the attributes in `range` came, went or changed: indicated where the client configured
  /// Service Changed (Vol 3, Part G, 7.1), and its subscriptions to attributes that are gone are forgotten. To be called
  /// for each link after the database changed.
  public mutating func serviceChanged(
    _ range: ClosedRange<AttributeHandle>, database: AttributeDatabase, now: Instant,
    into output: inout GATTServer.Output
  ) {
    configurations.removeAll { range.contains($0.descriptor) && database.place(of: $0.descriptor) == nil }
    withdrawIndications(&output) { _, handle in range.contains(handle) && database.place(of: handle) == nil }
    reconsiderRevision(database)
    guard !hasFailed, let handle = database.serviceChangedHandle, isConfigured(handle, database) else { return }
    var whole = range
    if let waiting = indications.changedRange?.range {
      whole = min(range.lowerBound, waiting.lowerBound)...max(range.upperBound, waiting.upperBound)
    }
    indications.changedRange = (handle, whole)
    sendServiceChanged(now, &output)
  }

  private func isConfigured(_ handle: AttributeHandle, _ database: AttributeDatabase) -> Bool {
    guard let place = database.place(of: handle) else { return false }
    return configuration(of: AttributeHandle(database.attributes[place].configuration)).contains(.indicate)
  }

  /// What to keep of a bonded client. A client that has not confirmed a change is recorded as one that knows no
  /// database, so that it is told again when it comes back.
  public func record(database: AttributeDatabase) -> ClientRecord {
    let isUpToDate = isChangeAware(database: database) && !indications.isTellingOfChange
    return ClientRecord(
      configurations: configurations, supportedFeatures: features,
      databaseHash: isUpToDate ? database.databaseHash() ?? [] : [])
  }

  /// Gives a bonded client back what it had configured. Where the database is not the one the client knew, Service
  /// Changed is indicated for all of it, and configurations whose descriptor is gone are dropped.
  public mutating func restore(
    _ record: ClientRecord, database: AttributeDatabase, now: Instant, into output: inout GATTServer.Output
  ) {
    features = record.supportedFeatures
    configurations = record.configurations.filter { configuration in
      database.place(of: configuration.descriptor).map { database.attributes[$0].kind == .clientConfiguration } ?? false
    }
    configurations.sort { $0.descriptor < $1.descriptor }
    knownRevision = database.revision
    guard let hash = database.databaseHash(), hash != record.databaseHash else { return }
    awareness = features.contains(.robustCaching) ? .unaware : .aware
    serviceChanged(.first ... .last, database: database, now: now, into: &output)
  }

  /// Takes a new value of the Client Supported Features characteristic: bits are set, never cleared
  /// (Vol 3, Part G, 7.2). Bits not known here are let go.
  mutating func setFeatures(_ new: ClientSupportedFeatures) -> Bool {
    guard features.isSubset(of: new) else { return false }
    features = new.intersection([.robustCaching, .multipleHandleValueNotifications])
    return true
  }

  /// Called where the database changed or the client is not known to be aware, before a PDU is looked at.
  mutating func reconsiderAwareness(_ opcode: UInt8, _ database: AttributeDatabase) {
    reconsiderRevision(database)
    let isRequest = !ATTOpcode(rawValue: opcode).isCommand && !ATTOpcode(rawValue: opcode).isSentByServer
    if isRequest, awareness == .toldOutOfSync || awareness == .hashRead { awareness = .aware }
  }

  private mutating func reconsiderRevision(_ database: AttributeDatabase) {
    if let knownRevision, knownRevision != database.revision, features.contains(.robustCaching) {
      awareness = .unaware
    }
    knownRevision = database.revision
  }

  @inline(__always)
  mutating func noteRead(of attribute: AttributeEntry) {
    if attribute.kind == .databaseHash, awareness != .aware { awareness = .hashRead }
  }
}

extension AttributeDatabase {
  /// The value handle of the Service Changed characteristic, where there is one.
  var serviceChangedHandle: AttributeHandle? {
    guard let range = range(of: .genericAttribute) else { return nil }
    return attributes.first { range.contains($0.handle) && $0.uuid == "2A05" }?.handle
  }
}
