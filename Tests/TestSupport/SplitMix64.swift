/// Random numbers that a seed repeats (SplitMix64; Steele, Lea and Flood, 2014).
///
/// Every test that draws numbers has one of these, so that a run that fails can be repeated.
public struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// A number from 0 to `count - 1`. The draw does not depend on the version of the standard library.
  public mutating func next(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  /// One of the elements, of which there is at least one.
  public mutating func any<Element>(of elements: [Element]) -> Element { elements[next(elements.count)] }

  /// A random number of octets.
  public mutating func octets(_ count: ClosedRange<Int>) -> [UInt8] {
    let count = Int.random(in: count, using: &self)
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
  }
}
