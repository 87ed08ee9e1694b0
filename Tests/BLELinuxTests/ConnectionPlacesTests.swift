import BLEWire
import Testing

@testable import BLELinux

/// Which connections a server has a place for.
@Suite struct ConnectionPlacesTests {
  private static func address(_ number: Int) -> HostAddress { .ipv4([10, 0, 0, UInt8(truncatingIfNeeded: number)]) }
  private let home = Self.address(1)
  private let stranger = Self.address(2)

  private func places(_ clients: Int, burst: Int = 1000) -> ConnectionPlaces {
    var limits = ConnectionPlaces.Limits(clients: clients)
    limits.burst = burst
    return ConnectionPlaces(limits)
  }

  @Test func theNetworkWithTheMostUnprovenClientsLosesItsOldest() {
    var places = places(4)
    for token in 1...3 as ClosedRange<UInt64> { #expect(places.add(token, from: stranger, now: .start) == .admitted) }
    #expect(places.add(4, from: home, now: .start) == .admitted)
    #expect(places.add(5, from: home, now: .start) == .admittedInPlace(of: 1))
    // Now both have two; the newcomer counts.
    #expect(places.add(6, from: stranger, now: .start) == .admittedInPlace(of: 2))
    #expect(places.add(7, from: home, now: .start) == .admittedInPlace(of: 4))
  }

  @Test func aFloodFromOneNetworkTakesNoPlaceOfAnother() {
    var places = places(16)
    #expect(places.add(1, from: home, now: .start) == .admitted)
    for token in 2...1000 as ClosedRange<UInt64> {
      if case .admittedInPlace(of: 1) = places.add(token, from: stranger, now: .start) { Issue.record("\(token)") }
    }
    places.prove(1)
    #expect(places.add(1001, from: home, now: .start) != .full)
  }

  @Test func aProvenClientKeepsItsPlace() {
    var places = places(2)
    for token in 1...2 as ClosedRange<UInt64> {
      #expect(places.add(token, from: stranger, now: .start) == .admitted)
      places.prove(token)
    }
    #expect(places.add(3, from: home, now: .start) == .full)
    places.remove(1)
    #expect(places.add(4, from: home, now: .start) == .admitted)
  }

  /// A flood from any number of networks.
  @Test func aNetworkThatHasProvenAClientKeepsAPlaceForTheNextOne() {
    var places = places(4)
    #expect(places.add(1, from: home, now: .start) == .admitted)
    places.prove(1)
    places.remove(1)
    for token in 10...13 as ClosedRange<UInt64> { _ = places.add(token, from: Self.address(Int(token)), now: .start) }
    #expect(places.add(2, from: home, now: .start) == .admittedInPlace(of: 10))
    for token in 14...100 as ClosedRange<UInt64> {
      if case .admittedInPlace(of: 2) = places.add(token, from: Self.address(Int(token)), now: .start) {
        Issue.record("\(token)")
      }
    }
    // It keeps one: its next connection takes the place of its own.
    var other = self.places(2)
    #expect(other.add(1, from: home, now: .start) == .admitted)
    other.prove(1)
    other.remove(1)
    #expect(other.add(2, from: home, now: .start) == .admitted)
    #expect(other.add(3, from: home, now: .start) == .admitted)
    #expect(other.add(4, from: home, now: .start) == .admittedInPlace(of: 2))
  }

  @Test func clientsOfThisComputerAreProven() {
    var places = places(3, burst: 1)
    for token in 1...2 as ClosedRange<UInt64> { #expect(places.add(token, from: nil, now: .start) == .admitted) }
    #expect(places.add(3, from: stranger, now: .start) == .admitted)
    #expect(places.add(4, from: nil, now: .start) == .admittedInPlace(of: 3))
    #expect(places.add(5, from: home, now: .start) == .full)
  }

  @Test func aNetworkOpensALimitedNumberOfConnections() {
    var places = places(2, burst: 3)
    for token in 1...3 as ClosedRange<UInt64> {
      #expect(places.add(token, from: stranger, now: .start) != .tooMany)
    }
    #expect(places.add(4, from: stranger, now: .start) == .tooMany)
    #expect(places.add(5, from: home, now: .start) != .tooMany)
    let later = Instant.start + .seconds(1)
    let admitted = (6...100 as ClosedRange<UInt64>).count { places.add($0, from: stranger, now: later) != .tooMany }
    #expect(admitted == 3, "as many as at once")
    let steady = (0..<1000).count {
      places.add(1000 + UInt64($0), from: stranger, now: later + .milliseconds(10 * $0)) != .tooMany
    }
    #expect((199...201).contains(steady), "20 in a second")
  }

  @Test func networksAreBounded() {
    var places = places(2, burst: 1)
    for number in 0..<ConnectionPlaces.networkLimit {
      let network = HostAddress.ipv4([10, 1, UInt8(number >> 8), UInt8(number & 0xFF)])
      #expect(places.add(UInt64(number), from: network, now: .start + .microseconds(number)) != .tooMany)
    }
    let now = Instant.start + .milliseconds(1)
    #expect(places.add(1000, from: .ipv4([10, 1, 0, 0]), now: now) == .tooMany)
    // One more: the second one, which has been quiet for the longest time, is forgotten.
    #expect(places.add(1001, from: home, now: now) != .tooMany)
    #expect(places.add(1002, from: .ipv4([10, 1, 0, 2]), now: now) == .tooMany)
    #expect(places.add(1003, from: .ipv4([10, 1, 0, 1]), now: now) != .tooMany)
  }

  @Test func theNetworksOfAddresses() {
    #expect(HostAddress("192.168.1.2")?.network == HostAddress("192.168.1.2"))
    #expect(HostAddress("::ffff:192.168.1.2")?.network == HostAddress("192.168.1.2"))
    #expect(HostAddress("2001:db8:1:2:3:4:5:6")?.network == HostAddress("2001:db8:1:2::"))
    #expect(HostAddress("2001:db8:1:3::1")?.network != HostAddress("2001:db8:1:2::1")?.network)
  }
}
