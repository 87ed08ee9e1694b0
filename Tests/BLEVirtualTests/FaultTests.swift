import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// What a host's tests can make a controller do wrong.
struct FaultTests {
  static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
  static let complete: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]

  func answer(_ fault: VirtualFault) -> [[UInt8]] {
    var stage = RadioStage()
    let id = stage.attach()
    stage.radio.setFaults([fault], of: id)
    stage.send(Self.reset, from: id)
    return stage.take(id)
  }

  @Test func answers() {
    #expect(answer(.neverAnswers(.all)) == [])
    #expect(answer(.neverAnswers(.only([.reset]))) == [])
    #expect(answer(.neverAnswers(.only([.leRand]))) == [Self.complete])
    #expect(answer(.answersTwice(.all)) == [Self.complete, Self.complete])
    #expect(answer(.refuses(.all, .hardwareFailure)) == [Array(Self.complete.dropLast()) + [0x03]])
    #expect(answer(.answers(.all, with: [1, 2, 3])) == [[1, 2, 3]])
    let garbage = answer(.answersGarbage(.all))
    #expect(garbage.count == 1 && (1...16).contains(garbage[0].count))
    #expect(garbage[0].first.map { HCIPacketType(rawValue: $0) == nil } == true)
  }

  /// A refused command is answered by the event that it is due.
  @Test func refusalByStatus() {
    var stage = RadioStage()
    let id = stage.attach { $0.faults = [.refuses(.only([.leCreateConnection]), .rejectedLimitedResources)] }
    stage.send(HCI.LECreateConnection(), from: id)
    #expect(stage.take(id) == [[0x04, 0x0F, 0x04, 0x0D, 0x01, 0x0D, 0x20]])
  }

  @Test(arguments: [0, 50, 100]) func lostReports(percent: Int) throws {
    var stage = RadioStage()
    let advertiser = stage.attach()
    let scanner = stage.attach { $0.faults = [.losesReports(percent: percent)] }
    try stage.advertise(advertiser, .nonConnectable)
    try stage.scan(scanner, .passive)
    stage.run(for: .seconds(100))
    let heard = try stage.reports(scanner).count
    let expected = percent == 0 ? 900...1000 : percent == 50 ? 400...600 : 0...0
    #expect(expected.contains(heard))
  }

  @Test func timedFaults() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    let soon = stage.now + .seconds(1)
    stage.radio.setFaults([.sends([0xEE], at: soon), .dropsLinks(at: soon)], of: peripheral)
    stage.run(for: .seconds(1))
    #expect(stage.take(peripheral) == [[0xEE]])
    stage.run(for: .seconds(1))
    #expect(stage.take(central) == [[0x04, 0x05, 0x04, 0x00] + handles.central.octets + [0x08]])
    #expect(stage.take(peripheral) == [[0x04, 0x05, 0x04, 0x00] + handles.peripheral.octets + [0x08]])
    #expect(stage.radio.deadline == nil)
  }
}
