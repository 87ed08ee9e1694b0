/// Advertisements of 1,650 octets (Vol 4, Part E, 7.8.54) with as many values as they can have.
package enum LongAdvertisement: UInt8, CaseIterable, Sendable {
  case uuids = 0x03
  case solicitedServices = 0x14
  case serviceData = 0x16
  case addresses = 0x17
  case meshMessages = 0x2A
  case manufacturerData = 0xFF

  /// The octets of data of each structure.
  private var length: Int {
    switch self {
    case .uuids, .solicitedServices: 252
    case .serviceData, .meshMessages, .manufacturerData: 2
    case .addresses: 6
    }
  }

  package var octets: [UInt8] { octets(0) }

  /// - Parameter salt: advertisements of other numbers have other values.
  package func octets(_ salt: UInt16) -> [UInt8] {
    var (octets, number): ([UInt8], UInt16) = ([], salt)
    // An array that grows has up to twice the capacity that it needs, depending on what the allocator returns.
    octets.reserveCapacity(1650)
    while octets.count + 4 <= 1650 {
      // At the end, what fits is of an even length.
      let count = min(length, (1650 - octets.count - 2) & ~1)
      octets += [UInt8(count + 1), rawValue]
      for _ in 0..<count / 2 {
        octets += [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
        number &+= 1
      }
    }
    return octets
  }

  /// 1,650 octets of manufacturer data, in few structures: no list is long.
  package static let longData: [UInt8] = (0..<7).flatMap { number -> [UInt8] in
    let count = number < 6 ? 236 : 220
    return [UInt8(count + 1), 0xFF, UInt8(number)] + [UInt8](repeating: 0xFF, count: count - 1)
  }
}
