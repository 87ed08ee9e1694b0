import BLEATT
import BLEHCI
import BLEWire
import Testing

@testable import BLEKit
@testable import BLEReplay
@testable import BLETrace

/// What counts as a difference between a trace and a replay, and the values that a replay waits for.
struct ReplayComparisonTests {
  /// A session with a discovery: 0x0003 is a Device Name, 0x0005 a Battery Level.
  private func comparison(_ options: ReplayOptions = ReplayOptions()) throws -> ReplayComparison {
    var recorder = SessionRecorder()
    func add(_ pdu: [UInt8], isSent: Bool) {
      let header = [2, 1, isSent ? 0 : 0x20, UInt8(pdu.count + 4), 0, UInt8(pdu.count), 0, 4, 0] as [UInt8]
      recorder.add(
        BTSnoopRecord(
          packet: (header + pdu)[...], direction: isSent ? .hostToController : .controllerToHost, microseconds: 0))
    }
    add([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28], isSent: true)
    add([0x09, 7, 2, 0, 2, 3, 0, 0x00, 0x2A, 4, 0, 0x12, 5, 0, 0x19, 0x2A], isSent: false)
    return ReplayComparison(session: try recorder.finish(), options: options)
  }

  private func response(_ pdu: [UInt8]) -> RecordedSession.Response { .init(number: 12, time: 0, pdu: pdu) }

  // MARK: Responses

  @Test func equalResponsesAreNoDifference() throws {
    #expect(try comparison().difference([0x0A, 3, 0], response([0x0B, 0x41]), [0x0B, 0x41]) == nil)
  }

  @Test func aDifferenceHasThePacketTheNameAndBothValues() throws {
    let found = try comparison().difference([0x0A, 3, 0], response([0x0B, 0x41]), [0x0B, 0x42])
    #expect(found?.description == "packet 12: Read Request of 0x0003 Device Name: recorded \"A\", now \"B\"")
    let refused = try comparison().difference([0x0A, 3, 0], response([0x0B, 0x41]), [1, 0x0A, 3, 0, 0x05])
    #expect(refused?.description.hasSuffix("recorded \"A\", now Insufficient Authentication (0x05)") == true)
    #expect(refused?.attribute == 3 && refused?.kind == .response)
  }

  /// Values whose texts are equal differ in octets, which are shown from the first other one on.
  @Test func octetsOfEqualTextsAreShown() throws {
    let long = [UInt8](repeating: 7, count: 80)
    let found = try comparison().difference([0x0A, 9, 0], response([0x0B] + long + [1]), [0x0B] + long + [2])
    #expect(found?.recorded?.hasSuffix("(from octet 81 on 01)") == true, "\(String(describing: found))")
    #expect(found?.replayed?.hasSuffix("(from octet 81 on 02)") == true)
  }

  @Test func listsAreInPlainWords() throws {
    let request: [UInt8] = [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]
    let found = try comparison().difference(
      request, response([0x11, 6, 1, 0, 5, 0, 0x00, 0x18]), [0x11, 6, 1, 0, 7, 0, 0x0F, 0x18])
    let text = found?.description ?? ""
    #expect(text.contains("Read By Group Type Request, Primary Service in 0x0001-0xFFFF"), "\(text)")
    #expect(text.contains("0x0001-0x0005 ") && text.contains("0x0001-0x0007 Battery"), "\(text)")
  }

  @Test(arguments: [true, false]) func valuesOfIgnoredAttributesAreNotCompared(byType: Bool) throws {
    var options = ReplayOptions()
    if byType { options.ignoredTypes = ["2A19"] } else { options.ignoredHandles = [5] }
    let comparison = try comparison(options)
    #expect(comparison.difference([0x0A, 5, 0], response([0x0B, 1]), [0x0B, 2]) == nil)
    #expect(comparison.difference([0x0C, 5, 0, 1, 0], response([0x0D, 1]), [0x0D, 2]) == nil)
    #expect(comparison.difference([0x0E, 5, 0, 3, 0], response([0x0F, 1, 1]), [0x0F, 2, 1]) == nil)
    let list = response([0x09, 3, 5, 0, 1])
    let byUUID: [UInt8] = [0x08, 1, 0, 0xFF, 0xFF, 0x19, 0x2A]
    #expect(comparison.difference(byUUID, list, [0x09, 3, 5, 0, 2]) == nil)
    // Another attribute, a refusal, and another handle are differences.
    #expect(comparison.difference([0x0A, 3, 0], response([0x0B, 1]), [0x0B, 2]) != nil)
    #expect(comparison.difference([0x0A, 5, 0], response([0x0B, 1]), [1, 0x0A, 5, 0, 2]) != nil)
    #expect(comparison.difference(byUUID, list, [0x09, 3, 6, 0, 1]) != nil)
  }

