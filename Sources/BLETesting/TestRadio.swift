public import BLEAdapter
import BLELinux
public import BLEVirtual
import BLEWire
import Dispatch
import Foundation
import Synchronization

/// A radio in virtual time, with devices, for the tests of programs.
///
/// Each device has a whole host and a controller on the radio. Programs use it by an ``Adapter`` of BLEKit or by
/// managers of CoreBluetooth. When all of them wait, the time of the radio jumps to what is due next: a supervision
/// timeout, the 30 s of an ATT transaction and an hour of advertising take milliseconds.
///
/// ```swift
/// import BLEKit
/// import BLETesting
/// import Testing
///
/// @Test func theLinkEndsWhenTheDeviceLeaves() async throws {
///   try await TestRadio.run { radio in
///     let sensor = try await radio.device("sensor")
///     let adapter = try await sensor.adapter()
///     async let _ = adapter.advertise(Advertisement(localName: "Sensor"))
///     let device = try await radio.device("phone").adapter().connect(to: sensor.address)
///     try await sensor.moveOutOfRange()
///     let end = try await device.waitUntilDisconnected()
///     #expect(end.disconnectReason == .connectionTimeout)
///   }
/// }
/// ```
///
/// **Time.** The body of ``run(seed:pacing:timeLimit:traces:_:)``, its child tasks and the handlers of BLEKit run on
/// one thread, the ``executor``, so that the radio knows when they wait. Managers of CoreBluetooth call their delegates
/// on their queue; the radio waits until each call has returned. What runs elsewhere is not known to it, and time
/// passes meanwhile: an unstructured `Task`, which needs `Task(executorPreference: radio.executor)`; other queues;
/// `Task.sleep`, timers and the network. ``inRealTime(_:)`` holds the time for such work, and ``clock`` is the clock to
/// sleep by.
///
/// **Repetition.** The seed determines the radio: addresses, advertising delays, faults. A run repeats packet by
/// packet, as far as the programs do: what runs on several threads of a program does not repeat its order.
public final class TestRadio: Sendable {
  /// The seed of this run.
  public let seed: UInt64
  /// The time of the radio.
  public let clock: TestClock
  /// The executor of the test's tasks: `Task(executorPreference: radio.executor)`.
  public var executor: any TaskExecutor { tasks }

  let tasks: ManualExecutor
  private let traces: String?
  private let turn: Turn
  private let names = Mutex<Set<String>>([])

  private init(seed: UInt64, traces: String?, _ clock: ManualClock, _ tasks: ManualExecutor, _ turn: Turn) {
    (self.seed, self.traces, self.clock, self.tasks, self.turn) = (seed, traces, TestClock(clock: clock), tasks, turn)
  }

