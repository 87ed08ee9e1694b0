package import BLEHCI
package import BLELinux
internal import BLEWire

/// Writes HCI packets to a btsnoop file, which Wireshark and btmon read.
///
/// A record is written to the file before its packet is handled, so that after a crash the file has every packet that
/// led to it. Keys are replaced with zeros, unless `keepingKeys` of ``init(at:keepingKeys:now:)`` is true.
package struct PacketTrace: ~Copyable, Sendable {
  package typealias Direction = HCIPacketDirection

  /// The number of octets of records that can wait for ``flush()``.
  package static let bufferLimit = 65_536

  private let file: OutputFile
  private let path: String
  private var buffer: [UInt8]
  private var redactor: KeyRedactor?
  private let now: @Sendable () -> Int64

  /// Creates or empties the file at `path`, which only its owner may read, and writes its header.
  ///
  /// - Parameters:
  ///   - keepingKeys: whether keys are readable in the trace.
  ///   - now: the time of day in microseconds since 1970.
  /// - Throws: an error, even for a symbolic link or a file of another user. ``OutputFile`` lists the files that are
  ///   accepted.
  package init(
    at path: String, keepingKeys: Bool = false, now: @escaping @Sendable () -> Int64 = { WallClock.microseconds() }
  ) throws(TransportError) {
    self.init(try Self.makeFile(at: path), path, keepingKeys ? nil : KeyRedactor(), now)
  }

  private init(
    _ file: consuming OutputFile, _ path: String, _ redactor: KeyRedactor?, _ now: @escaping @Sendable () -> Int64
  ) {
    self.file = file
    self.path = path
    self.redactor = redactor
    self.now = now
    buffer = []
    buffer.reserveCapacity(Self.bufferLimit)
  }

  private static func makeFile(at path: String) throws(TransportError) -> OutputFile {
    let file: OutputFile
    do throws(FileRefusal) {
      file = try OutputFile(at: path)
    } catch {
      throw TransportError(tracingTo: path, error)
    }
    let header = BTSnoopFile.header
    do throws(SystemError) {
      try file.write(header.span)
    } catch {
      throw TransportError(tracingTo: path, .failed(error))
    }
    return file
  }

  /// Appends one complete H4 packet.
  package mutating func record(_ packet: Span<UInt8>, _ direction: Direction) throws(TransportError) {
    guard !packet.isEmpty else { return }
    if buffer.count + BTSnoopFile.recordHeaderLength + packet.count > Self.bufferLimit { try flush() }
    BTSnoopFile.append(packet, direction, at: now(), to: &buffer)
    redactor?.erase(&buffer, from: buffer.count - packet.count, isReceived: direction == .controllerToHost)
  }

  /// Writes the records to the file.
  package mutating func flush() throws(TransportError) {
    guard !buffer.isEmpty else { return }
    defer { buffer.removeAll(keepingCapacity: true) }
    do throws(SystemError) {
      try file.write(buffer.span)
    } catch {
      throw TransportError(
        .inputOutput, at: path, "the packet trace cannot be continued", remedy: "Free space on that disk.", cause: error
      )
    }
  }
}

extension TransportError {
  fileprivate init(tracingTo path: String, _ refusal: FileRefusal) {
    let what = "cannot write the packet trace"
    let remedy =
      switch refusal {
      case .failed(let error) where error.isWithoutReader: "Start the program that reads this pipe first."
      case .isSymbolicLink: "Name the file itself, or a pipe made by mkfifo."
      case .isNotRegular: "Name a file, or a pipe made by mkfifo."
      case .isOwned, .hasSeveralNames: "Remove it, or name a file in a folder of your own."
      default: "Name a file in a folder that you may write to."  // The folder is at fault.
      }
    if case .failed(let error) = refusal {
      self.init(.inputOutput, at: path, what, remedy: remedy, cause: error)
    } else {
      self.init(.inputOutput, at: path, "\(what) (\(refusal))", remedy: remedy)
    }
  }
}
