/// A generator of which a seed gives the same numbers.
package struct SplitMix {
  package var state: UInt64

  package init(state: UInt64) { self.state = state }

  /// A number from 0 up to, and not including, `count`.
  package mutating func next(_ count: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((z ^ (z >> 31)) % UInt64(count))
  }

  /// One of the elements, of which there is one at least.
  package mutating func any<Element>(of elements: [Element]) -> Element { elements[next(elements.count)] }
}
