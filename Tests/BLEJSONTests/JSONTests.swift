import Foundation
import Testing

@testable import BLEJSON

/// The JSON of files, compared with the encoder and the decoder of Foundation.
@Suite struct JSONTests {
  private struct Sample: Codable, Equatable {
    enum Kind: String, Codable { case first, second }
    struct Part: Codable, Equatable { var value: UInt16 }

    var name: String?
    var flag = true
    var largest = UInt64.max
    var negative = -5
    var kind = Kind.second
    var empty: [Int] = []
    var nested: [[Int]] = [[], [1, 2]]
    var parts = [Part(value: 1), Part(value: 2)]
    var part: Part?
    var members: [String: Int] = [:]
    var peerSignCounter = 1
    var peerSignatureKey = "key"
    var a10 = 1
    var a9 = 2
  }

  private static let names: [String?] = [
    nil, "", "Clock", "a/b\\\"\u{8}\u{C}\n\r\t\u{0}\u{1F}\u{7F}\u{2028}é😀", "e\u{301}",
  ]

  @Test(arguments: names) func writesTheOctetsOfFoundation(name: String?) throws {
    let samples = [Sample(name: name, part: .init(value: 3)), Sample(name: name)]
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let octets = try JSONEncoding.json(of: samples).encoded
    #expect(String(decoding: octets, as: UTF8.self) == String(decoding: try encoder.encode(samples), as: UTF8.self))
    #expect(try JSONDecoding.value([Sample].self, of: JSON(decoding: octets)) == samples)
  }

  private static let texts = [
    "", " ", "null", "nul", "true", "truex", " 5 ", "-", "-0", "[-0]", "5.", ".5", "01", "[01]", "+1",
    "[1.0,1e2,2E+1,1e-0]",
    "[1.5]", "[255]", "[256]", "[-1]", "[1e400]", "[99999999999999999999]", "18446744073709551615", "[", "]", "[]",
    "[ ]",
    "[[", "[1", "[1 2]", "[,]", "[1,]", "[1,2,]", "[1,,]", "[null,1]", "{", "{}", "{ }", "{,}", "{\"a\"}", "{\"a\" 1}",
    "{\"a\":}", "{\"a\":1", "{\"a\" : 1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "{a:1}", "{1:1}", "[1] 2", "[1]\n", "\"",
    "\"a", "\"a\"", "\"\\\"", "\"\\n\\/\\\\\\\"\\b\\f\\r\\t\"", "\"\\x\"", "\"\\u00e9\"", "\"\\u00E9\"", "\"\\u00g0\"",
    "\"\\u12\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ud83d\\n\"", "\"\\ud83d\\u0041\"",
    "\"\\ude00\"",
    "\"\u{1}\"", "\"\n\"", "\"é😀\"", "\u{FEFF}5", "// 5", "'a'", "NaN",
  ]

  /// What Foundation reads of a text as several types; nil where it fails.
  @Test(arguments: texts) func readsTheValuesOfFoundation(text: String) {
    expectSame([UInt8].self, text)
    expectSame([Int?].self, text)
    expectSame([String: Int].self, text)
    expectSame([[Int]].self, text)
    expectSame(String.self, text)
    expectSame(Bool.self, text)
    expectSame(Int.self, text)
    expectSame(UInt64.self, text)
    expectSame(Double.self, text)
  }

  private func expectSame<Value: Decodable & Equatable>(_ type: Value.Type, _ text: String) {
    let own = try? JSONDecoding.value(type, of: JSON(decoding: Array(text.utf8)))
    #expect(own == (try? JSONDecoder().decode(type, from: Data(text.utf8))), "\(text) as \(type)")
  }

  @Test(arguments: [
    [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0x80, 0x22],
  ])
  func rejectsStringsThatAreNotUTF8(octets: [UInt8]) {
    #expect(throws: DecodingError.self) { try JSON(decoding: octets) }
  }

