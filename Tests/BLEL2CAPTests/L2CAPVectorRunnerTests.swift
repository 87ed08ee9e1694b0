import TestVectors
import Testing

/// The runner of the L2CAP vectors, in folders that it has never seen.
@Suite("Runner of the L2CAP vectors") struct L2CAPVectorRunnerTests {
  private func run(_ cases: String) -> VectorReport {
    L2CAPVectors.run(in: VectorFolder(files: ["l2cap.json": #"{"format":1,"cases":[\#(cases)]}"#]))
  }

  @Test func aFolderWithoutThemIsNoFailure() {
    for files in [[:], ["l2cap.json": ""]] {
      let report = L2CAPVectors.run(in: VectorFolder(files: files))
      #expect(report.failures == [] && report.checked == 0 && report.notes.count == 1)
    }
  }

  @Test func unknownKindsAndCommandsArePassedOver() {
    let report = run(
      #"""
      {"name":"a","kind":"credit-based-frame","hex":[]},
      {"name":"b","kind":"signalling","command":"echo","hex":"08010000","fields":{"code":8,"data":"","more":1}},
      {"name":"c","kind":"frame","hex":"0100040007","policy":["unheard-of"]}
      """#)
    #expect(report.failures == [] && report.checked == 2 && report.notes.count == 2)
  }

  @Test func aWrongVectorIsAFailure() {
    for wrong in [
      #"{"name":"a","kind":"frame","hex":"0100040007","fields":{"cid":5}}"#,
      #"{"name":"a","kind":"frame","hex":"0100"}"#,
      #"{"name":"a","kind":"frame"}"#, #"{"name":"a","kind":"signalling-malformed","hex":"08010000"}"#,
      #"{"name":"a","kind":"reassembly","hex":"0100040007","packets":["01"]}"#,
      #"{"name":"a","kind":"reassembly","hex":"0100040007","packets":["0120050001000400"]}"#,
    ] { #expect(run(wrong).failures.count == 1, "\(wrong)") }
    let right = run(
      #"""
      {"name":"a","kind":"frame","hex":"0100040007","fields":{"cid":4,"length":1,"payload":"07"}},
      {"name":"b","kind":"reassembly","hex":"0100040007","packets":["012004000100040007","011001000007"],"note":"x"}
      """#)
    #expect(right.failures.count == 1, "the first packet has a whole frame, and one octet follows")
    let split = run(
      #"{"name":"b","kind":"reassembly","hex":"0100040007","packets":["0120040001000400","0110010007"],"fields":{"cid":4}}"#
    )
    #expect(split.failures == [] && split.checked == 1)
  }
}
