package import BLEGATT

/// What an owner demands of the security of a link.
package struct SecurityDemand: Equatable, Sendable {
  /// The level that the link has afterwards, or a higher one; at least ``SecurityLevel/encrypted``.
  package var level: SecurityLevel
  /// Whether the application is asked before a Just Works pairing (``PairingQuestion/consent``), although it has
  /// requested it.
  package var asksConsent: Bool

  package init(level: SecurityLevel = .encrypted, asksConsent: Bool = false) {
    (self.level, self.asksConsent) = (level, asksConsent)
  }
}
