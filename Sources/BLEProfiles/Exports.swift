// A program that imports BLEProfiles also gets the Swift API, and the octets and errors of packets.
@_exported public import BLEKit
@_exported public import BLEWire
