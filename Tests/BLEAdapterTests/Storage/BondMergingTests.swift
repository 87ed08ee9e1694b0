import AdapterFixtures
import BLEATT
import BLECrypto
import BLEGATT
import BLEHost
import BLESMP
import Testing

@testable import BLEAdapter

/// What becomes of a bond that two programs with one file have changed.
@Suite struct BondMergingTests {
  typealias Folder = BondFixtures.Folder

  /// What a program may have done with a bond since it loaded the file.
  enum Change: CaseIterable, Sendable { case none, notes, keys, removal }

  private static func apply(_ change: Change, to record: BondRecord, by program: UInt64) -> BondRecord {
    var record = record
    var bond = record.bonds[0]
    switch change {
    case .none: return record
    case .notes:
      bond.client.configurations = [.init(descriptor: AttributeHandle(rawValue: UInt16(program)), value: .notify)]
    case .keys:
      var random = RandomSource.seeded(program)
      bond.peripheralKey = LongTermKey(value: SecretKey(random.uint128()), strength: bond.strength)
    case .removal:
      record.bonds.remove(at: 0)
      return record
    }
    record.bonds[0] = bond
    return record
  }

  /// Rows: this program. Columns: the other one, which saved first.
  private static let expected: [[Character]] = [
    // none notes keys removal
    ["=", "t", "t", "-"],  // none
    ["o", "o", "t", "-"],  // notes
    ["o", "o", "o", "o"],  // keys
    ["-", "-", "t", "-"],  // removal
  ]

  @Test(arguments: Change.allCases, Change.allCases)
  func theStrongerChangeWins(here: Change, elsewhere: Change) throws {
    let base = BondFixtures.record(1, bonds: 2)
    let (ours, theirs) = (Self.apply(here, to: base, by: 3), Self.apply(elsewhere, to: base, by: 4))
    let row = try #require(Change.allCases.firstIndex(of: here))
    let column = try #require(Change.allCases.firstIndex(of: elsewhere))
    let merged = ours.merged(with: theirs, since: base)
    let left = merged.bonds.first { $0.identifier == base.bonds[0].identifier }
    switch Self.expected[row][column] {
    case "=": #expect(left == base.bonds[0])
    case "o": #expect(left == ours.bonds[0])
    case "t": #expect(left == theirs.bonds[0])
    default: #expect(left == nil)
    }
    #expect(merged.bonds.contains(base.bonds[1]) && merged.bonds.count <= 2)
  }

  /// Both have noted something: which bond is removed first depends on the latest use of each.
  @Test func theLatestUseStays() {
    let base = BondFixtures.record(1, bonds: 1)
    func used(_ number: UInt32) -> BondRecord {
      var record = base
      var bond = base.bonds[0]
      bond.lastUse = number
      record.bonds[0] = bond
      return record
    }
    #expect(used(3).merged(with: used(5), since: base) == used(5))
    #expect(used(5).merged(with: used(3), since: base) == used(5))
  }

  /// The user says "forget this device" in one program; the other has only noted that the device subscribed.
  @Test(arguments: [true, false]) func aRemovedBondDoesNotComeBack(removalIsFirst: Bool) throws {
    let folder = try BondFixtures.Folder()
    let (one, two) = (FileBondStore(path: folder.file), FileBondStore(path: folder.file))
    let base = BondFixtures.record(1, bonds: 2)
    try one.save(base)
    _ = (try one.load(), try two.load())
    let first = Self.apply(.removal, to: base, by: 1)
    var second = Self.apply(.notes, to: base, by: 7)
    if removalIsFirst { try one.save(first) }
    try two.save(second)
    if !removalIsFirst { try one.save(first) }
    func addresses() throws -> [String] { try FileBondStore(path: folder.file).load()?.bonds.map(\.address) ?? [] }
    #expect(try addresses() == [base.bonds[1].address])
    // The other program still has it in memory, and notes something again.
    second = Self.apply(.notes, to: second, by: 8)
    try two.save(second)
    #expect(try addresses() == [base.bonds[1].address])
    // It is another matter when the device pairs anew with that program.
    try two.save(Self.apply(.keys, to: second, by: 9))
    #expect(Set(try addresses()) == Set(base.bonds.map(\.address)))
    try one.save(first)
    #expect(Set(try addresses()) == Set(base.bonds.map(\.address)))
  }
}
