import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Testing

/// The side of the program.
enum FairnessRole: String, CaseIterable, Sendable {
  case peripheral, central
}

/// Whether what one device does makes the operations of a program with another one slower, through both APIs.
///
/// Each operation with an honest device is measured in virtual time, alone and beside three hostile devices on links of
/// their own. It may take twice as long, and one connection interval more. `Tests/BLEHostTests/FairnessTests.swift` has
/// the operations of the host.
@Suite("Fairness between links, through the APIs") struct APIFairnessTests {
  enum API: String, CaseIterable, Sendable {
    case adapter, manager
  }

  /// What hostile devices do.
  enum Behaviour: String, CaseIterable, Sendable {
    /// Neither confirmations nor responses, or these half a second late.
    case answersNothing, answersLate
    case floods, fillsQueues, subscribesAgainAndAgain, reconnects
  }

  /// What the program and the honest device do.
  enum Operation: CaseIterable, Hashable, Sendable {
    case send(ValueKind, toAll: Bool)
    /// The program answers.
    case answerRead, answerWrite
    case procedure(Procedure)

    static let allCases =
      ValueKind.allCases.flatMap { [send($0, toAll: true), send($0, toAll: false)] } + [answerRead, answerWrite]
      + Procedure.allCases.map(procedure)

    static func all(of role: FairnessRole) -> [Operation] {
      allCases.filter { if case .procedure = $0 { role == .central } else { role == .peripheral } }
    }
  }

  private static let repetitions = 10
  /// One connection interval.
  private static let slack = Duration.milliseconds(30)

  @Test(arguments: API.allCases, FairnessRole.allCases)
  func hostileDevicesHoldUpNoOther(api: API, role: FairnessRole) async throws {
    let baseline = try await Self.times(api, role, beside: nil)
    for behaviour in Behaviour.allCases {
      let times = try await Self.times(api, role, beside: behaviour)
      for operation in Operation.all(of: role) {
        let (time, limit) = (try #require(times[operation]), try #require(baseline[operation]) * 2 + Self.slack)
        #expect(
          time <= limit, "\(operation) takes \(time) beside devices that do \(behaviour), and \(limit) is allowed")
      }
    }
  }

  /// The fault that these tests are for: 16 values are on their way to all links together. Each kind of value begins
  /// with windows that hostile devices have filled; later they have lost their links.
  @Test(arguments: API.allCases, ValueKind.allCases) func aSharedWindowIsFound(api: API, kind: ValueKind) async throws {
    let send = Operation.send(kind, toAll: false)
    let baseline = try await Self.times(api, .peripheral, [send], beside: nil, sharedWindow: 16)
    let times = try await Self.times(api, .peripheral, [send], beside: .answersNothing, sharedWindow: 16)
    let (time, limit) = (try #require(times[send]), try #require(baseline[send]) * 2 + Self.slack)
    #expect(time > limit)
  }

  private static func times(
    _ api: API, _ role: FairnessRole, _ operations: [Operation]? = nil, beside behaviour: Behaviour?,
    sharedWindow: Int = .max
  ) async throws -> [Operation: Duration] {
    let link = ScriptedLink(sharedWindow: sharedWindow)
    let program: any Program = api == .adapter ? AdapterProgram(link) : ManagerProgram(link, role)
    defer { program.close() }
    var scene = try await FairnessScene(program, role, behaviour)
    var times: [Operation: Duration] = [:]
    for operation in operations ?? Operation.all(of: role) {
      let start = scene.now
      for _ in 0..<repetitions where times[operation] == nil {
        // An operation that does not end is not repeated.
        if try await scene.performs(operation) { continue }
        times[operation] = scene.now - start
        if sharedWindow == .max { Issue.record("\(operation) has not ended after \(FairnessScene.patience)") }
      }
      times[operation] = scene.now - start
    }
    return times
  }
}
