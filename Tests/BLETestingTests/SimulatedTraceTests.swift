import BLEHCI
import Testing

@testable import BLETesting

/// The packets of a device in memory, and their limits.
struct SimulatedTraceTests {
  /// Disconnection Complete of a link, 7 octets: 31 in a record.
  private static let event: [UInt8] = [0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x13]

  private static func trace(of count: Int, octets: Int = 1 << 20, activities: Int = 1 << 10) throws -> SimulatedTrace {
    let trace = try SimulatedTrace(
      at: nil, clock: ManualClock(), octetLimit: octets, activityLimit: activities)
    for _ in 0..<count { trace.record(event.span, .controllerToHost) }
    return trace
  }

  @Test func theOlderHalfOfTheOctetsIsDropped() throws {
    #expect(try Self.trace(of: 10, octets: 310).octets.count == 16 + 310)
    let trace = try Self.trace(of: 11, octets: 310)
    #expect(trace.octets.count == 16 + 6 * 31)
    // What has happened is read before.
    trace.update()
    #expect(
      trace.activities.count == 11
        && trace.activities.allSatisfy { $0.action == .disconnected(.remoteUserTerminatedConnection) })
  }

  @Test func theOlderHalfOfTheActivitiesIsDropped() throws {
    for (count, first) in [(8, 0), (9, 4)] {
      let trace = try Self.trace(of: count, activities: 8)
      trace.update()
      #expect(trace.firstActivity == first && trace.activities.count == count - first)
    }
  }

  @Test func aDiagramHasTheLastPackets() throws {
    for count in [RunRecord.diagramLimit, RunRecord.diagramLimit + 1] {
      let svg = RunRecord.diagram(of: try Self.trace(of: count).octets)
      #expect(svg.contains("<title>\(RunRecord.diagramLimit) packets"))
    }
  }
}
