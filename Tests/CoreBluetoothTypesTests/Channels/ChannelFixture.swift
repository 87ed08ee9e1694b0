import BLEAdapter
import Foundation
import Synchronization

@testable import CoreBluetoothTypes

/// A channel whose host the test plays, with its streams.
///
/// The lock of `commands` and of `events` is their own; the streams are used by one thread at a time.
final class ChannelFixture: @unchecked Sendable {
  let stream: ChannelStream
  private let commands: Commands
  private(set) var channel: CBL2CAPChannel?
  let peer = CBPeer(identifier: UUID())

  private final class Commands: Sendable {
    let all = Mutex<[ChannelStream.Command]>([])
  }

  init(window: Int = 64, mtu: Int = 16) {
    let commands = Commands()
    var limits = ChannelStream.Limits()
    limits.outstandingOctets = window
    stream = ChannelStream(maximumLength: mtu, limits: limits, later: { _, _ in }) { command in
      commands.all.withLock { $0.append(command) }
    }
    self.commands = commands
    channel = CBL2CAPChannel(stream, psm: 0x80, peer: peer)
  }

  var input: InputStream {
    guard let stream = channel?.inputStream else { preconditionFailure("the test has released its channel") }
    return stream
  }
  var output: OutputStream {
    guard let stream = channel?.outputStream else { preconditionFailure("the test has released its channel") }
    return stream
  }

  func releaseChannel() { channel = nil }

  func take() -> [ChannelStream.Command] {
    commands.all.withLock { commands in
      defer { commands = [] }
      return commands
    }
  }

  /// - Returns: nil for an error.
  func read(_ count: Int = 64) -> [UInt8]? {
    var octets = [UInt8](repeating: 0, count: count)
    let length = input.read(&octets, maxLength: count)
    return length < 0 ? nil : Array(octets.prefix(length))
  }

  func write(_ octets: [UInt8]) -> Int { output.write(octets, maxLength: octets.count) }
}

/// Notes the events of streams, and reads or writes if the test wants that.
final class StreamRecorder: NSObject, StreamDelegate, @unchecked Sendable {
  private let state = Mutex<[String]>([])
  private let changed = DispatchSemaphore(value: 0)
  /// Called with each event.
  let reaction: @Sendable (Stream, Stream.Event) -> Void

  init(_ reaction: @escaping @Sendable (Stream, Stream.Event) -> Void = { _, _ in }) { self.reaction = reaction }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    let name =
      switch eventCode {
      case .openCompleted: "open"
      case .hasBytesAvailable: "bytes"
      case .hasSpaceAvailable: "space"
      case .endEncountered: "end"
      case .errorOccurred: "error"
      default: "?"
      }
    reaction(aStream, eventCode)
    state.withLock { $0.append(name) }
    changed.signal()
  }

  var events: [String] { state.withLock { $0 } }

  /// Waits until there are so many events.
  func wait(for count: Int) -> [String] {
    while events.count < count { changed.wait() }
    return events
  }
}

/// A thread that runs its run loop.
final class LoopThread: @unchecked Sendable {
  private(set) var loop = RunLoop.main
  private let isReady = DispatchSemaphore(value: 0)
  private let hasEnded = DispatchSemaphore(value: 0)
  private let isEnding = Mutex(false)

  /// - Parameter setUp: called on the thread before its loop runs.
  init(_ setUp: @escaping @Sendable () -> Void = {}) {
    Thread.detachNewThread { [self] in
      loop = RunLoop.current
      setUp()
      isReady.signal()
      // A loop without an input source and without a timer returns at once.
      loop.add(Timer(timeInterval: 3600, repeats: true) { _ in }, forMode: .default)
      while !isEnding.withLock({ $0 }) {
        _ = loop.run(mode: .default, before: Date(timeIntervalSinceNow: 0.05))
      }
      hasEnded.signal()
    }
    isReady.wait()
  }

  func end() {
    isEnding.withLock { $0 = true }
    hasEnded.wait()
  }
}
