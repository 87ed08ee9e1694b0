import BLEGATT
import BLEHost
import BLEWire
import Testing

@testable import BLEKit

/// The windows of values for each link.
struct WaitingUpdatesTests {
  private var windows = WaitingUpdates()
  private let slow = LinkID(rawValue: 1)
  private let fast = LinkID(rawValue: 2)

  /// Takes the next value, and returns the links that it is sent to now.
  private mutating func append(_ number: UInt64, to peers: [LinkID]) throws(BLEError) -> [LinkID] {
    let value = WaitingUpdates.Value(attribute: AttributeID(rawValue: 1), octets: [])
    return Self.sent(try windows.append(value, UpdateToken(rawValue: number), to: peers)).flatMap(\.peers)
  }

  private static func sent(_ commands: [HostCommand]) -> [(token: UInt64, peers: [LinkID])] {
    commands.compactMap { if case .update(let token, _, _, let peers) = $0 { (token.rawValue, peers) } else { nil } }
  }

  /// The values that are sent when one has left on a link.
  private mutating func finish(on peer: LinkID) -> [UInt64] {
    Self.sent(windows.finished(on: peer)).map(\.token)
  }

  @Test mutating func aLinkThatTakesNothingHoldsUpNoOther() throws {
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow, fast]) == [slow, fast]) }
    #expect(try append(16, to: [slow, fast]).isEmpty)
    for _ in 0..<15 { #expect(finish(on: fast).isEmpty) }
    #expect(finish(on: fast) == [16], "it has taken all, the other one nothing")
    for number in 17..<1_000 as Range<UInt64> {
      #expect(finish(on: fast).isEmpty)
      #expect(try append(number, to: [slow, fast]) == [fast])
    }
    #expect(finish(on: slow).isEmpty)
    #expect(try append(1_000, to: [slow, fast]) == [slow, fast], "no longer late")
  }

  @Test mutating func anIdleLinkDoesNotWaitForOneThatTakesNothing() throws {
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow]) == [slow]) }
    #expect(try append(16, to: [slow, fast]) == [fast])
  }

  @Test mutating func linksOfTheSameSpeedMissNothing() throws {
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow, fast]) == [slow, fast]) }
    for number in 16..<100 as Range<UInt64> {
      #expect(try append(number, to: [slow, fast]).isEmpty)
      #expect(finish(on: fast).isEmpty)
      #expect(finish(on: slow) == [number])
    }
  }

  @Test mutating func aValueForOneLinkWaitsForItsRoomAndKeepsItsOrder() throws {
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow]) == [slow]) }
    #expect(try append(16, to: [slow]).isEmpty)
    #expect(try append(17, to: [slow]).isEmpty)
    #expect(try append(18, to: [fast]) == [fast])
    #expect(finish(on: slow) == [16])
    #expect(try append(19, to: [slow]).isEmpty, "behind the one that waits")
    #expect(finish(on: slow) == [17])
    #expect(finish(on: slow) == [19])
    #expect(finish(on: slow).isEmpty)
  }

  @Test mutating func aValueMoreThanTheLimitIsRefused() throws {
    for number in 0..<272 as Range<UInt64> { _ = try append(number, to: [slow]) }
    #expect(throws: BLEError.self) { try append(272, to: [slow]) }
    #expect(try append(273, to: [fast]) == [fast])
    let sent = windows.cancel(UpdateToken(rawValue: 20))
    #expect(sent.isEmpty)
    #expect(try append(274, to: [slow]).isEmpty)
  }

  @Test mutating func theEndOfALinkEndsWhatWaitsForItAlone() throws {
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow, fast]) == [slow, fast]) }
    #expect(try append(16, to: [slow]).isEmpty)
    #expect(try append(17, to: [slow, fast]).isEmpty)
    let removed = windows.remove(slow)
    #expect(removed.lost == [UpdateToken(rawValue: 16)] && removed.commands.isEmpty)
    #expect(finish(on: slow).isEmpty)
    #expect(finish(on: fast) == [17])
    #expect(try append(18, to: [slow]) == [slow], "a new link has a window of its own")
  }

  @Test mutating func aLinkWithRoomMissesNothingBecauseOfAnotherOne() throws {
    let third = LinkID(rawValue: 3)
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow]) == [slow]) }
    #expect(try append(16, to: [third]) == [third])
    #expect(try append(17, to: [slow, third]).isEmpty)
    // The idle link is not to wait, and the third one has room for both.
    let value = WaitingUpdates.Value(attribute: AttributeID(rawValue: 1), octets: [])
    let sent = Self.sent(try windows.append(value, UpdateToken(rawValue: 18), to: [fast, third]))
    #expect(sent.map(\.token) == [17, 18])
    #expect(sent.map(\.peers) == [[third], [fast, third]])
  }

  @Test mutating func aLinkThatHasTakenAllWaitsForNoneThatWaitsItself() throws {
    let third = LinkID(rawValue: 3)
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow]) == [slow]) }
    for number in 16..<20 as Range<UInt64> { #expect(try append(number, to: [fast, third]) == [fast, third]) }
    #expect(try append(20, to: [slow, third]).isEmpty)
    #expect(try append(21, to: [fast, third]).isEmpty)
    #expect(finish(on: third).isEmpty)
    for _ in 0..<3 { #expect(finish(on: fast).isEmpty) }
    #expect(finish(on: fast) == [20, 21])
  }

  @Test mutating func aValueForALateLinkAloneWaits() throws {
    for number in 0..<16 as Range<UInt64> { #expect(try append(number, to: [slow, fast]) == [slow, fast]) }
    for _ in 0..<16 { _ = finish(on: fast) }
    #expect(try append(16, to: [slow, fast]) == [fast])
    #expect(try append(17, to: [slow]).isEmpty)
    #expect(finish(on: slow) == [17])
  }
}
