import CoreBluetooth

/// One session over which a holder and a reader exchange messages.
protocol MdocTransport: AnyObject {
  var delegate: MdocTransportDelegate? { get set }

  func open()
  func send(_ message: Data)
  /// Ends the session, after what has been sent.
  func end()
}

protocol MdocTransportDelegate: AnyObject {
  func transportDidStart(_ transport: MdocTransport)
  func transport(_ transport: MdocTransport, didReceivePartOf length: Int)
  func transport(_ transport: MdocTransport, didReceive message: Data)
  /// The session is over. It has ended in good order, or the link was lost and a further session may start.
  func transport(_ transport: MdocTransport, didEndInGoodOrder isInGoodOrder: Bool)
}

/// The characteristics of ISO/IEC 18013-5, 8.3.3.1.1.
struct MdocProfile {
  let service: CBUUID
  let state: CBUUID
  let clientToServer: CBUUID
  let serverToClient: CBUUID
  /// Only a reader that is the server has it.
  let ident: CBUUID?
  let channel: CBUUID

  private static func uuid(_ number: Int) -> CBUUID {
    CBUUID(string: String(format: "%08X-A123-48CE-896B-4C76973373E6", number))
  }

  /// The holder is the server.
  static func peripheralServerMode(_ service: CBUUID) -> MdocProfile {
    MdocProfile(
      service: service, state: uuid(1), clientToServer: uuid(2), serverToClient: uuid(3), ident: nil,
      channel: uuid(0xA))
  }

  /// The holder is the client.
  static func centralClientMode(_ service: CBUUID) -> MdocProfile {
    MdocProfile(
      service: service, state: uuid(5), clientToServer: uuid(6), serverToClient: uuid(7), ident: uuid(8),
      channel: uuid(0xB))
  }

  /// The value of ident, which both ends derive from the engagement.
  static let identValue = Data("0123456789ABCDEF".utf8)
}

/// The values of the characteristic State.
enum MdocState {
  static let start = Data([0x01])
  static let end = Data([0x02])
}

/// Messages in chunks: the first octet of each says whether another one follows.
struct MdocChunks {
  private var outgoing: [Data] = []
  private var incoming = Data()

  var hasNext: Bool { !outgoing.isEmpty }

  mutating func append(_ message: Data, length: Int) {
    var rest = message
    repeat {
      let part = rest.prefix(length - 1)
      rest = rest.dropFirst(length - 1)
      outgoing.append(Data([rest.isEmpty ? 0x00 : 0x01]) + part)
    } while !rest.isEmpty
  }

  var next: Data? { outgoing.first }
  mutating func removeNext() { outgoing.removeFirst() }

  /// The length of what has arrived of a message.
  var incomingLength: Int { incoming.count }

  /// The message, with its last chunk.
  mutating func receive(_ chunk: Data) -> Data? {
    incoming += chunk.dropFirst()
    guard chunk.first == 0x00 else { return nil }
    defer { incoming = Data() }
    return incoming
  }
}
