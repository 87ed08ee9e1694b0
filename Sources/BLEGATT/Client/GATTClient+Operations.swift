public import BLEATT
public import BLEWire

extension GATTClient {
  /// The caller's name for one operation; the event that ends the operation carries it back.
  public struct OperationID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }
  }
}

extension GATTClient {
  /// One procedure of a GATT client (Vol 3, Part G, 4), under a name the caller chose.
  ///
  /// ```swift
  /// let read = GATTClient.Operation(id: GATTClient.OperationID(rawValue: 7), .readLong(0x0003))
  /// ```
  public struct Operation: Sendable {
    public var id: GATTClient.OperationID
    public var kind: Kind

    public init(id: GATTClient.OperationID, _ kind: Kind) {
      self.id = id
      self.kind = kind
    }

    /// What is asked of the server, in the order of Vol 3, Part G, 4.2.
    public enum Kind: Hashable, Sendable {
      /// How large a PDU we take, in octets, 23…517; once a link (4.3.1). Ends with ``GATTClient/Outcome/mtu(_:)``.
      case exchangeMTU(Int)
      /// 4.4.1. Ends with ``GATTClient/Outcome/services(_:)``, as does the next.
      case discoverPrimaryServices
      /// 4.4.2.
      case discoverPrimaryServicesByUUID(BluetoothUUID)
      /// Within one service (4.5.1). Ends with ``GATTClient/Outcome/includedServices(_:)``.
      case findIncludedServices(ClosedRange<AttributeHandle>)
      /// Within one service (4.6.1). Ends with ``GATTClient/Outcome/characteristics(_:)``, as does the next.
      case discoverCharacteristics(ClosedRange<AttributeHandle>)
      /// Within one service (4.6.2): all are read, those of another type are left out.
      case discoverCharacteristicsByUUID(BluetoothUUID, ClosedRange<AttributeHandle>)
      /// Of one characteristic: what follows its value up to the end of the characteristic (4.7.1). Ends with
      /// ``GATTClient/Outcome/descriptors(_:)``.
      case discoverDescriptors(ClosedRange<AttributeHandle>)
      /// A value or a descriptor, as much of it as one PDU holds (4.8.1, 4.12.1). Ends with ``GATTClient/Outcome/value(_:)``.
      case read(AttributeHandle)
      /// The whole of a value or a descriptor, up to 512 octets (4.8.3, 4.12.2). Ends with ``GATTClient/Outcome/value(_:)``.
      case readLong(AttributeHandle)
      /// Every value of this type in the range (4.8.2). Ends with ``GATTClient/Outcome/values(_:)``.
      case readUsingUUID(BluetoothUUID, ClosedRange<AttributeHandle>)
      /// Two or more values, one behind the other without their lengths (4.8.4). Ends with ``GATTClient/Outcome/value(_:)``.
      case readMultiple([AttributeHandle])
      /// Two or more values with their lengths (4.8.5). Ends with ``GATTClient/Outcome/values(_:)``.
      case readMultipleVariable([AttributeHandle])
      /// A command, which no server answers (4.9.1): ends when it has been handed to the link.
      case writeWithoutResponse(AttributeHandle, [UInt8])
      /// A signed command (4.9.2); on an encrypted link a plain one (Vol 3, Part C, 10.4.1).
      case signedWrite(AttributeHandle, [UInt8])
      /// Acknowledged (4.9.3, 4.12.3); more than ATT_MTU - 3 octets travel as a long write. Ends with
      /// ``GATTClient/Outcome/done``, as do all writes.
      case write(AttributeHandle, [UInt8])
      /// Up to 512 octets in parts, from `offset` on (4.9.4, 4.12.4).
      case writeLong(AttributeHandle, offset: Int, [UInt8])
      /// Several values at once, all or nothing, each part compared with its echo (4.9.5).
      case reliableWrite([QueuedWrite])
      /// Writes the Client Characteristic Configuration descriptor that lies among the attributes `in` the range behind a
      /// characteristic's value (4.10, 4.11, 3.3.3.3); an empty subscription ends both. Ends with
      /// ``GATTClient/Outcome/configured(_:)``.
      case configure(Subscription, in: ClosedRange<AttributeHandle>)
      /// Finds the Service Changed characteristic and asks for its indications (7.1): from then on
      /// ``GATTClient/Event/servicesChanged(_:)`` tells of changes. Ends with ``GATTClient/Outcome/done``; a server without it
      /// answers with ``BLEATT/ATTErrorCode/attributeNotFound``.
      case subscribeToServiceChanged
    }

    /// One value of a reliable write.
    public struct QueuedWrite: Hashable, Sendable {
      public var handle: AttributeHandle
      public var offset: Int
      public var value: [UInt8]

      public init(handle: AttributeHandle, offset: Int = 0, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
      }
    }
  }
}
