import BLELinux
import BLESMP
import BLEWire
import Glibc
import Testing

@testable import BLEKernel

/// A socket of the kernel's, played by a test: what the adapter holds and the end that the test talks to it by.
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

  init(listener: MessageSocket? = nil, isDaemons: Bool = false, through system: SystemCalls = .kernel) throws {
    let (events, management) = (try MessagePair(), try MessagePair())
    let information = AdapterInformation(
      index: 0, address: BD_ADDR(0x00AA_0100_0000), supported: [.powered, .lowEnergy], current: [.powered, .lowEnergy])
    adapter = try KernelAdapter.over(
      named: "linux:hci0", information, events: try #require(events.near),
      management: ManagementSocket(try #require(management.near)),
      listener: listener, isDaemons: isDaemons, through: system)
    (self.events, self.management) = (events, management)
  }

  /// Every packet that the adapter hands out in one round.
  mutating func received() throws -> [[UInt8]] {
    var packets: [[UInt8]] = []
    try adapter.receive { packet, report in
      if report == nil { packets.append([UInt8](copying: packet)) }
    }
    return packets
  }

  /// Every report of the kernel's security manager in one round.
  mutating func reported() throws -> [SecurityReport] {
    var reports: [SecurityReport] = []
    try adapter.receive { _, report in
      if let report { reports.append(report) }
    }
    return reports
  }

  mutating func send(_ packets: [UInt8]...) throws {
    var buffer = PacketBuffer()
    for packet in packets { buffer.append { $0 += packet } }
    try adapter.send(buffer)
  }

  /// A link as its socket is accepted, without an event before it.
  mutating func link(_ handle: UInt16) throws -> (pair: MessagePair, packets: [[UInt8]]) {
    var pair = try MessagePair()
    var packets: [[UInt8]] = []
    let near = try #require(pair.near)
    pair.near = nil
    adapter.adopt(near, handle: handle, peer: DeviceAddress(octets: BD_ADDR(0x00AA_0101_0001), kind: .public)) {
      if $1 == nil { packets.append([UInt8](copying: $0)) }
    }
    return (pair, packets)
  }
}
