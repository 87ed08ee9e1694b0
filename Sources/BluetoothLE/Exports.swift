// A program that imports BluetoothLE gets the façade, the adapter's options, the advertising data, the UUID type of the
// wire, and the system modules whose types occur in the API (`Data`, `UUID`, `DispatchQueue`).
@_exported public import BLEAdapter
@_exported public import BLEGAP
@_exported public import BLEKit
@_exported public import CoreBluetoothTypes
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Foundation

@_exported public import struct BLEHost.Bond
@_exported public import struct BLEHost.ConnectionPHY
@_exported public import enum BLEHost.ConnectionPriority
@_exported public import enum BLEHost.LECoding
@_exported public import enum BLEHost.LEPHY
@_exported public import enum BLELinux.BluetoothLog
@_exported public import struct BLEWire.BluetoothUUID
