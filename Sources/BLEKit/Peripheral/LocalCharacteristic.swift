import BLEATT
import BLEGATT
public import BLEWire

/// A characteristic of this device, as a value with a handler for each procedure that clients may use (Vol 3, Part G,
/// 3.3).
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
/// A handler runs in a task, unless it is a synchronous one (``readSynchronously(security:_:)``), which takes less
/// time. Each device has one task: its requests are handled one after the other, in the order in which it sent them;
/// those of different devices at the same time. Subscriptions have tasks of their own. If a handler throws an
/// `ATTErrorCode`, or a `CBATTError`, its code is the answer; any other error is logged, and the answer is Unlikely
/// Error (0x0E). The client has the name of the code, because an answer has no text (Vol 3, Part F, 3.4.1.1). The
/// client waits 30 seconds for an answer (Vol 3, Part F, 3.3.3); before that the stack answers Unlikely Error and
/// cancels the handler's task.
public struct LocalCharacteristic: Sendable {
  /// The type of the value.
  public let uuid: BluetoothUUID
  /// What reads require of the link; nil if clients may not read.
  var readRequirement: AccessRequirement?
  /// What writes require of the link; nil if clients may not write.
  var writeRequirement: AccessRequirement?
  /// What subscriptions and updates require of the link; nil if clients may not subscribe.
  var updateRequirement: AccessRequirement?
  var writeKinds: WriteKinds = []
  var updateKinds: Subscription = []
  var constant: [UInt8]?
  /// Constant descriptors, after those that the stack creates.
  public var descriptors: [LocalDescriptor] = []
  /// The handlers; nil if there is none, as for a constant value. They are stored separately, so that thousands of
  /// constant values are small.
  private(set) var handlers: SharedHandlers?

  /// The handlers of a characteristic; a request without a handler is one for ``ServicePublication/requests``.
  struct Handlers: Sendable {
    var read: (@Sendable (RemoteDevice) async throws -> [UInt8])?
    var write: (@Sendable ([UInt8], RemoteDevice) async throws -> Void)?
    /// The handlers that are called on the thread of the stack; ``read`` and ``write`` also have them.
    var readAtOnce: (@Sendable (RemoteDevice) throws -> [UInt8])?
    var writeAtOnce: (@Sendable ([UInt8], RemoteDevice) throws -> Void)?
    var updates: (@Sendable (Subscriber) async throws -> Void)?
    /// Is called when the answer to a write, which ``write`` has handled, is on its way.
    var written: (@Sendable (RemoteDevice) -> Void)?

    fileprivate var isEmpty: Bool { read == nil && write == nil && updates == nil }
  }

  /// Handlers that the copies of a characteristic share.
  final class SharedHandlers: Sendable {
    let values: Handlers
    fileprivate init(_ values: Handlers) { self.values = values }
  }

  /// Replaces handlers. The handlers of other copies of the characteristic do not change.
  mutating func setHandlers(_ change: (inout Handlers) -> Void) {
    var values = handlers?.values ?? Handlers()
    change(&values)
    handlers = values.isEmpty ? nil : SharedHandlers(values)
  }

  /// Whether requests or subscriptions of clients reach the session; the stack alone serves the others.
  var needsSession: Bool {
    updateRequirement != nil || writeRequirement != nil || readRequirement != nil && constant == nil
  }

  /// Creates a characteristic that clients can find but not use; the methods below add procedures.
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
  /// A value that never changes. The stack answers reads itself.
  public func value(_ value: some GATTValue, security: RequiredSecurity = .none) -> Self {
    var copy = self
    copy.constant = value.octets
    copy.readRequirement = security.requirement
    copy.setHandlers { ($0.read, $0.readAtOnce) = (nil, nil) }
    return copy
  }

  /// A value that the handler makes for each read, and may wait for.
  ///
  /// ``readSynchronously(security:_:)`` takes a third of the time, and is for values that the program has in memory.
  ///
  /// The handler gives the whole value, at most 512 octets. The stack cuts it for clients that read in parts: a long
  /// read (Vol 3, Part G, 4.8.3) gets all parts from the value that its first part was cut from.
  public func read<Value: GATTValue>(
    security: RequiredSecurity = .none, _ handler: @escaping @Sendable (RemoteDevice) async throws -> Value
  ) -> Self {
    var copy = self
    copy.readRequirement = security.requirement
    copy.setHandlers { handlers in
      handlers.readAtOnce = nil
      handlers.read = { @Sendable device in try await handler(device).octets }
    }
    return copy
  }

  /// Clients may read; ``ServicePublication/requests`` has the requests.
  public func readable(security: RequiredSecurity = .none) -> Self {
    var copy = self
    copy.readRequirement = security.requirement
    copy.setHandlers { ($0.read, $0.readAtOnce) = (nil, nil) }
    return copy
  }
}

