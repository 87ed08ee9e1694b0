import Testing

@testable import BLEWire

@Suite struct RecencyTableTests {
  @Test func theSlotThatWasNotUsedForTheLongestTimeIsTheOldest() {
    var order = RecencyOrder()
    #expect(order.oldest == nil && order.slots.isEmpty)
    for slot in 0..<4 { order.append(slot) }
    order.touch(0)
    order.touch(2)
    order.touch(2)
    #expect(order.slots == [1, 3, 0, 2] && order.oldest == 1)
  }

  @Test func aRemovedSlotCanBeUsedAgain() {
    var order = RecencyOrder()
    for slot in 0..<3 { order.append(slot) }
    order.remove(1)
    #expect(order.slots == [0, 2])
    order.remove(0)
    order.remove(2)
    #expect(order.slots.isEmpty && order.oldest == nil)
    order.append(1)
    order.append(0)
    #expect(order.slots == [1, 0])
  }

  /// The table finds what a dictionary finds, after any sequence of insertions and removals.
  @Test(arguments: 1...8) func findsTheKeysThatAreThere(seed: UInt64) {
    var random = seed
    func next(_ limit: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % limit
    }
    var table = RecencyTable()
    var expected: [UInt64: Int] = [:]
    for step in 0..<20_000 {
      // Few different keys, so that most of them are added and removed many times.
      let key = next(500) << (next(2) * 40)
      if let slot = expected[key] {
        #expect(table.slot(of: key) == slot && table.key(at: slot) == key)
        if next(2) == 0 { table.touch(slot) } else { table.remove(slot) }
        if !table.slots.contains(slot) { expected[key] = nil }
      } else {
        #expect(table.slot(of: key) == nil)
        let slot = table.insert(key)
        #expect(!expected.values.contains(slot) && slot <= expected.count + 600)
        expected[key] = slot
      }
      if step % 1000 == 0 {
        #expect(table.count == expected.count)
        for (key, slot) in expected { #expect(table.slot(of: key) == slot) }
      }
    }
    #expect(Set(table.slots) == Set(expected.values))
  }

  @Test func theOldestKeyIsTheOneThatWasNotUsed() {
    var table = RecencyTable()
    let slots = (0..<40_000 as Range<UInt64>).map { table.insert($0) }
    #expect(slots == Array(0..<40_000) && table.oldest == 0)
    table.touch(0)
    #expect(table.oldest == 1 && table.key(at: 1) == 1)
    table.remove(1)
    #expect(table.oldest == 2 && table.slot(of: 1) == nil && table.insert(99_999) == 1)
  }
}
