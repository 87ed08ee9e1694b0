import AdapterFixtures
import BLEATT
import BLEAdapter
import BLEHost
import BLEWire
import ModelFixtures
import Synchronization

@testable import BLEKit

/// A value by which the other device recognises a call: its task, and its number among the calls of the program.
struct KitMark: Hashable {
  var task: Int
  var number: Int

  init(task: Int, number: Int) { (self.task, self.number) = (task, number) }

  init?(_ octets: [UInt8]) {
    guard octets.count >= 3 else { return nil }
    self.init(task: Int(octets[0]), number: Int(octets[1]) << 8 | Int(octets[2]))
  }

  /// A value of a length, at least three octets.
  func octets(_ length: Int) -> [UInt8] {
    [UInt8(task), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] + [UInt8](repeating: 0, count: max(0, length - 3))
  }
}

/// A program on one device of the model: an adapter, its objects, and tasks that make calls.
///
/// Everything runs on the turn of the model (``ModelRadio``): tasks have its executor.
final class KitDevice: @unchecked Sendable {
  /// A call that has not returned.
  struct OpenCall {
    let name: String
    let since: Instant
    let isLasting: Bool
  }

  /// The calls of one task, which are made one after the other.
  final class Caller {
    var waiting: [(action: KitAction, argument: Int)] = []
    var task: Task<Void, Never>?
  }

  /// An open channel, and what has arrived on it.
  final class Channel: @unchecked Sendable {
    let channel: LEChannel
    var sent: [KitMark] = []
    var received: [KitMark] = []
    var reader = 0

    init(_ channel: LEChannel) { self.channel = channel }
  }

  /// A write without response that was sent, to what was discovered in an epoch of the other device.
  struct Command {
    let mark: KitMark
    let device: RemoteDevice
    let epoch: Int
  }

  let index: Int
  let radio: ModelRadio
  let executor: ManualExecutor
  var other: KitDevice?
  private(set) var adapter: Adapter?

  // The objects of the program.
  var devices: [RemoteDevice] = []
  var found: [RemoteService] = []
  /// The link on which they were discovered, and the other device's ``epoch`` then.
  var (foundOn, foundEpoch): (RemoteDevice?, Int) = (nil, 0)
  var publications: [ServicePublication] = []
  var subscribers: [Subscriber] = []
  var listeners: [(publication: ChannelPublication, reader: Int)] = []
  var channels: [Channel] = []
  var handling = KitHandling.prompt
  private let callers = (0..<KitMove.tasks).map { _ in Caller() }
  private(set) var lasting: [Int: Task<Void, Never>] = [:]

  // What is checked.
  private(set) var open: [Int: OpenCall] = [:]
  var faults: [String] = []
  /// What was written here, in order, apart from synchronous handlers, which do not wait for the others.
  private(set) var effects: [KitMark] = []
  private(set) var synchronousEffects: [KitMark] = []
  /// The writes that the other device has answered.
  var answered: [KitMark] = []
  var commands: [Command] = []
  /// The names that are being advertised.
  var advertised: Set<String> = []
  /// How many times something that was served here was withdrawn.
  private(set) var epoch = 0
  private(set) var calls: [String: Int] = [:]
  private(set) var outcomes: [String: Int] = [:]
  private(set) var slowest: (name: String, time: Duration) = ("", .zero)
  private(set) var reads = 0
  private var number = 0
  private var lastCall = 0

  init(_ index: Int, _ radio: ModelRadio, _ executor: ManualExecutor) {
    (self.index, self.radio, self.executor) = (index, radio, executor)
  }

  var peerAddress: DeviceAddress { radio.hosts[1 - index].ownAddress }
  var current: RemoteDevice? { devices.last(where: \.isConnected) ?? devices.last }

  /// A characteristic of the link that is used now.
  func found(_ uuid: BluetoothUUID) -> RemoteCharacteristic? {
    foundOn == current ? found.lazy.compactMap { $0[uuid] }.first : nil
  }

  /// The subscriptions of all links, at one end.
  func subscriptionCount(_ count: (LinkState) -> Int) -> Int {
    adapter?.session.state.withLock { state in
      state.links.keys.reduce(0) { $0 + (state.links[$1].map(count) ?? 0) }
    } ?? 0
  }

  /// The mark of the next call.
  func mark(_ task: Int) -> KitMark {
    number += 1
    return KitMark(task: task, number: number)
  }

