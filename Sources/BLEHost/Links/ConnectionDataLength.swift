import BLEHCI

/// The longest packets of the link layer in each direction (Vol 4, Part E, 7.7.65.7).
public struct ConnectionDataLength: Hashable, Sendable {
  /// The longest payload of a packet that this device sends, in octets, 27 to 251.
  public var transmitOctets = 27
  /// The longest time of a packet that this device sends, in microseconds, 328 to 17040.
  public var transmitTime = 328
  /// The longest payload of a packet that this device receives, in octets, 27 to 251.
  public var receiveOctets = 27
  /// The longest time of a packet that this device receives, in microseconds, 328 to 17040.
  public var receiveTime = 328

  /// The data length of a new link.
  public init() {}
}

extension LinkPackets {
  var dataLength: ConnectionDataLength {
    var length = ConnectionDataLength()
    (length.transmitOctets, length.transmitTime) = (transmit.dataLength, transmit.time)
    (length.receiveOctets, length.receiveTime) = (receive.dataLength, receive.time)
    return length
  }
}
