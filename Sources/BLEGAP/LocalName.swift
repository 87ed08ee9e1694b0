public import BLEWire

/// The name of a device as an advertisement carries it (Core Specification Supplement, Part A, 1.2).
public struct LocalName: Equatable, Sendable {
  /// UTF-8, if the sender keeps to the specification.
  public var octets: Bytes
  /// False for a name that was shortened to fit.
  public var isComplete: Bool

  public init(octets: Bytes, isComplete: Bool) {
    self.octets = octets
    self.isComplete = isComplete
  }

  public init(_ text: String, isComplete: Bool = true) {
    self.init(octets: Bytes(text.utf8), isComplete: isComplete)
  }

  /// The name, or nil where the octets are no UTF-8.
  public var text: String? { String(validating: octets, as: UTF8.self) }

  /// The name with every octet that is no UTF-8 replaced by U+FFFD; for showing.
  public var displayText: String { String(decoding: octets, as: UTF8.self) }

  /// As much of `name` as `room` octets hold, cut between characters as a reader sees them.
  ///
  /// Where not even the first character fits, it is cut between Unicode scalars, so that the name does not vanish for
  /// the sake of one long character.
  ///
  /// - Returns: nil when nothing of it fits.
  static func fitting(_ name: String, in room: Int) -> Self? {
    guard name.utf8.count > room else { return name.isEmpty ? nil : Self(name) }
    var kept = cut(name, room) { $0.utf8.count }
    if kept == 0 { kept = cut(name.unicodeScalars, room) { UTF8.width($0) } }
    return kept == 0 ? nil : Self(octets: Bytes(name.utf8.prefix(kept)), isComplete: false)
  }

  /// How many octets the leading whole pieces of `text` take, `room` at most.
  private static func cut<C: Collection>(_ text: C, _ room: Int, _ width: (C.Element) -> Int) -> Int {
    var octets = 0
    for piece in text {
      guard octets + width(piece) <= room else { break }
      octets += width(piece)
    }
    return octets
  }
}

extension LocalName: CustomStringConvertible {
  public var description: String { isComplete ? displayText : displayText + "…" }
}
