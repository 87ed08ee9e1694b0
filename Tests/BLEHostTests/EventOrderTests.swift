import BLEATT
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// Controllers on USB deliver data and events by two endpoints, and in an order of their own.
@Suite("Data that overtakes its event") struct EventOrderTests {
  private static let encryptionChange: [UInt8] = [0x04, 0x08, 4, 0, 0x40, 0, 1]
  private static let keyRequest: [UInt8] = [0x04, 0x3E, 13, 0x05, 0x40, 0] + [UInt8](repeating: 0, count: 10)
  /// Exchange MTU Request, and its response.
  private static let (request, response): ([UInt8], [UInt8]) = ([0x02, 0x17, 0x00], [0x03, 0x05, 0x02])

  private func faults(_ bench: Bench) -> [String] {
    bench.events.compactMap {
      if case .diagnostic(let line) = $0, line.origin == .controller { line.text } else { nil }
    }
  }

  private func disconnects(_ bench: Bench) -> Int { bench.controller.commands.count { $0.opcode == .disconnect } }

  @Test(arguments: [0, 1, 10, 99]) func dataBeforeTheConnectionIsServedWithIt(milliseconds: Int) {
    var bench = Bench()
    #expect(bench.att(0x40, Self.request).isEmpty)
    bench.run(for: .milliseconds(milliseconds))
    bench.receive(ScriptedController.connected(0x40))
    #expect(bench.attPayloads(from: 0) == [Self.response] && faults(bench).isEmpty)
  }

  @Test func dataWithoutAConnectionIsDroppedAndAConnectionThatIsNeverReportedIsEnded() {
    var bench = Bench()
    #expect(bench.att(0x40, Self.request).isEmpty)
    bench.run(for: HeldPackets.time)
    #expect(faults(bench).count == 1 && disconnects(bench) == 0)
    #expect(bench.att(0x40, Self.request).isEmpty)
    bench.run(for: HeldPackets.time)
    #expect(faults(bench).count == 2 && disconnects(bench) == 1)
    bench.receive(ScriptedController.disconnected(0x40))
    bench.receive(ScriptedController.connected(0x40))
    #expect(bench.data.isEmpty && bench.core.deadline == nil)
    #expect(bench.att(0x40, Self.request) == [Self.response])
  }

  @Test func dataOfALinkThatHasEndedIsNotForTheNextOne() {
    var bench = Bench()
    bench.receive(ScriptedController.connected(0x40))
    // The beginning of a frame whose end comes late.
    bench.receive([0x02, 0x40, 0x20, 5, 0, 3, 0, 4, 0, 0x02])
    bench.receive(ScriptedController.disconnected(0x40))
    bench.receive([0x02, 0x40, 0x10, 2, 0, 0x17, 0x00])
    bench.receive(ScriptedController.frame(0x40, cid: 4, Self.request))
    bench.run(for: HeldPackets.lateTime - .milliseconds(1))
    bench.receive(ScriptedController.frame(0x40, cid: 4, Self.request))
    bench.receive(ScriptedController.connected(0x40, from: "C0:11:22:33:44:66"))
    #expect(bench.data.isEmpty && disconnects(bench) == 0)
    #expect(bench.att(0x40, Self.request) == [Self.response])
  }

  @Test func whatIsHeldForLinksIsBounded() {
    var held = HeldPackets()
    let packet: [UInt8] = [0x40, 0, 0, 0]
    for handle in 0..<(UInt16(HeldPackets.limit.strangers) + 1) {
      for number in 0...HeldPackets.limit.packets {
        let isHeld = held.holdUnknown(packet.span, of: ConnectionHandle(rawValue: handle), now: .start)
        #expect(isHeld == (handle < HeldPackets.limit.strangers && number < HeldPackets.limit.packets))
      }
    }
    #expect(
      held.takeOverdue(.start + HeldPackets.time).count == HeldPackets.limit.strangers * HeldPackets.limit.packets)
    #expect(held.isEmpty && held.deadline == nil)
  }
}

/// Encrypted data before Encryption Change, in both roles.
extension EventOrderTests {
  /// A link to a bonded device that is encrypted as soon as the controller says so; handle 0x0040.
  private func encrypting(isCentral: Bool) throws -> (bench: Bench, secret: UInt8) {
    var configuration = HostConfiguration()
    configuration.pairing = .with(.noInputNoOutput, secure: true)
    configuration.bonds = [EncryptionTests.bond]
    var bench = Bench(configuration: configuration)
    bench.perform(.services(.add(Couple.service)))
    var handles: [AttributeID: AttributeHandle] = [:]
    for event in bench.events {
      if case .services(.added(_, .success(let added))) = event { handles = added.attributes }
    }
    let peer = EncryptionTests.bond.identity
    if isCentral {
      bench.perform(.initiating(.connect(ConnectID(rawValue: 1), peer, ConnectionParameters())))
      bench.receive(ScriptedController.connectedAsCentral(0x40, to: peer))
    } else {
      bench.receive(ScriptedController.connected(0x40, from: "\(peer.octets)"))
      bench.receive(Self.keyRequest)
    }
    return (bench, UInt8(try #require(handles[Couple.encrypted]).rawValue))
  }

  @Test(arguments: [true, false], [0, 5, 29])
  func encryptedDataBeforeEncryptionChangeIsServedAsEncrypted(isCentral: Bool, milliseconds: Int) throws {
    var (bench, secret) = try encrypting(isCentral: isCentral)
    #expect(bench.att(0x40, [0x0A, secret, 0]).isEmpty)
    bench.run(for: .milliseconds(milliseconds))
    let before = bench.data.count
    bench.receive(Self.encryptionChange)
    #expect(bench.attPayloads(from: before).contains([0x0B, 7]))
  }

  /// A connection interval later it is known to be in the clear, or the encryption has failed.
  @Test(arguments: [true, false], [true, false])
  func otherDataIsServedAsDataInTheClear(isCentral: Bool, fails: Bool) throws {
    var (bench, secret) = try encrypting(isCentral: isCentral)
    #expect(bench.att(0x40, [0x0A, secret, 0]).isEmpty && bench.att(0x40, [0x0A, secret, 0]).isEmpty)
    let before = bench.data.count
    if fails { bench.receive([0x04, 0x08, 4, 0x06, 0x40, 0, 0]) } else { bench.run(for: .milliseconds(30)) }
    let refusal: [UInt8] = [0x01, 0x0A, secret, 0, 0x0F]
    #expect(bench.attPayloads(from: before).filter { $0 == refusal }.count == 2)
    bench.receive(Self.encryptionChange)
    #expect(!bench.attPayloads(from: before).contains([0x0B, 7]))
  }

  @Test func moreThanALinkMayHoldIsServedAtOnce() throws {
    var (bench, secret) = try encrypting(isCentral: false)
    for _ in 0..<HeldPackets.limit.packets { #expect(bench.att(0x40, [0x0A, secret, 0]).isEmpty) }
    #expect(bench.att(0x40, [0x0A, secret, 0]).count == HeldPackets.limit.packets + 1)
  }
}
