import BLEHCI
import BLEVirtual
import Testing

/// Controllers that leave the range of the others, and return.
struct RangeTests {
  static let pacings: [VirtualRadio.Pacing] = [.immediate, .connectionEvents(packetsPerEvent: 4), .airtime]

  private func reports(_ id: ControllerID, _ stage: inout RadioStage) throws -> Int {
    try stage.metaEvents(id).count { $0 is HCI.LEAdvertisingReport }
  }

  @Test(arguments: pacings) func nobodyReceivesAnAdvertiserOutOfRange(_ pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (advertiser, scanner) = (stage.attach(), stage.attach())
    try stage.advertise(advertiser)
    try stage.scan(scanner)
    stage.run(for: .seconds(2))
    #expect(try reports(scanner, &stage) > 0)
    for leaving in [advertiser, scanner] {
      stage.radio.setInRange(false, leaving, now: stage.now)
      stage.run(for: .seconds(2))
      #expect(try reports(scanner, &stage) == 0)
      stage.radio.setInRange(true, leaving, now: stage.now)
      stage.run(for: .seconds(2))
      #expect(try reports(scanner, &stage) > 0)
    }
  }

  @Test(arguments: pacings) func theLinksOfAControllerOutOfRangeEnd(_ pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (central, peripheral) = (stage.attach(), stage.attach())
    _ = try stage.connect(central, to: peripheral, within: .seconds(2))
    stage.radio.setInRange(false, peripheral, now: stage.now)
    stage.run(for: .seconds(60))
    for id in [central, peripheral] {
      let ends = try stage.events(id).compactMap { $0.parameters as? HCI.DisconnectionComplete }
      #expect(ends.map(\.reason) == [.connectionTimeout])
    }
  }

  /// A request to connect is fulfilled when the device has come back.
  @Test(arguments: pacings) func aDeviceIsConnectedToWhenItReturns(_ pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (central, peripheral) = (stage.attach(), stage.attach())
    stage.radio.setInRange(false, peripheral, now: stage.now)
    try stage.advertise(peripheral)
    let peer = stage.address(of: peripheral)
    try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = peer }, from: central)
    stage.run(for: .seconds(2))
    #expect(try stage.metaEvents(central).isEmpty)
    stage.radio.setInRange(true, peripheral, now: stage.now)
    stage.run(for: .seconds(2))
    #expect(try stage.metaEvents(central).contains { $0 is HCI.LEEnhancedConnectionComplete })
  }
}
