import BLELinux
import BLEWire
import Foundation
import Testing

/// A folder of a test's own, gone with the test.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = "/tmp/ble-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }
  func write(_ text: String, to name: String) throws {
    try text.write(toFile: file(name), atomically: true, encoding: .utf8)
  }
  func has(_ name: String) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: file(name))) != nil
  }
}

/// Longer than any run: only the watchdog of the run limits a wait.
let patience = Duration.seconds(1_000_000)

extension StreamPort {
  /// Waits until the stream is there.
  mutating func waitForStream() throws -> ByteStream {
    let clock = MonotonicClock()
    while true {
      if let stream = try accept() { return stream }
      var poller = try Poller()
      let again = try watch(on: poller, token: 0).map { clock.now() + $0 }
      try poller.wait(until: again, on: clock)
    }
  }
}

extension ByteStream {
  /// Reads exactly `count` octets, or fewer where the stream ends before.
  borrowing func readAll(_ count: Int) throws -> [UInt8] {
    var poller = try Poller()
    try poller.watch(descriptor, token: 0, for: .reading)
    var (all, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4096))
    while all.count < count {
      switch try read(into: &buffer) {
      case .octets(let more): all += buffer[..<more]
      case .end: return all
      case .nothing: try poller.wait(until: nil, on: MonotonicClock())
      }
    }
    return all
  }

  /// Waits for the end of the stream; throws where octets come instead.
  borrowing func isEnded() throws -> Bool { try readAll(1).isEmpty }
}

/// A stream that is not there.
struct Missing: Error {}