  /// Runs a test on a new radio.
  ///
  /// - Parameters:
  ///   - seed: of the radio's random numbers; the same seed gives the same packets.
  ///   - pacing: when PDUs move; by default with the timing of a real radio.
  ///   - timeLimit: the time of the radio after which the test is cancelled and fails.
  ///   - traces: a folder, which exists, for the packets of each device: `NAME.btsnoop`, which `ble log` and Wireshark
  ///     read, with times from 1 January 2000 on; nil takes the environment variable `BLE_TEST_TRACES`, otherwise none.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; otherwise ``TestRadioError``.
  public static func run<Value: Sendable>(
    seed: UInt64 = 1, pacing: VirtualRadio.Pacing = .airtime, timeLimit: Duration = .seconds(3600),
    traces: String? = nil,
    _ body: @escaping @Sendable (TestRadio) async throws -> Value
  ) async throws -> Value {
    let turn = Turn()
    let (clock, tasks) = (ManualClock(), ManualExecutor(added: { turn.wake() }))
    let radio = TestRadio(seed: seed, traces: traces ?? Environment.value("BLE_TEST_TRACES"), clock, tasks, turn)
    let outcome = Outcome<Value>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // Made here and not on the thread: it has the values of the caller's task, such as the test that runs.
        let test = Task(executorPreference: tasks) {
          do {
            outcome.end(.success(try await body(radio)))
          } catch {
            outcome.end(.failure(error))
          }
        }
        outcome.began(test)
        let thread = Thread {
          let simulation = HostSimulation(seed: seed, pacing: pacing, clock: clock, added: { turn.wake() })
          let fault = turn.run(simulation, tasks, timeLimit: timeLimit, outcome)
          continuation.resume(with: fault.map { .failure($0) } ?? outcome.result ?? .failure(CancellationError()))
        }
        thread.stackSize = 8 << 20
        thread.start()
      }
    } onCancel: {
      outcome.cancel()
    }
  }

  /// Adds a device, with its controller and its host, and waits until it is powered on.
  ///
  /// - Parameters:
  ///   - name: its name in the log and in the names of traces, unique on the radio.
  ///   - options: how it presents itself and pairs. `transport`, `snoop` and storage have no effect: bonds are kept as
  ///     long as the radio exists.
  ///   - controller: what its controller supports, and its faults.
  /// - Throws: ``TestRadioError/nameInUse(_:)``, ``TestRadioError/trace(_:)``.
  public func device(
    _ name: String, _ options: AdapterOptions = AdapterOptions(),
    controller: VirtualControllerConfiguration = VirtualControllerConfiguration()
  ) async throws -> TestDevice {
    let isNew = names.withLock { $0.insert(name).inserted }
    guard isNew else { throw TestRadioError.nameInUse(name) }
    let path = traces.map { "\($0)/\(name.map { $0 == "/" ? "_" : "\($0)" }.joined()).btsnoop" }
    let clock = clock.clock
    let added = try await perform { simulation in
      Result { () throws(TransportError) in
        let trace = try path.map { path throws(TransportError) in try SimulatedTrace(at: path, clock: clock) }
        let index = simulation.addDevice(
          options.hostConfiguration, options, controller: controller, name: name, trace: trace, log: BluetoothLog.write)
        simulation.start(index)
        return index
      }
    }
    switch added {
    case .failure(let error): throw TestRadioError.trace("\(error)")
    // The host has started before the next action.
    case .success(let index):
      return TestDevice(name, index, try await perform { $0.publicAddress(of: index) }, on: self)
    }
  }

  /// Waits until a condition is true. It is tested at least each 10 ms of the radio's time.
  ///
  /// ```swift
  /// try await radio.wait(atMost: .seconds(5)) { collector.values.count == 3 }
  /// ```
  ///
  /// - Throws: ``TestRadioError/conditionNotMet(_:)`` after the time; `CancellationError` if the task is cancelled.
  public func wait(
    atMost limit: Duration = .seconds(60), until condition: () async throws -> Bool
  ) async throws {
    let end = clock.now.advanced(by: limit.waitable)
    while try await !condition() {
      guard clock.now < end else { throw TestRadioError.conditionNotMet(limit) }
      try await clock.sleep(for: .milliseconds(10))
    }
  }

  /// Does something that takes real time: the time of the radio stands still meanwhile.
  public func inRealTime<Value: Sendable>(_ work: () async throws -> Value) async rethrows -> Value {
    turn.hold(1)
    defer { turn.hold(-1) }
    return try await work()
  }

  /// Does something with the simulation on its turn, after what was begun before.
  func perform<Value: Sendable>(_ action: @escaping @Sendable (HostSimulation) -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      turn.add { simulation in
        continuation.resume(with: simulation.map { .success(action($0)) } ?? .failure(TestRadioError.radioEnded))
      }
    }
  }
}

/// How the body of a test has ended, if it has.
private final class Outcome<Value: Sendable>: AnyOutcome {
  private struct State: Sendable {
    var test: Task<Void, Never>?
    var result: Result<Value, any Error>?
    var isCancelled = false
  }
  private let state = Mutex(State())

  var result: Result<Value, any Error>? { state.withLock { $0.result } }
  var isOver: Bool { result != nil }

  func began(_ test: Task<Void, Never>) {
    let isCancelled = state.withLock { state in
      state.test = test
      return state.isCancelled
    }
    if isCancelled { test.cancel() }
  }

