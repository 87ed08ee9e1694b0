import TestVectors
import Testing

/// The runners of the GATT vectors, with other folders.
@Suite("Runners of the GATT vectors") struct GATTVectorRunnerTests {
  /// A service with one readable value, 07, at handle 3.
  static let databases = #"""
    {"small":{"services":[{"handle":1,"endHandle":3,"more":1}],"attributes":[
      {"handle":1,"type":"2800","value":"0f18","permissions":["read"],"role":"service"},
      {"handle":2,"type":"2803","value":"020300192a","permissions":["read"],"role":"characteristic","more":{}},
      {"handle":3,"type":"2a19","value":"07","permissions":["read","fly"],"role":"value"}]},
     "broken":{"attributes":[{"handle":2,"type":"zzzz"},{"handle":1,"type":"2800"}]},"odd":7}
    """#

  private func server(_ cases: String) -> VectorReport {
    GATTServerVectors.run(
      in: VectorFolder(files: ["gatt-server.json": #"{"format":1,"databases":\#(Self.databases),"cases":[\#(cases)]}"#])
    )
  }

  private func client(_ cases: String) -> VectorReport {
    GATTClientVectors.run(in: VectorFolder(files: ["gatt-client.json": #"{"format":1,"cases":[\#(cases)]}"#]))
  }

  private static func read(_ value: String, _ more: String = "", database: String = "small") -> String {
    #"{"name":"a","database":"\#(database)","pdus":[{"dir":"in","hex":"0a0300"},{"dir":"out","hex":"0b\#(value)"}]\#(more)}"#
  }

  @Test func acceptsAnEmptyFolder() {
    for text in [nil, ""] {
      func folder(_ name: String) -> VectorFolder { VectorFolder(files: text.map { [name: $0] } ?? [:]) }
      for report in [
        GATTServerVectors.run(in: folder("gatt-server.json")), GATTClientVectors.run(in: folder("gatt-client.json")),
        DatabaseHashVectors.run(in: folder("dbhash.json")),
      ] { #expect(report.failures == [] && report.checked == 0 && report.notes.count == 1) }
    }
  }

  @Test func skipsUnknownStepsOfTheServer() {
    let report = server(
      #"""
      {"name":"a","database":"small","pdus":[{"dir":"sideways"}]},
      {"name":"b","database":"small","pdus":[{"dir":"action","action":"disconnect","more":1}]},
      {"name":"c","database":"small","pdus":[],"procedure":"service-changed"},
      {"name":"d","database":"small","policy":["unheard-of"]}
      """#)
    #expect(report.failures == [] && report.checked == 1 && report.notes.count == 3)
  }

  @Test func failsOnAWrongServerVector() {
    #expect(server(Self.read("07", #","policy":[],"mtu":5,"serverMTU":1000000,"more":[]"#)).failures == [])
    #expect(server(Self.read("08")).failures.count == 1)
    // Tags that describe the database do not permit other octets. Other tags do.
    #expect(server(Self.read("08", #","policy":["flat-database"]"#)).failures.count == 1)
    #expect(server(Self.read("08", #","policy":["flat-database","unheard-of"]"#)).failures == [])
    let known = server(Self.read("08", #","policy":["one-handle-accepted"]"#))
    #expect(known.failures == [] && known.notes.count == 2)
    for database in ["broken", "odd", "missing"] {
      #expect(server(Self.read("07", database: database)).failures.count == 1, "\(database)")
    }
    #expect(server(#"{"name":"a","database":"small","pdus":[{"dir":"in","hex":"0"}]}"#).failures.count == 1)
  }

  private static func reading(_ value: String, _ more: String = "", kind: String = "read", hex: String = "0a0300")
    -> String
  {
    #"""
    {"name":"a","role":"att-client","mtu":23,"pdus":[{"dir":"out","hex":"\#(hex)"},{"dir":"in","hex":"0b07"}],
     "procedure":{"kind":"\#(kind)","handle":3,"expect":{"error":0,"value":"\#(value)"}}\#(more)}
    """#
  }

  @Test func skipsUnknownProceduresOfTheClient() {
    let report = client(
      Self.reading("07", kind: "enhanced-read")
        + #",{"name":"b","pdus":[{"dir":"sideways"}],"procedure":{"kind":"replay"},"prefixPDUs":900}"#)
    #expect(report.failures == [] && report.checked == 0 && report.notes.count == 2)
  }

  @Test func failsOnAWrongClientVector() {
    #expect(client(Self.reading("07", #","policy":[],"more":1"#)).failures == [])
    #expect(client(Self.reading("08")).failures.count == 1)
    #expect(client(Self.reading("08", #","policy":["order-is-that-of-android"]"#)).failures.count == 1)
    #expect(client(Self.reading("08", #","policy":["unheard-of"]"#)).failures == [])
    // No procedure of this client begins with this request.
    #expect(client(Self.reading("07", hex: "0c03000000")).failures.count == 1)
    #expect(client(#"{"name":"a","pdus":[],"procedure":{"kind":"read","expect":{"error":0}}}"#).failures.count == 1)
  }

  /// The requests before the procedure may differ; the procedure must not.
  @Test func acceptsAnotherOrderOfDiscovery() {
    func talk(_ value: String) -> VectorReport {
      client(
        #"""
        {"name":"a","role":"gatt-client","mtu":23,"prefixPDUs":2,"policy":["prefix-is-bluez-discovery-order"],
         "pdus":[{"dir":"out","hex":"0c03000000"},{"dir":"in","hex":"0d07"},{"dir":"out","hex":"0a0300"},
                 {"dir":"in","hex":"0b07"}],
         "procedure":{"kind":"read","handle":3,"expect":{"error":0,"value":"\#(value)"}}}
        """#)
    }
    #expect(talk("07").failures == [] && talk("07").notes.count == 1)
    #expect(talk("08").failures.count == 1)
  }

  @Test func failsOnAWrongHash() {
    func hash(_ message: String, _ more: String = "") -> VectorReport {
      DatabaseHashVectors.run(
        in: VectorFolder(files: [
          "dbhash.json": #"""
          {"cases":[{"name":"a","kind":"database-hash","message":"\#(message)"\#(more),"attributes":[
            {"handle":1,"type":"2800","value":"0f18"}]},{"name":"b","kind":"service-hash","attributes":1}]}
          """#
        ]))
    }
    #expect(hash("010000280f18").failures == [] && hash("010000280f18").notes.count == 1)
    #expect(hash("0100").failures.count == 1)
    #expect(hash("0100", #","policy":["unheard-of"]"#).failures == [])
  }
}
