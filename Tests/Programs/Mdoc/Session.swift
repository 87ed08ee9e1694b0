import CoreBluetooth

/// One presentation of a document. The reader sends its request and ends the session with the response; the holder
/// answers each request with the document.
final class Session: MdocTransportDelegate, @unchecked Sendable {
  enum Role: String { case holder, reader }

  private let role: Role
  private let transport: MdocTransport
  private let request: URL
  private let document: URL
  /// The program is killed when so many octets of a message have arrived.
  private let octetsUntilKilled: Int?
  private var isDone = false

  /// - Parameters:
  ///   - request: the file that the reader sends, and the holder writes.
  ///   - document: the file that the holder sends, and the reader writes.
  init(role: Role, transport: MdocTransport, request: URL, document: URL, octetsUntilKilled: Int?) {
    self.role = role
    self.transport = transport
    self.request = request
    self.document = document
    self.octetsUntilKilled = octetsUntilKilled
    transport.delegate = self
  }

  func start() { transport.open() }

  func transportDidStart(_ transport: MdocTransport) {
    print("session starts")
    isDone = false
    if role == .reader { sendFile(request) }
  }

  func transport(_ transport: MdocTransport, didReceivePartOf length: Int) {
    if let limit = octetsUntilKilled, length >= limit { kill(getpid(), SIGKILL) }
  }

  func transport(_ transport: MdocTransport, didReceive message: Data) {
    print("\(role == .reader ? "document" : "request") \(message.count) octets")
    do {
      try message.write(to: role == .reader ? document : request)
    } catch {
      print("\(error)")
      exit(1)
    }
    isDone = true
    if role == .reader {
      transport.end()
    } else {
      sendFile(document)
    }
  }

  func transport(_ transport: MdocTransport, didEndInGoodOrder isInGoodOrder: Bool) {
    print("session ends \(isInGoodOrder ? "in good order" : "early")")
    if isInGoodOrder, isDone { exit(0) }
  }

  private func sendFile(_ file: URL) {
    do {
      transport.send(try Data(contentsOf: file))
    } catch {
      print("\(error)")
      exit(1)
    }
  }
}
