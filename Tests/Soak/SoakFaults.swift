import BLECrypto
import BLEHCI
import BLEVirtual

/// The faults of a soak, chosen by a seeded generator.
///
/// Every controller delays packets. Those of the wild centrals also lose, repeat, change and exchange them, so that no
/// promise is made about their data; the steady ones lose links, credits, controllers and transports, about which a
/// promise exists.
struct SoakFaults {
  static let reasons: [HCIErrorCode] = [
    .connectionTimeout, .remoteUserTerminatedConnection, .terminatedMICFailure, .remoteDeviceTerminatedPowerOff,
    .remoteDeviceTerminatedLowResources, .terminatedByLocalHost,
  ]

  /// One event that is no fault of single packets.
  enum Incident {
    case disconnection(central: Int, afterPackets: Int, HCIErrorCode)
    case outOfRange(central: Int)
    case restart(host: Int, hardwareError: UInt8?)
    case lostTransport(host: Int)
    case withheldCredits(central: Int)
    case noMoreFaults(central: Int)
    case clockJump(Duration)
  }

  private(set) var count = 0
  private var random: RandomSource
  private let centrals: Int

  init(seed: UInt64, centrals: Int) {
    random = .seeded(seed)
    self.centrals = centrals
  }

  /// The faults of a host's packets at all times.
  static func permanent(_ host: Int, isWild: Bool) -> [VirtualFault] {
    let delays: [VirtualFault] = [
      .packets(PacketFault(.delay(.milliseconds(3)), .all, .toHost, percent: 1)),
      .packets(PacketFault(.delay(.milliseconds(2)), .all, .toController, percent: 1)),
    ]
    guard isWild else { return delays }
    let damages: [PacketFault.Effect] = [.drop, .duplicate, .corrupt, .reorder]
    return delays
      + damages.flatMap { effect -> [VirtualFault] in
        [
          .packets(PacketFault(effect, .data, .toController, percent: 1)),
          .packets(PacketFault(effect, .all, .toHost, percent: 1)),
        ]
      }
  }

  /// The next incident. Those that concern the peripheral, and so all links, are rare.
  mutating func next() -> Incident {
    count += 1
    let central = Int.random(in: 1...centrals, using: &random)
    switch Int.random(in: 0..<1000, using: &random) {
    case 0..<8: return .restart(host: 0, hardwareError: 0x42)
    case 8..<12: return .lostTransport(host: 0)
    case 12..<20: return .clockJump(.seconds(Int.random(in: 1...3600, using: &random)))
    case 20..<120: return .restart(host: central, hardwareError: Bool.random(using: &random) ? 0x01 : nil)
    case 120..<200: return .lostTransport(host: central)
    case 200..<400: return .outOfRange(central: central)
    case 400..<500: return .withheldCredits(central: central)
    case 500..<650: return .noMoreFaults(central: central)
    default:
      let reason = Self.reasons[Int.random(in: 0..<Self.reasons.count, using: &random)]
      return .disconnection(central: central, afterPackets: Int.random(in: 1...200, using: &random), reason)
    }
  }

  /// A number of the generator, for the choices of the wild centrals.
  mutating func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
}