// MARK: - Writing

extension LocalCharacteristic {
  /// Takes the values that clients write.
  ///
  /// The handler gets the whole value: the parts of a long write (Vol 3, Part G, 4.9.4) are joined first. Parts that
  /// begin after the start are joined to the value that the read handler gives. A write of several characteristics (Vol
  /// 3, Part G, 4.9.5) calls the handlers in the order of the parts, and ends with the first that throws.
  ///
  /// - Parameters:
  ///   - type: the type of the value; octets that do not decode are rejected with Invalid Attribute Value Length
  ///     (0x0D).
  ///   - kinds: the procedures that clients may use.
  ///   - security: the security that the link needs.
  ///   - handler: gets the value and the client.
  public func write<Value: GATTValue>(
    _ type: Value.Type, kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none,
    _ handler: @escaping @Sendable (Value, RemoteDevice) async throws -> Void
  ) -> Self {
    var copy = self
    copy.writeKinds = kinds
    copy.writeRequirement = security.requirement
    copy.setHandlers { handlers in
      handlers.writeAtOnce = nil
      handlers.write = { @Sendable octets, device in
        guard let value = Value(octets: octets) else { throw ATTErrorCode.invalidAttributeValueLength }
        try await handler(value, device)
      }
    }
    return copy
  }

  /// Takes the octets that clients write.
  public func write(
    kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none,
    _ handler: @escaping @Sendable ([UInt8], RemoteDevice) async throws -> Void
  ) -> Self {
    write([UInt8].self, kinds: kinds, security: security, handler)
  }

  /// Calls a handler after each write by ``write(kinds:security:_:)``, when the host has its answer: a value that is
  /// sent from then on follows the answer.
  package func written(_ handler: @escaping @Sendable (RemoteDevice) -> Void) -> Self {
    var copy = self
    copy.setHandlers { $0.written = handler }
    return copy
  }

  /// Clients may write; ``ServicePublication/requests`` has the requests.
  public func writable(kinds: WriteKinds = .withResponse, security: RequiredSecurity = .none) -> Self {
    var copy = self
    copy.writeKinds = kinds
    copy.writeRequirement = security.requirement
    copy.setHandlers { ($0.write, $0.writeAtOnce) = (nil, nil) }
    return copy
  }
}

// MARK: - Updates

extension LocalCharacteristic {
  /// Clients may subscribe to notifications (Vol 3, Part G, 4.10).
  ///
  /// - Parameters:
  ///   - security: the security that the link needs, for the subscription and for each value.
  ///   - handler: runs for each client from its subscription on, and is cancelled when the subscription or the link
  ///     ends, or the service is withdrawn. Nil leaves sending to ``ServicePublication/send(_:for:)``.
  public func notify(
    security: RequiredSecurity = .none, _ handler: (@Sendable (Subscriber) async throws -> Void)? = nil
  ) -> Self {
    updating(.notify, security, handler)
  }

  /// Clients may subscribe to indications, which they confirm (Vol 3, Part G, 4.11).
  ///
  /// - Parameters:
  ///   - security: the security that the link needs, for the subscription and for each value.
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
    copy.updateRequirement = (updateRequirement ?? .open).combined(with: security.requirement)
    if let handler { copy.setHandlers { $0.updates = handler } }
    return copy
  }
}

extension LocalCharacteristic {
  /// The definition for the host.
  func definition(_ id: AttributeID, descriptorID: () -> AttributeID) -> CharacteristicDefinition {
    var properties: GATTCharacteristicProperties = []
    if readRequirement != nil { properties.insert(.read) }
    properties.formUnion(GATTCharacteristicProperties(rawValue: writeKinds.rawValue))
    properties.formUnion(GATTCharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: updateKinds.rawValue) << 4))
    return CharacteristicDefinition(
      id: id, uuid: uuid, properties: properties,
      permissions: GATTAttributePermissions(read: readRequirement, write: writeRequirement),
      updateRequirement: updateRequirement ?? .open, value: constant.map { .fixed($0) } ?? .dynamic,
      descriptors: descriptors.map {
        DescriptorDefinition(id: descriptorID(), uuid: $0.uuid, value: .fixed($0.value))
      })
  }

  /// - Throws: the reason why it cannot be published.
  func validate() throws(BLEError) {
    if let constant, constant.count > ATT.maximumValueLength {
      throw BLEError(
        .invalidArgument,
        "the value of characteristic \(uuid) has \(constant.count) octets; an attribute holds at most 512")
    }
    if constant != nil, writeRequirement != nil {
      throw BLEError(
        .invalidArgument,
        "characteristic \(uuid) has a constant value and can be written: use read(_:) instead of value(_:)")
    }
    if writeRequirement != nil, writeKinds.isEmpty {
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
