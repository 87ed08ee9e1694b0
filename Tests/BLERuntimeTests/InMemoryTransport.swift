import BLEHost
import BLELinux
import BLEWire
import Synchronization

@testable import BLERuntime

/// A controller in memory that a test writes: it answers each packet of the host by a script, and sends what the test
/// says.
final class ScriptedController: Sendable {
  private struct State: Sendable {
    var isConnected = true
    var input: [InMemoryTransport.Input] = []
    var notices: [String] = []
    var sent: [[UInt8]] = []
  }

  private let answers: @Sendable ([UInt8]) -> [[UInt8]]
  private let state = Mutex(State())
  /// Ready to be read while the transport has input, or its state has changed.
  let waker: Waker

  /// - Parameter answers: the packets that follow a packet of the host.
  init(answers: @escaping @Sendable ([UInt8]) -> [[UInt8]] = { _ in [] }) throws {
    self.answers = answers
    waker = try Waker()
  }

  /// Every packet that the host has sent.
  var sent: [[UInt8]] { state.withLock { $0.sent } }

  func send(_ input: InMemoryTransport.Input...) {
    state.withLock { $0.input += input }
    waker.wake()
  }

  func log(_ notice: String) {
    state.withLock { $0.notices.append(notice) }
    waker.wake()
  }

  var isConnected: Bool {
    get { state.withLock { $0.isConnected } }
    set {
      state.withLock { $0.isConnected = newValue }
      waker.wake()
    }
  }

  /// Whether the transport is open now; a change after that wakes the loop.
  fileprivate func accept() -> Bool {
    waker.drain()
    let (isConnected, hasInput) = state.withLock { ($0.isConnected, !$0.input.isEmpty) }
    if hasInput { waker.wake() }
    return isConnected
  }

  fileprivate func take() -> [InMemoryTransport.Input] {
    waker.drain()
    return state.withLock { state in
      defer { state.input = [] }
      return state.input
    }
  }

  fileprivate func takeNotices() -> [String] {
    state.withLock { state in
      defer { state.notices = [] }
      return state.notices
    }
  }

  fileprivate func receive(_ packet: [UInt8]) {
    let following = answers(packet)
    state.withLock { state in
      state.sent.append(packet)
      state.input += following.map { .packet($0) }
    }
    if !following.isEmpty { waker.wake() }
  }
}

/// A transport without I/O, as an example of the smallest one: packets pass through queues in memory.
struct InMemoryTransport: ~Copyable, HCITransport {
  enum Input: Sendable {
    case packet([UInt8])
    case report(KernelReport)
    case sentCommand([UInt8])
  }

  let name = "memory"
  private let controller: ScriptedController
  private(set) var isOpen = false

  init(to controller: ScriptedController) { self.controller = controller }

  mutating func open(patience: Duration) throws(TransportError) {
    guard try accept() else {
      throw TransportError(.unavailable, at: name, "the controller is not connected", remedy: "connect it")
    }
  }

  mutating func accept() throws(TransportError) -> Bool {
    isOpen = controller.accept()
    return isOpen
  }

  mutating func reopen() throws(TransportError) {}
  var reopensAtOnce: Bool { true }

  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? {
    try poller.watch(controller.waker.descriptor, token: token, for: .reading)
    return nil
  }

  func unwatchOpening(on poller: borrowing Poller) { poller.unwatch(controller.waker.descriptor) }

  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError) {
    for input in controller.take() {
      switch input {
      case .packet(let packet): handler.receive(packet.span)
      case .report(let report): handler.receive(report)
      case .sentCommand(let command): handler.record(sent: command.span)
      }
    }
    guard controller.isConnected else {
      throw TransportError(.closed, at: name, "the controller was disconnected", remedy: "connect it")
    }
  }

  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) {
    for index in 0..<packets.count { controller.receive(Array(packets[index])) }
  }

  var hasBacklog: Bool { false }
  mutating func flush() throws(TransportError) {}

  func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    try poller.watch(controller.waker.descriptor, token: token, for: interest)
  }

  func unwatch(on poller: borrowing Poller) { poller.unwatch(controller.waker.descriptor) }
  mutating func close(after error: TransportError) { isOpen = false }
  mutating func end() { isOpen = false }
  mutating func takeNotices() -> [String] { controller.takeNotices() }
}
