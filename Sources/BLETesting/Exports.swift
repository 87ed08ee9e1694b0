// A test that imports BLETesting also gets the types of other modules that occur in its API.
@_exported public import struct BLEVirtual.PacketFault
@_exported public import struct BLEVirtual.VirtualConnectionIntervals
@_exported public import struct BLEVirtual.VirtualControllerConfiguration
@_exported public import enum BLEVirtual.VirtualFault
@_exported public import struct BLEVirtual.VirtualRadio
