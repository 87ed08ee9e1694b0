/// A queue in reused memory: elements are appended at the end and removed at the front.
///
/// It does not free the memory of an element that is removed: assign an empty one before, where that matters.
@usableFromInline package struct FIFO<Element: Sendable>: Sendable {
  /// The queue is from ``start`` to ``end``; the elements around it were removed.
  @usableFromInline package var memory: [Element] = []
  @usableFromInline var start = 0
  @usableFromInline var end = 0

  @inlinable package init() {}

  @inlinable package var count: Int { end - start }
  @inlinable package var isEmpty: Bool { start == end }
  @inlinable package var first: Element? { isEmpty ? nil : memory[start] }
  /// All elements, the first one first.
  @inlinable package var elements: ArraySlice<Element> { memory[start..<end] }

  @inline(__always)
  @inlinable package mutating func append(_ element: Element) {
    if end < memory.count { memory[end] = element } else { memory.append(element) }
    end += 1
  }

  /// Takes memory that is enough as long as ``count`` is at most `count`, however many elements are removed in between.
  @inlinable package mutating func reserveCapacity(_ count: Int) {
    memory.reserveCapacity(max(2 * count, count + Self.removedLimit))
  }

  /// The number of removed elements before the others from which these may be moved.
  @inlinable static var removedLimit: Int {
    #if hasFeature(Embedded)
      8
    #else
      64
    #endif
  }

  /// The element behind `place` others, which must be less than ``count``.
  @inlinable package subscript(place: Int) -> Element {
    get { memory[start + place] }
    set { memory[start + place] = newValue }
  }

  /// Removes the first elements, at most ``count``.
  @inline(__always)
  @inlinable package mutating func removeFirst(_ count: Int) {
    start += min(count, self.count)
    if start == end {
      (start, end) = (0, 0)
    } else if start >= Self.removedLimit, start > end / 2 {
      // Rarely enough that moving the others is cheap.
      memory.removeSubrange(0..<start)
      (start, end) = (0, end - start)
    }
  }
}

/// Octets in a reused block of memory: appended at the end, removed at the front.
///
/// The octets are from ``start`` to ``end`` of an array that does not shrink: appending to an array, and emptying one,
/// takes more instructions than writing to memory that the array already has.
@usableFromInline package struct OctetQueue: Sendable {
  /// The octets are in the range from ``start`` to ``end``; the others were removed.
  @usableFromInline package var memory: [UInt8] = []
  @usableFromInline package var start = 0
  @usableFromInline package var end = 0

  /// Removed octets that stay before the others. Emptying an array costs more than beginning behind its octets.
  @usableFromInline static var removedLimit: Int {
    #if hasFeature(Embedded)
      64
    #else
      1024
    #endif
  }

  @inlinable package init() {}

  @inlinable package var count: Int { end - start }
  @inlinable package var isEmpty: Bool { start == end }

  /// Appends the octets of `header`, then those of `body`.
  @inline(__always)
  @inlinable package mutating func append(_ header: Span<UInt8>, _ body: Span<UInt8>) {
    let (first, middle) = (end, end + header.count)
    let last = middle + body.count
    if last > memory.count { grow(to: last) }
    memory.withUnsafeMutableBytes { memory in
      guard let target = memory.baseAddress else { return }
      header.withUnsafeBytes {
        if let source = $0.baseAddress { unsafe (target + first).copyMemory(from: source, byteCount: $0.count) }
      }
      body.withUnsafeBytes {
        if let source = $0.baseAddress { unsafe (target + middle).copyMemory(from: source, byteCount: $0.count) }
      }
    }
    end = last
  }

  /// Removes the first octets, at most ``count``.
  @inlinable package mutating func removeFirst(_ count: Int) {
    start += min(count, self.count)
    if start == end {
      (start, end) = (0, 0)
    } else if start > 4096, start > end / 2 {
      // Rarely enough that moving the others is cheap.
      memory.removeSubrange(0..<start)
      (start, end) = (0, end - start)
    }
  }

  /// Removes all octets and keeps the memory.
  @inlinable package mutating func removeAll() { (start, end) = (0, 0) }

  /// Lets the array end where the queue ends, so that octets can be appended to the array itself.
  @inlinable mutating func prepareMemory() {
    guard memory.count != end else { return }
    if isEmpty, memory.count <= Self.removedLimit {
      (start, end) = (memory.count, memory.count)
    } else {
      memory.removeSubrange(end...)
    }
  }

  /// Takes memory that is enough as long as ``count`` is at most `count`, with ``makeRoom(for:)`` before each append.
  package mutating func reserveCapacity(_ count: Int) {
    if memory.count < count + count / 7 + 1 { grow(to: count + count / 7 + 1) }
  }

  /// Lets removed octets make room for `count` more if the memory has none behind the others. The places of all octets
  /// change.
  package mutating func makeRoom(for count: Int) {
    guard end + count > memory.count else { return }
    for place in start..<end { memory[place - start] = memory[place] }
    (start, end) = (0, end - start)
  }

  @usableFromInline mutating func grow(to count: Int) {
    memory += repeatElement(0, count: max(count, 2 * memory.count, 64) - memory.count)
  }
}
