import Synchronization

/// A number of octets, counted on the thread of the stack.
final class ByteCount: Sendable {
  private let count = Atomic(0)
  var total: Int { count.load(ordering: .relaxed) }
  func add(_ octets: Int) { count.wrappingAdd(octets, ordering: .relaxed) }
}
