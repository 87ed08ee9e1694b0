import Testing

@testable import BLEEngine

@Suite struct RecencyOrderTests {
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
}
