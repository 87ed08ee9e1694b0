/// Values handed over to be notified, and how many copies of each are still on their way.
///
/// The marks of their frames are consecutive numbers, so that a mark is the place of its entry. An entry whose value has left
/// stays until those before it have left, too. Values usually finish in order: a search finds the first at once. Those that a client
/// confirms late are set aside when ``limit`` later values have overtaken them, so that they keep no entries of finished values.
struct PendingUpdates: Sendable {
  /// A value on its way.
  struct Entry: Sendable {
    var token: UpdateToken
    /// Whether the value is one of an ``UpdateRun``, whose token is the host's own.
    var isCounted: Bool
    var owner: OwnerID
    /// Zero for a value that has left.
    fileprivate var copies: Int

    /// The event when it has left.
    var event: AddressedEvent<HostEvent> {
      AddressedEvent(isCounted ? .updatesFinished(1) : .updateFinished(token), to: owner.recipient)
    }
  }
  /// The entries are from ``start`` to ``end``, in order; the memory around them is used again.
  private var entries: [Entry] = []
  private var start = 0
  private var end = 0
  /// The mark of the first entry from ``start`` on.
  private var firstTag: UInt32 = 1
  private var count = 0
  /// The values that were set aside, by their marks; at most ``limit``.
  private var overtaken: [UInt32: Entry] = [:]
  /// The greatest token so far: tokens ascend, nearly always.
  private var greatest: UInt64 = 0
  /// Values on their way at once.
  let limit: Int
  /// The mark of the frames of credit-based channels, which no value has.
  static let channelTag: UInt32 = .max

  init(limit: Int) { self.limit = limit }

  /// Entries that take memory: at most twice ``limit``, and those that were set aside.
  var places: Int { end - start + overtaken.count }

  /// Takes a value in, with one copy that stands for the handing over itself.
  ///
  /// - Returns: the mark of the value's frames in the scheduler; nil when ``limit`` are there already.
  mutating func begin(_ token: UpdateToken, of owner: OwnerID) -> UInt32? {
    guard count < limit, token.rawValue > greatest || !contains(token), let tag = nextTag() else { return nil }
    append(Entry(token: token, isCounted: false, owner: owner, copies: 1))
    greatest = max(greatest, token.rawValue)
    return tag
  }

  /// Takes in a value of an ``UpdateRun``, as ``begin(_:of:)``.
  ///
  /// - Parameter copies: those that the caller sends, at least one.
  @inline(__always)
  mutating func beginCounted(copies: Int, of owner: OwnerID) -> UInt32? {
    guard count < limit, let tag = nextTag() else { return nil }
    append(Entry(token: .counted(tag), isCounted: true, owner: owner, copies: copies))
    return tag
  }

  /// The mark of the next value; nil where there is none.
  @inline(__always)
  private mutating func nextTag() -> UInt32? {
    // Numbers are used again from the first one on while no value is on its way.
    if start == end, firstTag >= UInt32.max / 2, overtaken.isEmpty { firstTag = 1 }
    let tag = firstTag &+ UInt32(truncatingIfNeeded: end - start)
    return tag >= firstTag && tag < Self.channelTag ? tag : nil
  }

  @inline(__always)
  private mutating func append(_ entry: Entry) {
    if end - start >= 2 * limit { setAside() }
    if end < entries.count { entries[end] = entry } else { entries.append(entry) }
    end += 1
    count += 1
  }

  /// Sets aside what is left of the older half of the entries.
  private mutating func setAside() {
    let middle = start + limit
    for index in start..<middle where entries[index].copies > 0 {
      overtaken[firstTag &+ UInt32(truncatingIfNeeded: index - start)] = entries[index]
    }
    entries.removeSubrange(0..<middle)
    firstTag &+= UInt32(truncatingIfNeeded: limit)
    (start, end) = (0, end - middle)
    if start < end, entries[start].copies <= 0 { removeFinished() }
  }

  mutating func addCopy(of token: UpdateToken) {
    // The value was handed over last.
    guard let index = entries[start..<end].lastIndex(where: { $0.token == token }) else { return }
    entries[index].copies += 1
  }

  /// The same for the value whose frames have this mark.
  mutating func addCopy(tag: UInt32) {
    if let index = index(ofTag: tag) { entries[index].copies += 1 } else { overtaken[tag]?.copies += 1 }
  }

