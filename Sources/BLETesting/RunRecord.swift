import BLEHCI
import BLETrace
import BLEWire
import Foundation
import Synchronization

#if canImport(Testing)
  import Testing
#endif

/// What a run has left: whether it has failed, and its packets.
final class RunRecord: Sendable {
  struct Packets: Sendable {
    var device: String
    var octets: [UInt8]
    var frames: Int
    var activity: [LinkActivity]
  }

  /// What Swift Testing has recorded.
  struct Issue: Sendable {
    var text: String
    /// Where it was recorded: two issues of one place are of one kind, whatever values they have.
    var place: String
  }

  private struct State: Sendable {
    var issues: [Issue] = []
    var packets: [Packets] = []
    var files: [String] = []
  }
  private let state = Mutex(State())
  /// Whether issues are only noted: a run that is one of many.
  let isTrial: Bool

  init(isTrial: Bool) { self.isTrial = isTrial }

  /// What Swift Testing has recorded in the run.
  var issues: [Issue] { state.withLock { $0.issues } }
  var packets: [Packets] { state.withLock { $0.packets } }
  var files: [String] { state.withLock { $0.files } }

  /// Runs the body of a test, and notes the issues in it.
  func observe<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    #if canImport(Testing)
      guard Test.current != nil else { return try await body() }
      let isTrial = isTrial
      let outcome = Mutex<Result<Value, any Error>?>(nil)
      await withKnownIssue("an issue of one of several runs", isIntermittent: true) {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        outcome.withLock { $0 = result }
      } matching: { [self] issue in
        let place = issue.sourceLocation.map { "\($0.fileID):\($0.line)" } ?? "\(issue.kind)"
        state.withLock { $0.issues.append(Issue(text: "\(issue)", place: place)) }
        return isTrial
      }
      guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
      return try result.get()
    #else
      return try await body()
    #endif
  }

  /// The path of a file about a device.
  static func file(of device: String, _ kind: String, in folder: String) -> String {
    "\(folder)/\(device.replacing("/", with: "_")).\(kind)"
  }

  func keep(_ packets: [Packets]) { state.withLock { $0.packets = packets } }

  /// Writes the packets and their diagrams into a folder, and attaches them to the test.
  ///
  /// - Parameter folder: nil for a new one.
  func publish(in folder: String?) {
    let packets = packets.filter { $0.frames > 0 }
    guard !packets.isEmpty else { return }
    let path = folder ?? FileManager.default.temporaryDirectory.appendingPathComponent("BLETesting-\(UUID())").path
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var files: [String] = []
    for packets in packets {
      let svg = Self.diagram(of: packets.octets)
      for (kind, content) in [("btsnoop", packets.octets), ("svg", Array(svg.utf8))] {
        let file = Self.file(of: packets.device, kind, in: path)
        #if canImport(Testing)
          if Test.current != nil { Attachment.record(content, named: String(file.dropFirst(path.count + 1))) }
        #endif
        if FileManager.default.createFile(atPath: file, contents: Data(content)) { files.append(file) }
      }
    }
    state.withLock { $0.files = files }
  }

  /// The entries of a diagram at most: the last ones.
  static let diagramLimit = 400

  static func diagram(of octets: [UInt8]) -> String {
    var reader = TraceReader()
    var entries: [TraceEntry] = []
    for record in (try? BTSnoopFile(octets[...])).map(Array.init) ?? [] {
      guard let entry = reader.entry(for: record), !entry.isRoutine || entry.isFailure else { continue }
      entries.append(entry.withoutContent)
    }
    return LadderDiagram(entries.suffix(diagramLimit)).svg
  }
}
