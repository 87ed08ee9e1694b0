import BLEWire

/// The operations of a client that wait, in their order, and what they count towards the limit.
package struct WaitingOperations: Sendable {
  /// Those that are performed again, before all others.
  private var repeated: ArraySlice<GATTClient.Operation> = []
  private var queue = FIFO<GATTClient.Operation>()
  /// The sum of ``GATTClient/Operation/waitingOctets``.
  package private(set) var octets = 0

  package init() {}

  package var count: Int { repeated.count + queue.count }
  package var first: GATTClient.Operation? { repeated.first ?? queue.first }
  package var isEmpty: Bool { repeated.isEmpty && queue.isEmpty }

  package mutating func append(_ operation: GATTClient.Operation) {
    octets += operation.waitingOctets
    queue.append(operation)
  }

  /// Puts operations before all others.
  mutating func insertFirst(_ operations: [GATTClient.Operation]) {
    octets += operations.reduce(0) { $0 + $1.waitingOctets }
    repeated = operations + repeated
  }

  @discardableResult
  package mutating func removeFirst() -> GATTClient.Operation? {
    guard let first else { return nil }
    octets -= first.waitingOctets
    if repeated.popFirst() == nil {
      // The queue keeps the memory of what is removed, and its value would stay with it.
      queue[0].kind = .discoverPrimaryServices
      queue.removeFirst(1)
    }
    return first
  }

  package mutating func removeAll() -> [GATTClient.Operation] {
    let all = repeated + queue.elements
    self = Self()
    return Array(all)
  }
}

extension GATTClient.Operation {
  /// What it counts towards the limit of operations that wait: the octets that it writes, and 64 for itself.
  package var waitingOctets: Int {
    switch kind {
    case .write(_, let value), .writeLong(_, _, let value), .writeWithoutResponse(_, let value),
      .signedWrite(_, let value):
      64 + value.count
    case .reliableWrite(let writes): writes.reduce(64) { $0 + 64 + $1.value.count }
    case .readMultiple(let handles), .readMultipleVariable(let handles): 64 + 2 * handles.count
    case .request(let pdu): 64 + pdu.count
    case .exchangeMTU, .discoverPrimaryServices, .discoverPrimaryServicesByUUID, .findIncludedServices,
      .discoverCharacteristics, .discoverCharacteristicsByUUID, .discoverDescriptors, .read, .readLong,
      .readUsingUUID, .configure, .subscribeToServiceChanged:
      64
    }
  }
}
