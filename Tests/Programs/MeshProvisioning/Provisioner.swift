import CoreBluetooth

/// Provisions one device: the order of messages of the Mesh Protocol, with random octets in place of cryptography, and
/// the device's certificate read in fragments before.
final class Provisioner: GATTBearerDelegate, @unchecked Sendable {
  private static let fragmentLength = 60

  private let bearer: GATTBearer
  private let output: URL
  private let publicKey: Data
  private let messagesUntilKilled: Int?
  private var received = 0
  private var certificate = Data()
  private var isProvisioned = false

  /// - Parameters:
  ///   - output: the file for the certificate of the device.
  ///   - messagesUntilKilled: after how many messages of the device the program is killed.
  init(publicKey: Data, output: URL, segmentLength: Int?, messagesUntilKilled: Int?) {
    self.publicKey = publicKey
    self.output = output
    self.messagesUntilKilled = messagesUntilKilled
    bearer = GATTBearer(segmentLength: segmentLength)
    bearer.delegate = self
  }

  func start() { bearer.open() }

  func bearerDidOpen(_ bearer: GATTBearer) {
    print("bearerDidOpen")
    certificate = Data()
    bearer.send(Data([Mesh.invite, 5]))
  }

  func bearer(_ bearer: GATTBearer, didReceive message: Data) {
    received += 1
    if received == messagesUntilKilled { kill(getpid(), SIGKILL) }
    switch message.first {
    case Mesh.capabilities:
      print("capabilities \(message.hex)")
      requestFragment()
    case Mesh.recordResponse:
      // Status, record, offset, length of the record, fragment.
      certificate += message.dropFirst(8)
      if certificate.count < message.number(at: 6) { return requestFragment() }
      print("certificate \(certificate.count) octets")
      // Two messages, one after the other.
      bearer.send(Data([Mesh.start, 0, 0, 0, 0, 0]))
      bearer.send(Data([Mesh.publicKey]) + publicKey)
    case Mesh.publicKey:
      print("publicKey \(message.dropFirst().hex)")
      bearer.send(Data([Mesh.confirmation]) + publicKey.prefix(16))
    case Mesh.confirmation:
      bearer.send(Data([Mesh.random]) + publicKey.suffix(16))
    case Mesh.random:
      bearer.send(Data([Mesh.data]) + publicKey.prefix(33))
    case Mesh.complete:
      print("complete")
      isProvisioned = true
      bearer.close()
    default:
      print("unexpected \(message.hex)")
    }
  }

  private func requestFragment() {
    let fields = [1, certificate.count, Self.fragmentLength].map { Data(number: $0) }
    bearer.send(Data([Mesh.recordRequest]) + fields.joined())
  }

  func bearerDidClose(_ bearer: GATTBearer, error: Error?) {
    print("bearerDidClose \(error == nil ? "without" : "with an") error")
    guard isProvisioned else { return }
    do {
      try certificate.write(to: output)
    } catch {
      print("no file \(output.path): \(error)")
      exit(1)
    }
    exit(0)
  }
}