  /// The value, where it was the last copy.
  mutating func finishCopy(of token: UpdateToken) -> Entry? {
    if let index = index(of: token) { return finishCopy(at: index) }
    return overtaken.first { $0.value.token == token }.flatMap { finishOvertaken($0.key) }
  }

  /// The same for the value whose frames have this mark.
  @inline(__always)
  mutating func finishCopy(tag: UInt32) -> Entry? {
    guard let index = index(ofTag: tag) else { return overtaken.isEmpty ? nil : finishOvertaken(tag) }
    return finishCopy(at: index)
  }

  private mutating func finishOvertaken(_ tag: UInt32) -> Entry? {
    guard var entry = overtaken[tag] else { return nil }
    entry.copies -= 1
    overtaken[tag] = entry.copies > 0 ? entry : nil
    guard entry.copies <= 0 else { return nil }
    count -= 1
    return entry
  }

  @inline(__always)
  private mutating func finishCopy(at index: Int) -> Entry? {
    let entry = entries[index]
    entries[index].copies = entry.copies - 1
    guard entry.copies <= 1 else { return nil }
    count -= 1
    if index == start { removeFinished() }
    return entry
  }

  /// Removes the first entry, which is finished, and those behind it that are.
  @inline(__always)
  private mutating func removeFinished() {
    repeat {
      start += 1
      firstTag &+= 1
    } while start < end && entries[start].copies <= 0
    if start == end {
      (start, end) = (0, 0)
    } else if start >= limit {
      entries.removeSubrange(0..<start)
      (start, end) = (0, end - start)
    }
  }

  func token(of tag: UInt32) -> UpdateToken? {
    index(ofTag: tag).map { entries[$0].token } ?? overtaken[tag]?.token
  }

  /// The entry of a value that is on its way.
  @inline(__always)
  private func index(ofTag tag: UInt32) -> Int? {
    guard tag >= firstTag, Int(tag - firstTag) < end - start else { return nil }
    let index = start + Int(tag - firstTag)
    return entries[index].copies > 0 ? index : nil
  }

  private func contains(_ token: UpdateToken) -> Bool {
    index(of: token) != nil || overtaken.values.contains { $0.token == token }
  }

  private func index(of token: UpdateToken) -> Int? {
    entries[start..<end].firstIndex { $0.token == token && $0.copies > 0 }
  }
}

/// The events of values that have left. Successive values of one owner that are only counted have one event.
struct CountedUpdates: Sendable {
  private var owner = OwnerID.process
  private var count = 0

  @inline(__always)
  mutating func append(_ finished: PendingUpdates.Entry, into events: inout [AddressedEvent<HostEvent>]) {
    if finished.isCounted, finished.owner == owner {
      count += 1
      return
    }
    report(into: &events)
    (owner, count) = (finished.owner, finished.isCounted ? 1 : 0)
    if !finished.isCounted { events.append(finished.event) }
  }

  /// Appends the event of the values that were counted last.
  mutating func report(into events: inout [AddressedEvent<HostEvent>]) {
    if count > 0 { events.append(AddressedEvent(.updatesFinished(count), to: owner.recipient)) }
  }
}

extension UpdateToken {
  /// The host's own token of a value without one, unique while the value is on its way. Those of owners ascend from 1 on.
  static func counted(_ tag: UInt32) -> Self { Self(rawValue: 1 << 63 | UInt64(tag)) }
}

/// The updates whose notifications are on their way on one link, in the order in which they leave, nearly always.
struct UpdateQueue: Sendable {
  /// The queue is from ``start`` to ``end``; the memory around it is used again.
  private var memory: [UpdateToken] = []
  private var start = 0
  private var end = 0

  var tokens: [UpdateToken] { Array(memory[start..<end]) }

  mutating func append(_ token: UpdateToken) {
    if end < memory.count { memory[end] = token } else { memory.append(token) }
    end += 1
  }

  /// Removes the first entry of an update.
  ///
  /// - Returns: false where there is none.
  @inline(__always)
  mutating func remove(_ token: UpdateToken) -> Bool {
    guard start < end else { return false }
    if memory[start] != token {
      guard let index = memory[start..<end].firstIndex(of: token) else { return false }
      memory.remove(at: index)
      end -= 1
      return true
    }
    start += 1
    if start == end {
      (start, end) = (0, 0)
    } else if start >= 64, start > end / 2 {
      memory.removeSubrange(0..<start)
      (start, end) = (0, end - start)
    }
    return true
  }
}
