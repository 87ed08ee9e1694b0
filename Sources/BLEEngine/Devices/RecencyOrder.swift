/// The order in which the slots of a table were last used, in constant time: a list whose links are numbers.
///
/// ```swift
/// var order = RecencyOrder()
/// order.append(0)
/// order.append(1)
/// order.touch(0)
/// assert(order.oldest == 1)
/// ```
struct RecencyOrder: Sendable {
  private struct Links: Sendable {
    var previous: Int?
    var next: Int?
  }

  private var links: ContiguousArray<Links> = []
  /// The slot that was not used for the longest time.
  private(set) var oldest: Int?
  private var newest: Int?

  init() {}

  /// Adds a slot that is not in the list, as the one used last. Slots are numbered from 0 without gaps.
  mutating func append(_ slot: Int) {
    while links.count <= slot { links.append(Links()) }
    links[slot] = Links(previous: newest, next: nil)
    if let newest { links[newest].next = slot } else { oldest = slot }
    newest = slot
  }

  /// Removes a slot that is in the list.
  mutating func remove(_ slot: Int) {
    let (previous, next) = (links[slot].previous, links[slot].next)
    if let previous { links[previous].next = next } else { oldest = next }
    if let next { links[next].previous = previous } else { newest = previous }
    links[slot] = Links()
  }

  /// Makes a slot that is in the list the one used last.
  mutating func touch(_ slot: Int) {
    guard slot != newest else { return }
    remove(slot)
    append(slot)
  }

  /// The slots, the one used last at the end.
  var slots: [Int] {
    var slots: [Int] = []
    var next = oldest
    while let slot = next {
      slots.append(slot)
      next = links[slot].next
    }
    return slots
  }
}
