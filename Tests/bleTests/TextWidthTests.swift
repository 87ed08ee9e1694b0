import Testing
import ToolCore

@testable import ble

/// Columns of a terminal, as glibc counts them.
struct TextWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("温度計", 6), ("e\u{301}", 1), ("ｆｕｌｌ", 8), ("한글", 4), ("\u{1112}\u{1161}\u{11AB}", 2),
    ("é—…°", 4),
    ("😀", 2), ("ไม้", 2),
  ])
  func countsWideAndCombiningCharacters(text: String, columns: Int) { #expect(text.columns == columns) }

  @Test func padsAndShortensByColumns() {
    #expect("温度".padded(to: 6) == "温度  " && "温度".leftPadded(to: 6) == "  温度")
    #expect("温度計".shortened(to: 6) == "温度計" && "温度計".shortened(to: 5) == "温度…")
    // A wide character does not fit into the last column.
    #expect("温度計".shortened(to: 4) == "温…" && "温".shortened(to: 1) == "…" && "ab".shortened(to: 0) == "")
    #expect("e\u{301}e\u{301}e\u{301}".shortened(to: 2) == "e\u{301}…")
  }

  @Test func wrapsAtSpacesAndWithinWords() {
    #expect("one two three".wrapped(to: 8) == ["one two", "three"])
    #expect("one two three".wrapped(to: 8, indent: 3) == ["one two", "three"])
    #expect("abcdefghij".wrapped(to: 4, indent: 1) == ["abcd", "efg", "hij"])
    #expect("温度計の値".wrapped(to: 5) == ["温度", "計の", "値"])
    #expect("温度".wrapped(to: 1) == ["温", "度"] && "".wrapped(to: 5) == [])
  }
}
