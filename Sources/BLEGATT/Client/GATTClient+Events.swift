public import BLEATT
public import BLEWire

extension GATTClient {
  /// What a GATT client produces: PDUs for the server and events for the application, in order. One is reused for all.
  public struct Output: Sendable {
    public var pdus = PacketBuffer()
    public var events: [GATTClient.Event] = []

    public init() {}

    /// Forgets what was drained and keeps the memory.
    @inlinable public mutating func removeAll() {
      pdus.removeAll()
      events.removeAll(keepingCapacity: true)
    }
  }
}

extension GATTClient {
  /// What the application of a GATT client hears.
  public enum Event: Equatable, Sendable {
    /// An operation ended; each one does, exactly once.
    case finished(GATTClient.OperationID, Result<GATTClient.Outcome, GATTClientError>)
    /// Vol 3, Part G, 4.10.1; the values of a multiple notification come one by one.
    case notification(AttributeHandle, [UInt8])
    /// Vol 3, Part G, 4.11.1; it has been confirmed.
    case indication(AttributeHandle, [UInt8])
    /// The attributes in the range are others now: what was discovered there is void (Vol 3, Part G, 7.1).
    case servicesChanged(ClosedRange<AttributeHandle>)
    /// The ATT_MTU agreed on.
    case mtu(Int)
    /// The server sent what it may not; the text says which PDU and why. The link goes on.
    case violation(GATTClientError)
    /// A request got no answer within 30 seconds: nothing more can be asked on this link (Vol 3, Part F, 3.3.3).
    case bearerFailed
  }
}

extension GATTClient {
  /// What an operation came to.
  public enum Outcome: Equatable, Sendable {
    case done
    case mtu(Int)
    case services([DiscoveredService])
    case includedServices([IncludedService])
    case characteristics([DiscoveredCharacteristic])
    case descriptors([DiscoveredDescriptor])
    case value([UInt8])
    case values([AttributeValue])
    /// The handle of the Client Characteristic Configuration descriptor.
    case configured(AttributeHandle)
  }
}

/// A service as the server declares it (Vol 3, Part G, 3.1).
public struct DiscoveredService: Hashable, Sendable {
  /// From the declaration to the last attribute.
  public var handles: ClosedRange<AttributeHandle>
  public var uuid: BluetoothUUID

  public init(handles: ClosedRange<AttributeHandle>, uuid: BluetoothUUID) {
    self.handles = handles
    self.uuid = uuid
  }
}

/// A service that another one includes (Vol 3, Part G, 3.2).
public struct IncludedService: Hashable, Sendable {
  /// Of the include declaration.
  public var declaration: AttributeHandle
  public var service: DiscoveredService

  public init(declaration: AttributeHandle, service: DiscoveredService) {
    self.declaration = declaration
    self.service = service
  }
}

/// A characteristic as the server declares it (Vol 3, Part G, 3.3.1).
public struct DiscoveredCharacteristic: Hashable, Sendable {
  public var declaration: AttributeHandle
  public var properties: GATTCharacteristicProperties
  public var valueHandle: AttributeHandle
  public var uuid: BluetoothUUID

  public init(
    declaration: AttributeHandle, properties: GATTCharacteristicProperties, valueHandle: AttributeHandle,
    uuid: BluetoothUUID
  ) {
    self.declaration = declaration
    self.properties = properties
    self.valueHandle = valueHandle
    self.uuid = uuid
  }
}

/// A descriptor of a characteristic (Vol 3, Part G, 3.3.3).
public struct DiscoveredDescriptor: Hashable, Sendable {
  public var handle: AttributeHandle
  public var uuid: BluetoothUUID

  public init(handle: AttributeHandle, uuid: BluetoothUUID) {
    self.handle = handle
    self.uuid = uuid
  }
}

/// A value that was read with others.
public struct AttributeValue: Hashable, Sendable {
  public var handle: AttributeHandle
  public var value: [UInt8]

  public init(handle: AttributeHandle, value: [UInt8]) {
    self.handle = handle
    self.value = value
  }
}