  @Test func rejectsEachTruncation() throws {
    let octets = try JSONEncoding.json(of: [Sample(name: "\u{1F600}\u{1}", part: .init(value: 3))]).encoded
    for length in 0..<octets.count {
      #expect(throws: DecodingError.self) { try JSON(decoding: Array(octets[..<length])) }
    }
  }

  @Test func rejectsArraysAndObjectsBeyondTheDepth() throws {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[{\"a\":", count: depth / 2) + "1" + String(repeating: "}]", count: depth / 2)).utf8)
    }
    _ = try JSON(decoding: nested(JSON.maximumDepth))
    #expect(throws: DecodingError.self) { try JSON(decoding: nested(JSON.maximumDepth + 2)) }
    #expect(throws: DecodingError.self) { try JSON(decoding: Array(String(repeating: "[", count: 100_000).utf8)) }
  }

  @Test func aFailureNamesThePlace() throws {
    let json = try JSON(decoding: Array(#"[{"parts": [{"value": 1}, {"value": 65536}]}]"#.utf8))
    struct Form: Decodable { var parts: [Sample.Part] }
    do {
      _ = try JSONDecoding.value([Form].self, of: json)
      Issue.record("65536 is no UInt16")
    } catch DecodingError.dataCorrupted(let context) {
      #expect(context.codingPath.map(\.stringValue) == ["Index 0", "parts", "Index 1", "value"])
    }
  }

  @Test(arguments: names) func writesTheLineOfFoundation(name: String?) throws {
    let samples = [Sample(name: name, part: .init(value: 3)), Sample(name: name)]
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let expected = String(decoding: try encoder.encode(samples), as: UTF8.self)
    #expect(try JSON(encoding: samples).line == expected)
  }

  @Test(arguments: [
    0.0, -0.0, 0.5, -21.5, 1.0, 1e15, 1e16, 1e20, 1.5e300, .leastNonzeroMagnitude, 0.1, 1.0 / 3, 1e-5, 123_456_789.0,
    -1e-7,
    .greatestFiniteMagnitude,
  ])
  func writesTheFractionsOfFoundation(value: Double) throws {
    #expect(try JSON(encoding: [value]).line == String(decoding: try JSONEncoder().encode([value]), as: UTF8.self))
    let single = Float(value)
    guard single.isFinite else { return }
    #expect(try JSON(encoding: [single]).line == String(decoding: try JSONEncoder().encode([single]), as: UTF8.self))
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity]) func aNumberThatIsNotFiniteIsNotWritten(value: Double) {
    #expect(throws: EncodingError.self) { try JSON(encoding: [value]) }
  }

  @Test func findsThePlaceOfAValue() {
    let text = #" {"a": [1, {"b": "x\u0041", "c": 2}, [3]], "b": null, "a": 9}"#
    let octets = Array(text.utf8)
    func rest(_ path: JSON.Step...) -> String? {
      JSONParser.position(of: path, in: octets).map { String(decoding: octets[$0...].prefix(5), as: UTF8.self) }
    }
    #expect(rest() == #"{"a":"# && rest(.member("b")) == #""b": "#)
    #expect(rest(.member("a"), .element(0)) == "1, {\"" && rest(.member("a"), .element(2), .element(0)) == "3]], ")
    #expect(rest(.member("a"), .element(1), .member("c")) == #""c": "#)
    // Of two members with the same name the first one counts.
    #expect(JSONParser.position(of: [.member("a")], in: octets) == 2)
    #expect(rest(.member("z")) == nil && rest(.element(0)) == nil && rest(.member("a"), .element(3)) == nil)
    #expect(rest(.member("b"), .member("c")) == nil)
    #expect(JSONParser.position(of: [.member("a")], in: [0xEF, 0xBB, 0xBF] + octets) == 5)
    #expect(JSONParser.position(of: [.member("a")], in: Array("{\"b\": ".utf8)) == nil)
  }
}
