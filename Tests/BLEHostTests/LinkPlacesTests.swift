import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// The places of links by handle and by name.
@Suite("Places of links") struct LinkPlacesTests {
  private func places(_ links: [(handle: UInt16, peer: UInt32)]) -> LinkPlaces {
    var places = LinkPlaces()
    for link in links { places.append(ConnectionHandle(rawValue: link.handle), LinkID(rawValue: link.peer)) }
    return places
  }

  private func places(of handles: [UInt16], in places: LinkPlaces) -> [Int?] {
    handles.map { places[ConnectionHandle(rawValue: $0)] }
  }

  private func places(of peers: [UInt32], in places: LinkPlaces) -> [Int?] {
    peers.map { places[LinkID(rawValue: $0)] }
  }

  @Test func findsEachLinkByHandleAndByName() {
    let places = places([(0x0EFF, 2), (0, 5), (7, 6), (3, 9), (4, 11)])
    #expect(self.places(of: [0x0EFF, 0, 7, 3, 4] as [UInt16], in: places) == [0, 1, 2, 3, 4])
    #expect(self.places(of: [2, 5, 6, 9, 11] as [UInt32], in: places) == [0, 1, 2, 3, 4])
  }

  @Test func findsNoOtherHandleOrName() {
    let places = places([(1, 2), (3, 5)])
    #expect(self.places(of: [0, 2, 4, 0x0EFF] as [UInt16], in: places) == [nil, nil, nil, nil])
    #expect(self.places(of: [0, 1, 3, 4, 6, .max] as [UInt32], in: places) == [nil, nil, nil, nil, nil, nil])
    #expect(self.places(of: [1] as [UInt32], in: LinkPlaces()) == [nil])
  }

  @Test func linksBehindOneThatIsTakenOutMove() {
    var places = places([(8, 1), (9, 2), (5, 3)])
    places.remove(at: 1)
    #expect(self.places(of: [8, 9, 5] as [UInt16], in: places) == [0, nil, 1])
    #expect(self.places(of: [1, 2, 3] as [UInt32], in: places) == [0, nil, 1])
  }

  @Test func findsLinksWhereTheirNumberPasses32Bits() {
    let places = places([(1, UInt32.max - 1), (2, .max), (3, 0), (4, 1)])
    #expect(self.places(of: [.max - 1, .max, 0, 1] as [UInt32], in: places) == [0, 1, 2, 3])
    #expect(self.places(of: [.max - 2, 2] as [UInt32], in: places) == [nil, nil])
  }
}
