public import BLEATT
public import BLEWire

extension GATTClient {
  /// The output of a client: PDUs for the server and events for the application, in order.
  ///
  /// One value can serve all clients: drain it after each call, then ``removeAll()``.
  public struct Output: Sendable {
    /// The PDUs for the server.
    public var pdus = PacketBuffer()
    /// The events for the application.
    public var events: [Event] = []

    /// An empty output.
    public init() {}

    /// Removes the PDUs and events and keeps the memory.
    @inlinable public mutating func removeAll() {
      pdus.removeAll()
      events.removeAll(keepingCapacity: true)
    }
  }

  /// The end of an operation, or a message from the server.
  public enum Event: Equatable, Sendable {
    /// An operation has ended. Each operation ends exactly once.
    case finished(OperationID, Result<Outcome, GATTClientError>)
    /// A notification (Vol 3, Part G, 4.10.1). A Multiple Handle Value Notification is one event for each value.
    case notification(AttributeHandle, [UInt8])
    /// An indication (Vol 3, Part G, 4.11.1). It has been confirmed.
    case indication(AttributeHandle, [UInt8])
    /// The attributes in the range have changed: discover them again (Service Changed; Vol 3, Part G, 7.1). Operations
    /// on them end with ``GATTClientError/servicesChanged``, and their values are not reported, until their
    /// characteristics were discovered again. If the server answered Database Out Of Sync (2.5.2.1), the range has all
    /// handles, and the event follows the end of that operation.
    case servicesChanged(ClosedRange<AttributeHandle>)
    /// The ATT_MTU was exchanged, in octets.
    case mtu(Int)
    /// The server broke a rule of the protocol. The link continues.
    case violation(GATTClientError)
    /// A request got no response within 30 seconds: the client sends nothing more on this link (Vol 3, Part F, 3.3.3).
    case bearerFailed
  }

  /// The result of an operation.
  public enum Outcome: Hashable, Sendable {
    /// A write succeeded; a command was sent.
    case done
    /// The ATT_MTU in force, in octets.
    case mtu(Int)
    /// Services in the order of their handles.
    case services([DiscoveredService])
    /// Included services in the order of their declarations.
    case includedServices([IncludedService])
    /// Characteristics in the order of their handles.
    case characteristics([DiscoveredCharacteristic])
    /// Descriptors in the order of their handles.
    case descriptors([DiscoveredDescriptor])
    /// A value.
    case value([UInt8])
    /// Values with their handles.
    case values([AttributeValue])
    /// The Client Characteristic Configuration descriptor with this handle was written.
    case configured(AttributeHandle)
    /// There is no Client Characteristic Configuration descriptor in this range: nothing was written. Some servers send
    /// the values of such a characteristic to every client.
    case noConfiguration(in: ClosedRange<AttributeHandle>)
    /// The server has described a part of its database wrongly: what was found, and what was left out or corrected. The
    /// outcome of a discovery or of Read Using Characteristic UUID.
    indirect case incomplete(Outcome, [DiscoveryFault])

    /// The outcome without its faults.
    public var found: Outcome { if case .incomplete(let found, _) = self { found } else { self } }

    /// What was left out or corrected; empty if the server has made no mistake.
    public var faults: [DiscoveryFault] { if case .incomplete(_, let faults) = self { faults } else { [] } }
  }
}

/// A service of a server (Vol 3, Part G, 3.1).
public struct DiscoveredService: Hashable, Sendable {
  /// The handles from the declaration to the last attribute.
  public var handles: ClosedRange<AttributeHandle>
  /// The type of the service.
  public var uuid: BluetoothUUID

  /// A service with these fields.
  public init(handles: ClosedRange<AttributeHandle>, uuid: BluetoothUUID) {
    self.handles = handles
    self.uuid = uuid
  }
}

/// A service that another service includes (Vol 3, Part G, 3.2).
public struct IncludedService: Hashable, Sendable {
  /// The handle of the include declaration.
  public var declaration: AttributeHandle
  /// The included service.
  public var service: DiscoveredService

  /// An included service with these fields.
  public init(declaration: AttributeHandle, service: DiscoveredService) {
    self.declaration = declaration
    self.service = service
  }
}

/// A characteristic of a server (Vol 3, Part G, 3.3.1).
public struct DiscoveredCharacteristic: Hashable, Sendable {
  /// The handle of the characteristic declaration.
  public var declaration: AttributeHandle
  /// The properties in the declaration.
  public var properties: GATTCharacteristicProperties
  /// The handle of the characteristic value.
  public var valueHandle: AttributeHandle
  /// The type of the characteristic.
  public var uuid: BluetoothUUID

  /// A characteristic with these fields.
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

extension DiscoveredCharacteristic {
  /// The handles that its descriptors can have, between its value and the next declaration (Vol 3, Part G, 3.3); nil if
  /// there are none.
  ///
  /// - Parameters:
  ///   - next: the declaration of the next characteristic of the service, if there is one.
  ///   - service: the handles of the service.
  package func descriptors(
    before next: AttributeHandle?, in service: ClosedRange<AttributeHandle>
  ) -> ClosedRange<AttributeHandle>? {
    let last = next.map { AttributeHandle($0.rawValue - 1) } ?? service.upperBound
    // If the value lies elsewhere, the descriptors follow the declaration.
    let first = valueHandle > declaration && valueHandle <= last ? valueHandle : declaration
    return first < last ? AttributeHandle(first.rawValue + 1)...last : nil
  }
}

extension AttributeHandle {
  /// Where the Client Characteristic Configuration is searched of a value that is the last attribute of its service: a
  /// device that has announced notifications may have given its service an end that is too low.
  package var attributeBehind: ClosedRange<AttributeHandle>? {
    self == .last ? nil : AttributeHandle(rawValue + 1)...AttributeHandle(rawValue + 1)
  }
}

/// A descriptor of a characteristic (Vol 3, Part G, 3.3.3).
public struct DiscoveredDescriptor: Hashable, Sendable {
  /// The handle of the descriptor.
  public var handle: AttributeHandle
  /// The type of the descriptor.
  public var uuid: BluetoothUUID

  /// A descriptor with these fields.
  public init(handle: AttributeHandle, uuid: BluetoothUUID) {
    self.handle = handle
    self.uuid = uuid
  }
}

/// One of several values that were read together.
public struct AttributeValue: Hashable, Sendable {
  /// The handle of the attribute.
  public var handle: AttributeHandle
  /// The octets of the value.
  public var value: [UInt8]

  /// A value with its handle.
  public init(handle: AttributeHandle, value: [UInt8]) {
    self.handle = handle
    self.value = value
  }
}
