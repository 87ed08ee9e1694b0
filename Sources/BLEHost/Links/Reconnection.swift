import BLEWire

/// The state of a link that our central made to a bonded peripheral
/// (Docs/Decisions/pairing-and-bonds.md#the-central-encrypts-first). Our client sends nothing except in `none`.
///
/// ```
///   none ── link up, the bond has a key for us; key of a failed pairing in use ──► pending ── encrypted ──► none
///                                              refused, no answer │                                            ▲
///                                                                 └──► bondLost ── encrypted by a new pairing ─┘
/// ```
enum Reconnection: Equatable, Sendable {
  case none
  /// The link is being encrypted with the key of the bond, at the latest until this time.
  case pending(until: Instant)
  /// The encryption has failed. Nothing is sent in the clear on this link.
  case bondLost

  var isPending: Bool { if case .pending = self { true } else { false } }
  var deadline: Instant? { if case .pending(let until) = self { until } else { nil } }
}
