package import BLEATT
package import BLEHCI
import BLEWire

extension ATTPDU {
  /// Whether a client sends it: a command, a request or a confirmation.
  private var isFromClient: Bool {
    switch type {
    case .command, .request, .confirmation: true
    case .response, .notification, .indication: false
    }
  }

  /// The direction of the PDUs of the client to whose link it belongs. A link has a client at each end.
  ///
  /// - Parameter direction: its own.
  package func client(sentAs direction: HCIPacketDirection) -> HCIPacketDirection {
    isFromClient ? direction : direction.opposite
  }

  /// The attribute of a request or a command on one attribute; nil for others.
  package var requestedAttribute: AttributeHandle? {
    switch self {
    case .readRequest(let packet): packet.handle
    case .readBlobRequest(let packet): packet.handle
    case .writeRequest(let packet): packet.handle
    case .prepareWriteRequest(let packet): packet.handle
    case .writeCommand(let packet): packet.handle
    case .signedWriteCommand(let packet): packet.handle
    default: nil  // The others name ranges, several attributes or none, or are not sent by a client.
    }
  }
}

extension ErrorResponse {
  /// Whether it is the normal end of a discovery or of a long read (Vol 3, Part G, 4.4.1 and 4.8.3).
  package var isNormalEnd: Bool {
    code == .attributeNotFound
      || requestOpcode == ReadBlobRequest.opcode && [.attributeNotLong, .invalidOffset].contains(code)
  }
}

extension HCIPacketDirection {
  package var opposite: Self { self == .hostToController ? .controllerToHost : .hostToController }
}
