/// Values by identifiers that were given in ascending order, such as those of links and attributes: an array in the
/// order of the identifiers. Consecutive identifiers are found at once, others by a binary search; neither computes a
/// hash.
///
/// A new key costs least if it is greater than all others; a smaller one moves those behind it.
public struct IdentifierTable<Key: RawRepresentable & Sendable, Value: Sendable>: Sendable
where Key.RawValue == UInt32 {
  /// In an array of their own, so that a search copies no values.
  @usableFromInline var numbers: [UInt32] = []
  /// A value is nil only while ``subscript(_:)`` lends it.
  @usableFromInline var slots: [Value?] = []

  /// An empty table.
  @inlinable public init() {}

  /// The number of values.
  @inlinable public var count: Int { numbers.count }
  /// Whether there is no value.
  @inlinable public var isEmpty: Bool { numbers.isEmpty }
  /// The keys in ascending order.
  @inlinable public var keys: [Key] { numbers.compactMap { Key(rawValue: $0) } }
  /// The values in the order of their keys.
  @inlinable public var values: [Value] { slots.compactMap { $0 } }

  /// Whether there is a value for a key.
  @inlinable public func contains(_ key: Key) -> Bool { has(key, at: place(of: key)) }

  /// A part of the value of a key, without a copy of the rest; nil if there is no value.
  @inlinable package func lend<Part>(_ key: Key, _ part: (borrowing Value) -> Part?) -> Part? {
    let place = place(of: key)
    guard has(key, at: place) else { return nil }
    switch slots[place] {
    case .some(let value): return part(value)
    case nil: return nil
    }
  }

  /// The value of a key; setting nil removes it. A value is changed in place.
  @inlinable public subscript(key: Key) -> Value? {
    get {
      let place = place(of: key)
      return has(key, at: place) ? slots[place] : nil
    }
    _modify {
      let place = place(of: key)
      let isThere = has(key, at: place)
      var value: Value?
      if isThere { swap(&value, &slots[place]) }
      defer {
        if value == nil {
          if isThere { remove(at: place) }
        } else if isThere {
          swap(&value, &slots[place])
        } else {
          numbers.insert(key.rawValue, at: place)
          slots.insert(value, at: place)
        }
      }
      yield &value
    }
  }

  /// Removes the value of a key and returns it; nil if there is none.
  @inlinable @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    let place = place(of: key)
    return has(key, at: place) ? remove(at: place) : nil
  }

  @inlinable @discardableResult
  mutating func remove(at place: Int) -> Value? {
    numbers.remove(at: place)
    return slots.remove(at: place)
  }

  @inlinable func has(_ key: Key, at place: Int) -> Bool {
    place < numbers.count && numbers[place] == key.rawValue
  }

  /// The place of a key, or the one where it would be.
  @inlinable func place(of key: Key) -> Int {
    let number = key.rawValue
    guard let first = numbers.first, first <= number else { return 0 }
    var high = numbers.count
    // Without gaps before it, the key is there; it is not further on.
    let direct = Int(number - first)
    if direct < high {
      if numbers[direct] == number { return direct }
      high = direct
    } else if numbers[high - 1] < number {
      return high
    }
    var low = 0
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