  /// A bonded client is refused by another code, and the server has kept what it wrote.
  @Test func whatFollowsFromAnEarlierBondIsNotCompared() throws {
    var options = ReplayOptions()
    options.ignoresBondState = true
    let (bonded, other) = (try comparison(options), try comparison())
    let (refused, code): ([UInt8], [UInt8]) = ([1, 0x0A, 3, 0, 0x05], [1, 0x0A, 3, 0, 0x0F])
    #expect(bonded.difference([0x0A, 3, 0], response(refused), code) == nil)
    #expect(other.difference([0x0A, 3, 0], response(refused), code) != nil)
    #expect(bonded.difference([0x0A, 3, 0], response(refused), [1, 0x0A, 3, 0, 0x0C]) != nil)
    #expect(bonded.difference([0x0A, 3, 0], response(refused), [0x0B, 1]) != nil)
    let features: [UInt8] = [0x08, 1, 0, 0xFF, 0xFF, 0x29, 0x2B]
    #expect(bonded.difference(features, response([0x09, 3, 9, 0, 0]), [0x09, 3, 9, 0, 1]) == nil)
    #expect(other.difference(features, response([0x09, 3, 9, 0, 0]), [0x09, 3, 9, 0, 1]) != nil)
  }

  // MARK: Values

  private func values(_ recorded: [UInt8], _ replayed: [UInt8]) throws -> [String] {
    let recorded = recorded.enumerated().map { (number: 20 + $0.offset, value: [$0.element]) }
    return try comparison().differences(of: 9, recorded, replayed.map { [$0] }).map { difference in
      "\(difference.packet ?? 0): \(difference.recorded ?? "-") \(difference.replayed ?? "-")"
    }
  }

  @Test func sequencesOfValuesAreAligned() throws {
    #expect(try values([1, 2, 3], [1, 2, 3]) == [])
    #expect(try values([1, 2, 3], [1, 3]) == ["21: 02 -"])
    #expect(try values([1, 3], [1, 2, 3]) == ["0: - 02"])
    #expect(try values([1, 2, 3], [1, 9, 3]) == ["21: 02 09"])
    #expect(try values([1, 2], []) == ["20: 01 -", "21: 02 -"])
    #expect(try values([], [1]) == ["0: - 01"])
  }

  /// Without an end that many other values would take.
  @Test func longSequencesAreComparedOneByOne() throws {
    let long = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(try values(long, long) == [])
    #expect(try values(long, long.map { $0 ^ 1 }).count == long.count)
    #expect(try values(long, Array(long.dropLast())).count == 1)
  }

  @Test func differencesAreKeptUpToTheLimit() throws {
    let difference = ReplayDifference(kind: .link, packet: 1, name: "the link")
    var result = ReplayResult()
    for _ in 0..<ReplayResult.differenceLimit { result.add(difference) }
    #expect(result.differences.count == ReplayResult.differenceLimit && result.furtherDifferences == 0)
    result.add(difference)
    #expect(result.differences.count == ReplayResult.differenceLimit && result.furtherDifferences == 1)
    #expect(result.lines.contains("and 1 more differences") && result.lines[0].hasSuffix("257 differences"))
  }

  // MARK: Waits

  /// A clock whose sleeps end when their task is cancelled: nothing expires.
  private static let patient = WaitClock(sleep: { _ in try await Task.sleep(for: .seconds(3600)) })
  /// A clock whose sleeps end at once.
  private static let hasty = WaitClock(sleep: { _ in })

  private func value(_ octet: UInt8) -> AttributeValue { AttributeValue(handle: 9, octets: [octet]) }

  @Test func aValueThatIsThereIsNotWaitedFor() async {
    let received = ReceivedValues(clock: Self.patient)
    received.add(value(1))
    #expect(await received.wait(for: 1, of: 9, atMost: .seconds(1)))
    #expect(received.all == [9: [[1]]])
  }

  @Test func aWaitEndsWithItsValue() async {
    let received = ReceivedValues(clock: Self.patient)
    async let hasArrived = received.wait(for: 2, of: 9, atMost: .seconds(1))
    received.add(value(1))
    received.add(value(2))
    #expect(await hasArrived)
  }

  @Test func aWaitEndsWithItsTimeWithTheLinkAndWithItsTask() async {
    #expect(await !ReceivedValues(clock: Self.hasty).wait(for: 1, of: 9, atMost: .seconds(1)))
    #expect(await !ReceivedValues(clock: Self.hasty).waitForEnd(atMost: .seconds(1)))
    let received = ReceivedValues(clock: Self.patient)
    async let hasArrived = received.wait(for: 1, of: 9, atMost: .seconds(1))
    received.end()
    #expect(await !hasArrived)
    #expect(await received.waitForEnd(atMost: .seconds(1)) && received.isOver)
    let waiting = ReceivedValues(clock: Self.patient)
    let task = Task { await waiting.wait(for: 1, of: 9, atMost: .seconds(1)) }
    task.cancel()
    #expect(await !task.value)
  }

  @Test func valuesAreKeptUpToTheLimit() {
    let received = ReceivedValues(clock: Self.patient)
    for _ in 0..<ReceivedValues.limit { received.add(value(1)) }
    #expect(received.all[9]?.count == ReceivedValues.limit && !received.hasLost)
    received.add(value(1))
    #expect(received.all[9]?.count == ReceivedValues.limit && received.hasLost)
  }
}
