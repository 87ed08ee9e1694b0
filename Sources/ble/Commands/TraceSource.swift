import BLEHCI
import BLELinux
import BLETrace
import BLEWire
import CLinux
import Glibc
import ToolCore

/// A file with a packet trace, or standard input, read in parts: entries appear while a program captures, and the
/// memory does not depend on the length of the file.
struct TraceSource: ~Copyable {
  private let name: String
  /// Nil for standard input.
  private let file: FileDescriptor?
  private let number: Int32
  private var records = TraceFile()
  private var reader = TraceReader()

  /// - Parameter name: the path of a file; `-` is standard input.
  /// - Throws: ``ToolError`` if the file cannot be opened.
  init(_ name: String) throws(ToolError) {
    if name == "-" {
      file = nil
      number = STDIN_FILENO
      self.name = "standard input"
    } else {
      self.name = name
      number = ble_open(name, O_RDONLY | O_CLOEXEC, 0)
      guard number >= 0 else {
        let reason = ToolError.text(ofError: errno)
        throw .input("\(name) cannot be read: \(reason). Name a packet trace, such as the one of --snoop FILE.")
      }
      file = FileDescriptor(adopting: number)
    }
  }

  /// Calls `body` with each entry until it returns false.
  ///
  /// - Parameter fragments: whether `body` also gets the fragments of frames that are not complete.
  /// - Returns: the reason why the trace cannot be read to its end, after the entries before; nil if it can.
  /// - Throws: ``ToolError`` if the input cannot be read.
  mutating func forEachEntry(
    withFragments fragments: Bool = false, _ body: (TraceEntry) -> Bool
  ) throws(ToolError) -> TraceFault? {
    var reader = self.reader
    defer { self.reader = reader }
    return try forEachRecord { record in
      let entry = reader.anyEntry(for: record)
      if case .fragment = entry.content, !fragments { return true }
      return body(entry)
    }
  }

  /// Calls `body` with each record until it returns false. It returns and throws as
  /// ``forEachEntry(withFragments:_:)`` does.
  mutating func forEachRecord(_ body: (BTSnoopRecord) -> Bool) throws(ToolError) -> TraceFault? {
    while true {
      let part = try StandardInput.nextPart(atMost: 65_536, of: number, named: name)
      if part.isEmpty { records.end() } else { records.append(part[...]) }
      do throws(TraceFault) {
        while let record = try records.next() {
          if !body(record) { return nil }
        }
      } catch { return error }
      if part.isEmpty { return nil }
    }
  }

  /// The devices whose services the entries have shown.
  var devices: [(link: ConnectionHandle?, address: DeviceAddress?, device: SeenDevice)] { reader.devices }

  /// The text about a record that the trace ends within; nil for a complete trace.
  var incompleteness: String? { records.incompleteness }
}
