import BLETrace
import BLEWire

/// A test that has failed with one of many seeds, after it was shortened (`TestRadio.explore`).
public struct TestFailure: Error, CustomStringConvertible {
  /// The seed.
  public var seed: UInt64
  /// The incidents with which the test fails: none of them can be left out.
  public var incidents: [Incident]
  /// How many the seed had at first.
  public var firstCount: Int
  /// Why it has failed: the error that was thrown, or the issues of Swift Testing.
  public var reason: String
  /// The runs that the shortening took.
  public var runs: Int
  /// What has happened on the links of each device in the shortened run.
  public var activity: [String: [LinkActivity]]
  /// The packets of ATT, SMP and L2CAP of each device in the shortened run, with those that hosts send by themselves.
  public var packets: [String: Int]
  /// The files with the packets of the shortened run.
  public var files: [String]

  /// The call in Swift that fails in the same way.
  public var code: String {
    guard !incidents.isEmpty else { return "try await TestRadio.run(seed: \(seed)) { radio in … }" }
    return "try await TestRadio.run(\n  seed: \(seed),\n  incidents: [\n"
      + incidents.map { "    \($0),\n" }.joined() + "  ]\n) { radio in … }"
  }

  /// The reason, ``code``, and what has happened to each device.
  public var description: String {
    let count = incidents.count == 1 ? "1 incident" : "\(incidents.count) incidents"
    let before = incidents.count == firstCount ? "" : ", \(firstCount) before"
    let counts = packets.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
    let course = activity.sorted { $0.key < $1.key }.flatMap { Course.lines(of: $0.key, $0.value, incidents) }
    return
      (["seed \(seed) fails with \(count)\(before) (shortened in \(runs) runs): \(reason)", code] + course
      + ["packets on the links: \(counts)"] + (files.isEmpty ? [] : ["files: \(files.joined(separator: ", "))"]))
      .joined(separator: "\n")
  }
}

/// What has happened to a device, in lines for a person.
enum Course {
  /// The lines of a device at most, half of them from the beginning.
  static let lineLimit = 24

  static func lines(of device: String, _ activity: [LinkActivity], _ incidents: [Incident]) -> [String] {
    var lines: [(time: Duration, text: String)] = []
    var run: (kind: String, count: Int) = ("", 0)
    for activity in activity {
      // Repeated actions of one kind are one line, with the first value.
      let kind = activity.action.kind
      if kind == run.kind, !lines.isEmpty {
        run.count += 1
        let first = lines[lines.count - 1].text.split(separator: " (", maxSplits: 1)[0]
        lines[lines.count - 1].text = "\(first) (\(run.count) times, until \(activity.seconds))"
      } else {
        run = (kind, 1)
        lines.append((activity.time, "\(activity)"))
      }
    }
    lines += incidents.filter { $0.device == device }.map {
      ($0.time, "\(TraceEntry.seconds($0.time.wholeMicroseconds)) s: INCIDENT \($0.kind)")
    }
    lines.sort { $0.time < $1.time }
    let texts = lines.map { "  \($0.text)" }
    let half = lineLimit / 2
    let shown = texts.count > lineLimit ? texts.prefix(half) + ["  …"] + texts.suffix(half - 1) : texts[...]
    return ["\(device):"] + (shown.isEmpty ? ["  nothing on its links"] : shown)
  }
}
