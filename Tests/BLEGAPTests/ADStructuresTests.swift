import BLEGAP
import BLEWire
import TestSupport
import Testing

@Suite struct ADStructuresTests {
  /// Octets, their structures as type and data, and the unread octets (Vol 3, Part C, 11).
  static let table: [(String, [String], String)] = [
    ("", [], ""),
    ("02 01 06", ["01:06"], ""),
    ("02 01 06 03 03 0d 18", ["01:06", "03:0d18"], ""),
    // A structure without data; the same type twice; an undefined type.
    ("01 03 02 0a 05 02 0a 06 02 7e 00", ["03:", "0a:05", "0a:06", "7e:00"], ""),
    // Zero octets up to the end are padding; octets after a length of zero are ignored.
    ("02 01 06 00 00 00", ["01:06"], ""), ("00", [], ""), ("00 02 01 06", [], ""),
    // A length past the end: the structures before it are kept.
    ("02 01 06 05 09 41 42", ["01:06"], "05094142"), ("02 01", [], "0201"), ("01", [], "01"), ("ff", [], "ff"),
    ("02 01 06 01", ["01:06"], "01"),
  ]

  @Test(arguments: table) func stopsAtTheFirstInvalidLength(hexadecimal: String, structures: [String], unread: String)
    throws
  {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    // The same from a slice with another start index.
    let inside = ([0xAA, 0xBB] + octets + [0x01])[2..<(2 + octets.count)]
    for bytes in [octets[...], inside] {
      let read = ADStructures(bytes)
      #expect(read.map { [$0.type.rawValue].hexadecimal + ":" + $0.data.hexadecimal } == structures)
      #expect(read.unread.hexadecimal == unread)
      #expect(read.isWellFormed == unread.isEmpty)
    }
  }

  @Test func cutsDataAfter254Octets() {
    let longest = ADStructure(type: .manufacturerSpecificData, data: Bytes(repeating: 7, count: 254))
    var octets: [UInt8] = []
    longest.encode(to: &octets)
    #expect(octets.count == 256)
    #expect(Array(ADStructures(octets[...])) == [longest])

    // One octet more is cut: the length octet cannot count it.
    var cut: [UInt8] = []
    ADStructure(type: .manufacturerSpecificData, data: Bytes(repeating: 7, count: 255)).encode(to: &cut)
    #expect(cut == octets)
  }

  /// For any octets, structures and unread octets together are the octets without the padding.
  @Test func returnsAllOctetsButPadding() {
    var source = SplitMix64(seed: 1)
    for _ in 0..<2000 {
      let octets = (0..<Int.random(in: 0...62, using: &source)).map { _ in
        UInt8.random(in: 0...(Bool.random(using: &source) ? 255 : 6), using: &source)
      }
      let read = ADStructures(octets[...])
      var again: [UInt8] = []
      for structure in read { structure.encode(to: &again) }
      again += read.unread
      #expect(octets.starts(with: again))
      #expect(again.count == octets.count || octets[again.count] == 0)
      _ = AdvertisedData(advertisingData: octets[...])
      for element in read.elements { #expect(element.structure == ADStructure(type: element.type, data: element.data)) }
    }
  }
}