  func end(_ result: Result<Value, any Error>) { state.withLock { $0.result = result } }

  func cancel() {
    let test = state.withLock { state in
      state.isCancelled = true
      return state.test
    }
    test?.cancel()
  }
}

private protocol AnyOutcome: AnyObject, Sendable {
  var isOver: Bool { get }
  func cancel()
}

/// The thread of a radio: what waits for it, and what wakes it.
private final class Turn: Sendable {
  private typealias Action = @Sendable (HostSimulation?) -> Void

  /// The real time without any event after which a test that waits counts as stuck.
  private static let patience = Duration.seconds(20)

  private struct State {
    var actions: [Action] = []
    /// The work that holds the time.
    var holds = 0
    var isOver = false
  }
  private let state = Mutex(State())
  private let woken = DispatchSemaphore(value: 0)
  /// Whether ``woken`` was signalled since the thread has waited: one signal is enough.
  private let isSignalled = Atomic(false)

  func wake() {
    if !isSignalled.exchange(true, ordering: .acquiringAndReleasing) { woken.signal() }
  }

  /// - Returns: whether it was woken.
  private func wait(atMost time: DispatchTime) -> Bool {
    let isWoken = woken.wait(timeout: time) == .success
    if isWoken { isSignalled.store(false, ordering: .releasing) }
    return isWoken
  }

  func hold(_ count: Int) {
    state.withLock { $0.holds += count }
    wake()
  }

  /// - Parameter action: gets nil if the test is over.
  func add(_ action: @escaping @Sendable (HostSimulation?) -> Void) {
    let isOver = state.withLock { state in
      if !state.isOver { state.actions.append(action) }
      return state.isOver
    }
    if isOver { action(nil) } else { wake() }
  }

  /// - Returns: whether there were any.
  private func performActions(on simulation: HostSimulation) -> Bool {
    let actions = state.withLock { state in
      defer { state.actions = [] }
      return state.actions
    }
    for action in actions { action(simulation) }
    return !actions.isEmpty
  }

  /// Runs the simulation until the test has ended.
  ///
  /// - Returns: why it was ended; nil if it has ended by itself.
  func run(
    _ simulation: HostSimulation, _ tasks: ManualExecutor, timeLimit: Duration, _ outcome: any AnyOutcome
  ) -> TestRadioError? {
    simulation.programs.goOn = { [self, unowned simulation] in
      let hasPerformed = performActions(on: simulation)
      return tasks.drain() || hasPerformed
    }
    let fault = runToEnd(simulation, limit: simulation.now + timeLimit.waitable, timeLimit, outcome)
    end(simulation, tasks)
    return fault
  }

  private func runToEnd(
    _ simulation: HostSimulation, limit: Instant, _ timeLimit: Duration, _ outcome: any AnyOutcome
  ) -> TestRadioError? {
    var fault: TestRadioError?
    while true {
      simulation.settle()
      if outcome.isOver { return fault }
      let isHeld = state.withLock { $0.holds > 0 }
      if !isHeld, let next = simulation.nextDeadline() {
        if next <= limit {
          simulation.advance(to: next)
          continue
        }
        // Cancelled once; what goes on after that is given up.
        if fault != nil { return fault }
        fault = .timeLimit(timeLimit)
        outcome.cancel()
      } else if isHeld {
        woken.wait()
        isSignalled.store(false, ordering: .releasing)
      } else if !wait(atMost: .now() + Double(Self.patience.components.seconds)) {
        if fault != nil { return fault }
        fault = .nothingHappens(Self.patience)
        outcome.cancel()
      }
    }
  }

  /// Ends what waits for the radio: hosts lose their controllers, sleeping tasks wake, and tasks go on elsewhere.
  private func end(_ simulation: HostSimulation, _ tasks: ManualExecutor) {
    simulation.loseControllers()
    simulation.settle()
    simulation.flushTraces()
    let rest = state.withLock { state in
      state.isOver = true
      defer { state.actions = [] }
      return state.actions
    }
    for action in rest { action(nil) }
    simulation.programs = HostSimulation.Programs()
    simulation.clock.end()
    tasks.end()
  }
}
