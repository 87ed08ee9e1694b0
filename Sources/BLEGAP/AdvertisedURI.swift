public import BLEWire

/// A URI whose scheme is one code point (Core Specification Supplement, Part A, 1.18; Assigned Numbers, 2.7).
///
/// ```swift
/// let uri = AdvertisedURI("https://example.org")
/// // uri.octets begins with 0x17, then "//example.org"
/// ```
public struct AdvertisedURI: Hashable, Sendable {
  /// UTF-8: the code point of the scheme, then what follows the colon.
  public var octets: Bytes

  public init(octets: Bytes) { self.octets = octets }

  /// Shortens a scheme that has a code here; any other is written out behind the code for "no scheme".
  public init(_ text: String) {
    for scheme in Self.schemes where text.utf8.starts(with: scheme.text.utf8) {
      octets = [scheme.code] + Bytes(text.utf8.dropFirst(scheme.text.utf8.count))
      return
    }
    octets = [Self.noScheme] + Bytes(text.utf8)
  }

  /// The URI as it is written, where this library knows the code of its scheme and the octets are UTF-8.
  public var text: String? {
    guard let code = octets.first, let rest = String(validating: octets.dropFirst(), as: UTF8.self) else { return nil }
    if code == Self.noScheme { return rest }
    guard let scheme = Self.schemes.first(where: { $0.code == code }) else { return nil }
    return scheme.text + rest
  }

  private static let noScheme: UInt8 = 0x01
  private static let schemes: [(code: UInt8, text: String)] = [(0x16, "http:"), (0x17, "https:")]
}
