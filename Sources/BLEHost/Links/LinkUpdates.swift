import BLEATT
import BLEGATT
import BLEHCI
import BLEWire

/// The values on their way to the client of one link: notifications that the controller has not sent, and indications
/// that the client has not confirmed.
///
/// They are counted for each link, so that a client that confirms nothing, or whose link carries nothing, takes no room
/// from others.
struct LinkUpdates: Sendable {
  /// A value on its way.
  struct Entry: Equatable, Sendable {
    var owner: OwnerID
    /// ``UpdateToken/counted`` for a value of an ``UpdateRun``.
    var token: UpdateToken

    /// The event when it has left.
    ///
    /// - Parameter count: the number of values of a run that have left with it.
    func finished(_ count: Int = 1, on peer: LinkID) -> HostEvent {
      token == .counted ? .server(peer, .updatesFinished(count)) : .server(peer, .updateFinished(token))
    }
  }

  /// Those that are notified, in order.
  private var notifications = FIFO<Entry>()
  /// Those that are indicated, in order, with the attribute of each.
  private var indications: [(attribute: AttributeID, update: Entry)] = []
  /// Values on their way at once.
  let limit: Int

  /// - Parameter reservesMemory: whether it takes the memory for as many notifications.
  init(limit: Int, reservesMemory: Bool = false) {
    self.limit = limit
    if reservesMemory { notifications.reserveCapacity(limit) }
  }

  var count: Int { notifications.count + indications.count }
  var hasRoom: Bool { count < limit }
  /// All of them, the notifications first.
  var entries: [Entry] { notifications.elements + indications.map { $0.update } }
  /// Why another value is not accepted.
  var refusal: HostError { .tooMany("values in transit on one link", limit: limit) }

  /// - Returns: false where ``limit`` values are on their way.
  @inline(__always)
  mutating func beginNotification(_ update: Entry) -> Bool {
    guard hasRoom else { return false }
    notifications.append(update)
    return true
  }

  mutating func beginIndication(of attribute: AttributeID, _ update: Entry) {
    indications.append((attribute, update))
  }

  /// The controller has sent the first notifications. Successive values of one owner that are only counted have one
  /// event.
  @inline(__always)
  mutating func notificationsSent(_ count: Int, on peer: LinkID, into events: inout [AddressedEvent<HostEvent>]) {
    let sent = min(count, notifications.count)
    var place = 0
    while place < sent {
      let update = notifications[place]
      let first = place
      repeat { place += 1 } while place < sent && update.token == .counted && notifications[place] == update
      events.append(AddressedEvent(update.finished(place - first, on: peer), to: update.owner.recipient))
    }
    notifications.removeFirst(sent)
  }

  /// The first indication of an attribute was confirmed.
  mutating func indicationEnded(of attribute: AttributeID) -> Entry? {
    indications.firstIndex { $0.attribute == attribute }.map { indications.remove(at: $0).update }
  }

  /// The last indication of an attribute was discarded before it was sent.
  mutating func lastIndicationDiscarded(of attribute: AttributeID) -> Entry? {
    indications.lastIndex { $0.attribute == attribute }.map { indications.remove(at: $0).update }
  }
}

extension UpdateToken {
  /// The token of all values that are only counted. Those of owners ascend from 1 on.
  static let counted = Self(rawValue: .max)
}

/// The kind of a frame, for the report that the controller has sent it. 0 is any other frame.
enum FrameTag {
  static let notification: UInt32 = 1
  static let channel: UInt32 = 2
}

/// A link whose client gets the values of an attribute.
struct UpdateRecipient: Sendable {
  var index: Int
  var handle: ConnectionHandle
  /// The handle of the value.
  var attribute: AttributeHandle
  var delivery: GATTServer.UpdateDelivery
  /// In octets.
  var longestValue: Int
}
