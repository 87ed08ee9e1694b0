package import BLEGATT
package import BLEWire

/// A device as a client has seen it, in an inspection or in a trace.
package struct SeenDevice: Sendable {
  package struct Service: Sendable {
    package var uuid: BluetoothUUID
    package var isPrimary = true
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

  package init() {}
}
