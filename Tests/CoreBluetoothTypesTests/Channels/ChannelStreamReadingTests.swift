import BLEAdapter
import Foundation
import Synchronization
import Testing

@testable import CoreBluetoothTypes

/// Behaviour rules, section 9: the streams of a channel without events, and its end.
@Suite struct ChannelStreamReadingTests {
  private let fixture = ChannelFixture()

  private func open() {
    fixture.input.open()
    fixture.output.open()
  }

  @Test("9 Streams come unopened") func streamsComeUnopened() {
    #expect(fixture.input.streamStatus == .notOpen && fixture.output.streamStatus == .notOpen)
    fixture.stream.received([1])
    #expect(!fixture.input.hasBytesAvailable && fixture.read() == nil && fixture.write([1]) == -1)
    open()
    #expect(fixture.input.streamStatus == .open && fixture.output.streamStatus == .open)
    #expect(fixture.input.hasBytesAvailable && fixture.read() == [1] && !fixture.input.hasBytesAvailable)
    #expect(fixture.output.hasSpaceAvailable && fixture.write([1]) == 1)
    #expect(fixture.take() == [.didRead, .send([1])])
  }

  @Test func aChannelKnowsItsPeerAndItsPSM() {
    #expect(fixture.channel?.psm == 0x80 && fixture.channel?.peer === fixture.peer)
    let empty = CBL2CAPChannel()
    #expect(empty.psm == 0 && empty.peer == nil && empty.inputStream == nil && empty.outputStream == nil)
  }

  /// The result of a call that waits, on a thread of its own.
  private final class LateResult<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)
    private let isThere = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Value) {
      Thread.detachNewThread { [self] in
        let value = body()
        result.withLock { $0 = value }
        isThere.signal()
      }
    }

    /// Waits for the end of the call.
    var value: Value? {
      isThere.wait()
      return result.withLock { $0 }
    }
  }

  @Test func readWaitsForAnOctet() {
    open()
    let read = LateResult { [fixture] in fixture.read() }
    fixture.stream.received([9])
    #expect(read.value == [9])
  }

  @Test func writeWaitsForRoom() {
    open()
    #expect(fixture.write([UInt8](repeating: 1, count: 100)) == 64 && !fixture.output.hasSpaceAvailable)
    let written = LateResult { [fixture] in fixture.write([2]) }
    fixture.stream.sent(64)
    #expect(written.value == 1)
  }

  @Test(arguments: [true, false]) func closeEndsAReaderThatWaits(_ closesStream: Bool) {
    open()
    let read = LateResult { [fixture] in fixture.read() }
    if closesStream { fixture.input.close() } else { fixture.stream.ended(.linkEnded(.connectionTimeout)) }
    #expect((read.value ?? [])?.isEmpty ?? true)
  }

  /// What was received before the end is read first.
  @Test func anOrderlyEndIsAtEnd() {
    open()
    fixture.stream.received([1, 2])
    fixture.stream.ended(.closedByPeer)
    #expect(fixture.input.streamStatus == .open && fixture.read(1) == [1] && fixture.read() == [2])
    #expect(fixture.input.streamStatus == .atEnd && fixture.read() == [] && fixture.input.streamError == nil)
    #expect(fixture.output.streamStatus == .atEnd && fixture.write([1]) == -1)
  }

  @Test(arguments: [
    (ChannelEnd.linkEnded(.remoteUserTerminatedConnection), CBError.Code.peripheralDisconnected),
    (.linkEnded(.connectionTimeout), .connectionTimeout), (.violation("a frame without a credit"), .unknown),
    (.detached, .operationCancelled), (.notSecured, .encryptionTimedOut),
  ])
  func anotherEndIsAnError(_ end: ChannelEnd, _ code: CBError.Code) {
    open()
    fixture.stream.received([1])
    fixture.stream.ended(end)
    #expect(fixture.read() == [1] && fixture.read() == nil && fixture.write([1]) == -1)
    #expect(fixture.input.streamStatus == .error && (fixture.input.streamError as? CBError)?.code == code)
    #expect(fixture.output.streamStatus == .error && (fixture.output.streamError as? CBError)?.code == code)
  }

  @Test("9 The channel is closed with both streams") func theChannelIsClosedWithBothStreams() {
    open()
    fixture.output.close()
    fixture.output.close()
    #expect(fixture.take() == [] && fixture.output.streamStatus == .closed && fixture.write([1]) == -1)
    fixture.stream.received([1])
    #expect(fixture.read() == [1])
    fixture.input.close()
    #expect(fixture.take() == [.didRead, .close] && fixture.read() == nil)
  }

  @Test func aClosedInputDiscardsAndTheOutputGoesOn() {
    open()
    fixture.input.close()
    fixture.stream.received([1])
    #expect(fixture.take() == [.didRead] && fixture.write([2]) == 1 && fixture.take() == [.send([2])])
  }

  @Test("9 The channel is closed when it is released") func theChannelIsClosedWhenItIsReleased() {
    open()
    let (input, output) = (fixture.input, fixture.output)
    fixture.releaseChannel()
    #expect(fixture.take() == [.close] && input.streamStatus == .atEnd && output.streamStatus == .atEnd)
  }

  @Test func whatWasWrittenIsSentBeforeTheEnd() {
    open()
    #expect(fixture.write([UInt8](repeating: 3, count: 20)) == 20)
    fixture.releaseChannel()
    #expect(fixture.take().count == 2)
    fixture.stream.sent(20)
    #expect(fixture.take() == [.close])
  }

  @Test func thereAreNoPropertiesAndNoBuffer() {
    open()
    fixture.stream.received([1])
    #expect(fixture.input.property(forKey: .socketSecurityLevelKey) == nil)
    #expect(fixture.output.property(forKey: .dataWrittenToMemoryStreamKey) == nil)
    #expect(!fixture.input.setProperty(nil, forKey: .networkServiceType))
    var buffer: UnsafeMutablePointer<UInt8>?
    var length = 0
    #expect(!fixture.input.getBuffer(&buffer, length: &length))
  }
}

/// The example in the documentation of ``CBL2CAPChannel``, as a program has it.
final class Receiver: NSObject, CBPeripheralDelegate, StreamDelegate {
  var channel: CBL2CAPChannel?

  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return print("no channel: \(error?.localizedDescription ?? "")") }
    self.channel = channel
    for stream: Stream in [channel.inputStream, channel.outputStream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    guard eventCode == .hasBytesAvailable, let input = aStream as? InputStream else { return }
    var octets = [UInt8](repeating: 0, count: 4_096)
    print("\(input.read(&octets, maxLength: octets.count)) octets received")
  }
}
