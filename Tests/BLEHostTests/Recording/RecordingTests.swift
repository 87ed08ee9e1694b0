import BLEWire
import Foundation
import Testing

/// Seeded scenarios of whole hosts, compared with what the hosts did when the recordings were made: every packet and
/// every event, in order.
///
/// A recording shows that a change of the code changes nothing else. It says nothing about right and wrong: that is in
/// the other tests. These scenarios differ in kind: each has packets, events or failures that no other has.
///
/// Who changes the behaviour on purpose makes the recordings anew, reads their difference and says in the commit what
/// it is:
///
///     BLE_RECORD=1 swift test --filter RecordingTests
@Suite("Recordings of whole hosts") struct RecordingTests {
  /// Where the recordings are: one file for each scenario.
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Transcripts")
  private static let isRecording = ProcessInfo.processInfo.environment["BLE_RECORD"] != nil

  enum Kind: String, CaseIterable, Sendable {
    case radio, scripted, kernel

    var scenarios: [Int] {
      switch self {
      case .radio: [6, 10, 16, 24, 43, 59, 62, 68, 78, 82, 86, 97]
      case .scripted: [23, 31, 34, 43, 46]
      case .kernel: [3, 7, 8, 13, 21, 33, 38]
      }
    }

    func play(_ number: Int) -> Transcript {
      switch self {
      case .radio: RadioScenario.play(seed: UInt64(number))
      case .scripted: ScriptedScenario.play(seed: UInt64(1000 + number), isShared: false)
      case .kernel: ScriptedScenario.play(seed: UInt64(2000 + number), isShared: true)
      }
    }
  }

  static let scenarios = Kind.allCases.flatMap { kind in kind.scenarios.map { (kind, $0) } }

  @Test(arguments: scenarios) func everyPacketAndEventIsAsRecorded(kind: Kind, number: Int) throws {
    let file = Self.folder.appending(path: "\(kind.rawValue)-\(number).txt")
    let text = kind.play(number).text
    if Self.isRecording {
      try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
      return try text.write(to: file, atomically: true, encoding: .utf8)
    }
    let recorded = try String(contentsOf: file, encoding: .utf8)
    guard text != recorded else { return }
    let (now, before) = (text.split(separator: "\n"), recorded.split(separator: "\n"))
    let line =
      zip(now, before).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(now.count, before.count)
    let context = before.prefix(line).suffix(8).joined(separator: "\n")
    Issue.record(
      """
      \(file.lastPathComponent), line \(line + 1), after
      \(context)
      recorded: \(line < before.count ? before[line] : "the end")
      now:      \(line < now.count ? now[line] : "the end")
      """)
  }

  /// A recording is of use only if playing a scenario twice gives the same.
  @Test func scenariosAreDeterministic() {
    for kind in Kind.allCases { #expect(kind.play(kind.scenarios[0]).lines == kind.play(kind.scenarios[0]).lines) }
  }
}
