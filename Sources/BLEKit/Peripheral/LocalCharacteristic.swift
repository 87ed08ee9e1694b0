import BLEATT
import BLEGATT
public import BLEWire

/// A characteristic of this device, as a value with a handler for each procedure that clients may use (Vol 3, Part G, 3.3).
///
/// ```swift
/// let control = LocalCharacteristic("2A39")
///   .write(UInt8.self) { command, _ in
///     guard command == 1 else { throw ATTErrorCode.valueNotAllowed }
///   }
/// let measurement = LocalCharacteristic("2A37")
///   .notify { subscriber in
///     while true {
///       try await subscriber.send([0, 60])
///       try await Task.sleep(for: .seconds(1))
///     }
///   }
/// ```
///
/// A handler runs in a task of its own, unless it is a synchronous one (``readSynchronously(security:_:)``). The requests of one device are handled one after the other, in the order in which it
/// sent them; those of different devices at the same time. A handler that throws an `ATTErrorCode` answers with it;
/// any other error answers with Unlikely Error (0x0E) and goes to the log. The client waits 30 seconds for an answer
/// (Vol 3, Part F, 3.3.3); before that the stack answers Unlikely Error and cancels the handler's task.
public struct LocalCharacteristic: Sendable {
  /// The type of the value.
  public let uuid: BluetoothUUID
  /// Constant descriptors, after those that the stack makes.
  public var descriptors: [LocalDescriptor] = []

  var constant: [UInt8]?
  var read: Access<@Sendable (RemoteDevice) async throws -> [UInt8]>?
  var write: Access<@Sendable ([UInt8], RemoteDevice) async throws -> Void>?
  var writeKinds: WriteKinds = []
  /// The handlers that are called on the thread of the stack; ``read`` and ``write`` have them, too.
  var readAtOnce: (@Sendable (RemoteDevice) throws -> [UInt8])?
  var writeAtOnce: (@Sendable ([UInt8], RemoteDevice) throws -> Void)?
  var updates: Access<@Sendable (Subscriber) async throws -> Void>?
  var updateKinds: Subscription = []

  /// A handler and what it requires of the link; without a handler ``ServicePublication/requests`` has the requests.
  struct Access<Handler: Sendable>: Sendable {
    var requirement: AccessRequirement
    var handler: Handler?
  }

  /// A characteristic that clients can find and not use; the methods below add procedures.
  public init(_ uuid: BluetoothUUID, descriptors: [LocalDescriptor] = []) {
    self.uuid = uuid
    self.descriptors = descriptors
  }

  /// The procedures with which a client may write a value.
  public struct WriteKinds: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Write Characteristic Value, and long and reliable writes, which are answered (Vol 3, Part G, 4.9.3 to 4.9.5).
    public static let withResponse = Self(rawValue: 0x08)
    /// Write Without Response (Vol 3, Part G, 4.9.1).
    public static let withoutResponse = Self(rawValue: 0x04)
    /// Signed Write Without Response (Vol 3, Part G, 4.9.2).
    public static let signed = Self(rawValue: 0x40)
  }
}

// MARK: - Reading

extension LocalCharacteristic {
  /// A value that never changes. The stack answers reads by itself.
  public func value(_ value: some GATTValue, security: RequiredSecurity = .none) -> Self {
    var copy = self
    copy.constant = value.octets
    copy.readAtOnce = nil
    copy.read = Access(requirement: security.requirement, handler: nil)
    return copy
  }

  /// A value that is made for each read.
  ///
  /// The handler gives the whole value, at most 512 octets. The stack cuts it for clients that read in parts: a long read
  /// (Vol 3, Part G, 4.8.3) gets all parts from the value that its first part was cut from.
  public func read<Value: GATTValue>(
    security: RequiredSecurity = .none, _ handler: @escaping @Sendable (RemoteDevice) async throws -> Value
  ) -> Self {
    var copy = self
    copy.readAtOnce = nil
    copy.read = Access(
      requirement: security.requirement, handler: { @Sendable device in try await handler(device).octets })
    return copy
  }

  /// Clients may read; ``ServicePublication/requests`` has the requests.
  public func readable(security: RequiredSecurity = .none) -> Self {
    var copy = self
    copy.readAtOnce = nil
    copy.read = Access(requirement: security.requirement, handler: nil)
    return copy
  }
}

// MARK: - Writing

