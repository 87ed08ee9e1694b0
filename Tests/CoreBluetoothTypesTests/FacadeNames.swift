import BluetoothLE

// Names that the façade shares with a layer below it: the tests mean the façade's.
typealias Attribute = BluetoothLE.Attribute
typealias AttributePermissions = BluetoothLE.AttributePermissions
typealias CharacteristicProperties = BluetoothLE.CharacteristicProperties
