import BLETrace
import BLEWire

// The functions that the page calls. Numbers are those of WebAssembly, text is UTF-8 in the memory of the module.

nonisolated(unsafe) private var log = Log()
/// What the page has written: octets of the file, or a word.
nonisolated(unsafe) private var input = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1)

/// A buffer for the next octets.
@_expose(wasm, "log_reserve") @_cdecl("log_reserve") public func reserve(_ count: Int32) -> Int32 {
  if input.count < Int(count) {
    input.deallocate()
    input = .allocate(capacity: Int(count))
  }
  return address(UnsafeRawPointer(input.baseAddress))
}

/// Adds the octets of the file that are in the buffer.
///
/// - Returns: 1 if a fault ends the reading, otherwise 0.
@_expose(wasm, "log_add") @_cdecl("log_add") public func add(_ count: Int32) -> Int32 {
  log.add(Bytes(input.prefix(Int(count)))) ? 1 : 0
}

/// The file has no more octets.
@_expose(wasm, "log_finish") @_cdecl("log_finish") public func finish() { log.finish() }

/// The packets of the trace.
@_expose(wasm, "log_packets") @_cdecl("log_packets") public func packets() -> Int32 {
  Int32(truncatingIfNeeded: log.packets)
}

/// Selects the rows. The word of the link is in the buffer.
///
/// - Returns: the number of rows; -1 if the trace does not have the link.
@_expose(wasm, "log_filter") @_cdecl("log_filter") public func filter(
  _ all: Int32, _ layers: UInt32, _ link: Int32, _ count: Int32
) -> Int32 {
  let word = String(decoding: input.prefix(Int(max(0, count))), as: UTF8.self)
  return Int32(truncatingIfNeeded: log.select(all: all != 0, layers: layers, word) ?? -1)
}

/// The number of the packet of a row in the trace.
@_expose(wasm, "log_row_number") @_cdecl("log_row_number") public func rowNumber(_ row: Int32) -> Int32 {
  Int32(truncatingIfNeeded: log.number(Int(row)) ?? -1)
}

/// Bit 0 for a failure, then two bits for the layer.
@_expose(wasm, "log_row_style") @_cdecl("log_row_style") public func rowStyle(_ row: Int32) -> Int32 {
  log.style(Int(row))
}

/// Writes a text.
///
/// - Returns: its octets, which are at `log_text_pointer`.
@_expose(wasm, "log_text") @_cdecl("log_text") public func text(_ kind: Int32, _ first: Int32, _ end: Int32) -> Int32 {
  guard let kind = TextKind(rawValue: kind) else { return 0 }
  log.write(kind, Int(first), Int(end))
  return Int32(truncatingIfNeeded: log.text.count)
}

@_expose(wasm, "log_text_pointer") @_cdecl("log_text_pointer") public func textPointer() -> Int32 {
  log.text.withUnsafeBufferPointer { address(UnsafeRawPointer($0.baseAddress)) }
}

private func address(_ pointer: UnsafeRawPointer?) -> Int32 {
  Int32(truncatingIfNeeded: Int(bitPattern: pointer))
}

// MARK: - What Swift's runtime library calls

/// The seed of hash tables: the page reads files of its user alone.
@_cdecl("arc4random_buf") public func fill(_ buffer: UnsafeMutableRawPointer, _ count: Int) {
  buffer.initializeMemory(as: UInt8.self, repeating: 0x5A, count: count)
}
