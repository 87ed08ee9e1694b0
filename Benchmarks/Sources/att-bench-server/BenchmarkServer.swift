import BLEATT
import BLEGATT
import BLEWire
import CEpoll
import Glibc
import SequentialPackets

/// A GATT server on SOCK_SEQPACKET sockets, one packet an ATT PDU: the real server and database in the thinnest loop
/// there is, to be measured by `attload`.
@main
struct BenchmarkServer {
  static func main() throws {
    let options = ServerOptions(CommandLine.arguments)
    var database = try BenchmarkDatabase.make(services: options.services, characteristics: options.characteristics)
    let poller = epoll_create1(0)
    let clients = UnsafeMutableBufferPointer<Client>.allocate(capacity: options.connections)
    for index in 0..<options.connections {
      guard let socket = SequentialPackets.connect(to: options.path) else { exit(2) }
      clients.initializeElement(at: index, to: Client(socket: socket))
      control(poller, EPOLL_CTL_ADD, socket, EPOLLIN.rawValue, index)
    }

    var output = GATTServer.Output()
    var value: [UInt8] = [0, 0, 0, 0] + Array(4..<20)
    let received = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: ATT.maximumMTU + 1)
    let ready = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 64)
    var open = clients.count
    while open > 0 {
      let count = epoll_wait(poller, ready.baseAddress, Int32(ready.count), -1)
      for number in 0..<max(0, Int(count)) {
        let index = Int(ready[number].data.u32)
        let events = ready[number].events
        if events & EPOLLOUT.rawValue != 0, clients[index].pump(database, &value, &output) {
          control(poller, EPOLL_CTL_MOD, clients[index].socket, EPOLLIN.rawValue, index)
        }
        guard events & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 else { continue }
        let length = recv(clients[index].socket, received.baseAddress, received.count, Int32(MSG_DONTWAIT))
        if length < 0, errno == EAGAIN { continue }
        guard length > 0 else {
          close(clients[index].socket)
          open -= 1
          continue
        }
        clients[index].receive(received.span.extracting(0..<length), &database, &output)
        if clients[index].isNotifying, !clients[index].pump(database, &value, &output) {
          control(poller, EPOLL_CTL_MOD, clients[index].socket, EPOLLIN.rawValue | EPOLLOUT.rawValue, index)
        }
      }
    }
  }

  private static func control(_ poller: Int32, _ operation: Int32, _ socket: Int32, _ events: UInt32, _ index: Int) {
    var event = epoll_event()
    event.events = events
    event.data.u32 = UInt32(index)
    epoll_ctl(poller, operation, socket, &event)
  }
}

/// One connection: a server of its own, and the notifications that its client has asked for.
struct Client {
  let socket: Int32
  var server = GATTServer()
  private var sent: UInt32 = 0
  private var wanted: UInt32 = 0

  init(socket: Int32) { self.socket = socket }

  var isNotifying: Bool { sent < wanted }

  /// Handles one PDU and sends what it leads to.
  @inline(__always)
  mutating func receive(_ pdu: Span<UInt8>, _ database: inout AttributeDatabase, _ output: inout GATTServer.Output) {
    server.receive(pdu, security: .none, database: &database, now: .start, into: &output)
    if !output.events.isEmpty { answer(&database, &output) }
    output.pdus.forEach { pdu in _ = send(pdu) }
    output.removeAll()
  }

  /// The control point's application: a count of notifications, for a client that subscribed to them.
  private mutating func answer(_ database: inout AttributeDatabase, _ output: inout GATTServer.Output) {
    for index in output.events.indices {
      guard case .write(let token?, let parts, _) = output.events[index], let part = parts.first else {
        continue
      }
      var response = ApplicationResponse.success
      if part.value.count != 4 {
        response = .error(.invalidAttributeValueLength)
      } else if !server.subscription(to: AttributeID(rawValue: 7), database: database).contains(.notify) {
        response = .error(.clientCharacteristicConfigurationImproperlyConfigured)
      } else {
        sent = 0
        wanted = part.value.reversed().reduce(0) { $0 << 8 | UInt32($1) }
      }
      server.respond(to: token, with: response, security: .none, database: &database, now: .start, into: &output)
    }
  }

  /// Sends notifications as fast as the socket takes them.
  ///
  /// - Parameter value: 20 octets, of which the first four take the sequence number.
  /// - Returns: false when it takes no more for now.
  mutating func pump(_ database: AttributeDatabase, _ value: inout [UInt8], _ output: inout GATTServer.Output) -> Bool {
    while sent < wanted {
      for octet in 0..<4 { value[octet] = UInt8(truncatingIfNeeded: sent >> (8 * UInt32(octet))) }
      _ = server.sendUpdate(
        of: BenchmarkDatabase.notified, value: value.span, security: .none, database: database, now: .start,
        into: &output)
      var isTaken = true
      output.pdus.forEach { pdu in isTaken = send(pdu) }
      output.removeAll()
      guard isTaken else { return false }
      sent += 1
    }
    return true
  }

  private func send(_ pdu: Span<UInt8>) -> Bool {
    let count = pdu.count
    return pdu.withUnsafeBytes {
      Glibc.send(socket, $0.baseAddress, count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    } == count
  }
}
