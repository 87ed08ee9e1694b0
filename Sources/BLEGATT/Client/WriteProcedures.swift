import BLEATT
import BLEWire

/// Write Characteristic Value and Write Characteristic Descriptors (Vol 3, Part G, 4.9.3 and 4.12.3).
struct ValueWrite: ClientProcedure {
  let handle: AttributeHandle
  let value: [UInt8]

  func begin(mtu: Int) -> ClientStep { .send(.writeRequest(.init(handle: handle, value: value[...]))) }

  /// The response has no parameters; octets after the opcode mean nothing.
  func receive(_ response: Span<UInt8>, mtu: Int) -> ClientStep { .finish(.done) }
}

/// Write Long Characteristic Values and Descriptors (Vol 3, Part G, 4.9.4 and 4.12.4) and Reliable Writes (4.9.5): the
/// server queues the parts, then writes them together.
///
/// ```
///   preparing ──last part──► executing ──► done
///       │ error, or an echo that differs
///       ▼
///   cancelling (Execute Write, cancel) ──► that error
/// ```
struct QueuedWrites: ClientProcedure {
  private enum State {
    case preparing
    case executing
    case cancelling(GATTClientError)
  }

  private let writes: [GATTClient.Operation.QueuedWrite]
  /// Whether each part is compared with its echo: Reliable Writes.
  private let comparesEchoes: Bool
  private var state = State.preparing
  private var current = 0
  private var written = 0
  private var part = PrepareWriteRequest()

  init(_ writes: [GATTClient.Operation.QueuedWrite], comparesEchoes: Bool) {
    self.writes = writes
    self.comparesEchoes = comparesEchoes
  }

  mutating func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard !writes.isEmpty else { throw .invalidParameters("reliable write failed: there are no values") }
    for write in writes {
      let end = write.offset.addingReportingOverflow(write.value.count)
      guard write.offset >= 0, !end.overflow, end.partialValue <= ATT.maximumValueLength else {
        throw .invalidParameters(
          "write failed: \(write.value.count) octets at offset \(write.offset). A value has at most \(ATT.maximumValueLength)"
        )
      }
    }
    return prepare(mtu: mtu)
  }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    switch state {
    case .preparing:
      let echo: PrepareWriteResponse
      do throws(GATTClientError) { echo = try decode(PrepareWriteResponse.self, response) } catch {
        return cancel(error)
      }
      if comparesEchoes,
        echo.handle != part.handle || echo.valueOffset != part.valueOffset
          || echo.partAttributeValue != part.partAttributeValue
      {
        return cancel(.echoDiffers(part.handle, offset: Int(part.valueOffset)))
      }
      written += part.partAttributeValue.count
      if written >= writes[current].value.count {
        current += 1
        written = 0
      }
      guard current >= writes.count else { return prepare(mtu: mtu) }
      state = .executing
      return .send(.executeWriteRequest(.init(flags: .write)))
    // The response has no parameters; octets after the opcode mean nothing.
    case .executing: return .finish(.done)
    case .cancelling(let error): throw error
    }
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    switch state {
    case .preparing: return cancel(GATTClientError(error))
    case .executing: throw GATTClientError(error)
    case .cancelling(let first): throw first
    }
  }

  private mutating func cancel(_ error: GATTClientError) -> ClientStep {
    state = .cancelling(error)
    return .send(.executeWriteRequest(.init(flags: .cancel)))
  }

  /// The request for the next part. An empty value is one empty part. The opcode, the handle and the offset take 5
  /// octets.
  private mutating func prepare(mtu: Int) -> ClientStep {
    let write = writes[current]
    part = PrepareWriteRequest(
      handle: write.handle, valueOffset: UInt16(truncatingIfNeeded: write.offset &+ written),
      partAttributeValue: write.value.dropFirst(written).prefix(mtu - 5))
    return .send(.prepareWriteRequest(part))
  }
}
