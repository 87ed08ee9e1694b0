import BLEHCI
import BLEHost
import BLELinux
import BLESMP
import BLEWire
import Glibc
import Testing

@testable import BLEKernel

/// A socket whose kernel is played by a test: the end of the adapter, and the end of the test.
struct MessagePair {
  /// nil once the adapter alone holds it.
  var near: MessageSocket?
  let far: MessageSocket

  init() throws {
    var numbers: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    try #require(socketpair(AF_UNIX, type, 0, &numbers) == 0)
    near = MessageSocket(FileDescriptor(adopting: numbers[0]))
    far = MessageSocket(FileDescriptor(adopting: numbers[1]))
  }

  /// The next message that the adapter sent; nil where none waits.
  func sent() throws -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 2_048)
    return try far.receive(into: &buffer).map { Array(buffer[..<$0]) }
  }

  func say(_ message: [UInt8]) throws { #expect(try far.send(message.span)) }
}

/// An adapter over three played sockets.
struct PlayedAdapter: ~Copyable {
  let events: MessagePair
  let management: MessagePair
  var adapter: KernelAdapter
  /// Commands that the adapter sent itself, as the trace gets them.
  private(set) var sentCommands: [[UInt8]]

  init(listener: MessageSocket? = nil, isPairedByDaemon: Bool = false, through system: SystemCalls = .kernel) throws {
    let (events, management) = (try MessagePair(), try MessagePair())
    let information = AdapterInformation(
      index: 0, address: BD_ADDR(0x00AA_0100_0000), supported: [.powered, .lowEnergy], current: [.powered, .lowEnergy])
    let sockets = KernelAdapter.Sockets(
      events: try #require(events.near), management: ManagementSocket(try #require(management.near)),
      listener: listener)
    adapter = try KernelAdapter(
      information, named: "linux:hci0", over: sockets, isPairedByDaemon: isPairedByDaemon, through: system)
    (self.events, self.management) = (events, management)
    // Last, after everything that throws: the reason is at the initializer of KernelAdapter.
    sentCommands = []
  }

  /// What the host gets in one round: packets, and reports of the kernel's security manager.
  private mutating func input() -> (packets: [[UInt8]], reports: [KernelReport]) {
    let input = adapter.takeInput()
    var (packets, reports, index) = ([[UInt8]](), [KernelReport](), 0)
    for item in input.items {
      switch item {
      case .report(let report): reports.append(report)
      case .packet:
        packets.append(Array(input.octets[index]))
        index += 1
      case .sentCommand:
        sentCommands.append(Array(input.octets[index]))
        index += 1
      }
    }
    return (packets, reports)
  }

  /// Every packet that the adapter gives the host in one round.
  mutating func received() throws -> [[UInt8]] {
    try adapter.receive()
    return input().packets
  }

  /// Every report of the kernel's security manager in one round.
  mutating func reported() throws -> [KernelReport] {
    try adapter.receive()
    return input().reports
  }

  mutating func takeSentCommands() -> [[UInt8]] {
    defer { sentCommands = [] }
    return sentCommands
  }

  mutating func send(_ packets: [UInt8]...) throws {
    var buffer = PacketBuffer()
    for packet in packets { buffer.append { $0 += packet } }
    try adapter.send(buffer)
  }

  /// A link as its socket is accepted, without an event before it.
  mutating func link(_ handle: UInt16) throws -> (pair: MessagePair, packets: [[UInt8]]) {
    var pair = try MessagePair()
    let near = try #require(pair.near)
    pair.near = nil
    let peer = DeviceAddress(octets: BD_ADDR(0x00AA_0101_0001), kind: .public)
    try adapter.add(near, handle: ConnectionHandle(rawValue: handle), peer: peer)
    return (pair, input().packets)
  }
}
