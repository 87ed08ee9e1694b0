import BLEL2CAP
import BLEWire
import TestSupport
import Testing

extension Reassembler {
  fileprivate mutating func receive(_ octets: [UInt8], packetBoundary: UInt8) -> Outcome {
    receive(octets.span, packetBoundary: packetBoundary)
  }
}

@Suite struct ReassemblerTests {
  private typealias Outcome = Reassembler.Outcome
  private let start: UInt8 = 0b10
  private let more: UInt8 = 0b01

  /// A frame on the ATT channel whose payload counts up from zero.
  private func frame(_ length: Int) -> [UInt8] {
    BasicFrame(channel: .attributeProtocol, payload: Bytes((0..<length).map { UInt8(truncatingIfNeeded: $0) })).encoded
  }

  /// Receives `octets` in fragments of `size` and returns the last outcome; the others must be empty.
  private func feed(_ octets: [UInt8], size: Int, to machine: inout Reassembler) -> Outcome {
    var outcome = Outcome()
    for offset in stride(from: 0, to: octets.count, by: size) {
      #expect(outcome == Outcome())
      let fragment = Array(octets[offset..<min(offset + size, octets.count)])
      outcome = machine.receive(fragment, packetBoundary: offset == 0 ? start : more)
    }
    return outcome
  }

