/// One attachment to a host: a manager, or an adapter of the Swift API.
///
/// Services, advertisements, scans, pending connections, operations and updates belong to the owner whose command
/// declared them. Their events go to that owner alone, and the host withdraws them when the owner detaches
/// (Docs/Decisions/host.md#owners).
package struct OwnerID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Inlinable: other modules compare owners for each event.
  @inlinable package static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }

  /// The process: bonds, pairing policy and privacy are set on its behalf. It never detaches, and the events for it go
  /// to everyone.
  @inlinable package static var process: Self { Self(rawValue: 0) }

  /// The recipient of the events for this owner.
  var recipient: Recipient { self == .process ? .everyone : .owner(self) }
}

/// The owners that receive an event.
package enum Recipient: Hashable, Sendable {
  case everyone
  case owner(OwnerID)
  case owners([OwnerID])

  /// These owners, the process being everyone; nil for none.
  init?(_ owners: [OwnerID]) {
    guard let first = owners.first else { return nil }
    self = owners.contains(.process) ? .everyone : owners.count == 1 ? .owner(first) : .owners(owners)
  }

  /// These owners and another one.
  func joined(by other: OwnerID) -> Self {
    switch self {
    case .everyone: self
    case .owner(let owner): Self([owner, other]) ?? self
    case .owners(let owners): Self(owners + [other]) ?? self
    }
  }

  package func includes(_ owner: OwnerID) -> Bool {
    switch self {
    case .everyone: true
    case .owner(let only): only == owner
    case .owners(let some): some.contains(owner)
    }
  }
}

/// An event and the owners that receive it.
package struct AddressedEvent<Event: Sendable>: Sendable {
  package var recipient: Recipient
  package var event: Event

  package init(_ event: Event, to recipient: Recipient = .everyone) {
    self.event = event
    self.recipient = recipient
  }
}
