/// Values handed over to be notified, and how many copies of each are still on their way.
///
/// The marks of their frames are consecutive numbers, so that a mark is the place of its entry. An entry whose value has left
/// stays until those before it have left, too. Values finish in order, nearly always: a search finds the first at once.
struct PendingUpdates: Sendable {
  private struct Entry {
    var token: UpdateToken
    var owner: OwnerID
    /// Zero for a value that has left.
    var copies: Int
  }
  /// The entries are from ``start`` to ``end``, in order; the memory around them is used again.
  private var entries: [Entry] = []
  private var start = 0
  private var end = 0
  /// The mark of the first entry from ``start`` on.
  private var firstTag: UInt32 = 1
  private var count = 0
  /// The greatest token so far: tokens ascend, nearly always.
  private var greatest: UInt64 = 0
  /// Values on their way at once.
  let limit: Int
  /// The mark of the frames of credit-based channels, which no value has.
  static let channelTag: UInt32 = .max

  init(limit: Int) { self.limit = limit }

  /// Takes a value in, with one copy that stands for the handing over itself.
  ///
  /// - Returns: the mark of the value's frames in the scheduler; nil when ``limit`` are there already.
  mutating func begin(_ token: UpdateToken, of owner: OwnerID) -> UInt32? {
    guard count < limit, token.rawValue > greatest || index(of: token) == nil else { return nil }
    // Numbers are used again from the first one on while no value is on its way.
    if start == end, firstTag >= UInt32.max / 2 { firstTag = 1 }
    let tag = firstTag &+ UInt32(truncatingIfNeeded: end - start)
    guard tag >= firstTag, tag < Self.channelTag else { return nil }
    let entry = Entry(token: token, owner: owner, copies: 1)
    if end < entries.count { entries[end] = entry } else { entries.append(entry) }
    end += 1
    greatest = max(greatest, token.rawValue)
    count += 1
    return tag
  }

  mutating func addCopy(of token: UpdateToken) {
    // The value was handed over last.
    guard let index = entries[start..<end].lastIndex(where: { $0.token == token }) else { return }
    entries[index].copies += 1
  }

  /// The same for the value whose frames have this mark.
  mutating func addCopy(tag: UInt32) {
    if let index = index(ofTag: tag) { entries[index].copies += 1 }
  }

  /// The owner of the value, where it was the last copy.
  mutating func finishCopy(of token: UpdateToken) -> OwnerID? { index(of: token).flatMap { finishCopy(at: $0) } }

  /// The same for the value whose frames have this mark.
  mutating func finishCopy(tag: UInt32) -> OwnerID? { index(ofTag: tag).flatMap { finishCopy(at: $0) } }

  private mutating func finishCopy(at index: Int) -> OwnerID? {
    entries[index].copies -= 1
    guard entries[index].copies <= 0 else { return nil }
    count -= 1
    let owner = entries[index].owner
    while start < end, entries[start].copies <= 0 {
      start += 1
      firstTag &+= 1
    }
    if start == end {
      (start, end) = (0, 0)
    } else if start >= limit {
      entries.removeSubrange(0..<start)
      (start, end) = (0, end - start)
    }
    return owner
  }

  func token(of tag: UInt32) -> UpdateToken? { index(ofTag: tag).map { entries[$0].token } }

  /// The entry of a value that is on its way.
  private func index(ofTag tag: UInt32) -> Int? {
    guard tag >= firstTag, Int(tag - firstTag) < end - start else { return nil }
    let index = start + Int(tag - firstTag)
    return entries[index].copies > 0 ? index : nil
  }

  private func index(of token: UpdateToken) -> Int? {
    entries[start..<end].firstIndex { $0.token == token && $0.copies > 0 }
  }
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
