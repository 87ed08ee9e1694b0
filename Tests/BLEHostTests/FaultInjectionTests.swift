import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Testing

/// A peripheral and a central whose controllers have the faults of `BLEVirtual`: whatever has failed, the next link is
/// served.
@Suite struct FaultInjectionTests {
  private static let reasons: [HCIErrorCode] = [
    .connectionTimeout, .remoteUserTerminatedConnection, .terminatedMICFailure, .terminatedByLocalHost,
    .remoteDeviceTerminatedLowResources,
  ]

  /// Connects, pairs, reads, writes and discovers, as far as the faults let it.
  private func converse(_ couple: inout Couple) {
    guard couple.attemptConnection() else { return }
    couple.secure()
    _ = couple.perform(.discoverPrimaryServices)
    for attribute in [Couple.plain, Couple.encrypted] {
      _ = couple.read(attribute)
      if let handle = couple.handles[attribute] { _ = couple.perform(.write(handle, [7])) }
    }
  }

  /// Without faults, a new link has the value that was written.
  ///
  /// A link that ends between the last key of the one and that of the other leaves a bond at one of them alone (Vol 3,
  /// Part H, 2.4.3.2: each distributes its keys in turn). Its peer rejects the key (PIN or Key Missing), and our
  /// central then sends no request in the clear (Vol 3, Part C, 10.3.2.1; CVE-2020-9770): it reports the lost bond, and
  /// pairs again after the application has removed it.
  private func expectService(
    _ couple: inout Couple, _ comment: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for host in 0...1 { couple.world.setFaults([], of: host) }
    // A request of the conversation may still be pending, or have given a link since.
    couple.world.ask(1, .initiating(.cancel(ConnectID(rawValue: 1))))
    for event in couple.events(1) {
      guard case .connected(let connection) = event else { continue }
      couple.world.ask(1, .link(connection.peer, .disconnect(.remoteUserTerminatedConnection)))
    }
    couple.world.run(for: .seconds(35))
    couple.forget()
    let isConnected = couple.attemptConnection()
    #expect(isConnected, "\(comment): no link", sourceLocation: sourceLocation)
    if couple.losses(1).contains(.forgottenByPeer) {
      let handle = couple.handles[Couple.plain] ?? .first
      let outcome = couple.perform(.read(handle))
      #expect(outcome == .failure(.notEncrypted), "\(comment)", sourceLocation: sourceLocation)
    }
    if !couple.losses(1).isEmpty {
      couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
      couple.disconnect()
      let isConnected = couple.attemptConnection()
      #expect(isConnected, "\(comment): no second link", sourceLocation: sourceLocation)
    }
    if let handle = couple.handles[Couple.plain] { _ = couple.perform(.write(handle, [7])) }
    let value = couple.read(Couple.plain)
    #expect(value == .success([7]), "\(comment)", sourceLocation: sourceLocation)
  }

  /// The link ends after each packet of either host, with the reasons in turn.
  @Test(arguments: 0..<5) func theLinkMayEndAtEachStep(first: Int) {
    for packets in 1...85 {
      for host in 0...1 where (packets + 2 * host) % 5 == first {
        var couple = Couple()
        let reason = Self.reasons[(packets / 5 + first) % Self.reasons.count]
        couple.world.setFaults([.disconnects(afterPackets: packets, reason)], of: host)
        converse(&couple)
        expectService(&couple, "\(reason) after \(packets) packets of host \(host)")
        #expect(couple.world.complaints.isEmpty)
      }
    }
  }

  /// Lost events leave a host with links that are not there; opening the transport again sets everything up anew.
  @Test(arguments: 0..<24 as Range<UInt64>) func damagedPacketsInBothDirectionsLeaveAHostThatCanStartAgain(seed: UInt64)
  {
    var couple = Couple(seed: seed)
    let effects: [PacketFault.Effect] = [.drop, .duplicate, .corrupt, .reorder, .delay(.milliseconds(40))]
    for host in 0...1 {
      couple.world.setFaults(
        effects.flatMap { effect in
          [PacketFault.Direction.toHost, .toController].map {
            .packets(PacketFault(effect, .all, $0, percent: 2))
          }
        }, of: host)
    }
    for _ in 0..<3 { converse(&couple) }
    for host in 0...1 {
      couple.world.setFaults([], of: host)
      couple.world.reconnectTransport(of: host)
    }
    couple.world.run(for: .seconds(35))
    expectService(&couple, "seed \(seed)")
  }

  /// The ninth packet has no credit. Its request has no response within 30 s, and the end of the link returns the
  /// credits.
  @Test func creditsThatAreNeverReturnedEndTheLink() throws {
    var couple = Couple()
    try couple.connect()
    couple.world.setFaults([.withholdsCredits()], of: 1)
    for _ in 0..<9 { _ = couple.read(Couple.plain) }
    couple.world.run(for: .seconds(31))
    #expect(couple.events(1).contains { if case .link(_, .disconnected) = $0 { true } else { false } })
    #expect(couple.world.complaints.isEmpty)
    expectService(&couple, "after the end of the link")
  }

  @Test(arguments: [0, 1]) func aControllerWithAHardwareErrorIsSetUpAgain(host: Int) throws {
    var couple = Couple()
    try couple.connect()
    couple.world.setFaults([.restarts(at: couple.world.now + .seconds(1), hardwareError: 0x42)], of: host)
    couple.world.run(for: .seconds(30))
    #expect(couple.events(host).contains { if case .link(_, .disconnected) = $0 { true } else { false } })
    expectService(&couple, "after Hardware Error")
  }

  @Test(arguments: [0, 1]) func aControllerThatRestartsSilentlyIsUsableAfterItsTransportIsOpenedAgain(host: Int) throws
  {
    var couple = Couple()
    try couple.connect()
    couple.world.setFaults([.restarts(at: couple.world.now + .seconds(1), hardwareError: nil)], of: host)
    couple.world.run(for: .seconds(30))
    couple.world.reconnectTransport(of: host)
    expectService(&couple, "after the restart")
  }

  /// The computer was suspended: every deadline is in the past.
  @Test(arguments: [1, 40, 3_600, 1_000_000]) func theClockMayJump(seconds: Int) {
    for packets in stride(from: 1, through: 61, by: 6) {
      var couple = Couple()
      couple.world.setFaults([.packets(PacketFault(.delay(.milliseconds(packets)), .all, .toHost))], of: 1)
      couple.world.ask(
        1, .initiating(.connect(ConnectID(rawValue: 1), couple.world.hosts[0].addressOnAir, ConnectionParameters())))
      couple.world.run(for: .milliseconds(packets * 7))
      couple.world.jump(.seconds(seconds))
      converse(&couple)
      couple.world.jump(.seconds(seconds))
      expectService(&couple, "\(seconds) s after \(packets) packets")
    }
  }
}
