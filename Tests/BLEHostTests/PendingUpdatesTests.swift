import BLEWire
import Testing

@testable import BLEHost

struct PendingUpdatesTests {
  private let owner = OwnerID(rawValue: 1)

  private func begin(_ number: UInt64, _ updates: inout PendingUpdates) throws -> UInt32 {
    let tag = updates.begin(UpdateToken(rawValue: number), of: owner)
    return try #require(tag)
  }

  /// A client that does not confirm its indication for 30 seconds must not make the host keep every value that others receive meanwhile.
  @Test func aValueThatIsNotConfirmedKeepsNoOthers() throws {
    var updates = PendingUpdates(limit: 8)
    let first = try begin(1, &updates)
    for number in 2..<10_000 as Range<UInt64> {
      let tag = try begin(number, &updates)
      #expect(updates.token(of: tag) == UpdateToken(rawValue: number))
      #expect(updates.finishCopy(tag: tag)?.token == UpdateToken(rawValue: number))
      #expect(updates.places <= 2 * 8 + 1)
    }
    #expect(updates.token(of: first) == UpdateToken(rawValue: 1))
    #expect(updates.finishCopy(tag: first)?.token == UpdateToken(rawValue: 1))
    let again = updates.finishCopy(tag: first)
    #expect(again == nil)
  }

  @Test func valuesThatAreNotConfirmedCountForTheLimit() throws {
    var updates = PendingUpdates(limit: 8)
    var late: [UInt32] = []
    var number: UInt64 = 1
    for _ in 0..<7 {
      late.append(try begin(number, &updates))
      for _ in 0..<20 {
        number += 1
        _ = updates.finishCopy(tag: try begin(number, &updates))
      }
      number += 1
    }
    let last = try begin(number, &updates)
    let beyond = updates.begin(UpdateToken(rawValue: number + 1), of: owner)
    #expect(beyond == nil)
    for tag in late.shuffled() + [last] {
      let finished = updates.finishCopy(tag: tag)
      #expect(finished != nil)
    }
    _ = try begin(number + 1, &updates)
  }

  /// The copies of an indication that several clients receive, and its token, when it was set aside.
  @Test func aValueWithSeveralCopiesFinishesWithTheLast() throws {
    var updates = PendingUpdates(limit: 4)
    let token = UpdateToken(rawValue: 1)
    let tag = try begin(1, &updates)
    updates.addCopy(of: token)
    updates.addCopy(tag: tag)
    for number in 2..<100 as Range<UInt64> { _ = updates.finishCopy(tag: try begin(number, &updates)) }
    updates.addCopy(tag: tag)
    // A token that is on its way is not taken again.
    let repeated = updates.begin(token, of: owner)
    #expect(repeated == nil)
    let (one, two, three) = (updates.finishCopy(tag: tag), updates.finishCopy(of: token), updates.finishCopy(tag: tag))
    #expect(one == nil && two == nil && three == nil)
    let four = updates.finishCopy(of: token)
    #expect(four?.token == token)
  }
}
