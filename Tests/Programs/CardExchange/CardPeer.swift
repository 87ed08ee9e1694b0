import CoreBluetooth

/// What both peers have: the services, and cards as they travel.
enum CardService {
  static let service = CBUUID(string: "CA4D0001-4B1D-4E0C-9C35-6B2D7A1F0C11")
  /// Written by the other peer.
  static let inbox = CBUUID(string: "CA4D0002-4B1D-4E0C-9C35-6B2D7A1F0C11")
  /// Notified to the other peer.
  static let outbox = CBUUID(string: "CA4D0003-4B1D-4E0C-9C35-6B2D7A1F0C11")

  static let queue = DispatchQueue(label: "cards")

  /// The length of the card, and the card.
  static func framed(_ card: Data) -> Data {
    Data([UInt8(card.count >> 8 & 0xFF), UInt8(card.count & 0xFF)]) + card
  }
}

/// A card that arrives in parts.
struct IncomingCard {
  private var octets = Data()

  var isEmpty: Bool { octets.isEmpty }

  mutating func append(_ part: Data) { octets += part }

  /// The card, once it is complete.
  var card: Data? {
    guard octets.count >= 2 else { return nil }
    let length = Int(octets[octets.startIndex]) << 8 | Int(octets[octets.startIndex + 1])
    return octets.count == 2 + length ? Data(octets.dropFirst(2)) : nil
  }
}

/// Sends its card to every peer that is near, in both roles at once, and receives theirs by two ways: as writes to its
/// own inbox, and as notifications of their outbox.
final class CardPeer: @unchecked Sendable {
  private let folder: URL
  private let publisher: CardPublisher
  private let collector: CardCollector

  /// - Parameters:
  ///   - folder: where the cards of the other peer are written, as `written` and `notified`.
  ///   - octetsUntilKilled: the program is killed when so many octets have been written to its inbox.
  init(card: Data, folder: URL, octetsUntilKilled: Int?) {
    self.folder = folder
    publisher = CardPublisher(card: card, octetsUntilKilled: octetsUntilKilled)
    collector = CardCollector(card: card)
    publisher.received = { [weak self] in self?.save($0, as: "written") }
    collector.received = { [weak self] in self?.save($0, as: "notified") }
  }

  func start() {
    publisher.start()
    collector.start()
  }

  private func save(_ card: Data, as way: String) {
    do {
      try card.write(to: folder.appendingPathComponent(way), options: .atomic)
      print("card \(way) \(card.count) octets")
    } catch {
      print("\(error)")
      exit(1)
    }
  }
}
