/// What a link can carry in one direction: data packets and their acknowledgements (Vol 6, Part B, 2.1, 2.2 and 4.5.1).
///
/// ```
///   anchor                                                                     next anchor
///     ├ data ┤T_IFS├ empty ┤T_IFS├ data ┤T_IFS├ empty ┤T_IFS├ …  ┤ unused ┤        │
///     └────────── exchange ─────────┘
/// ```
///
/// A connection event has room for whole exchanges alone. The rest of the interval is not used, so that the throughput
/// depends on how well exchanges fit into it.
package struct LinkCapacity: Hashable, Sendable {
  /// T_IFS in microseconds: the time between two packets (Vol 6, Part B, 4.1.1).
  package static let interFrameSpace = 150

  /// The PHY of the data packets.
  package var phy: HCI.PHY
  /// The PHY of the packets that acknowledge them.
  package var acknowledgementPHY: HCI.PHY
  /// The longest payload of a data packet in octets, 27 to 251.
  package var dataLength: Int
  /// The longest time of a data packet in microseconds, 328 to 17040.
  package var time: Int
  /// Whether packets with a payload have a message integrity check of 4 octets.
  package var isEncrypted: Bool

  /// A direction of a link. The default time does not shorten the packets of LE 1M and LE 2M.
  package init(
    phy: HCI.PHY, acknowledgementPHY: HCI.PHY? = nil, dataLength: Int, time: Int = 17_040, isEncrypted: Bool = false
  ) {
    (self.phy, self.acknowledgementPHY) = (phy, acknowledgementPHY ?? phy)
    (self.dataLength, self.time, self.isEncrypted) = (dataLength, time, isEncrypted)
  }

  /// The time of a packet in microseconds: preamble, access address, header, payload, message integrity check and CRC.
  /// LE Coded counts with S=8.
  package static func airtime(of payload: Int, on phy: HCI.PHY, isEncrypted: Bool) -> Int {
    let octets = payload + (isEncrypted && payload > 0 ? integrityCheck : 0)
    return switch phy {
    case .le2M: 44 + 4 * octets
    case .leCoded: 720 + 64 * octets
    default: 80 + 8 * octets
    }
  }

  private static let integrityCheck = 4

  /// The payload of a full data packet in octets: ``dataLength``, or less where ``time`` is too short for it.
  package var payload: Int {
    let (least, check) = (27, isEncrypted ? Self.integrityCheck : 0)
    let fixed = Self.airtime(of: 0, on: phy, isEncrypted: false)
    let perOctet = Self.airtime(of: 1, on: phy, isEncrypted: false) - fixed
    return max(least, min(dataLength, (time - fixed) / perOctet - check))
  }

  /// The time of a full data packet, of its acknowledgement and of T_IFS after each, in microseconds.
  package var exchange: Int {
    Self.airtime(of: payload, on: phy, isEncrypted: isEncrypted)
      + Self.airtime(of: 0, on: acknowledgementPHY, isEncrypted: false) + 2 * Self.interFrameSpace
  }

  /// The number of full data packets in one connection event; 1 or more.
  ///
  /// - Parameter interval: the connection interval in units of 1.25 ms.
  package func packets(in interval: UInt16) -> Int { max(1, Int(interval) * Self.unit / exchange) }

  /// The part of an interval that full exchanges use, in millionths; more than a million where one does not fit.
  package func share(of interval: UInt16) -> Int {
    packets(in: interval) * exchange * 1_000_000 / (max(1, Int(interval)) * Self.unit)
  }

  /// The payload of data packets in a second, in octets.
  package func octetsPerSecond(at interval: UInt16) -> Int {
    packets(in: interval) * payload * 1_000_000 / (max(1, Int(interval)) * Self.unit)
  }

  /// 1.25 ms in microseconds.
  static let unit = 1250
}

extension [LinkCapacity] {
  /// The shortest interval that carries the most, in units of 1.25 ms: the greatest sum of what the directions carry,
  /// where each of them has the link to itself.
  ///
  /// - Returns: nil if an exchange of one direction is longer than all intervals.
  package func bestInterval(in range: ClosedRange<UInt16>) -> UInt16? {
    var best: (interval: UInt16, total: Int)?
    for interval in range {
      let shares = map { $0.share(of: interval) }
      let total = shares.reduce(0, +)
      if shares.allSatisfy({ $0 <= 1_000_000 }), total > best?.total ?? -1 { best = (interval, total) }
    }
    return best?.interval
  }
}
