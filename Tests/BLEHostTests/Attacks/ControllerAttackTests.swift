import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// A controller that sends events that nothing has caused.
@Suite("A controller that lies") struct ControllerAttackTests {
  /// A peripheral (role 0) or central with a link, and the handle of a value that demands encryption.
  private static func bench(_ role: Int = 0) throws -> (bench: Bench, secret: UInt8) {
    var configuration = HostConfiguration()
    configuration.pairing = .with()
    var bench = Bench(configuration: configuration)
    bench.perform(.services(.add(Couple.service)))
    var secret: UInt8?
    for event in bench.takeEvents() {
      guard case .services(.added(_, .success(let added))) = event else { continue }
      secret = added.attributes[Couple.encrypted].map { UInt8(truncatingIfNeeded: $0.rawValue) }
    }
    if role == 0 {
      bench.receive(ScriptedController.connected(0x40))
    } else {
      let peer = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
      bench.perform(.initiating(.connect(ConnectID(rawValue: 1), peer, ConnectionParameters())))
      bench.receive(ScriptedController.connectedAsCentral(0x40, to: peer))
    }
    return (bench, try #require(secret))
  }

  /// The host answers: an Exchange MTU Request has its response.
  private static func expectServed(_ bench: inout Bench, _ comment: Comment) {
    if bench.core.linkCount == 0 { bench.receive(ScriptedController.connected(0x41, from: "C0:00:00:00:00:09")) }
    let handle: UInt16 = bench.core.linkCount == 1 && bench.att(0x40, [0x02, 0x17, 0x00]).isEmpty ? 0x41 : 0x40
    #expect(bench.att(handle, [0x02, 0x17, 0x00]) == [[0x03, 0x05, 0x02]], comment)
  }

  static let events: [(String, [[UInt8]])] = [
    ("Encryption Change", [[0x04, 0x08, 4, 0, 0x40, 0, 1]]),
    ("Encryption Key Refresh Complete", [[0x04, 0x30, 3, 0, 0x40, 0]]),
    ("Encryption Change v2", [[0x04, 0x59, 5, 0, 0x40, 0, 1, 16]]),
    ("more completed packets than were sent", [[0x04, 0x13, 5, 1, 0x40, 0, 0xFF, 0xFF]]),
    ("completed packets of an unknown link", [[0x04, 0x13, 5, 1, 0xFF, 0x0E, 1, 0]]),
    ("events of an unknown handle", [[0x04, 0x08, 4, 0, 0xFF, 0x0E, 1], [0x04, 0x05, 4, 0, 0xFF, 0x0E, 0x13]]),
    ("Disconnection Complete twice", [ScriptedController.disconnected(0x40), ScriptedController.disconnected(0x40)]),
    ("Command Complete of another opcode", [[0x04, 0x0E, 4, 1, 0x03, 0x0C, 0], [0x04, 0x0E, 4, 1, 0xFF, 0xFF, 0]]),
    ("Command Status of another opcode", [[0x04, 0x0F, 4, 0, 1, 0x19, 0x20]]),
    ("255 commands at once", [[0x04, 0x0E, 3, 255, 0, 0]]),
    (
      "events cut short",
      [[0x04, 0x08, 1, 0], [0x04, 0x3E, 1, 1], [0x04, 0x3E, 0], [0x04, 0x05, 0], [0x04, 0x13, 1, 255]]
    ),
    ("a connection that failed", [[0x04, 0x3E, 19, 1, 0x3E] + [UInt8](repeating: 0, count: 17)]),
  ]

  @Test(arguments: [0, 1], events.indices) func lies(role: Int, number: Int) throws {
    let (name, packets) = Self.events[number]
    var (bench, secret) = try Self.bench(role)
    for packet in packets { bench.receive(packet) }
    let levels = bench.events.compactMap { event -> SecurityLevel? in
      if case .link(_, .security(let security)) = event { security.level } else { nil }
    }
    #expect(levels.allSatisfy { $0 == SecurityLevel.none }, "\(name)")
    let read = bench.att(0x40, [0x0A, secret, 0])
    #expect(read.allSatisfy { $0.first != 0x0B }, "\(name): a protected value")
    Self.expectServed(&bench, "\(name)")
  }

  /// A second connection with a handle that is in use: there is one link, and nothing of the first is the second's.
  @Test func aSecondConnectionWithAHandleInUse() throws {
    var (bench, _) = try Self.bench()
    bench.receive(ScriptedController.connected(0x40, from: "C0:00:00:00:00:09"))
    #expect(bench.core.linkCount <= 1)
    Self.expectServed(&bench, "after a second connection")
    #expect(bench.core.linkCount <= 1)
  }

  /// Credits that were never taken do not let the host send more than the controller has buffers for.
  @Test func creditsThatWereNeverTaken() throws {
    var (bench, _) = try Self.bench()
    bench.completesPackets = false
    bench.receive(ScriptedController.completedPackets(0x40, 1_000))
    let before = bench.data.count
    for _ in 0..<20 { bench.receive(ScriptedController.frame(0x40, cid: 4, [0x0A, 3, 0])) }
    #expect(bench.data.count - before <= Int(bench.controller.aclCount))
  }
}
