import BLEAdapter
import Foundation
import Synchronization
import Testing

@testable import CoreBluetoothTypes

/// Behaviour rules, section 9: the events of the streams of a channel, on run loops and queues.
@Suite struct ChannelStreamScheduleTests {
  private let fixture = ChannelFixture()

  /// A reader of everything that arrives.
  private func reader() -> (StreamRecorder, Lines) {
    let octets = Lines()
    let recorder = StreamRecorder { [fixture] _, event in
      if event == .hasBytesAvailable, let read = fixture.read() { octets.append("\(read)") }
    }
    return (recorder, octets)
  }

  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    func append(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }

  @Test("9 The events of a stream come on its run loop") func eventsComeOnTheRunLoopOfAThread() {
    let (recorder, octets) = reader()
    let threads = Mutex<Set<ObjectIdentifier>>([])
    let observer = StreamRecorder { stream, event in
      threads.withLock { _ = $0.insert(ObjectIdentifier(RunLoop.current)) }
      recorder.stream(stream, handle: event)
    }
    let thread = LoopThread { [fixture] in
      fixture.input.delegate = observer
      fixture.input.schedule(in: .current, forMode: .default)
      fixture.input.open()
    }
    #expect(recorder.wait(for: 1) == ["open"])
    fixture.stream.received([1, 2])
    #expect(recorder.wait(for: 2) == ["open", "bytes"])
    fixture.stream.received([3])
    #expect(recorder.wait(for: 3).count == 3)
    fixture.stream.ended(.closedByPeer)
    #expect(recorder.wait(for: 4) == ["open", "bytes", "bytes", "end"] && octets.all == ["[1, 2]", "[3]"])
    thread.end()
    #expect(threads.withLock { $0 } == [ObjectIdentifier(thread.loop)])
  }

