import BLEATT
package import BLEWire

/// Enhanced ATT bearers: further bearers of the same client (Vol 3, Part F, 3.2.11; Part G, 5.3.2).
///
/// Each bearer has an ATT_MTU, a request without a response, prepared writes and an indication of its own.
/// Subscriptions, features and change awareness are those of the client.
extension GATTServer {
  /// The state of a bearer that is not in use.
  package struct Bearer: Sendable {
    /// The ATT_MTU, in octets: the smaller MTU of both ends of the channel. It is not exchanged.
    package var mtu: Int
    fileprivate var hasFailed = false
    fileprivate var isEnhanced = true
    fileprivate var prepared = PreparedWrites()
    fileprivate var unanswered: UnansweredRequest?
    fileprivate var waiting = PacketBuffer()
    fileprivate var indications = IndicationQueue()

    /// A new enhanced bearer.
    ///
    /// - Parameter mtu: the ATT_MTU, in octets.
    package init(mtu: Int) { self.mtu = mtu }

    /// The time at which ``GATTServer/tick(now:security:database:into:)`` must be called for the bearer.
    package var deadline: Instant? { .nearer(unanswered?.deadline, indications.deadline) }
  }

  /// Makes another bearer the one in use, and stores the previous one in `bearer`.
  package mutating func exchange(_ bearer: inout Bearer) {
    swap(&mtu, &bearer.mtu)
    swap(&hasFailed, &bearer.hasFailed)
    swap(&isEnhanced, &bearer.isEnhanced)
    swap(&prepared, &bearer.prepared)
    swap(&unanswered, &bearer.unanswered)
    swap(&waiting, &bearer.waiting)
    swap(&indications, &bearer.indications)
  }
}
