package import BLEHCI

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

/// What the packets of a link are like: PHYs, data length and encryption, as the controller reports them.
///
/// A new link counts as LE 1M: HCI does not report its PHY.
package struct LinkPackets: Hashable, Sendable {
  package var phy = ConnectionPHY(transmit: .le1M, receive: .le1M)
  private var transmitOctets: UInt16 = 27
  private var transmitTime: UInt16 = 328
  private var receiveOctets: UInt16 = 27
  private var receiveTime: UInt16 = 328
  package private(set) var isEncrypted = false

  package init() {}

  package var dataLength: ConnectionDataLength {
    var length = ConnectionDataLength()
    (length.transmitOctets, length.transmitTime) = (Int(transmitOctets), Int(transmitTime))
    (length.receiveOctets, length.receiveTime) = (Int(receiveOctets), Int(receiveTime))
    return length
  }

  /// What the link carries from this device to the peer.
  package var transmit: LinkCapacity {
    LinkCapacity(
      phy: phy.transmit.phy, acknowledgementPHY: phy.receive.phy, dataLength: Int(transmitOctets),
      time: Int(transmitTime), isEncrypted: isEncrypted)
  }

  /// What the link carries from the peer to this device.
  package var receive: LinkCapacity {
    LinkCapacity(
      phy: phy.receive.phy, acknowledgementPHY: phy.transmit.phy, dataLength: Int(receiveOctets),
      time: Int(receiveTime), isEncrypted: isEncrypted)
  }

  /// The part of an interval that full packets use, where one direction has the link to itself: the sum of both.
  func share(of interval: UInt16) -> Int { transmit.share(of: interval) + receive.share(of: interval) }

  /// The shortest interval in a range that carries the most; nil if a full packet fits in none.
  func bestInterval(in range: ClosedRange<UInt16>) -> UInt16? { [transmit, receive].bestInterval(in: range) }

  /// Takes an event of the controller.
  ///
  /// - Returns: whether it has changed something.
  mutating func update(_ event: any LinkEvent) -> Bool {
    let before = self
    switch event {
    case let event as HCI.LEPHYUpdateComplete where event.status == .success:
      phy = ConnectionPHY(reported: event.txPHY, event.rxPHY)
    case let event as HCI.LEDataLengthChange:
      (transmitOctets, transmitTime) = (Self.octets(event.maxTXOctets), Self.time(event.maxTXTime))
      (receiveOctets, receiveTime) = (Self.octets(event.maxRXOctets), Self.time(event.maxRXTime))
    case let event as HCI.EncryptionChange where event.status == .success:
      isEncrypted = event.encryptionEnabled != .off
    case let event as HCI.EncryptionChangeV2 where event.status == .success:
      isEncrypted = event.encryptionEnabled != .off
    default: return false
    }
    return self != before
  }

  /// The range of Max_TX_Octets and of Max_TX_Time.
  private static func octets(_ value: UInt16) -> UInt16 { min(max(value, 27), 251) }
  private static func time(_ value: UInt16) -> UInt16 { min(max(value, 328), 17_040) }
}
