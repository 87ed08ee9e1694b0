import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire

/// A train of periodic advertising with 1,650 octets every 10 ms, and a host that receives it, with faults throughout.
///
/// Reports are lost, end early and come twice, and the advertiser vanishes every minute for as long as it takes to lose
/// the train. Each report must be whole, which the number in its octets shows, or marked; and the train is received
/// again within six of its intervals after the first announcement that was received.
struct TrainSoak {
  private(set) var world: SoakWorld
  private(set) var violations: [String] = []
  /// Reports by how much of their data came.
  private(set) var whole = 0
  private(set) var marked = 0
  /// How often the train was lost.
  private(set) var losses = 0
  private let train = AdvertisingID(rawValue: 1)
  private let sync = SyncID(rawValue: 1)
  /// The number in the data.
  private var number: UInt32 = 0
  private var isSynchronized = false
  private let hasPlantedFault: Bool

  /// In units of 1.25 ms.
  private static let interval: UInt16 = 8
  private static let octets = 1650
  /// Three announcements, of which two may be lost, each up to 10 ms late; then six intervals.
  private static let recovery = Duration.milliseconds(3 * 30 + 6 * 10)

  init(seed: UInt64, hasPlantedFault: Bool) {
    self.hasPlantedFault = hasPlantedFault
    world = SoakWorld(2, seed: seed) { _ in HostConfiguration() }
    var intent = AdvertisingIntent(data: [], scanResponse: [])
    (intent.usesExtendedPDUs, intent.isConnectable, intent.interval) = (true, false, 0x20...0x20)
    intent.secondaryPHY = .le2M
    intent.periodic = PeriodicIntent(data: Self.data(0))
    intent.periodic?.interval = Self.interval...Self.interval
    world.perform(.advertising(.start(train, intent)), on: 0)
    world.run(for: .seconds(1))
    var parameters = SyncParameters()
    parameters.timeout = 10
    let source = SyncSource.train(TrainID(world.address(of: 0), set: 0))
    world.perform(.synchronizing(.start(sync, source, parameters)), on: 1)
    world.run(for: Self.recovery)
    handleEvents()
    if !isSynchronized { violate("the train is not found") }
  }

  /// The data with a number: no fragment of it is like another one, nor like one of another number.
  private static func data(_ number: UInt32) -> [UInt8] {
    (0..<UInt32(octets / 6)).flatMap { index -> [UInt8] in
      [number, index].flatMap { value in (0..<3).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    }
  }

  /// A minute. At its end the advertiser vanishes for a second, and comes back with other data.
  mutating func step() {
    for second in 0..<58 {
      world.setFaults(Self.faults(second), of: 1)
      world.run(for: .seconds(1))
      handleEvents()
    }
    world.setFaults([], of: 1)
    world.setInRange(false, 0)
    world.run(for: .seconds(1))
    handleEvents()
    if isSynchronized { violate("the loss of the train is not reported") }
    number += 1
    world.perform(.advertising(.updateTrain(train, Self.data(number), UpdateToken(rawValue: UInt64(number)))), on: 0)
    world.setInRange(true, 0)
    if hasPlantedFault { world.setFaults([.losesReports(percent: 100)], of: 1) }
    world.run(for: Self.recovery)
    handleEvents()
    if !isSynchronized { violate("the train is not received again in \(Self.recovery)") }
    world.run(for: .seconds(1) - Self.recovery)
    handleEvents()
  }

  /// A fault of the receiving controller in turn, each for a second.
  private static func faults(_ second: Int) -> [VirtualFault] {
    switch second % 4 {
    case 0: []
    case 1: [.losesReports(percent: 10)]
    case 2: [.losesChains(behind: 100 + 20 * second)]
    default: [.packets(PacketFault(.duplicate, .leEvent(.periodicAdvertisingReport), .toHost, percent: 5))]
    }
  }

  private mutating func violate(_ rule: String) { if violations.count < 20 { violations.append(rule) } }

  private mutating func handleEvents() {
    for (host, event) in world.events {
      switch event {
      case .synchronizing(_, .synchronized): isSynchronized = true
      case .synchronizing(_, .lost): (isSynchronized, losses) = (false, losses + 1)
      case .synchronizing(_, .ended(let error)): violate("the synchronization ended: \(error)")
      case .synchronizing(_, .report(let report)): check(report)
      case .advertising(_, .trainUpdated(let token, .failure(let error))):
        violate("change \(token.rawValue) of the data failed: \(error)")
      case .advertising(_, .ended(let error)): violate("the train ended: \(error)")
      case .diagnostic(let diagnostic): violate("host \(host): \(diagnostic)")
      default: break
      }
    }
    world.events.removeAll(keepingCapacity: true)
  }

  private mutating func check(_ report: TrainReport) {
    guard report.completeness == .complete else { return marked += 1 }
    whole += 1
    if report.data != Self.data(number) {
      violate("a report of \(report.data.count) octets is not marked, and is not what was sent")
    }
  }
}
