import BLEATT

/// A procedure of any type. In Embedded Swift, which has no existential types, it is in a box.
struct AnyClientProcedure: ClientProcedure {
  #if hasFeature(Embedded)
    private var box: Box

    init(_ procedure: some ClientProcedure) { box = BoxOf(procedure) }

    /// The box, for a change of this copy alone.
    private var own: Box {
      mutating get {
        if !isKnownUniquelyReferenced(&box) { box = box.copy() }
        return box
      }
    }
  #else
    private var box: any ClientProcedure

    init(_ procedure: some ClientProcedure) { box = procedure }

    private var own: any ClientProcedure {
      _read { yield box }
      _modify { yield &box }
    }
  #endif

  mutating func begin(mtu: Int) throws(GATTClientError) -> ClientStep { try own.begin(mtu: mtu) }
  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    try own.receive(response, mtu: mtu)
  }
  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep { try own.receive(error) }
  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? { box.result(endedBy: error) }
  var repetition: ClientStep? { box.repetition }
  var finding: ClientFinding? { box.finding }
}

#if hasFeature(Embedded)
  // Unchecked, because a class with subclasses cannot be checked: a copy that is changed has a box of its own.
  private class Box: @unchecked Sendable {
    func copy() -> Box { self }
    func begin(mtu: Int) throws(GATTClientError) -> ClientStep { .finish(.done) }
    func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep { .finish(.done) }
    func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep { .finish(.done) }
    func result(endedBy error: GATTClientError) -> GATTClient.Outcome? { nil }
    var repetition: ClientStep? { nil }
    var finding: ClientFinding? { nil }
  }

  private final class BoxOf<Procedure: ClientProcedure>: Box, @unchecked Sendable {
    var procedure: Procedure

    init(_ procedure: Procedure) { self.procedure = procedure }

    override func copy() -> Box { BoxOf(procedure) }
    override func begin(mtu: Int) throws(GATTClientError) -> ClientStep { try procedure.begin(mtu: mtu) }
    override func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
      try procedure.receive(response, mtu: mtu)
    }
    override func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep { try procedure.receive(error) }
    override func result(endedBy error: GATTClientError) -> GATTClient.Outcome? { procedure.result(endedBy: error) }
    override var repetition: ClientStep? { procedure.repetition }
    override var finding: ClientFinding? { procedure.finding }
  }
#endif
