import TestVectors
import Testing

/// The runner of the ATT vectors, in folders that it has never seen.
@Suite("Runner of the ATT vectors") struct ATTVectorRunnerTests {
  private func run(_ cases: String) -> VectorReport {
    ATTVectors.run(in: VectorFolder(files: ["att.json": #"{"format":1,"cases":[\#(cases)]}"#]))
  }

  @Test func aFolderWithoutThemIsNoFailure() {
    for files in [[:], ["att.json": ""], ["other.json": "{}"]] {
      let report = ATTVectors.run(in: VectorFolder(files: files))
      #expect(report.failures == [] && report.checked == 0 && report.notes.count == 1)
    }
  }

  @Test func aPDUOfAnUnknownKindFailsOnlyIfTheDecoderDoesNotKnowItEither() {
    // Handle Value Multiple Notification under a name of its own, and no PDU at all.
    let known = run(
      #"{"name":"a","kind":"some-notification","hex":"23010001000702000000","fields":{"new":[1]},"more":true}"#)
    #expect(known.failures == [] && known.checked == 1 && known.notes.count == 1)
    let unknown = run(#"{"name":"a","kind":"some-notification","hex":"ff01"}"#)
    #expect(unknown.failures.count == 1)
    let other = run(#"{"name":"a","kind":"conversation","steps":["0a0300"]},{"name":"b","kind":"x","policy":["y"]}"#)
    #expect(other.failures == [] && other.checked == 0 && other.notes.count == 2)
  }

  @Test func aWrongVectorIsAFailure() {
    for wrong in [
      #"{"name":"a","kind":"read-request","hex":"0a0300","fields":{"handle":4}}"#,
      #"{"name":"a","kind":"read-request","hex":"0a0300","fields":{}}"#,
      #"{"name":"a","kind":"read-request","hex":"0a03","fields":{"handle":3}}"#,
      #"{"name":"a","kind":"read-request","hex":"xyz","fields":{"handle":3}}"#,
      #"{"name":"a","kind":"malformed","hex":"0a0300"}"#,
    ] { #expect(run(wrong).failures.count == 1, "\(wrong)") }
    let right = run(
      #"{"name":"a","kind":"read-request","hex":"0a0300","fields":{"handle":3}},{"name":"b","kind":"malformed","hex":"0a"}"#
    )
    #expect(right.failures == [] && right.checked == 2 && right.notes == [])
  }

  @Test func aTaggedDifferenceIsANote() {
    let report = run(
      #"{"name":"a","kind":"read-request","hex":"0a0300","fields":{"handle":4},"policy":["unheard-of"]}"#)
    #expect(report.failures == [] && report.notes.count == 1)
  }
}
