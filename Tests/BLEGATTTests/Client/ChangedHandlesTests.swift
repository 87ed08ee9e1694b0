import BLEATT
import BLEGATT
import Testing

@Suite("Handles that have changed") struct ChangedHandlesTests {
  @Test func aRangeThatIsDiscoveredAgainIsTakenOut() {
    var changed = ChangedHandles()
    changed.insert(0x10...0x1F)
    changed.insert(0x18...0x2F)
    changed.remove(0x14...0x17)
    #expect(
      [0x0F, 0x10, 0x13, 0x14, 0x17, 0x18, 0x2F, 0x30].map { changed.contains($0) }
        == [false, true, true, false, false, true, true, false])
    #expect(changed.overlaps(0x17...0x18) && !changed.overlaps(0x14...0x17))
    changed.remove(0x01 ... .last)
    #expect(changed.isEmpty)
    changed.insert(.first ... .last)
    changed.remove(.first ... .first)
    changed.remove(.last ... .last)
    #expect(!changed.contains(.first) && changed.contains(2) && changed.contains(0xFFFE) && !changed.contains(.last))
  }

  /// With too many ranges, everything between the first and the last counts as changed.
  @Test func theNumberOfRangesIsLimited() {
    var changed = ChangedHandles()
    for number in 0..<ChangedHandles.limit {
      let handle = AttributeHandle(UInt16(10 + 2 * number))
      changed.insert(handle...handle)
    }
    #expect(!changed.contains(11))
    changed.insert(0x1000...0x1000)
    #expect(changed.contains(11) && changed.contains(0x800) && !changed.contains(9) && !changed.contains(0x1001))
  }
}
