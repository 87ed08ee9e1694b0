/// Values by identifiers that were given in ascending order, such as those of links and attributes: an array in the order of the
/// identifiers. Consecutive identifiers are found at once, others by a binary search; neither computes a hash.
///
/// A new key costs the least where it is greater than all others; one before them moves those behind it.
public struct IdentifierTable<Key: RawRepresentable & Sendable, Value: Sendable>: Sendable
where Key.RawValue == UInt32 {
  /// A value is nil only while ``subscript(_:)`` lends it.
  @usableFromInline var entries: [(key: Key, value: Value?)] = []

  /// An empty table.
  @inlinable public init() {}

  /// The number of values.
  @inlinable public var count: Int { entries.count }
  /// Whether there is no value.
  @inlinable public var isEmpty: Bool { entries.isEmpty }
  /// The keys in ascending order.
  @inlinable public var keys: [Key] { entries.map(\.key) }
  /// The values in the order of their keys.
  @inlinable public var values: [Value] { entries.compactMap(\.value) }

  /// The value of a key; setting nil removes it. A value is changed in place.
  @inlinable public subscript(key: Key) -> Value? {
    get {
      let place = place(of: key)
      return has(key, at: place) ? entries[place].value : nil
    }
    _modify {
      let place = place(of: key)
      let isThere = has(key, at: place)
      var value: Value?
      if isThere { swap(&value, &entries[place].value) }
      defer {
        if value == nil {
          if isThere { entries.remove(at: place) }
        } else if isThere {
          swap(&value, &entries[place].value)
        } else {
          entries.insert((key, value), at: place)
        }
      }
      yield &value
    }
  }

  /// Reads a value without a copy.
  @inlinable public func read<Result>(_ key: Key, _ body: (borrowing Value) -> Result) -> Result? {
    let place = place(of: key)
    guard has(key, at: place), let result = entries[place].value.map({ body($0) }) else { return nil }
    return result
  }

  /// Removes the value of a key, and returns it; nil where there is none.
  @inlinable @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    let place = place(of: key)
    return has(key, at: place) ? entries.remove(at: place).value : nil
  }

  @inlinable func has(_ key: Key, at place: Int) -> Bool {
    place < entries.count && entries[place].key.rawValue == key.rawValue
  }

  /// The place of a key, or the one where it would be.
  @inlinable func place(of key: Key) -> Int {
    let number = key.rawValue
    guard let first = entries.first?.key.rawValue, first <= number else { return 0 }
    var high = entries.count
    // Without gaps before it, the key is there; it is not further on.
    let direct = Int(number - first)
    if direct < high {
      if entries[direct].key.rawValue == number { return direct }
      high = direct
    } else if entries[high - 1].key.rawValue < number {
      return high
    }
    var low = 0
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key.rawValue < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
