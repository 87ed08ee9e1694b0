public import Foundation

/// A number that names an L2CAP channel's service; mirrors `CBL2CAPPSM`.
public typealias CBL2CAPPSM = UInt16

/// A connection-oriented L2CAP channel; mirrors `CBL2CAPChannel`.
///
/// This version opens none: publishing one is answered with ``CBError/operationNotSupported``.
open class CBL2CAPChannel: NSObject {
  /// The device at the other end.
  open private(set) var peer: CBPeer!
  /// The data that the device sends.
  open private(set) var inputStream: InputStream!
  /// The data for the device.
  open private(set) var outputStream: OutputStream!
  /// The PSM of the channel.
  open private(set) var psm: CBL2CAPPSM = 0
}
