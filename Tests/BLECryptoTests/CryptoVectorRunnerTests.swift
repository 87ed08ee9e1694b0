import TestVectors
import Testing

/// The runner of the primitives' vectors, in folders that it has never seen.
@Suite("Runner of the crypto vectors") struct CryptoVectorRunnerTests {
  private func run(_ cases: String) -> VectorReport {
    CryptoVectors.run(in: VectorFolder(files: ["smp.json": #"{"format":1,"cases":[\#(cases)]}"#]))
  }

  @Test func aFolderWithoutThemIsNoFailure() {
    for files in [[:], ["smp.json": ""]] {
      let report = CryptoVectors.run(in: VectorFolder(files: files))
      #expect(report.failures == [] && report.checked == 0 && report.notes.count == 1)
    }
    // Kinds of other suites and unknown ones are for the suite of the functions to note.
    let others = run(#"{"name":"a","kind":"c1","inputs":7},{"name":"b","kind":"aes-256"},{"name":"c"}"#)
    #expect(others.failures == [] && others.notes == [] && others.checked == 0)
  }

  @Test func aWrongVectorIsAFailure() {
    let key = String(repeating: "00", count: 16)
    func block(_ result: String, _ more: String = "") -> String {
      #"{"name":"a","kind":"aes-128","inputs":{"key":"\#(key)","plaintext":"\#(key)"},"outputs":{"result":"\#(result)"}\#(more)}"#
    }
    // FIPS-197: the zero block under the zero key.
    let right = "66e94bd4ef8a2c3b884cfa59ca342b2e"
    #expect(run(block(right, #","note":"x","more":[1]"#)).failures == [])
    #expect(run(block(key)).failures.count == 1)
    #expect(run(block(key, #","policy":["unheard-of"]"#)).failures == [])
    #expect(run(block("66e9")).failures.count == 1)
    #expect(run(#"{"name":"a","kind":"ecdh"}"#).failures.count == 1)
  }
}