extension LocalCharacteristic {
  /// Takes the values that clients write.
  ///
  /// The handler gets the whole value: the parts of a long write (Vol 3, Part G, 4.9.4) are joined first. Parts that begin
  /// behind the start are joined to the value that the read handler gives. A write of several characteristics
  /// (Vol 3, Part G, 4.9.5) calls the handlers in the order of the parts, and ends with the first that throws.
  ///
  /// - Parameters:
  ///   - type: what is written; octets that do not decode are refused with Invalid Attribute Value Length (0x0D).
  ///   - kinds: the procedures that clients may use.
  ///   - security: what the link must have.
  ///   - handler: gets the value and the client.
  public func write<Value: GATTValue>(
    _ type: Value.Type, kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none,
    _ handler: @escaping @Sendable (Value, RemoteDevice) async throws -> Void
  ) -> Self {
    var copy = self
    copy.writeKinds = kinds
    copy.writeAtOnce = nil
    copy.write = Access(
      requirement: security.requirement,
      handler: { @Sendable octets, device in
        guard let value = Value(octets: octets) else { throw ATTErrorCode.invalidAttributeValueLength }
        try await handler(value, device)
      })
    return copy
  }

  /// Takes the octets that clients write.
  public func write(
    kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none,
    _ handler: @escaping @Sendable ([UInt8], RemoteDevice) async throws -> Void
  ) -> Self {
    write([UInt8].self, kinds: kinds, security: security, handler)
  }

  /// Clients may write; ``ServicePublication/requests`` has the requests.
  public func writable(kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none) -> Self {
    var copy = self
    copy.writeKinds = kinds
    copy.writeAtOnce = nil
    copy.write = Access(requirement: security.requirement, handler: nil)
    return copy
  }
}

// MARK: - Updates

extension LocalCharacteristic {
  /// Clients may subscribe to notifications (Vol 3, Part G, 4.10).
  ///
  /// - Parameters:
  ///   - security: what the link must have, for the subscription and for each value.
  ///   - handler: runs for each client from its subscription on, and is cancelled when the subscription or the link ends, or
  ///     the service is withdrawn. Nil leaves sending to ``ServicePublication/send(_:for:)``.
  public func notify(
    security: RequiredSecurity = .none, _ handler: (@Sendable (Subscriber) async throws -> Void)? = nil
  ) -> Self {
    updating(.notify, security, handler)
  }

  /// Clients may subscribe to indications, which they confirm (Vol 3, Part G, 4.11).
  ///
  /// - Parameters:
  ///   - security: what the link must have, for the subscription and for each value.
  ///   - handler: as for ``notify(security:_:)``; ``Subscriber/send(_:)`` returns when the client has confirmed.
  public func indicate(
    security: RequiredSecurity = .none, _ handler: (@Sendable (Subscriber) async throws -> Void)? = nil
  ) -> Self {
    updating(.indicate, security, handler)
  }

  private func updating(
    _ kind: Subscription, _ security: RequiredSecurity, _ handler: (@Sendable (Subscriber) async throws -> Void)?
  ) -> Self {
    var copy = self
    copy.updateKinds.insert(kind)
    let requirement = (updates?.requirement ?? .open).combined(with: security.requirement)
    copy.updates = Access(requirement: requirement, handler: handler ?? updates?.handler)
    return copy
  }
}

extension LocalCharacteristic {
  /// As the host takes it.
  func definition(_ id: AttributeID, descriptorID: () -> AttributeID) -> CharacteristicDefinition {
    var properties: GATTCharacteristicProperties = []
    if read != nil { properties.insert(.read) }
    properties.formUnion(GATTCharacteristicProperties(rawValue: writeKinds.rawValue))
    properties.formUnion(GATTCharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: updateKinds.rawValue) << 4))
    return CharacteristicDefinition(
      id: id, uuid: uuid, properties: properties,
      permissions: GATTAttributePermissions(read: read?.requirement, write: write?.requirement),
      updateRequirement: updates?.requirement ?? .open, value: constant.map { .fixed($0) } ?? .dynamic,
      descriptors: descriptors.map {
        DescriptorDefinition(id: descriptorID(), uuid: $0.uuid, value: .fixed($0.value))
      })
  }

  /// - Throws: what makes it unfit to be published.
  func validate() throws(BLEError) {
    if let constant, constant.count > ATT.maximumValueLength {
      throw BLEError(
        .invalidArgument,
        "the value of characteristic \(uuid) has \(constant.count) octets; an attribute holds at most 512")
    }
    if constant != nil, write != nil {
      throw BLEError(
        .invalidArgument,
        "characteristic \(uuid) has a constant value and can be written: use read(_:) in the place of value(_:)")
    }
    if write != nil, writeKinds.isEmpty {
      throw BLEError(.invalidArgument, "characteristic \(uuid) can be written with no procedure: pass kinds")
    }
    for descriptor in descriptors {
      guard descriptor.value.count <= ATT.maximumValueLength else {
        throw BLEError(
          .invalidArgument,
          "descriptor \(descriptor.uuid) of characteristic \(uuid) has \(descriptor.value.count) octets; at most 512")
      }
      guard descriptor.uuid != "2900", descriptor.uuid != "2902" else {
        throw BLEError(
          .invalidArgument, "the stack makes descriptor \(descriptor.uuid) of characteristic \(uuid): leave it out")
      }
    }
  }
}
