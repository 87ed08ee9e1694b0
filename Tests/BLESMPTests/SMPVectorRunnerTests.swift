import BLESMP
import BLEWire
import TestVectors
import Testing

/// The runners of the SMP vectors, with other folders and with pairings of two machines.
@Suite("Runners of the SMP vectors") struct SMPVectorRunnerTests {
  private static func folder(_ cases: String) -> VectorFolder {
    VectorFolder(files: ["smp.json": #"{"format":1,"cases":[\#(cases)]}"#])
  }

  private static func all(_ folder: VectorFolder) -> [VectorReport] {
    [SMPFunctionVectors.run(in: folder), SMPPDUVectors.run(in: folder), PairingVectors.run(in: folder)]
  }

  @Test func acceptsAnEmptyFolder() {
    for files in [[:], ["smp.json": ""]] {
      for report in Self.all(VectorFolder(files: files)) {
        #expect(report.failures == [] && report.checked == 0 && report.notes.count == 1)
      }
    }
  }

  @Test func notesUnknownKindsOnce() {
    let reports = Self.all(Self.folder(#"{"name":"a","kind":"h9","inputs":[1]},{"name":"b","kind":"h9"},{"name":"c"}"#))
    #expect(reports.allSatisfy { $0.failures == [] && $0.checked == 0 })
    #expect(reports.map(\.notes.count) == [2, 0, 0])
  }

  @Test func skipsPDUsOfUnknownKinds() {
    func run(_ hex: String, _ fields: String) -> VectorReport {
      SMPPDUVectors.run(in: Self.folder(#"{"name":"a","kind":"pdu","hex":"\#(hex)","fields":\#(fields),"more":1}"#))
    }
    let known = run("0e01", #"{"kind":"some-notification","new":[]}"#)
    #expect(known.failures == [] && known.notes.count == 1)
    #expect(run("ff01", #"{"kind":"some-notification"}"#).failures.count == 1)
    #expect(run("0504", #"{"kind":"pairing-failed","reason":5}"#).failures.count == 1)
    #expect(run("0504", #"{"kind":"pairing-failed","reason":4}"#).failures == [])
  }

  @Test func failsOnAWrongFunctionVector() {
    func run(_ more: String) -> VectorReport {
      SMPFunctionVectors.run(in: Self.folder(#"{"name":"a","kind":"association-model"\#(more)}"#))
    }
    let inputs =
      #""inputs":{"initiatorIO":3,"responderIO":3,"initiatorAuthReq":1,"responderAuthReq":1,"initiatorOOB":0,"responderOOB":0}"#
    #expect(run(#",\#(inputs),"outputs":{"model":"just-works"},"x":1"#).failures == [])
    #expect(run(#",\#(inputs),"outputs":{"model":"passkey"}"#).failures.count == 1)
    #expect(run(#",\#(inputs),"outputs":{"model":"passkey"},"policy":["unheard-of"]"#).failures == [])
    #expect(run("").failures.count == 1)
    // A number that is too wide for its function has a wrong result and no trap.
    let wide = String(repeating: "ff", count: 40)
    let ah = #"{"name":"a","kind":"ah","inputs":{"irk":"\#(wide)","prand":"\#(wide)"},"outputs":{"result":"01"}}"#
    #expect(SMPFunctionVectors.run(in: Self.folder(ah)).failures.count == 1)
  }

  /// A legacy Just Works pairing of two machines, as a vector.
  static func pairing(
    securityRequest: Bool = false, more: String = "", change: (inout [UInt8]) -> Void = { _ in }
  ) -> String {
    var pair = PairingPair(.with(mitm: false, secure: false), .with(mitm: false, secure: false))
    if securityRequest {
      pair.on(.responder) { machine, _, effects in machine.requestSecurity(into: &effects) }
      pair.run()
    }
    pair.pair()
    func steps(_ isWanted: (UInt8) -> Bool) -> String {
      pair.air.filter { isWanted($0.octets[0]) }.map { from, octets in
        var octets = octets
        change(&octets)
        return #"{"dir":"\#(from)","hex":"\#(octets.hexadecimal)","pdu":"?","more":0}"#
      }.joined(separator: ",")
    }
    let stk = (0..<16).reversed().map { UInt8(truncatingIfNeeded: (pair.link?.value.value ?? 0) >> (8 * $0)) }
    return #"""
      {"name":"a","kind":"pairing","method":"legacy","association":"just-works","authenticated":false,
       "initiatorAddress":{"type":1,"address":"C0:11:22:33:44:55"},
       "responderAddress":{"type":0,"address":"00:A0:50:01:02:03"},"stk":"\#(stk.hexadecimal)",
       "steps":[\#(steps { !(6...10).contains($0) })],"keyDistribution":[\#(steps { (6...10).contains($0) })]\#(more)}
      """#
  }

  private static func play(_ vector: String) -> VectorReport { PairingVectors.run(in: folder(vector)) }

  @Test(arguments: [false, true]) func playsAPairingFromBothSides(securityRequest: Bool) {
    let vector = Self.pairing(securityRequest: securityRequest, more: #","expectSuccess":true,"policy":[]"#)
    #expect(vector.contains(#""hex":"0b"#) == securityRequest)
    let report = Self.play(vector)
    #expect(report.failures == [] && report.checked == 2 && report.notes == [])
  }

  @Test func failsWhereAPairingCompletesAgainstTheVector() {
    let completes = Self.play(Self.pairing(more: #","expectSuccess":false"#))
    #expect(completes.failures.count == 2)
    // The initiator's random value does not belong to its confirm value.
    let forged = Self.pairing(more: #","expectSuccess":false"#) { if $0[0] == 4 { $0[1] ^= 1 } }
    let report = Self.play(forged)
    #expect(report.failures == [] && report.checked == 2)
    // The vector has no steps.
    #expect(
      Self.play(#"{"name":"a","kind":"pairing","method":"legacy","steps":[],"expectSuccess":false}"#).failures == [])
  }

  @Test func failsOnAWrongPairingWithoutATag() {
    let wrong = Self.pairing { if $0[0] == 3 { $0[1] ^= 1 } }
    #expect(Self.play(wrong).failures.count == 2)
    let tagged = Self.pairing(more: #","policy":["unheard-of"]"#) { if $0[0] == 3 { $0[1] ^= 1 } }
    #expect(Self.play(tagged).failures == [] && Self.play(tagged).notes.count == 2)
  }

  @Test func skipsPairingsThatCannotBePlayed() {
    let report = Self.play(
      #"""
      {"name":"a","kind":"pairing","method":"secure-connections","steps":[]},{"name":"b","kind":"pairing","method":"x"},
      {"name":"c","kind":"pairing","method":"secure-connections","privateKeyOf":"initiator","association":"oob","steps":[]}
      """#)
    #expect(report.failures == [] && report.checked == 0 && report.notes.count == 3)
    // Text that is no octets, and steps without a request.
    for steps in ["", #"{"dir":"initiator","hex":""}"#, #"{"dir":"nobody","hex":"zz"},{"dir":"initiator","hex":"01"}"#]
    {
      let report = Self.play(#"{"name":"a","kind":"pairing","method":"legacy","steps":[\#(steps)]}"#)
      #expect(report.failures.count == 2)
      #expect(Self.play(#"{"name":"a","kind":"pairing-refused","steps":[\#(steps)]}"#).failures.count == 1)
    }
  }

  @Test func acceptsARejectionFromEitherSide() {
    func refusal(_ steps: String, _ more: String = "") -> VectorReport {
      Self.play(#"{"name":"a","kind":"pairing-refused","steps":[\#(steps)]\#(more)}"#)
    }
    let security = #"{"dir":"responder","hex":"0b01"}"#
    let request = #"{"dir":"initiator","hex":"01040005110707"}"#
    #expect(refusal(#"\#(request),{"dir":"responder","hex":"050a"}"#, #","reason":10"#).failures == [])
    #expect(refusal(#"\#(security),\#(request),{"dir":"responder","hex":"050a"}"#).failures == [])
    #expect(refusal(#"\#(request),{"dir":"responder","hex":"0506"}"#, #","reason":6"#).failures.count == 1)
    // The peer rejects the pairing.
    let ours = #"{"dir":"initiator","hex":"01030001100707"}"#
    #expect(refusal(#"\#(ours),{"dir":"responder","hex":"0505"}"#, #","stackUnderTest":"initiator""#).failures == [])
  }
}
