public import BLEATT
public import BLEWire

extension GATTClient {
  /// The identifier of an operation, chosen by the caller and reported by ``GATTClient/Event/finished(_:_:)``.
  public struct OperationID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }
  }

  /// One procedure of a GATT client (Vol 3, Part G, 4).
  ///
  /// ```swift
  /// let read = GATTClient.Operation(id: GATTClient.OperationID(rawValue: 7), .readLong(0x0003))
  /// ```
  public struct Operation: Sendable {
    /// The identifier.
    public var id: OperationID
    /// The procedure and its parameters.
    public var kind: Kind
    /// Whether it is to be repeated where the server refuses it because the link lacks security: the operations after
    /// it then wait for ``GATTClient/release(repeating:now:into:)``.
    package var awaitsSecurity = false

    /// An operation with these fields.
    public init(id: OperationID, _ kind: Kind) {
      self.id = id
      self.kind = kind
    }

    /// The procedures, in the order of Vol 3, Part G, 4.2. A range is that of one service, or that of one
    /// characteristic after its value.
    public enum Kind: Hashable, Sendable {
      /// Exchange MTU (4.3.1): the Client Rx MTU in octets, 23 to 517. Outcome: ``GATTClient/Outcome/mtu(_:)``. A
      /// second exchange on a link sends nothing, and its outcome is the ATT_MTU in force.
      case exchangeMTU(Int)
      /// Discover All Primary Services (4.4.1). Outcome: ``GATTClient/Outcome/services(_:)``.
      case discoverPrimaryServices
      /// Discover Primary Service by Service UUID (4.4.2). Outcome: ``GATTClient/Outcome/services(_:)``.
      case discoverPrimaryServicesByUUID(BluetoothUUID)
      /// Find Included Services of one service (4.5.1). Outcome: ``GATTClient/Outcome/includedServices(_:)``.
      case findIncludedServices(ClosedRange<AttributeHandle>)
      /// Discover All Characteristics of a Service (4.6.1). Outcome: ``GATTClient/Outcome/characteristics(_:)``.
      case discoverCharacteristics(ClosedRange<AttributeHandle>)
      /// Discover Characteristics by UUID (4.6.2), in one service. Outcome: ``GATTClient/Outcome/characteristics(_:)``.
      case discoverCharacteristicsByUUID(BluetoothUUID, ClosedRange<AttributeHandle>)
      /// Discover All Characteristic Descriptors (4.7.1), in the range from the handle after the value to the end of
      /// the characteristic. Outcome: ``GATTClient/Outcome/descriptors(_:)``.
      case discoverDescriptors(ClosedRange<AttributeHandle>)
      /// Read Characteristic Value (4.8.1) or Read Characteristic Descriptors (4.12.1): the octets that fit in one PDU.
      /// Outcome: ``GATTClient/Outcome/value(_:)``.
      case read(AttributeHandle)
      /// Read Long Characteristic Value (4.8.3) or Read Long Characteristic Descriptors (4.12.2): the whole value, up
      /// to 512 octets. Outcome: ``GATTClient/Outcome/value(_:)``.
      case readLong(AttributeHandle)
      /// Read Using Characteristic UUID (4.8.2). Outcome: ``GATTClient/Outcome/values(_:)``.
      case readUsingUUID(BluetoothUUID, ClosedRange<AttributeHandle>)
      /// Read Multiple Characteristic Values (4.8.4), two or more. Outcome: ``GATTClient/Outcome/value(_:)``, the
      /// values one after the other without their lengths.
      case readMultiple([AttributeHandle])
      /// Read Multiple Variable Length Characteristic Values (4.8.5), two or more. Outcome:
      /// ``GATTClient/Outcome/values(_:)``, without the values that the server cut.
      case readMultipleVariable([AttributeHandle])
      /// Write Without Response (4.9.1). Outcome: ``GATTClient/Outcome/done`` when the command is in the output.
      case writeWithoutResponse(AttributeHandle, [UInt8])
      /// Signed Write Without Response (4.9.2). On an encrypted link it is a Write Without Response (Vol 3, Part C,
      /// 10.4.1). Outcome: ``GATTClient/Outcome/done`` when the command is in the output.
      case signedWrite(AttributeHandle, [UInt8])
      /// Write Characteristic Value (4.9.3) or Write Characteristic Descriptors (4.12.3). A value of more than
      /// ATT_MTU - 3 octets is written as by ``writeLong(_:offset:_:)``. Outcome: ``GATTClient/Outcome/done``.
      case write(AttributeHandle, [UInt8])
      /// Write Long Characteristic Values (4.9.4) or Write Long Characteristic Descriptors (4.12.4), from `offset` on,
      /// up to octet 512. Outcome: ``GATTClient/Outcome/done``.
      case writeLong(AttributeHandle, offset: Int, [UInt8])
      /// Reliable Writes (4.9.5): all values or none, each part compared with its echo. Outcome:
      /// ``GATTClient/Outcome/done``.
      case reliableWrite([QueuedWrite])
      /// Finds the Client Characteristic Configuration descriptor in the range after a characteristic value, and writes
      /// it (3.3.3.3; 4.10 and 4.11). An empty subscription ends the notifications and indications. Outcome:
      /// ``GATTClient/Outcome/configured(_:)``, or ``GATTClient/Outcome/noConfiguration(in:)``.
      case configure(Subscription, in: ClosedRange<AttributeHandle>)
      /// Finds the Service Changed characteristic and subscribes to its indications (7.1), which are
      /// ``GATTClient/Event/servicesChanged(_:)`` from then on. Outcome: ``GATTClient/Outcome/done``; without the
      /// characteristic ``/BLEATT/ATTErrorCode/attributeNotFound``.
      case subscribeToServiceChanged
      /// One request of ATT as it is, from the opcode on: for a test that repeats requests of another client. Outcome:
      /// ``GATTClient/Outcome/value(_:)``, the response from the opcode on; an Error Response is one, too.
      case request([UInt8])
    }

    /// One value of a reliable write.
    public struct QueuedWrite: Hashable, Sendable {
      /// The attribute.
      public var handle: AttributeHandle
      /// The offset in the value, in octets.
      public var offset: Int
      /// The octets to write.
      public var value: [UInt8]

      /// A value with its handle and offset.
      public init(handle: AttributeHandle, offset: Int = 0, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
      }
    }
  }
}