  @Test(arguments: [UInt8(0b00), 0b10]) func findsAFrameOfOneFragment(boundary: UInt8) {
    var machine = Reassembler()
    let outcome = machine.receive(frame(23), packetBoundary: boundary)
    #expect(outcome == Outcome(frame: .inFragment(.attributeProtocol, payload: 4..<27)))
    #expect(
      machine.receive(frame(0), packetBoundary: boundary).frame == .inFragment(.attributeProtocol, payload: 4..<4))
  }

  @Test func aWholeFrameIsFoundOnlyBetweenFrames() {
    var machine = Reassembler()
    let whole = frame(3)
    #expect(machine.wholeFrame(in: whole.span, packetBoundary: start) == .attributeProtocol)
    #expect(machine.wholeFrame(in: whole.span, packetBoundary: 0b00) == .attributeProtocol)
    #expect(machine.wholeFrame(in: whole.span, packetBoundary: more) == nil)
    #expect(machine.wholeFrame(in: whole.span, packetBoundary: 0b11) == nil)
    #expect(machine.wholeFrame(in: (whole + [0]).span, packetBoundary: start) == nil)
    for length in 0..<whole.count {
      #expect(machine.wholeFrame(in: Array(whole[..<length]).span, packetBoundary: start) == nil)
    }
    #expect(Reassembler(maximumPayload: 2).wholeFrame(in: whole.span, packetBoundary: start) == nil)
    _ = machine.receive(Array(whole[..<5]), packetBoundary: start)
    #expect(machine.wholeFrame(in: whole.span, packetBoundary: start) == nil)
  }

  /// Every fragment size, those that split the length field and the channel among them.
  @Test(arguments: 1...40) func joinsFragmentsOfEverySize(size: Int) {
    var machine = Reassembler()
    for length in [0, 1, 19, 23, 30, 65] {
      let octets = frame(length)
      let outcome = feed(octets, size: size, to: &machine)
      if size >= octets.count {
        #expect(outcome == Outcome(frame: .inFragment(.attributeProtocol, payload: 4..<octets.count)))
      } else {
        #expect(outcome == Outcome(frame: .assembled(.attributeProtocol)))
        let whole = machine.takeFrame()
        #expect(whole == octets)
        machine.reuse(whole)
      }
    }
  }

  @Test func acceptsFragmentsWithoutOctets() {
    var machine = Reassembler()
    let empty: [UInt8] = []
    #expect(machine.receive(empty, packetBoundary: start) == Outcome())
    let octets = frame(3)
    #expect(machine.receive(octets, packetBoundary: more) == Outcome(frame: .assembled(.attributeProtocol)))
    #expect(machine.takeFrame() == octets)
  }

  @Test func dropsAnIncompleteFrameAtANewStart() {
    var machine = Reassembler()
    _ = machine.receive(Array(frame(30).prefix(20)), packetBoundary: start)
    let outcome = machine.receive(frame(5), packetBoundary: start)
    #expect(outcome.dropped == .unfinished(received: 20, expected: 34))
    #expect(outcome.frame == .inFragment(.attributeProtocol, payload: 4..<9))
    // The rest of the old frame is a continuation without a start.
    #expect(
      machine.receive([1, 2], packetBoundary: more) == Outcome(dropped: .continuationWithoutStart(octets: 2)))
  }

  @Test func dropsAnIncompleteHeaderAtANewStart() {
    var machine = Reassembler()
    _ = machine.receive([5], packetBoundary: start)
    #expect(machine.receive([5, 0], packetBoundary: start).dropped == .unfinished(received: 1, expected: nil))
  }

  @Test func dropsAContinuationWithoutAStart() {
    var machine = Reassembler()
    #expect(
      machine.receive(frame(2), packetBoundary: more) == Outcome(dropped: .continuationWithoutStart(octets: 6)))
    // After a complete frame there is nothing to continue.
    _ = machine.receive(frame(2), packetBoundary: start)
    #expect(machine.receive([1], packetBoundary: more) == Outcome(dropped: .continuationWithoutStart(octets: 1)))
  }

  @Test func dropsAFrameLongerThanItsHeader() {
    var machine = Reassembler()
    #expect(
      machine.receive((frame(2) + [9]), packetBoundary: start)
        == Outcome(dropped: .overlong(received: 7, expected: 6)))
    _ = machine.receive(Array(frame(8).prefix(6)), packetBoundary: start)
    #expect(
      machine.receive(Array(repeating: 0, count: 7), packetBoundary: more)
        == Outcome(dropped: .overlong(received: 13, expected: 12)))
    // The next frame is complete.
    #expect(machine.receive(frame(2), packetBoundary: start).frame != nil)
  }

  @Test func dropsTheReservedBoundaryFlag() {
    var machine = Reassembler()
    #expect(machine.receive(frame(2), packetBoundary: 0b11) == Outcome(dropped: .reservedBoundary))
  }

  @Test func skipsAPayloadAboveTheLimit() {
    var machine = Reassembler(maximumPayload: 40)
    #expect(feed(frame(40), size: 44, to: &machine).frame == .inFragment(.attributeProtocol, payload: 4..<44))
    #expect(feed(frame(40), size: 10, to: &machine).frame == .assembled(.attributeProtocol))

    // One octet above: reported once, with the fragment that has the length; the rest is skipped.
    let octets = frame(41)
    #expect(machine.receive(octets, packetBoundary: start) == Outcome(dropped: .aboveLimit(payload: 41)))
    #expect(
      machine.receive(Array(octets[..<20]), packetBoundary: start) == Outcome(dropped: .aboveLimit(payload: 41)))
    #expect(machine.receive(Array(octets[20..<40]), packetBoundary: more) == Outcome())
    #expect(machine.receive(Array(octets[40...]), packetBoundary: more) == Outcome())
    #expect(machine.receive([1], packetBoundary: more).dropped == .continuationWithoutStart(octets: 1))
    #expect(machine.receive(frame(3), packetBoundary: start).frame != nil)
  }

  @Test func joins65535Octets() {
    var machine = Reassembler()
    let octets = frame(Reassembler.defaultMaximumPayload)
    #expect(feed(octets, size: 251, to: &machine).frame == .assembled(.attributeProtocol))
    let whole = machine.takeFrame()
    #expect(whole == octets)
    machine.reuse(whole)
    #expect(feed(frame(30), size: 27, to: &machine).frame == .assembled(.attributeProtocol))
  }

  /// Any fragments in any order do not trap, and a frame has the length of its header.
  @Test func anyFragmentsGiveFramesOfTheirLength() {
    var source = SplitMix64(seed: 1)
    var machine = Reassembler(maximumPayload: 64)
    for _ in 0..<5000 {
      var fragment = (0..<Int.random(in: 0...30, using: &source)).map { _ in
        UInt8.random(in: 0...255, using: &source)
      }
      // A short length from time to time, so that complete frames occur.
      if fragment.count >= 2, Bool.random(using: &source) {
        (fragment[0], fragment[1]) = (UInt8.random(in: 0...66, using: &source), 0)
      }
      switch machine.receive(fragment, packetBoundary: .random(in: 0...3, using: &source)).frame {
      case .inFragment(_, let payload):
        let header = BasicHeader(fragment.span)
        #expect(payload.count == header.map { Int($0.length) })
        #expect(payload.upperBound == fragment.count)
      case .assembled:
        let whole = machine.takeFrame()
        #expect((try? BasicFrame(decoding: whole[...])) != nil)
        machine.reuse(whole)
      case nil: break
      }
    }
  }
}
