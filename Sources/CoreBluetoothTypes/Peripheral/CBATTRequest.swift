import BLEGATT
public import Foundation
import Synchronization

/// A request of a central to read or write a characteristic; mirrors `CBATTRequest`.
///
/// It may be kept and answered later, from any thread, with ``CBPeripheralManager/respond(to:withResult:)``; the
/// central waits up to 30 seconds (Vol 3, Part F, 3.3.3).
///
/// The lock is `contents`.
open class CBATTRequest: NSObject, @unchecked Sendable {
  private let sender: CBCentral
  private let target: CBCharacteristic
  private let start: Int
  let ticket: Ticket
  private let contents: Mutex<Contents>

  /// The octets of a write become `Data` when the application reads them.
  private enum Contents {
    case octets([UInt8])
    case data(Data?)
  }

  /// The host's request that it belongs to.
  enum Ticket: Sendable {
    case read(RequestToken)
    /// One part of a write; all parts of a queued write share the token.
    case write(RequestToken, part: AttributeID, isFirst: Bool)
    /// A Write Command, which has no response.
    case command
  }

  init(central: CBCentral, characteristic: CBCharacteristic, offset: Int, octets: [UInt8]?, ticket: Ticket) {
    sender = central
    target = characteristic
    start = offset
    self.ticket = ticket
    contents = Mutex(octets.map { .octets($0) } ?? .data(nil))
  }

  /// The central that sent the request.
  open var central: CBCentral { sender }
  /// The characteristic to read or write.
  open var characteristic: CBCharacteristic { target }
  /// Where in the value the central begins to read or write, in octets.
  open var offset: Int { start }

  /// For a read, set it to the value's octets from ``offset`` on before responding. For a write, the octets that the
  /// central wrote.
  open var value: Data? {
    get {
      contents.withLock { contents in
        switch contents {
        case .data(let value): return value
        case .octets(let octets):
          let value = Data(octets)
          contents = .data(value)
          return value
        }
      }
    }
    set { contents.withLock { $0 = .data(newValue) } }
  }

  /// Lends the octets of ``value``.
  final func withOctets<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    contents.withLock { contents in
      switch contents {
      case .data(let value?): body(value.span)
      case .data(nil): body(Span())
      case .octets(let octets): body(octets.span)
      }
    }
  }

  /// The link and the token, which identify the request to the host.
  final func key(_ token: RequestToken) -> RequestKey { RequestKey(peer: sender.peer, token: token) }

  final var token: RequestToken? {
    switch ticket {
    case .read(let token), .write(let token, _, _): token
    case .command: nil
    }
  }
}
