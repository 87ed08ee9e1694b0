import Glibc
import SequentialPackets

/// Drives a server with one kind of request and prints what a request costs it: nanoseconds of CPU, user and system.
///
///     att-bench-load SERVER SCENARIO [SERVICES CHARACTERISTICS [COUNT]]
@main
struct Load {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3, let scenario = Scenario(rawValue: arguments[2]) else {
      print(
        "att-bench-load SERVER \(Scenario.allCases.map(\.rawValue).joined(separator: "|")) [SERVICES CHARACTERISTICS [COUNT]]"
      )
      exit(64)
    }
    let services = arguments.count > 3 ? arguments[3] : "5"
    let characteristics = arguments.count > 4 ? arguments[4] : "4"
    let path = "/tmp/att-bench-\(getpid()).sock"
    unlink(path)
    guard let listener = SequentialPackets.listen(at: path),
      let server = spawn([
        arguments[1], "--path", path, "--services", services, "--chars", characteristics, "--conns", "1",
      ])
    else { fail("\(arguments[1]) cannot be started") }
    let socket = accept(listener, nil, nil)
    unlink(path)
    guard socket >= 0 else { fail("the server did not connect") }

    let client = LoadClient(socket: socket, scenario: scenario)
    let count = arguments.count > 5 ? Int(arguments[5]) ?? scenario.count : scenario.count
    client.run(max(1, count / 10))
    let before = cpuTime(of: server)
    client.run(count)
    let cost = (cpuTime(of: server) - before) / count
    close(socket)
    var status: Int32 = 0
    waitpid(server, &status, 0)
    print(cost)
  }

  /// The process identifier of a program that was started, nil where it was not.
  private static func spawn(_ words: [String]) -> pid_t? {
    var arguments = words.map { strdup($0) }
    defer { for argument in arguments { free(argument) } }
    arguments.append(nil)
    var process: pid_t = 0
    return posix_spawnp(&process, words[0], nil, nil, arguments, environ) == 0 ? process : nil
  }

  /// Nanoseconds that a process has spent on the CPU.
  private static func cpuTime(of process: pid_t) -> Int {
    var clock: clockid_t = 0
    var time = timespec()
    guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { fail("no CPU clock") }
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}

func fail(_ reason: String) -> Never {
  print(reason)
  exit(1)
}

enum Scenario: String, CaseIterable {
  case read, write, command, notification, services, characteristics, uuid

  var count: Int { self == .command || self == .notification ? 200_000 : 40_000 }

  /// The PDU that is sent over and over.
  var pdu: [UInt8] {
    switch self {
    case .read: [0x0A, 0x03, 0x00]
    case .write: [0x12, 0x03, 0x00] + Array(0..<20)
    case .command: [0x52, 0x03, 0x00] + Array(0..<20)
    case .notification: []
    case .services: [0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28]
    case .characteristics: [0x08, 0x0B, 0x00, 0xFF, 0xFF, 0x03, 0x28]
    case .uuid: [0x08, 0x0B, 0x00, 0xFF, 0xFF, 0x00, 0xA0]
    }
  }
}

struct LoadClient {
  let socket: Int32
  let scenario: Scenario

  func run(_ count: Int) {
    switch scenario {
    case .command:
      for _ in 0..<count { transmit(scenario.pdu) }
      // The answer to a read says that all of them were taken.
      request([0x0A, 0x03, 0x00])
    case .notification:
      request([0x12, 0x08, 0x00, 0x01, 0x00])
      request([0x12, 0x0A, 0x00] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) })
      for _ in 0..<count { receive(0x1B) }
    default: for _ in 0..<count { request(scenario.pdu) }
    }
  }

  private func request(_ pdu: [UInt8]) {
    transmit(pdu)
    receive(pdu[0] + 1)
  }

  private func transmit(_ pdu: [UInt8]) {
    guard send(socket, pdu, pdu.count, Int32(MSG_NOSIGNAL)) == pdu.count else { fail("the server is gone") }
  }

  private func receive(_ opcode: UInt8) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 518) { buffer in
      guard recv(socket, buffer.baseAddress, buffer.count, 0) > 0, buffer[0] == opcode else {
        fail("an answer other than 0x\(String(opcode, radix: 16))")
      }
    }
  }
}
