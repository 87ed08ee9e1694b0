import TestVectors
import Testing

/// The runner of the HCI vectors, in folders that it has never seen.
@Suite("Runner of the HCI vectors") struct HCIVectorRunnerTests {
  private func run(_ cases: String) -> VectorReport {
    HCIVectors.run(in: VectorFolder(files: ["hci.json": #"{"format":1,"cases":[\#(cases)]}"#]))
  }

  @Test func aFolderWithoutThemIsNoFailure() {
    for files in [[:], ["hci.json": ""]] {
      let report = HCIVectors.run(in: VectorFolder(files: files))
      #expect(report.failures == [] && report.notes.count == 1)
    }
  }

  @Test func unknownKindsAndFieldsArePassedOver() {
    let report = run(
      #"""
      {"name":"a","kind":"iso","hex":"05"},{"name":"b","kind":"vendor","hex":[1]},
      {"name":"c","kind":"command","opcode":3075,"hex":"01030c00","fields":{"unheard_of":7},"decodedBy":"bumble"},
      {"name":"d","kind":"event","hex":"04ff0101","decodedBy":"another","fields":"any shape"},
      {"name":"e","kind":"command","hex":"0142fc0101","more":null}
      """#)
    #expect(report.failures == [] && report.checked == 4)
    #expect(report.notes.count == 3, "\(report.notes)")
  }

  @Test func aWrongVectorIsAFailure() {
    for wrong in [
      #"{"name":"a","kind":"command","opcode":3076,"hex":"01030c00"}"#,
      #"{"name":"a","kind":"command","hex":"01030c"}"#,
      #"{"name":"a","kind":"malformed","hex":"01030c00"}"#,
      #"{"name":"a","kind":"event","eventCode":5,"hex":"0410010a"}"#,
      #"{"name":"a","kind":"event","hex":"0410010a","fields":{"hardware_code":11},"decodedBy":"bumble"}"#,
    ] { #expect(run(wrong).failures.count == 1, "\(wrong)") }
    let right = run(
      #"{"name":"a","kind":"event","hex":"0410010a","fields":{"hardware_code":10},"decodedBy":"bumble"}"#)
    #expect(right.failures == [] && right.checked == 2)
    let tagged = run(#"{"name":"a","kind":"event","eventCode":5,"hex":"0410010a","policy":["unheard-of"]}"#)
    #expect(tagged.failures == [] && tagged.notes.count == 1)
  }
}
