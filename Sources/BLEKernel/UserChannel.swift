package import BLELinux
package import BLEWire
internal import Glibc

/// A controller that is taken from the kernel: an HCI socket on the user channel, with one H4 packet in each read or
/// write.
package struct UserChannel: ~Copyable, Sendable {
  /// The number of octets that can wait for the kernel's queue. With more, the controller counts as stuck.
  static let backlogLimit = 1 << 20
  /// The number of packets that are read before the loop does something else.
  static let readsInTurn = 32
  /// The length of the longest packet that is read, in octets.
  static let packetLimit = 4_096

  private let socket: MessageSocket
  private let name: String
  private var packet = [UInt8](repeating: 0, count: UserChannel.packetLimit)
  private var backlog: [[UInt8]] = []
  private var backlogCount = 0

  init(_ socket: MessageSocket, named name: String) {
    self.socket = socket
    self.name = name
  }

  package var hasBacklog: Bool { !backlog.isEmpty }

  /// Reads packets and passes each to `body`.
  package mutating func receive(_ body: (Span<UInt8>) -> Void) throws(TransportError) {
    do throws(SystemError) {
      for _ in 0..<Self.readsInTurn {
        guard let count = try socket.receive(into: &packet) else { return }
        guard count > 0 else { throw .connectionClosed }
        body(packet.span.extracting(first: count))
      }
    } catch { throw TransportError(usingAdapter: name, error) }
  }

  package mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) {
    do throws(SystemError) {
      for position in 0..<packets.count {
        let octets = packets[position]
        if backlog.isEmpty, try socket.send(octets.span) { continue }
        guard backlogCount + octets.count <= Self.backlogLimit else { throw SystemError(.send, ENOBUFS) }
        backlog.append(Array(octets))
        backlogCount += octets.count
      }
    } catch { throw TransportError(usingAdapter: name, error) }
  }

  /// Sends waiting packets, as many as the kernel accepts.
  package mutating func flush() throws(TransportError) {
    do throws(SystemError) {
      while let first = backlog.first {
        guard try socket.send(first.span) else { return }
        backlog.removeFirst()
        backlogCount -= first.count
      }
    } catch { throw TransportError(usingAdapter: name, error) }
  }
}

extension UserChannel: AdapterConnection {
  package static var purpose: AdapterConfiguration.Purpose { .takingOver }

  package static func open(
    _ adapter: AdapterInformation, named name: String, configuredBy configuration: AdapterConfiguration,
    through system: SystemCalls
  ) throws(SystemError) -> UserChannel {
    UserChannel(MessageSocket(try BluetoothSockets.hci(.user(adapter.index), through: system)), named: name)
  }

  package func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    try poller.watch(socket.descriptor, token: token, for: interest)
  }

  package func unwatch(on poller: borrowing Poller) { poller.unwatch(socket.descriptor) }

  package mutating func finish() {}
}
