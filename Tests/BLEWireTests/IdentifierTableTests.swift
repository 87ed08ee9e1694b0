import Testing

@testable import BLEWire

@Suite struct IdentifierTableTests {
  struct Name: RawRepresentable, Hashable, Sendable { var rawValue: UInt32 }

  private func table(_ names: [UInt32]) -> IdentifierTable<Name, String> {
    var table = IdentifierTable<Name, String>()
    for name in names { table[Name(rawValue: name)] = "\(name)" }
    return table
  }

  @Test func keepsTheOrderOfTheIdentifiers() {
    let table = table([7, 9, 8, 2, 4_294_967_295, 0])
    #expect(table.keys.map(\.rawValue) == [0, 2, 7, 8, 9, 4_294_967_295])
    #expect(table.values == ["0", "2", "7", "8", "9", "4294967295"])
    #expect(table.count == 6 && !table.isEmpty)
  }

  @Test func findsNothingBesideTheIdentifiersThatAreThere() {
    for names: [UInt32] in [[], [5], [5, 6, 7], [5, 7, 12, 40]] {
      let table = table(names)
      for name in UInt32(0)...45 { #expect(table[Name(rawValue: name)] == (names.contains(name) ? "\(name)" : nil)) }
    }
  }

  @Test func aValueIsChangedInPlaceAndSetToNilIsRemoved() {
    var table = table([1, 2, 3])
    table[Name(rawValue: 2)]?.append("!")
    table[Name(rawValue: 4)]?.append("!")
    #expect(table.values == ["1", "2!", "3"])
    table[Name(rawValue: 2)] = nil
    table[Name(rawValue: 4)] = nil
    #expect(table.keys.map(\.rawValue) == [1, 3])
    #expect(table.removeValue(forKey: Name(rawValue: 3)) == "3" && table.removeValue(forKey: Name(rawValue: 3)) == nil)
    #expect(table.removeValue(forKey: Name(rawValue: 1)) == "1" && table.isEmpty)
  }

  /// The table finds what a dictionary finds, after any sequence of changes.
  @Test(arguments: 1...8) func isEqualToADictionary(seed: UInt64) {
    var random = seed
    func next(_ limit: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % limit
    }
    var table = IdentifierTable<Name, UInt64>()
    var expected: [Name: UInt64] = [:]
    for step in 0..<5_000 {
      let key = Name(rawValue: UInt32(next(100) + 10))
      switch next(4) {
      case 0, 1:
        table[key] = UInt64(step)
        expected[key] = UInt64(step)
      case 2: #expect(table.removeValue(forKey: key) == expected.removeValue(forKey: key))
      default: #expect(table[key] == expected[key])
      }
    }
    #expect(table.keys == expected.keys.sorted { $0.rawValue < $1.rawValue })
    #expect(table.keys.map { table[$0] } == table.keys.map { expected[$0] })
  }
}
