import BLEATT
import BLEWire

/// A value that fits one PDU, acknowledged (Vol 3, Part G, 4.9.3 and 4.12.3).
struct ValueWrite: ClientProcedure {
  let handle: AttributeHandle
  let value: [UInt8]

  func begin(mtu: Int) -> ClientStep { .send(WriteRequest(handle: handle, value: value[...])) }

  func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    _ = try decode(WriteResponse.self, response)
    return .finish(.done)
  }
}

/// Values queued in parts on the server, then written all at once: a long value (Vol 3, Part G, 4.9.4, 4.12.4) or several
/// values reliably (4.9.5).
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
  /// Whether each part is compared with its echo.
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
    guard !writes.isEmpty else { throw .invalidParameters("a reliable write of no values") }
    for write in writes {
      let end = write.offset.addingReportingOverflow(write.value.count)
      guard write.offset >= 0, !end.overflow, end.partialValue <= ATT.maximumValueLength else {
        throw .invalidParameters(
          "\(write.value.count) octets from offset \(write.offset) on pass the \(ATT.maximumValueLength) of a value")
      }
    }
    return prepare(mtu: mtu)
  }

  mutating func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
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
      return .send(ExecuteWriteRequest(flags: .write))
    case .executing:
      _ = try decode(ExecuteWriteResponse.self, response)
      return .finish(.done)
    case .cancelling(let error): throw error
    }
  }

  mutating func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    switch state {
    case .preparing: return cancel(GATTClientError(error))
    case .executing: throw GATTClientError(error)
    case .cancelling(let first): throw first
    }
  }

  private mutating func cancel(_ error: GATTClientError) -> ClientStep {
    state = .cancelling(error)
    return .send(ExecuteWriteRequest(flags: .cancel))
  }

  /// The next part; an empty value is one empty part. The opcode, the handle and the offset take 5 octets.
  private mutating func prepare(mtu: Int) -> ClientStep {
    let write = writes[current]
    part = PrepareWriteRequest(
      handle: write.handle, valueOffset: UInt16(truncatingIfNeeded: write.offset &+ written),
      partAttributeValue: write.value.dropFirst(written).prefix(mtu - 5))
    return .send(part)
  }
}
