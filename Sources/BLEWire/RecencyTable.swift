/// Keys in slots, and the order in which they were last used. Finding, adding, using or removing one takes the same
/// time for any number of keys.
///
/// Slots are numbered from 0 without gaps, so that data of a key can be in an array. The slot of a removed key is used
/// again.
///
/// ```swift
/// var table = RecencyTable()
/// let slot = table.insert(0xC011_2233_4455)
/// table.touch(slot)
/// assert(table.slot(of: 0xC011_2233_4455) == slot && table.oldest == slot)
/// ```
package struct RecencyTable: Sendable {
  private var index = SlotIndex()
  private var keys: ContiguousArray<UInt64> = []
  private var order = RecencyOrder()
  /// Slots of removed keys.
  private var free: ContiguousArray<Int> = []

  package init() {}

  package var count: Int { keys.count - free.count }
  /// The slot that was not used for the longest time.
  package var oldest: Int? { order.oldest }
  /// The slots, the one used last at the end.
  package var slots: [Int] { order.slots }

  package func slot(of key: UInt64) -> Int? { index.slot(of: key, in: keys) }

  /// The key in a slot that is in use.
  package func key(at slot: Int) -> UInt64 { keys[slot] }

  /// Makes a slot that is in use the one used last.
  package mutating func touch(_ slot: Int) { order.touch(slot) }

  /// Adds a key that is not there, as the one used last.
  ///
  /// - Returns: its slot: one of a removed key, or the next number.
  package mutating func insert(_ key: UInt64) -> Int {
    let slot: Int
    if let last = free.popLast() {
      slot = last
      keys[slot] = key
    } else {
      slot = keys.count
      keys.append(key)
    }
    index.insert(slot, in: keys)
    order.append(slot)
    return slot
  }

  /// Removes the key of a slot that is in use.
  package mutating func remove(_ slot: Int) {
    index.remove(slot, in: keys)
    order.remove(slot)
    free.append(slot)
  }
}

/// Slots by the keys in them, by open addressing with linear probing: at most half of the places are taken.
private struct SlotIndex: Sendable {
  /// The number of a slot plus one; 0 for an empty place. The number of places is a power of two.
  private var places: ContiguousArray<UInt32> = []
  private var count = 0
  private var shift: UInt64 = 64
  /// Odd, and different in each process: an advertiser cannot choose addresses that collide.
  private let multiplier = UInt64(bitPattern: Int64(Hasher().finalize())) | 1

  func slot(of key: UInt64, in keys: ContiguousArray<UInt64>) -> Int? {
    guard count > 0 else { return nil }
    var place = home(of: key)
    while case let entry = places[place], entry != 0 {
      let slot = Int(entry) - 1
      if keys[slot] == key { return slot }
      place = (place + 1) & (places.count - 1)
    }
    return nil
  }

  mutating func insert(_ slot: Int, in keys: ContiguousArray<UInt64>) {
    if (count + 1) * 2 > places.count { grow(keys) }
    add(slot, keys[slot])
    count += 1
  }

  mutating func remove(_ slot: Int, in keys: ContiguousArray<UInt64>) {
    var place = home(of: keys[slot])
    while places[place] != UInt32(slot + 1) { place = (place + 1) & (places.count - 1) }
    // The entries behind it move up, but not before the place where their search begins.
    var next = place
    while true {
      next = (next + 1) & (places.count - 1)
      guard places[next] != 0 else { break }
      let home = home(of: keys[Int(places[next]) - 1])
      guard (next &- home) & (places.count - 1) >= (next &- place) & (places.count - 1) else { continue }
      places[place] = places[next]
      place = next
    }
    places[place] = 0
    count -= 1
  }

  /// Where the search for a key begins.
  private func home(of key: UInt64) -> Int {
    let mixed = (key ^ key >> 32) &* multiplier
    return Int(truncatingIfNeeded: mixed >> shift)
  }

  private mutating func add(_ slot: Int, _ key: UInt64) {
    var place = home(of: key)
    while places[place] != 0 { place = (place + 1) & (places.count - 1) }
    places[place] = UInt32(slot + 1)
  }

  private mutating func grow(_ keys: ContiguousArray<UInt64>) {
    let before = places
    places = ContiguousArray(repeating: 0, count: max(16, before.count * 2))
    shift = UInt64(64 - places.count.trailingZeroBitCount)
    for entry in before where entry != 0 { add(Int(entry) - 1, keys[Int(entry) - 1]) }
  }
}

/// The order in which slots were last used: a list whose links are numbers.
struct RecencyOrder: Sendable {
  private struct Links: Sendable {
    /// The number of a slot plus one; 0 for none.
    var previous: UInt32 = 0
    var next: UInt32 = 0
  }

  private var links: ContiguousArray<Links> = []
  private var first: UInt32 = 0
  private var last: UInt32 = 0

  init() {}

  /// The slot that was not used for the longest time.
  var oldest: Int? { first == 0 ? nil : Int(first) - 1 }

  /// Adds a slot that is not in the list, as the one used last. Slots are numbered from 0 without gaps.
  mutating func append(_ slot: Int) {
    while links.count <= slot { links.append(Links()) }
    let entry = UInt32(slot + 1)
    links[slot] = Links(previous: last, next: 0)
    if last == 0 { first = entry } else { links[Int(last) - 1].next = entry }
    last = entry
  }

  /// Removes a slot that is in the list.
  mutating func remove(_ slot: Int) {
    let removed = links[slot]
    if removed.previous == 0 { first = removed.next } else { links[Int(removed.previous) - 1].next = removed.next }
    if removed.next == 0 { last = removed.previous } else { links[Int(removed.next) - 1].previous = removed.previous }
    links[slot] = Links()
  }

  /// Makes a slot that is in the list the one used last.
  mutating func touch(_ slot: Int) {
    guard UInt32(slot + 1) != last else { return }
    remove(slot)
    append(slot)
  }

  /// The slots, the one used last at the end.
  var slots: [Int] {
    var slots: [Int] = []
    var next = first
    while next != 0 {
      slots.append(Int(next) - 1)
      next = links[Int(next) - 1].next
    }
    return slots
  }
}
