public import BLEATT
public import BLEGATT
public import BLEWire

/// A service of a connected device (Vol 3, Part G, 3.1).
public struct RemoteService: Hashable, Sendable {
  /// The type of the service.
  public let uuid: BluetoothUUID
  /// From its declaration to its last attribute.
  public let handles: ClosedRange<AttributeHandle>
  /// In the order of their handles.
  public let characteristics: [RemoteCharacteristic]

  /// The first characteristic of a type.
  public subscript(_ uuid: BluetoothUUID) -> RemoteCharacteristic? { characteristics.first { $0.uuid == uuid } }
}

/// A characteristic of a connected device (Vol 3, Part G, 3.3).
public struct RemoteCharacteristic: Hashable, Sendable {
  /// The type of the value.
  public let uuid: BluetoothUUID
  /// The procedures that the device offers for it.
  public let properties: GATTCharacteristicProperties
  /// The handle of the value.
  public let handle: AttributeHandle
  /// The handles of its descriptors, after the value; nil if there are none.
  let descriptors: ClosedRange<AttributeHandle>?
}

extension RemoteService {
  init(_ service: DiscoveredService, _ found: [DiscoveredCharacteristic]) {
    uuid = service.uuid
    handles = service.handles
    let sorted = found.sorted { $0.declaration < $1.declaration }
    characteristics = sorted.indices.map { index in
      let it = sorted[index]
      // A characteristic ends before the next declaration (Vol 3, Part G, 3.3).
      let last =
        index + 1 < sorted.count ? sorted[index + 1].declaration.rawValue - 1 : service.handles.upperBound.rawValue
      let first = it.valueHandle.rawValue
      return RemoteCharacteristic(
        uuid: it.uuid, properties: it.properties, handle: it.valueHandle,
        descriptors: first < last ? AttributeHandle(first + 1)...AttributeHandle(last) : nil)
    }
  }
}

/// A descriptor of a characteristic of a connected device (Vol 3, Part G, 3.3.3).
public struct RemoteDescriptor: Hashable, Sendable {
  /// The type of the descriptor.
  public let uuid: BluetoothUUID
  /// The handle of the descriptor.
  public let handle: AttributeHandle
}
