import TestVectors
import Testing

/// The runner of the advertising data vectors, in folders that it has never seen.
@Suite("Runner of the AD vectors") struct ADVectorRunnerTests {
  private func run(_ cases: String) -> VectorReport {
    ADVectors.run(in: VectorFolder(files: ["ad.json": #"{"format":1,"cases":[\#(cases)]}"#]))
  }

  @Test func aFolderWithoutThemIsNoFailure() {
    for files in [[:], ["ad.json": ""]] {
      let report = ADVectors.run(in: VectorFolder(files: files))
      #expect(report.failures == [] && report.checked == 0 && report.notes.count == 1)
    }
  }

  @Test func unknownKindsAndKeysArePassedOver() {
    let report = run(
      #"{"name":"a","kind":"payload","hex":"020106","more":1,"policy":["unheard-of"]},{"name":"b","kind":"encrypted","hex":7}"#
    )
    #expect(report.failures == [] && report.checked == 1 && report.notes.count == 1)
  }

  @Test func aWrongVectorIsAFailure() {
    let structures = #""structures":[{"type":1,"data":"06"}],"wellFormed":true,"fields":{"flags":6}"#
    func payload(_ hex: String, _ more: String = "") -> String {
      #"{"name":"a","kind":"payload","hex":"\#(hex)",\#(structures)\#(more)}"#
    }
    #expect(run(payload("020106", #","encode":true,"expected":{"flags":6,"uuids":[]}"#)).failures == [])
    #expect(run(payload("020104")).failures.count == 1)
    #expect(run(payload("020106", #","expected":{"flags":4}"#)).failures.count == 1)
    #expect(run(payload("020104", #","policy":["unheard-of"]"#)).failures == [])
  }
}
