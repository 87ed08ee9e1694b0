// A program that imports BLEKit also gets the types of other modules that occur in its API.
@_exported public import BLEAdapter
@_exported public import BLEGAP

@_exported public import struct BLEATT.ATTErrorCode
@_exported public import struct BLEATT.AttributeHandle
@_exported public import struct BLEGATT.GATTCharacteristicProperties
@_exported public import struct BLEHost.Bond
@_exported public import struct BLEHost.ConnectionDataLength
@_exported public import struct BLEHost.ConnectionPHY
@_exported public import enum BLEHost.ConnectionPriority
@_exported public import enum BLEHost.LECoding
@_exported public import enum BLEHost.LEPHY
@_exported public import enum BLELinux.BluetoothLog
@_exported public import struct BLEWire.BluetoothUUID
@_exported public import struct BLEWire.DeviceAddress
