public import BLEATT

/// The handles that a published service got.
public struct ServiceHandles: Hashable, Sendable {
  /// From the service declaration to the last attribute of the service.
  public var range: ClosedRange<AttributeHandle>
  /// The handle of each characteristic value and descriptor that the application named.
  public var attributes: [AttributeID: AttributeHandle]
}

/// Every attribute of a server, shared by all its clients (Vol 3, Part F, 3.2 and Part G, 2.5).
public struct AttributeDatabase: Sendable {
  /// A database without any attribute, not even the stack's own services.
  public init() {}

  /// A database that begins with the Generic Access and Generic Attribute services.
  public init(services: StackServices) {}

  /// Publishes a service behind the ones there are.
  @discardableResult
  public mutating func add(_ service: ServiceDefinition) throws(DatabaseError) -> ServiceHandles {
    throw .handlesExhausted(needed: 0)
  }

  /// Takes a service away.
  ///
  /// - Returns: the handles it had, for Service Changed.
  @discardableResult
  public mutating func remove(_ service: ServiceID) throws(DatabaseError) -> ClosedRange<AttributeHandle> {
    throw .unknownService(service)
  }

  /// Takes every service of the application away.
  ///
  /// - Returns: the handles they had, nil if there were none.
  @discardableResult
  public mutating func removeAll() -> ClosedRange<AttributeHandle>? { nil }

  /// Changes a value that the stack keeps; no client is told.
  public mutating func setStored(_ attribute: AttributeID, _ value: some Collection<UInt8>) throws(DatabaseError) {}

  /// The value that the stack keeps or that is fixed; nil for a dynamic or unknown one.
  public func storedValue(of attribute: AttributeID) -> [UInt8]? { nil }

  public mutating func setDeviceName(_ name: String) {}
  public mutating func setAppearance(_ appearance: UInt16) {}

  public func handle(of attribute: AttributeID) -> AttributeHandle? { nil }
  public func range(of service: ServiceID) -> ClosedRange<AttributeHandle>? { nil }

  /// How many attributes there are.
  public var count: Int { 0 }

  /// The Database Hash as it travels, least significant octet first; nil where no CMAC was given (Vol 3, Part G, 7.3).
  public func databaseHash() -> [UInt8]? { nil }

  /// The Database Hash as it travels, by a CMAC given here.
  public func databaseHash(cmac: (_ message: [UInt8]) -> [UInt8]) -> [UInt8] { cmac([]).reversed() }
}
