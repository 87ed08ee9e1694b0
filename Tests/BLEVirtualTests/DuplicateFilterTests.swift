import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// The filter of duplicates (Vol 6, Part B, 4.3.3), which a controller may clear at any time.
struct DuplicateFilterTests {
  private func pdu(_ number: Int) -> DuplicateFilter.ReceivedPDU {
    let address = DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public)
    return .init(address: address, isScanResponse: false, isLegacyPDU: true, sid: 0xFF, dataIdentifier: 0)
  }

  @Test func aFullFilterIsClearedAndPDUsAreReportedAgain() {
    var filter = DuplicateFilter(isEnabled: true)
    let last = DuplicateFilter.size - 1
    let areNew = (0..<last).map { filter.isNew(pdu($0)) }
    #expect(areNew.allSatisfy { $0 })
    let again = [0, last, 0, 0].map { filter.isNew(pdu($0)) }
    #expect(again == [false, true, true, false])
  }
}
