/// What the packets of a link are like: PHYs, data length and encryption, as the controller reports them.
///
/// A new link counts as LE 1M: HCI does not report its PHY.
package struct LinkPackets: Hashable, Sendable {
  /// The packets from this device to the peer.
  package private(set) var transmit = Self.initial
  /// The packets from the peer to this device.
  package private(set) var receive = Self.initial

  private static let initial = LinkCapacity(phy: .le1M, dataLength: 27, time: 328)

  package init() {}

  /// Takes the PHYs of the link.
  ///
  /// - Returns: whether they have changed.
  @discardableResult
  package mutating func update(_ event: HCI.LEPHYUpdateComplete) -> Bool {
    guard event.status == .success else { return false }
    let before = self
    (transmit.phy, transmit.acknowledgementPHY) = (event.txPHY, event.rxPHY)
    (receive.phy, receive.acknowledgementPHY) = (event.rxPHY, event.txPHY)
    return self != before
  }

  /// Takes the longest packets of the link.
  ///
  /// - Returns: whether they have changed.
  @discardableResult
  package mutating func update(_ event: HCI.LEDataLengthChange) -> Bool {
    let before = self
    (transmit.dataLength, transmit.time) = (Self.octets(event.maxTXOctets), Self.time(event.maxTXTime))
    (receive.dataLength, receive.time) = (Self.octets(event.maxRXOctets), Self.time(event.maxRXTime))
    return self != before
  }

  /// Takes the end of a change of the encryption.
  ///
  /// - Returns: whether the encryption has changed.
  @discardableResult
  package mutating func encryptionChanged(_ status: HCIErrorCode, isOn: Bool) -> Bool {
    guard status == .success, transmit.isEncrypted != isOn else { return false }
    (transmit.isEncrypted, receive.isEncrypted) = (isOn, isOn)
    return true
  }

  /// The ranges of Max_TX_Octets and of Max_TX_Time (Vol 4, Part E, 7.7.65.7).
  private static func octets(_ value: UInt16) -> Int { min(max(Int(value), 27), 251) }
  private static func time(_ value: UInt16) -> Int { min(max(Int(value), 328), 17_040) }

  /// The part of an interval that full packets use, where one direction has the link to itself: the sum of both, in
  /// millionths.
  package func share(of interval: UInt16) -> Int { transmit.share(of: interval) + receive.share(of: interval) }

  /// The shortest interval in a range that carries the most; nil if a full packet fits in none.
  package func bestInterval(in range: ClosedRange<UInt16>) -> UInt16? { [transmit, receive].bestInterval(in: range) }

  /// The octets of data in one connection event where both ends send: full packets in both directions of each exchange,
  /// and one more with an empty answer if there is time for it.
  ///
  /// - Parameter interval: the connection interval in units of 1.25 ms.
  package func octetsOfBoth(in interval: UInt16) -> Int {
    let sides = [transmit, receive]
    let full = sides.map { LinkCapacity.airtime(of: $0.payload, on: $0.phy, isEncrypted: $0.isEncrypted) }
    let exchange = full.reduce(2 * LinkCapacity.interFrameSpace, +)
    let (exchanges, rest) = (Int(interval) * LinkCapacity.unit).quotientAndRemainder(dividingBy: exchange)
    let last = sides.filter { $0.exchange <= rest }.map { $0.payload }.max() ?? 0
    return exchanges * (transmit.payload + receive.payload) + last
  }
}
