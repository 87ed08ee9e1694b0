internal import BLEHCI
package import BLELinux
package import BLEWire
internal import CBluetoothLinux

/// A controller taken from the kernel: an HCI socket on the user channel, one H4 packet a read or write.
package struct UserChannel: ~Copyable, Sendable {
  /// Octets that may wait for the kernel's queue; one past it, the controller counts as stuck.
  static let backlogLimit = 1 << 20
  /// Packets read before the rest of the loop has its turn.
  static let readsInTurn = 32

  let socket: MessageSocket
  private let name: String
  private var packet = [UInt8](repeating: 0, count: 4_096)
  private var backlog: [[UInt8]] = []
  private var backlogCount = 0

  init(_ socket: MessageSocket, _ name: String) {
    self.socket = socket
    self.name = name
  }

  package var hasBacklog: Bool { !backlog.isEmpty }

  package mutating func receive(_ body: (Span<UInt8>) -> Void) throws(TransportError) {
    do throws(SystemError) {
      for _ in 0..<Self.readsInTurn {
        guard let count = try socket.receive(into: &packet) else { return }
        guard count > 0 else { throw SystemError(.receive, EPIPE) }
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
