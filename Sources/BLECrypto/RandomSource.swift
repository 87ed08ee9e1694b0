/// Where a machine takes its random numbers from: the system, a seed, or a list that a test wrote.
///
/// It is a value that is handed in, so that a run with ``seeded(_:)`` repeats itself octet for octet. A copy of a seeded
/// source gives the same numbers again.
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

  /// The kernel's generator (getrandom on Linux): the only one to use for keys.
  public static let system = Self(origin: .system)

  /// A repeatable sequence (SplitMix64) for tests and for the virtual radio; no secret comes from it.
  public static func seeded(_ seed: UInt64) -> Self { Self(origin: .seeded(seed)) }

  /// The octets of a test's script, in the order ``octets(_:)`` gives them out; behind the last, a seeded sequence.
  public static func listed(_ octets: [UInt8], thenSeed seed: UInt64 = 0) -> Self {
    Self(origin: .listed(octets[...], thenSeed: seed))
  }

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

  /// `count` octets.
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

  /// A number of 128 bits; from a list, its octets are read least significant first, as they travel.
  public mutating func uint128() -> UInt128 {
    let low = next()
    return UInt128(next()) << 64 | UInt128(low)
  }

  /// A source of its own for a machine that keeps one: the system's again, or a sequence seeded from this one.
  public mutating func fork() -> Self {
    if case .system = origin { return .system }
    return .seeded(next())
  }

  private mutating func octet() -> UInt8 {
    guard case .listed(var left, let seed) = origin else { return UInt8(truncatingIfNeeded: next()) }
    guard let first = left.popFirst() else {
      origin = .seeded(seed)
      return octet()
    }
    origin = .listed(left, thenSeed: seed)
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
