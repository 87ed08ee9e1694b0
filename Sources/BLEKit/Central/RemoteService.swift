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
  /// The type of its service, and its number among the characteristics of that type in all services of that type: to
  /// find it again after a change of the services.
  var place = Place(service: BluetoothUUID(0), number: 0)
  /// The number of changes of the device's services at its discovery.
  var discovery: UInt32 = 0

  struct Place: Hashable, Sendable {
    var service: BluetoothUUID
    var number: Int
  }
}

extension RemoteService {
  /// - Parameters:
  ///   - others: the services that were discovered before it.
  ///   - discovery: the number of changes of the services at the beginning of the discovery.
  init(
    _ service: DiscoveredService, _ found: [DiscoveredCharacteristic], after others: [RemoteService], discovery: UInt32
  ) {
    uuid = service.uuid
    handles = service.handles
    let sorted = found.sorted { $0.declaration < $1.declaration }
    let before = others.filter { $0.uuid == service.uuid }.flatMap(\.characteristics)
    characteristics = sorted.indices.map { index in
      let it = sorted[index]
      let isSame = { (uuid: BluetoothUUID) in uuid == it.uuid }
      let number = before.count { isSame($0.uuid) } + sorted[..<index].count { isSame($0.uuid) }
      return RemoteCharacteristic(
        uuid: it.uuid, properties: it.properties, handle: it.valueHandle,
        descriptors: it.descriptors(
          before: index + 1 < sorted.count ? sorted[index + 1].declaration : nil, in: service.handles),
        place: RemoteCharacteristic.Place(service: service.uuid, number: number), discovery: discovery)
    }
  }
}

/// A descriptor of a characteristic of a connected device (Vol 3, Part G, 3.3.3).
public struct RemoteDescriptor: Hashable, Sendable {
  /// The type of the descriptor.
  public let uuid: BluetoothUUID
  /// The handle of the descriptor.
  public let handle: AttributeHandle
  /// The number of changes of the device's services at its discovery.
  let discovery: UInt32
}
