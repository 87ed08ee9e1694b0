public import BLEATT

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
