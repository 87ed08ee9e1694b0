import CEpoll
import Glibc
import SequentialPackets

/// The least a server can do: wait, receive, send an answer that was made before. What a real server costs beyond this
/// is its own.
@main
struct Floor {
  static func main() {
    let options = ServerOptions(CommandLine.arguments)
    guard let socket = SequentialPackets.connect(to: options.path) else { exit(2) }
    let poller = epoll_create1(0)
    var interest = epoll_event()
    interest.events = EPOLLIN.rawValue
    epoll_ctl(poller, EPOLL_CTL_ADD, socket, &interest)

    let received = UnsafeMutableRawBufferPointer.allocate(byteCount: 518, alignment: 8)
    let answer = UnsafeMutableRawBufferPointer.allocate(byteCount: 518, alignment: 8)
    for index in answer.indices { answer[index] = UInt8(truncatingIfNeeded: index) }
    let ready = UnsafeMutablePointer<epoll_event>.allocate(capacity: 64)
    while true {
      guard epoll_wait(poller, ready, 64, -1) > 0 else { continue }
      let count = recv(socket, received.baseAddress, received.count, Int32(MSG_DONTWAIT))
      if count < 0, errno == EAGAIN { continue }
      guard count > 0 else { return }
      switch received[0] {
      case 0x52: continue
      case 0x12:
        answer[0] = 0x13
        _ = send(socket, answer.baseAddress, 1, Int32(MSG_NOSIGNAL))
        if received[1] == 0x0A {
          notify(socket, answer, count: received.loadUnaligned(fromByteOffset: 3, as: UInt32.self))
        }
      case let opcode:
        answer[0] = opcode + 1
        _ = send(socket, answer.baseAddress, 21, Int32(MSG_NOSIGNAL))
      }
    }
  }

  private static func notify(_ socket: Int32, _ answer: UnsafeMutableRawBufferPointer, count: UInt32) {
    answer[0] = 0x1B
    for number in 0..<count {
      answer.storeBytes(of: number, toByteOffset: 3, as: UInt32.self)
      _ = send(socket, answer.baseAddress, 23, Int32(MSG_NOSIGNAL))
    }
  }
}
