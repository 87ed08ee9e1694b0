package import BLEATT
package import BLEGATT
package import BLEWire

/// A device as a client has seen it, in an inspection or in a trace.
package struct SeenDevice: Sendable {
  package struct Service: Sendable {
    package var uuid: BluetoothUUID
    package var isPrimary = true
    /// Nil where they are not known.
    package var handles: ClosedRange<AttributeHandle>?
    /// The values of its include declarations, by the handles (Vol 3, Part G, 3.2).
    package var includes: [(handle: AttributeHandle, value: [UInt8])] = []
    package var characteristics: [Characteristic] = []

    package init(uuid: BluetoothUUID, isPrimary: Bool = true, characteristics: [Characteristic] = []) {
      (self.uuid, self.isPrimary, self.characteristics) = (uuid, isPrimary, characteristics)
    }
  }

  package struct Characteristic: Sendable {
    package var uuid: BluetoothUUID
    package var properties: GATTCharacteristicProperties
    /// Nil for a value that was not seen.
    package var value: [UInt8]?
    /// What the device has demanded for the value.
    package var security = Security.none
    package var descriptors: [(uuid: BluetoothUUID, value: [UInt8]?)] = []
    /// The handle of the declaration; nil where it is not known.
    package var declaration: AttributeHandle?
    /// The handle of the value; nil where it is not known.
    package var handle: AttributeHandle?
    /// The handles of ``descriptors``; empty where they are not known.
    package var descriptorHandles: [AttributeHandle] = []

    package init(
      uuid: BluetoothUUID, properties: GATTCharacteristicProperties, value: [UInt8]? = nil, security: Security = .none,
      descriptors: [(uuid: BluetoothUUID, value: [UInt8]?)] = []
    ) {
      (self.uuid, self.properties, self.value) = (uuid, properties, value)
      (self.security, self.descriptors) = (security, descriptors)
    }
  }

  /// The security that a device demands for a value.
  package enum Security: String, CaseIterable, Sendable {
    case none, encrypted, authenticated
  }

  /// The name that it advertises, if it was seen.
  package var name: String?
  package var appearance: UInt16?
  /// The services that it advertises, if its advertisement was seen.
  package var advertised: [BluetoothUUID]?
  package var services: [Service] = []
  /// Whether the trace is that of the device itself, in which its clients are the other devices.
  package var isThisHost = false

  package init() {}

  /// How much was seen: the number of characteristics, values and descriptors.
  package var extent: Int {
    services.reduce(0) { count, service in
      service.characteristics.reduce(count) { $0 + 1 + ($1.value == nil ? 0 : 1) + $1.descriptors.count }
    }
  }
}
