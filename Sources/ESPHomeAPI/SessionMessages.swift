// Messages of every server of the API. Their names are those of ESPHome.

/// The first message of a client.
package struct HelloRequest: APIMessage {
  package static let type: UInt16 = 1
  /// The name and version of the client.
  package var clientInfo = ""
  package var apiVersionMajor: UInt32 = 0
  package var apiVersionMinor: UInt32 = 0
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.string(1, &clientInfo)
    try field.uint32(2, &apiVersionMajor)
    try field.uint32(3, &apiVersionMinor)
  }
}

package struct HelloResponse: APIMessage {
  package static let type: UInt16 = 2
  package var apiVersionMajor: UInt32 = 0
  package var apiVersionMinor: UInt32 = 0
  /// The name and version of the server's software.
  package var serverInfo = ""
  /// The name of the server on the network.
  package var name = ""
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.uint32(1, &apiVersionMajor)
    try field.uint32(2, &apiVersionMinor)
    try field.string(3, &serverInfo)
    try field.string(4, &name)
  }
}

/// A password, which old servers had. The key of the encryption replaces it.
package struct AuthenticationRequest: APIMessage {
  package static let type: UInt16 = 3
  package var password = ""
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.string(1, &password)
  }
}

package struct AuthenticationResponse: APIMessage {
  package static let type: UInt16 = 4
  package var invalidPassword = false
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.bool(1, &invalidPassword)
  }
}

/// Announces the end of the connection, from either end.
package struct DisconnectRequest: APIMessage {
  package static let type: UInt16 = 5
  package var reason = DisconnectReason.unspecified
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.enumeration(1, &reason)
  }
}

package struct DisconnectReason: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let unspecified = Self(rawValue: 0)
}

package struct DisconnectResponse: APIMessage {
  package static let type: UInt16 = 6
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

package struct PingRequest: APIMessage {
  package static let type: UInt16 = 7
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

package struct PingResponse: APIMessage {
  package static let type: UInt16 = 8
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

package struct DeviceInfoRequest: APIMessage {
  package static let type: UInt16 = 9
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// The server and its features.
package struct DeviceInfoResponse: APIMessage {
  package static let type: UInt16 = 10
  package var usesPassword = false
  /// The name on the network, at most 31 octets.
  package var name = ""
  /// Six pairs of capital hexadecimal digits with colons.
  package var macAddress = ""
  package var esphomeVersion = ""
  package var compilationTime = ""
  package var model = ""
  package var projectName = ""
  package var projectVersion = ""
  /// For clients before version 1.9, which do not read ``bluetoothProxyFeatureFlags``.
  package var legacyBluetoothProxyVersion: UInt32 = 0
  package var manufacturer = ""
  /// The name for people, at most 120 octets.
  package var friendlyName = ""
  package var bluetoothProxyFeatureFlags: BluetoothProxyFeatures = []
  package var suggestedArea = ""
  /// The address of the adapter, as ``macAddress``.
  package var bluetoothMACAddress = ""
  package var apiEncryptionSupported = false
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.bool(1, &usesPassword)
    try field.string(2, &name)
    try field.string(3, &macAddress)
    try field.string(4, &esphomeVersion)
    try field.string(5, &compilationTime)
    try field.string(6, &model)
    try field.string(8, &projectName)
    try field.string(9, &projectVersion)
    try field.uint32(11, &legacyBluetoothProxyVersion)
    try field.string(12, &manufacturer)
    try field.string(13, &friendlyName)
    try field.uint32(15, &bluetoothProxyFeatureFlags.rawValue)
    try field.string(16, &suggestedArea)
    try field.string(18, &bluetoothMACAddress)
    try field.bool(19, &apiEncryptionSupported)
  }
}

/// What a Bluetooth proxy can do, as ESPHome numbers it.
package struct BluetoothProxyFeatures: OptionSet, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Advertisements.
  package static let passiveScan = Self(rawValue: 1 << 0)
  /// Connections.
  package static let activeConnections = Self(rawValue: 1 << 1)
  /// The client keeps the attributes of a device, and connects without a discovery.
  package static let remoteCaching = Self(rawValue: 1 << 2)
  /// Pairing and removal of bonds.
  package static let pairing = Self(rawValue: 1 << 3)
  /// Removal of the attributes that the proxy keeps.
  package static let cacheClearing = Self(rawValue: 1 << 4)
  /// Advertisements as octets, several in a message.
  package static let rawAdvertisements = Self(rawValue: 1 << 5)
  /// The state of the scanner, and its mode.
  package static let stateAndMode = Self(rawValue: 1 << 6)
  /// The parameters of a connection.
  package static let connectionParameters = Self(rawValue: 1 << 7)

  package static let all: Self = [
    .passiveScan, .activeConnections, .remoteCaching, .pairing, .cacheClearing, .rawAdvertisements, .stateAndMode,
    .connectionParameters,
  ]
}

package struct ListEntitiesRequest: APIMessage {
  package static let type: UInt16 = 11
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// An entity with a number as its state.
package struct ListEntitiesSensorResponse: APIMessage {
  package static let type: UInt16 = 16
  package var objectID = ""
  /// Names the entity in ``SensorStateResponse``.
  package var key: UInt32 = 0
  package var name = ""
  /// A name of Material Design Icons, as `mdi:bluetooth`.
  package var icon = ""
  package var unitOfMeasurement = ""
  package var accuracyDecimals: Int32 = 0
  package var forceUpdate = false
  package var deviceClass = ""
  package var stateClass = SensorStateClass.none
  package var disabledByDefault = false
  package var entityCategory = EntityCategory.none
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.string(1, &objectID)
    try field.fixed32(2, &key)
    try field.string(3, &name)
    try field.string(5, &icon)
    try field.string(6, &unitOfMeasurement)
    try field.int32(7, &accuracyDecimals)
    try field.bool(8, &forceUpdate)
    try field.string(9, &deviceClass)
    try field.enumeration(10, &stateClass)
    try field.bool(12, &disabledByDefault)
    try field.enumeration(13, &entityCategory)
  }
}

package struct SensorStateClass: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let none = Self(rawValue: 0)
  package static let measurement = Self(rawValue: 1)
  package static let totalIncreasing = Self(rawValue: 2)
}

package struct EntityCategory: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let none = Self(rawValue: 0)
  package static let configuration = Self(rawValue: 1)
  package static let diagnostic = Self(rawValue: 2)
}

package struct ListEntitiesDoneResponse: APIMessage {
  package static let type: UInt16 = 19
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

package struct SubscribeStatesRequest: APIMessage {
  package static let type: UInt16 = 20
  package init() {}
  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {}
}

package struct SensorStateResponse: APIMessage {
  package static let type: UInt16 = 25
  package var key: UInt32 = 0
  package var state: Float = 0
  package var missingState = false
  package init() {}

  package mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
    try field.fixed32(1, &key)
    try field.float(2, &state)
    try field.bool(3, &missingState)
  }
}
