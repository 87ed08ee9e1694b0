// What a program gets with `import BluetoothLE` alone: its own names, the UUID type, the advertising data, and the two
// system modules whose types stand in the API (`Data`, `UUID`, `DispatchQueue`).
@_exported public import BLEGAP
@_exported public import Dispatch
@_exported public import Foundation

@_exported public import struct BLEWire.BluetoothUUID
