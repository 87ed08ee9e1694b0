/// A source of random numbers for a protocol machine: the operating system, a seed, or a list in a test.
///
/// Machines take it as an argument, so that a run with ``seeded(_:)`` can be repeated octet for octet. A copy of a
/// seeded source gives the same numbers as the original.
///
/// ```swift
/// var random = RandomSource.seeded(7)
/// let value = random.uint128()
/// ```
public struct RandomSource: RandomNumberGenerator, Sendable {
  private enum Origin: Sendable {
    case system
    case seeded(UInt64)
    case listed(ArraySlice<UInt8>, thenSeed: UInt64)
  }

  private var origin: Origin

  /// The generator of the operating system (getrandom on Linux), the only source that is suitable for keys.
  public static let system = Self(origin: .system)

  /// A sequence that the seed determines (SplitMix64), for tests and simulation. Its numbers are predictable.
  public static func seeded(_ seed: UInt64) -> Self { Self(origin: .seeded(seed)) }

  /// The given octets, in the order in which ``octets(_:)`` returns them; after the last, a seeded sequence.
  public static func listed(_ octets: [UInt8], thenSeed seed: UInt64 = 0) -> Self {
    Self(origin: .listed(octets[...], thenSeed: seed))
  }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    switch origin {
    case .system:
      var system = SystemRandomNumberGenerator()
      return system.next()
    case .seeded(var state):
      let number = Self.splitMix(&state)
      origin = .seeded(state)
      return number
    case .listed:
      return (0..<8).reduce(0) { number, index in number | UInt64(octet()) << UInt64(8 * index) }
    }
  }

  /// The next `count` octets.
  public mutating func octets(_ count: Int) -> [UInt8] {
    var drawn: [UInt8] = []
    drawn.reserveCapacity(max(0, count))
    if case .listed = origin {
      while drawn.count < count { drawn.append(octet()) }
      return drawn
    }
    while drawn.count < count {
      var number = next()
      for _ in 0..<min(8, count - drawn.count) {
        drawn.append(UInt8(truncatingIfNeeded: number))
        number >>= 8
      }
    }
    return drawn
  }

  /// The next 128 bits. From a list, the octets are read least significant first.
  public mutating func uint128() -> UInt128 {
    let low = next()
    return UInt128(next()) << 64 | UInt128(low)
  }

  /// A source for another machine: the system's, or a sequence with a seed from this one.
  public mutating func fork() -> Self {
    if case .system = origin { return .system }
    return .seeded(next())
  }

  private mutating func octet() -> UInt8 {
    guard case .listed(var remaining, let seed) = origin else { return UInt8(truncatingIfNeeded: next()) }
    guard let first = remaining.popFirst() else {
      origin = .seeded(seed)
      return octet()
    }
    origin = .listed(remaining, thenSeed: seed)
    return first
  }

  /// SplitMix64 (Steele, Lea and Flood, 2014): a counter and a mixer.
  private static func splitMix(_ state: inout UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var number = state
    number = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
    number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
    return number ^ number >> 31
  }
}
