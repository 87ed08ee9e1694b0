import BLEAdapter
import BLEHCI
import BLEHost
public import Dispatch
public import Foundation
import Synchronization

/// A number that names the service of an L2CAP channel (SPSM); mirrors `CBL2CAPPSM`.
public typealias CBL2CAPPSM = UInt16

/// An open L2CAP channel with a device; mirrors `CBL2CAPChannel`.
///
/// The streams are not open yet. Set their delegates, schedule them on a run loop or a queue, and open them:
///
/// ```swift
/// final class Receiver: NSObject, CBPeripheralDelegate, StreamDelegate {
///   var channel: CBL2CAPChannel?
///
///   func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
///     guard let channel else { return print("no channel: \(error?.localizedDescription ?? "")") }
///     self.channel = channel
///     for stream: Stream in [channel.inputStream, channel.outputStream] {
///       stream.delegate = self
///       stream.schedule(in: .main, forMode: .default)
///       stream.open()
///     }
///   }
///
///   func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
///     guard eventCode == .hasBytesAvailable, let input = aStream as? InputStream else { return }
///     var octets = [UInt8](repeating: 0, count: 4_096)
///     print("\(input.read(&octets, maxLength: octets.count)) octets received")
///   }
/// }
/// ```
///
/// Keep the channel. It is closed when it is released, or when both streams are closed. Octets that were written before
/// are still sent, for at most ten seconds, unless the link or the manager ends before.
///
/// `read` waits for at least one octet, and `write` for room for one. Received octets are limited by the credits that
/// the device has: a program that does not read stops the device from sending. A stream ends with `endEncountered` when
/// the channel was closed, and with `errorOccurred` when the link was lost or the device violated the protocol; octets
/// that were received before can be read first.
///
/// ``CFReadStreamSetDispatchQueue(_:_:)`` and ``CFWriteStreamSetDispatchQueue(_:_:)`` schedule on a queue. A stream
/// that is scheduled on the main run loop, in its default or common modes, has its events on the main queue in a
/// program that calls `dispatchMain()`. No other run loop gets events while it does not run: that of a thread of the
/// system, which calls a delegate on a queue, never runs.
///
/// A channel and its streams may be used from any thread.
open class CBL2CAPChannel: NSObject, @unchecked Sendable {
  /// The device at the other end.
  open private(set) var peer: CBPeer!
  /// The data that the device sends.
  open private(set) var inputStream: InputStream!
  /// The data for the device.
  open private(set) var outputStream: OutputStream!
  /// The PSM of the channel.
  open private(set) var psm: CBL2CAPPSM = 0
  private let channel: ChannelStream?

  /// A channel that is not open.
  public override init() {
    channel = nil
    super.init()
  }

  init(_ channel: ChannelStream, psm: CBL2CAPPSM, peer: CBPeer) {
    self.channel = channel
    super.init()
    (self.psm, self.peer) = (psm, peer)
    let openEnds = OpenStreams()
    let input = StreamEnd(channel, .input) {
      channel.stopReading()
      if openEnds.closeOne() { channel.close() }
    }
    let output = StreamEnd(channel, .output) {
      if openEnds.closeOne() { channel.close() }
    }
    inputStream = ChannelInputStream(input)
    outputStream = ChannelOutputStream(output)
    channel.observe { [weak input, weak output] event in
      switch event {
      case .readable: input?.changed()
      case .writable: output?.changed()
      case .ended:
        input?.changed()
        output?.changed()
      case .finished: break
      }
    }
  }

  deinit { channel?.close() }

  /// Counts the streams that the program has closed.
  private final class OpenStreams: Sendable {
    private let count = Atomic(2)
    /// - Returns: whether both are closed now.
    func closeOne() -> Bool { count.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
  }
}

/// Delivers the events of the input stream of a channel on a queue, in addition to run loops; mirrors the function of
/// Core Foundation, which takes an `InputStream` on Apple's systems, too.
///
/// - Parameters:
///   - stream: ``CBL2CAPChannel/inputStream``. Another stream is not affected.
///   - queue: serial; nil ends the delivery.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func CFReadStreamSetDispatchQueue(_ stream: InputStream!, _ queue: DispatchQueue?) {
  (stream as? ChannelInputStream)?.end.queue = queue
}

/// Delivers the events of the output stream of a channel on a queue, as ``CFReadStreamSetDispatchQueue(_:_:)`` does for
/// the input stream.
///
/// - Parameters:
///   - stream: ``CBL2CAPChannel/outputStream``. Another stream is not affected.
///   - queue: serial; nil ends the delivery.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func CFWriteStreamSetDispatchQueue(_ stream: OutputStream!, _ queue: DispatchQueue?) {
  (stream as? ChannelOutputStream)?.end?.queue = queue
}

extension CBError {
  /// The error of a stream; nil where the channel was closed.
  init?(channel end: ChannelEnd) {
    switch end {
    case .closed, .closedByPeer: return nil
    case .violation: self.init(.unknown, "\(end)")
    case .notSecured: self.init(.encryptionTimedOut, "\(end)")
    case .linkEnded(let reason):
      let error = CBError(disconnected: HCIErrorCode(rawValue: reason.rawValue))
      self.init(error.code, "\(end): connect and open another one")
    case .overloaded: self.init(.outOfSpace, "\(end)")
    case .detached: self.init(.operationCancelled, "\(end): keep the manager for as long as its channels")
    }
  }
}
