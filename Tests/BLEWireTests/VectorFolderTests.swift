import Foundation
import TestVectors
import Testing

/// What suites that read vectors can rely on, whatever lies in a folder of them.
@Suite("Folders of test vectors") struct VectorFolderTests {
  struct Case: Decodable, Sendable {
    var kind: String?
    var number: Int
  }

  private func read(
    _ text: String?, of kinds: Set<String>? = nil
  ) -> (cases: [(name: String, value: Case)], report: VectorReport) {
    let folder = VectorFolder(files: text.map { ["some.json": $0] } ?? [:])
    var report = VectorReport()
    let file = folder.file("some", cases: Case.self, into: &report)
    let cases = file.cases(of: kinds, notingAllBut: kinds, into: &report)
    return (cases, report)
  }

  @Test(arguments: [nil, "", " \n"]) func aFileThatIsMissingOrEmptyIsNoted(text: String?) {
    let (cases, report) = read(text)
    #expect(cases.isEmpty && report.failures == [])
    #expect(report.notes == ["some.json: \(text == nil ? "not in this folder" : "empty")"])
  }

  @Test(arguments: [#"{"format":1}"#, #"{"format":1,"cases":[]}"#, #"{"cases":[],"more":{"a":[1,null]}}"#])
  func aFileWithoutCasesIsNothing(text: String) {
    let (cases, report) = read(text)
    #expect(cases.isEmpty && report.failures == [] && report.notes == [])
  }

  @Test(arguments: ["{", "[]", "no JSON", #"{"format":"one","cases":[]}"#]) func aFileInAnotherFormatIsAFailure(
    text: String
  ) {
    let (cases, report) = read(text)
    #expect(cases.isEmpty && report.failures.count == 1)
    #expect(report.failures.first?.hasPrefix("some.json: ") == true)
  }

  @Test func aLaterFormatIsPassedOver() {
    let (cases, report) = read(#"{"format":2,"cases":[{"name":"a","number":1}]}"#)
    #expect(cases.isEmpty && report.failures == [] && report.notes.count == 1)
  }

  @Test func casesOfUnknownKindsArePassedOverWithOneLineAKind() {
    let (cases, report) = read(
      #"""
      {"format":1,"cases":[
        {"name":"a","kind":"known","number":1,"extra":{"deep":[1,2,{"a":null}]},"policy":["unheard-of"]},
        {"name":"b","kind":"new"},{"name":"c","kind":"new","number":"text"},{"name":"d","kind":"newer"},
        {"name":"e","kind":"known","number":2},{"name":"f"},7
      ]}
      """#, of: ["known"])
    #expect(cases.map(\.name) == ["a", "e"] && cases.map(\.value.number) == [1, 2])
    #expect(report.failures == [])
    #expect(
      report.notes == [
        "some.json: passed over: 2 of the kind '', which no suite knows",
        "some.json: passed over: 2 of the kind 'new', which no suite knows",
        "some.json: passed over: 1 of the kind 'newer', which no suite knows",
      ])
  }

  @Test func aKnownCaseThatIsNotAsDocumentedFailsByItself() {
    let (cases, report) = read(#"{"cases":[{"name":"a","number":"text"},null,{"number":3}]}"#)
    #expect(cases.map(\.value.number) == [3] && cases.map(\.name) == ["case 3 of some.json"])
    #expect(report.failures.count == 2 && report.failures.first?.hasPrefix("a: not as documented") == true)
  }

  @Test func policyMakesADifferenceANote() {
    func report(_ policy: [String]?, settled: Set<String> = []) -> VectorReport {
      var report = VectorReport()
      report.check("a", policy: policy, settled: settled) { $0.equal(1, 2, "it") }
      return report
    }
    for policy in [nil, []] as [[String]?] { #expect(report(policy).failures == ["a: it is 1, expected 2"]) }
    let tagged = report(["unheard-of"])
    #expect(tagged.failures == [] && tagged.notes.count == 1 && tagged.notes.first?.contains("unheard-of") == true)
    // A tag that leaves the suite no choice excuses nothing; any other beside it does.
    #expect(report(["set-up"], settled: ["set-up"]).failures.count == 1)
    #expect(report(["set-up", "other"], settled: ["set-up"]).failures == [])
    var right = VectorReport()
    right.check("a", policy: ["unheard-of"]) { $0.equal(1, 1, "it") }
    #expect(right.failures == [] && right.notes == [] && right.checked == 1)
  }

  @Test func whatACheckThrowsIsReported() {
    var report = VectorReport()
    report.check("a") { _ = try $0.need(nil as Int?, "number") }
    report.check("b") { _ in throw NotApplicable("nobody can") }
    report.check("c") { $0.refuses(as: CocoaError.self) {} }
    report.check("d") { $0.refuses(as: CocoaError.self) { throw CocoaError(.fileNoSuchFile) } }
    report.check("e") { $0.refuses(as: CocoaError.self) { throw MissingValue(what: "x") } }
    #expect(
      report.failures == [
        "a: no usable number", "c: accepted, although it is malformed", "e: refused with no usable x",
      ])
    #expect(report.notes == ["b: passed over: nobody can"] && report.checked == 4)
  }

  @Test func aFolderOnDiskIsReadFileByFile() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "vectors-\(UUID().uuidString)")
    #expect(VectorFolder(url) == nil)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try Data(#"{"format":1,"cases":[{"name":"a","number":1}]}"#.utf8).write(to: url.appending(path: "some.json"))
    try Data().write(to: url.appending(path: "empty.json"))
    #expect(VectorFolder(url.appending(path: "some.json")) == nil)
    let folder = try #require(VectorFolder(url))
    var report = VectorReport()
    #expect(folder.file("some", cases: Case.self, into: &report).cases(into: &report).count == 1)
    #expect(folder.file("empty", cases: Case.self, into: &report).cases(into: &report).isEmpty)
    #expect(folder.file("missing", cases: Case.self, into: &report).cases(into: &report).isEmpty)
    #expect(report.failures == [] && report.notes == ["empty.json: empty", "missing.json: not in this folder"])
  }
}