  /// `run(mode:before:)` returns after an event, as programs that wait in it expect.
  @Test func anEventEndsOneRunOfTheLoop() {
    let turns = Mutex(0)
    let recorder = StreamRecorder()
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [fixture] in
      fixture.input.delegate = recorder
      fixture.input.schedule(in: .current, forMode: .default)
      fixture.input.open()
      while recorder.events.count < 2, RunLoop.current.run(mode: .default, before: .distantFuture) {
        turns.withLock { $0 += 1 }
      }
      isDone.signal()
    }
    _ = recorder.wait(for: 1)
    fixture.stream.received([1])
    isDone.wait()
    #expect(turns.withLock { $0 } >= 2)
  }

  @Test func aStreamIsScheduledFromAnotherThread() {
    let thread = LoopThread()
    let (recorder, octets) = reader()
    fixture.input.delegate = recorder
    fixture.input.schedule(in: thread.loop, forMode: .default)
    fixture.input.open()
    #expect(recorder.wait(for: 1) == ["open"])
    fixture.stream.received([7])
    #expect(recorder.wait(for: 2) == ["open", "bytes"] && octets.all == ["[7]"])
    thread.end()
  }

  /// The main queue runs here, and not the main run loop: as in a program that calls `dispatchMain()`.
  @Test func aStreamOfTheMainRunLoopHasItsEventsOnTheMainQueueToo() {
    let (recorder, octets) = reader()
    fixture.input.delegate = recorder
    fixture.input.schedule(in: .main, forMode: .default)
    fixture.input.open()
    fixture.stream.received([7])
    #expect(recorder.wait(for: 2) == ["open", "bytes"] && octets.all == ["[7]"])
  }

  @Test("9 The events of a stream come on its queue") func eventsComeOnAQueue() {
    let queue = DispatchQueue(label: "streams")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let isElsewhere = Mutex(false)
    let recorder = StreamRecorder { _, _ in
      if DispatchQueue.getSpecific(key: key) != true { isElsewhere.withLock { $0 = true } }
    }
    fixture.output.delegate = recorder
    CFWriteStreamSetDispatchQueue(fixture.output, queue)
    fixture.output.open()
    #expect(recorder.wait(for: 2) == ["open", "space"] && !isElsewhere.withLock { $0 })
  }

  @Test func bytesAreReportedOnceUntilTheProgramReads() {
    let queue = DispatchQueue(label: "streams")
    let recorder = StreamRecorder()
    fixture.input.delegate = recorder
    CFReadStreamSetDispatchQueue(fixture.input, queue)
    fixture.input.open()
    fixture.stream.received([1, 2])
    fixture.stream.received([3])
    #expect(recorder.wait(for: 2) == ["open", "bytes"])
    queue.sync {}
    #expect(recorder.events == ["open", "bytes"])
    #expect(fixture.read(1) == [1])
    #expect(recorder.wait(for: 3) == ["open", "bytes", "bytes"])
  }

  @Test func spaceIsReportedOnceUntilTheProgramWrites() {
    let queue = DispatchQueue(label: "streams")
    let recorder = StreamRecorder()
    fixture.output.delegate = recorder
    CFWriteStreamSetDispatchQueue(fixture.output, queue)
    fixture.output.open()
    #expect(recorder.wait(for: 2) == ["open", "space"])
    #expect(fixture.write([UInt8](repeating: 7, count: 60)) == 60)
    queue.sync {}
    #expect(recorder.events.count == 2)
    fixture.stream.sent(60)
    #expect(recorder.wait(for: 3) == ["open", "space", "space"])
  }

  @Test func aLateDelegateGetsTheEventsThatAreDue() {
    let queue = DispatchQueue(label: "streams")
    CFReadStreamSetDispatchQueue(fixture.input, queue)
    fixture.input.open()
    fixture.stream.received([1])
    fixture.stream.ended(.closedByPeer)
    queue.sync {}
    let (recorder, _) = reader()
    fixture.input.delegate = recorder
    #expect(recorder.wait(for: 3) == ["open", "bytes", "end"])
  }

  @Test func aStreamThatIsRemovedFromItsRunLoopHasNoEvents() {
    let recorder = StreamRecorder()
    let thread = LoopThread { [fixture] in
      fixture.input.delegate = recorder
      fixture.input.schedule(in: .current, forMode: .default)
      fixture.input.open()
    }
    _ = recorder.wait(for: 1)
    fixture.input.remove(from: thread.loop, forMode: .default)
    fixture.stream.received([1])
    let queue = DispatchQueue(label: "streams")
    CFReadStreamSetDispatchQueue(fixture.input, queue)
    #expect(recorder.wait(for: 2) == ["open", "bytes"])
    thread.end()
    #expect(recorder.events.count == 2)
  }

  @Test func aClosedStreamHasNoEvents() {
    let queue = DispatchQueue(label: "streams")
    let recorder = StreamRecorder()
    fixture.input.delegate = recorder
    CFReadStreamSetDispatchQueue(fixture.input, queue)
    fixture.input.open()
    _ = recorder.wait(for: 1)
    fixture.input.close()
    fixture.stream.received([1])
    fixture.stream.ended(.linkEnded(.connectionTimeout))
    queue.sync {}
    #expect(recorder.events == ["open"])
  }

  @Test func aLostLinkIsAnErrorOfBothStreams() {
    let queue = DispatchQueue(label: "streams")
    let (input, _) = reader()
    let output = StreamRecorder()
    (fixture.input.delegate, fixture.output.delegate) = (input, output)
    CFReadStreamSetDispatchQueue(fixture.input, queue)
    CFWriteStreamSetDispatchQueue(fixture.output, queue)
    fixture.input.open()
    fixture.output.open()
    _ = output.wait(for: 2)
    fixture.stream.received([1])
    fixture.stream.ended(.linkEnded(.connectionTimeout))
    #expect(input.wait(for: 3) == ["open", "bytes", "error"] && output.wait(for: 3) == ["open", "space", "error"])
    #expect((fixture.input.streamError as? CBError)?.code == .connectionTimeout)
  }
}
