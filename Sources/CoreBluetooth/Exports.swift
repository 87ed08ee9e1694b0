// A program that imports CoreBluetooth gets the façade and the modules that Apple's CoreBluetooth brings with it.
@_exported public import CoreBluetoothTypes
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Foundation
