import CoreBluetooth

/// Messages over an L2CAP channel: four octets of length, the most significant first, and the message.
final class ChannelMessages: NSObject, StreamDelegate, @unchecked Sendable {
  /// The message that ends a session, `{"status": 20}` in CBOR.
  private static let termination = Data([0xA1, 0x66, 0x73, 0x74, 0x61, 0x74, 0x75, 0x73, 0x14])

  private let channel: CBL2CAPChannel
  private weak var transport: MdocTransport?
  private let ended: (_ isInGoodOrder: Bool) -> Void
  private var outgoing = Data()
  private var incoming = Data()
  private var isTerminated = false
  private var isOver = false

  init(_ channel: CBL2CAPChannel, of transport: MdocTransport, ended: @escaping (_ isInGoodOrder: Bool) -> Void) {
    self.channel = channel
    self.transport = transport
    self.ended = ended
    super.init()
    for stream: Stream in [channel.inputStream, channel.outputStream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  func send(_ message: Data) {
    let length = UInt32(message.count)
    outgoing += Data([24, 16, 8, 0].map { UInt8(length >> $0 & 0xFF) }) + message
    write()
  }

  /// Sends the end of the session. The other end then closes the channel.
  func end() {
    isTerminated = true
    send(Self.termination)
  }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .hasBytesAvailable: read()
    case .hasSpaceAvailable: write()
    case .endEncountered, .errorOccurred: finish()
    default: break
    }
  }

  private func write() {
    guard let output = channel.outputStream else { return }
    while !outgoing.isEmpty, output.hasSpaceAvailable {
      let octets = [UInt8](outgoing.prefix(4_096))
      let count = output.write(octets, maxLength: octets.count)
      guard count > 0 else { return }
      outgoing.removeFirst(count)
    }
  }

  private func read() {
    guard let input = channel.inputStream else { return }
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while input.hasBytesAvailable {
      let count = input.read(&buffer, maxLength: buffer.count)
      guard count > 0 else { break }
      incoming.append(contentsOf: buffer[..<count])
    }
    while incoming.count >= 4 {
      let length = incoming.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      let message = incoming.dropFirst(4).prefix(length)
      if let transport = transport { transport.delegate?.transport(transport, didReceivePartOf: message.count) }
      guard message.count == length else { return }
      incoming = Data(incoming.dropFirst(4 + length))
      if Data(message) == Self.termination {
        isTerminated = true
        return finish()
      }
      if let transport = transport { transport.delegate?.transport(transport, didReceive: Data(message)) }
    }
  }

  private func finish() {
    guard !isOver else { return }
    isOver = true
    channel.inputStream.close()
    channel.outputStream.close()
    ended(isTerminated)
  }
}
