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
/// **Time.** The body of ``run(seed:incidents:pacing:timeLimit:patience:traces:_:)``, its child tasks and the handlers
/// of BLEKit run on one thread, the ``executor``, so that the radio knows when they wait. Managers of CoreBluetooth
/// call their delegates on their queue; the radio waits until each call has returned. What runs elsewhere is not known
/// to it, and time passes meanwhile: an unstructured `Task`, which needs `Task(executorPreference: radio.executor)`;
/// other queues; `Task.sleep`, timers and the network. ``inRealTime(_:)`` holds the time for such work, and ``clock``
/// is the clock to sleep by.
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
  /// In the order in which they were added, until the test ends.
  private let devices = Mutex<[TestDevice]>([])
  /// What devices do by themselves, until the test ends.
  private let kept = Mutex<[Task<Void, Never>]>([])

  private init(seed: UInt64, traces: String?, _ clock: ManualClock, _ tasks: ManualExecutor, _ turn: Turn) {
    (self.seed, self.traces, self.clock, self.tasks, self.turn) = (seed, traces, TestClock(clock: clock), tasks, turn)
  }

  /// Runs a test on a new radio.
  ///
  /// A test that fails leaves its packets and their diagrams, as attachments where Swift Testing runs it, and as files,
  /// whose paths are a line on standard error. It has failed if `body` throws, or if an expectation of Swift Testing in
  /// `body` is not met.
  ///
  /// - Parameters:
  ///   - seed: of the radio's random numbers; the same seed gives the same packets.
  ///   - incidents: what happens to devices during the test.
  ///   - pacing: when PDUs move; by default with the timing of a real radio.
  ///   - timeLimit: the time of the radio after which the test is cancelled and fails.
  ///   - patience: the real time without any event after which a test that waits counts as stuck.
  ///   - traces: a folder, which exists, for the packets of each device: `NAME.btsnoop`, which `ble log` and Wireshark
  ///     read, with times from 1 January 2000 on; nil takes the environment variable `BLE_TEST_TRACES`. Without both,
  ///     only a test that fails leaves files, in a temporary folder.
  ///   - body: the test, on the ``executor`` of the radio.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; otherwise ``TestRadioError``.
  public static func run<Value: Sendable>(
    seed: UInt64 = 1, incidents: [Incident] = [], pacing: VirtualRadio.Pacing = .airtime,
    timeLimit: Duration = .seconds(3600), patience: Duration = .seconds(20), traces: String? = nil,
    _ body: @escaping @Sendable (TestRadio) async throws -> Value
  ) async throws -> Value {
    let settings = Settings(
      incidents: incidents, pacing: pacing, timeLimit: timeLimit, patience: patience,
      traces: traces ?? Environment.value("BLE_TEST_TRACES"))
    return try await run(seed: seed, settings, RunRecord(isTrial: false), body)
  }

  /// The parameters of a run except its seed.
  struct Settings: Sendable {
    var incidents: [Incident]
    var pacing: VirtualRadio.Pacing
    var timeLimit: Duration
    var patience: Duration
    var traces: String?
  }

  static func run<Value: Sendable>(
    seed: UInt64, _ settings: Settings, _ record: RunRecord,
    _ body: @escaping @Sendable (TestRadio) async throws -> Value
  ) async throws -> Value {
    let turn = Turn(settings.patience)
    let (clock, tasks) = (ManualClock(), ManualExecutor(added: { turn.wake() }))
    let radio = TestRadio(seed: seed, traces: settings.traces, clock, tasks, turn)
    let outcome = Outcome<Value>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // Made here and not on the thread: it has the values of the caller's task, such as the test that runs.
        let test = Task(executorPreference: tasks) {
          let accidents = radio.begin(settings.incidents)
          let result: Result<Value, any Error>
          do {
            result = .success(try await record.observe { try await body(radio) })
          } catch {
            result = .failure(error)
          }
          accidents?.cancel()
          await radio.end(result.hasFailed || !record.issues.isEmpty, record, settings.incidents)
          outcome.end(result)
        }
        outcome.began(test)
        turn.whenBlocked { fault in
          test.cancel()
          continuation.resume(throwing: fault)
        }
        let thread = Thread {
          let simulation = HostSimulation(seed: seed, pacing: settings.pacing, clock: clock, added: { turn.wake() })
          let fault = turn.run(simulation, tasks, timeLimit: settings.timeLimit, outcome)
          guard !turn.isAbandoned else { return }
          continuation.resume(with: fault.map { .failure($0) } ?? outcome.result ?? .failure(CancellationError()))
        }
        thread.stackSize = 8 << 20
        thread.start()
      }
    } onCancel: {
      outcome.cancel()
    }
  }

  /// What is left of a run: its packets, if it has failed.
  private func end(_ hasFailed: Bool, _ record: RunRecord, _ incidents: [Incident]) async {
    for task in kept.withLock({ $0 }) { task.cancel() }
    let devices = devices.withLock { devices in
      defer { devices = [] }
      return devices
    }
    guard hasFailed else { return }
    let packets = try? await perform { simulation in
      devices.map { device in
        let (octets, frames) = simulation.packets(of: device.index)
        return RunRecord.Packets(
          device: device.name, octets: octets, frames: frames, activity: simulation.activities(of: device.index).all)
      }
    }
    record.keep(packets ?? [])
    guard !record.isTrial else { return }
    record.publish(in: traces)
    if !record.files.isEmpty {
      let course = record.packets.flatMap { Course.lines(of: $0.device, $0.activity, incidents) }.joined(
        separator: "\n")
      let line = "TestRadio: seed \(seed) has failed; its packets: \(record.files.joined(separator: ", "))\n\(course)\n"
      FileHandle.standardError.write(Data(line.utf8))
    }
  }

  /// Keeps a task until the test ends.
  func keep(_ task: Task<Void, Never>) { kept.withLock { $0.append(task) } }

  /// Performs incidents at their times.
  private func begin(_ incidents: [Incident]) -> Task<Void, Never>? {
    if incidents.isEmpty { return nil }
    return Task(executorPreference: tasks) { [self] in
      await withTaskGroup(of: Void.self) { group in
        for incident in incidents {
          group.addTask(executorPreference: tasks) { [self] in try? await perform(incident) }
        }
      }
    }
  }

  private func perform(_ incident: Incident) async throws {
    try await clock.sleep(for: incident.time.waitable)
    guard let device = devices.withLock({ $0.first { $0.name == incident.device } }) else { return }
    switch incident.kind {
    case .losesLinks: try await device.loseLinks()
    case .forgetsBonds: try await device.forgetBonds()
    case .leaves(let time):
      try await device.moveOutOfRange()
      try await clock.sleep(for: time.waitable)
      try await device.moveIntoRange()
    case .losesPower(let time):
      try await device.powerOff()
      try await clock.sleep(for: time.waitable)
      try await device.powerOn()
    case .faults(let faults, let time):
      try await device.setFaults(faults)
      try await clock.sleep(for: time.waitable)
      try await device.setFaults([])
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
    let path = traces.map { RunRecord.file(of: name, "btsnoop", in: $0) }
    let clock = clock.clock
    let added = try await perform { simulation in
      Result { () throws(TransportError) in
        let trace = try SimulatedTrace(at: path, clock: clock)
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
      let device = TestDevice(name, index, try await perform { $0.publicAddress(of: index) }, on: self)
      devices.withLock { $0.append(device) }
      return device
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

  /// Adds devices nearby that only advertise, each with a name of its own: a crowded radio.
  ///
  /// - Parameters:
  ///   - count: how many.
  ///   - interval: the advertising interval, 20 ms to 10.24 s.
  public func addAdvertisers(_ count: Int, interval: Duration = .milliseconds(100)) async throws {
    try await perform { $0.addAdvertisers(count, interval: interval) }
  }

  /// Does something that takes real time: the time of the radio stands still meanwhile.
  public func inRealTime<Value: Sendable>(_ work: () async throws -> Value) async rethrows -> Value {
    turn.hold(1)
    defer { turn.hold(-1) }
    return try await work()
  }

  /// Waits for the delegates of a device, on the thread of the radio.
  func waitForDelegate(of device: String, _ wait: () -> Void) { turn.waitForDelegate(of: device, wait) }

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
  private let patience: Duration
  private struct State {
    var actions: [Action] = []
    /// The work that holds the time.
    var holds = 0
    var isOver = false
    /// The device for whose delegate the thread waits, and since when.
    var delegate: (device: String, since: ContinuousClock.Instant)?
    var blocked: (@Sendable (TestRadioError) -> Void)?
    var isAbandoned = false
  }
  private let state = Mutex(State())
  private let woken = DispatchSemaphore(value: 0)
  /// Whether ``woken`` was signalled since the thread has waited: one signal is enough.
  private let isSignalled = Atomic(false)

  init(_ patience: Duration) { self.patience = patience.waitable }

  /// Whether the thread has waited too long for a delegate, and nobody waits for the thread any more.
  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  /// Sets what happens when a delegate does not return. The thread cannot go on then: it is left behind.
  func whenBlocked(_ action: @escaping @Sendable (TestRadioError) -> Void) {
    state.withLock { $0.blocked = action }
    watch()
  }

  /// Waits for the delegates of a device.
  func waitForDelegate(of device: String, _ wait: () -> Void) {
    state.withLock { $0.delegate = (device, .now) }
    wait()
    state.withLock { $0.delegate = nil }
  }

  private func watch() {
    DispatchQueue.global().asyncAfter(deadline: .now() + patience.asSeconds / 4) { [weak self] in
      guard let self else { return }
      let fault = state.withLock { state -> (TestRadioError, @Sendable (TestRadioError) -> Void)? in
        guard let (device, since) = state.delegate, since.duration(to: .now) > patience, let action = state.blocked
        else {
          return nil
        }
        (state.blocked, state.isAbandoned) = (nil, true)
        return (.delegateBlocks(device, patience), action)
      }
      if let (error, action) = fault { action(error) } else if !state.withLock({ $0.isOver }) { watch() }
    }
  }

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
      if outcome.isOver || isAbandoned { return fault }
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
      } else if !wait(atMost: .now() + patience.asSeconds) {
        if fault != nil { return fault }
        fault = .nothingHappens(patience)
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

extension Result {
  fileprivate var hasFailed: Bool { if case .failure = self { true } else { false } }
}

extension Duration {
  fileprivate var asSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
