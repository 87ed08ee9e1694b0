import Dispatch
import Foundation

/// The octets that arrive on a channel, as ``CBL2CAPChannel/inputStream``.
final class ChannelInputStream: InputStream {
  let end: StreamEnd

  init(_ end: StreamEnd) {
    self.end = end
    super.init(data: Data())
    end.attach(self)
  }

  override weak var delegate: (any StreamDelegate)? {
    get { end.delegate }
    set { end.delegate = newValue }
  }
  override var streamStatus: Status { end.status }
  override var streamError: (any Error)? { end.error }
  override func open() { end.open() }
  override func close() { end.close() }
  override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { end.add(aRunLoop, mode) }
  override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { end.remove(aRunLoop, mode) }
  override func property(forKey key: PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: PropertyKey) -> Bool { false }

  override var hasBytesAvailable: Bool { end.isReady }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    guard let octets = end.read(atMost: len) else { return -1 }
    octets.withUnsafeBufferPointer { octets in
      if let first = octets.baseAddress { buffer.update(from: first, count: octets.count) }
    }
    return octets.count
  }

  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
  ) -> Bool { false }
}

/// The octets for the device at the other end of a channel, as ``CBL2CAPChannel/outputStream``.
final class ChannelOutputStream: OutputStream {
  let end: StreamEnd?

  init(_ end: StreamEnd) {
    self.end = end
    super.init(toMemory: ())
    end.attach(self)
  }

  /// A stream of no channel, which never opens; Foundation demands this initializer.
  required init(toMemory: ()) {
    end = nil
    super.init(toMemory: toMemory)
  }

  override weak var delegate: (any StreamDelegate)? {
    get { end?.delegate }
    set { end?.delegate = newValue }
  }
  override var streamStatus: Status { end?.status ?? .notOpen }
  override var streamError: (any Error)? { end?.error }
  override func open() { end?.open() }
  override func close() { end?.close() }
  override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { end?.add(aRunLoop, mode) }
  override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { end?.remove(aRunLoop, mode) }
  override func property(forKey key: PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: PropertyKey) -> Bool { false }

  override var hasSpaceAvailable: Bool { end?.isReady ?? false }

  override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
    end?.write { room in Array(UnsafeBufferPointer(start: buffer, count: max(0, min(len, room)))) } ?? -1
  }
}
