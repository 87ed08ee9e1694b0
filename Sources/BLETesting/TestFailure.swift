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

  /// The beginning of a test in Swift that fails in the same way.
  public var code: String {
    guard !incidents.isEmpty else { return "try await TestRadio.run(seed: \(seed)) { radio in" }
    return "try await TestRadio.run(\n  seed: \(seed),\n  incidents: [\n"
      + incidents.map { "    \($0),\n" }.joined() + "  ]\n) { radio in"
  }

  public var description: String {
    let counts = packets.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
    let course = activity.sorted { $0.key < $1.key }.map { name, actions in
      let before = actions.count > Self.shownActions ? ["  …"] : []
      return ([name + ":"] + before + actions.suffix(Self.shownActions).map { "  \($0)" }).joined(separator: "\n")
    }
    let left = incidents.count == firstCount ? "" : " of \(firstCount)"
    return
      ([
        "seed \(seed) fails with \(incidents.count)\(left) incidents (shortened in \(runs) runs): \(reason)", code,
      ] + course + ["packets on the links: \(counts)"]
      + (files.isEmpty ? [] : ["files: \(files.joined(separator: ", "))"]))
      .joined(separator: "\n")
  }

  /// The last actions of each device that the description has.
  private static let shownActions = 20
}