  /// Something that is served here is withdrawn.
  func withdrew() { epoch += 1 }

  // MARK: Calls

  /// Makes a call, and notes its beginning and its end.
  @discardableResult
  func call<Value>(_ name: String, isLasting: Bool = false, _ body: () async throws -> Value) async -> Value? {
    lastCall += 1
    let id = lastCall
    calls[name, default: 0] += 1
    open[id] = OpenCall(name: name, since: radio.now, isLasting: isLasting)
    defer { ended(id) }
    do {
      return try await body()
    } catch let error as BLEError {
      outcomes["\(name): \(error.kind)", default: 0] += 1
    } catch {
      faults.append("\(name) throws \(error)")
    }
    return nil
  }

  private func ended(_ id: Int) {
    guard let call = open.removeValue(forKey: id), !call.isLasting else { return }
    let time = radio.now - call.since
    if time > slowest.time { slowest = (call.name, time) }
  }

  func add(_ action: KitAction, _ argument: Int, task: Int) {
    let caller = callers[task]
    caller.waiting.append((action, argument))
    guard caller.task == nil else { return }
    caller.task = Task(executorPreference: executor) { [self] in
      while !callers[task].waiting.isEmpty {
        let (action, argument) = callers[task].waiting.removeFirst()
        await perform(action, argument, task: task)
      }
      callers[task].task = nil
    }
  }

  func cancel(task: Int) { callers[task].task?.cancel() }

  /// Starts a call that lasts.
  @discardableResult
  func start(_ name: String, _ body: @escaping @Sendable () async throws -> Void) -> Int {
    lastCall += 1
    let id = lastCall
    lasting[id] = Task(executorPreference: executor) { [self] in
      _ = await call(name, isLasting: true, body)
      lasting[id] = nil
    }
    return id
  }

  /// Ends a call that lasts.
  func end(_ id: Int) { lasting[id]?.cancel() }

  func endAny(_ number: Int) {
    let ids = lasting.keys.sorted()
    if !ids.isEmpty { end(ids[number % ids.count]) }
  }

  // MARK: The adapter

  /// - Parameter isRunning: whether the host has started.
  func openAdapter(isRunning: Bool) {
    let client = radio.addClient(to: index)
    let (clock, executor) = (radio.clock, executor)
    let limits = WaitClock(
      executor: executor, sleep: { try await clock.sleep(for: $0) }, now: { clock.now - .start })
    let adapter = Adapter(
      client: AdapterClient(over: client.link, log: { _ in }) { time, body in
        Task(executorPreference: executor) {
          try? await clock.sleep(for: time)
          body()
        }
      }, clock: limits)
    if isRunning { radio.attach(client, to: index) }
    self.adapter = adapter
    readConnections(of: adapter)
    readPairingRequests(of: adapter)
  }

  func close() {
    withdrew()
    adapter?.close()
  }

  /// Cancels every task, and releases every object.
  ///
  /// - Returns: whether the session of the adapter still exists.
  func release() -> @Sendable () -> Bool {
    withdrew()
    for caller in callers { caller.task?.cancel() }
    for id in lasting.keys.sorted() { end(id) }
    forget()
    weak let session = adapter?.session
    adapter = nil
    return { session != nil }
  }

  /// Releases the objects of an adapter.
  func forget() {
    withdrew()
    (devices, found, foundOn, publications, subscribers, channels) = ([], [], nil, [], [], [])
    (listeners, commands) = ([], [])
  }

  // MARK: Handlers

  /// A handler of this device begins.
  func handle() async throws {
    switch handling {
    case .prompt: break
    case .slow: try await radio.clock.sleep(for: .milliseconds(80))
    case .fails: throw ATTErrorCode.valueNotAllowed
    case .hangs: try await radio.clock.sleep(for: .seconds(3600))
    }
  }

  /// A value whose octets are equal, another one for each read.
  func readValue() async throws -> [UInt8] {
    reads += 1
    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: reads), count: 100)
    try await handle()
    return value
  }

  func written(_ octets: [UInt8]) {
    if let mark = KitMark(octets) { effects.append(mark) } else { faults.append("\(octets) was written") }
  }

  func writtenSynchronously(_ octets: [UInt8]) {
    if let mark = KitMark(octets) { synchronousEffects.append(mark) }
  }
}
