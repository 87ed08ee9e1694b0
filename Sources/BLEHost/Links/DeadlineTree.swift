import BLEWire

/// The deadlines of a numbered set of machines: the earliest is available at once, and a change takes logarithmic time.
///
/// A tournament: the leaves are the deadlines in order, and each inner node holds the earlier one of its two children.
struct DeadlineTree: Sendable {
  /// The root is node 1, and the children of node `n` are `2n` and `2n + 1`; the leaves are the second half.
  private var nodes: [Instant?] = [nil, nil]

  init(_ deadlines: [Instant?] = []) {
    var width = 1
    while width < deadlines.count { width *= 2 }
    nodes = Array(repeating: nil, count: width) + deadlines
    nodes += Array(repeating: nil, count: 2 * width - nodes.count)
    for node in stride(from: width - 1, to: 0, by: -1) { nodes[node] = .nearer(nodes[2 * node], nodes[2 * node + 1]) }
  }

  private var width: Int { nodes.count / 2 }

  /// The earliest deadline.
  var earliest: Instant? { nodes[1] }

  /// Changes one deadline. A number beyond those the tree was made for has no effect.
  mutating func set(_ number: Int, _ deadline: Instant?) {
    var node = width + number
    guard nodes.indices ~= node, number >= 0, nodes[node] != deadline else { return }
    nodes[node] = deadline
    node /= 2
    while node > 0 {
      let earlier = Instant?.nearer(nodes[2 * node], nodes[2 * node + 1])
      guard nodes[node] != earlier else { return }
      nodes[node] = earlier
      node /= 2
    }
  }

  /// Adds a machine after the `count` others.
  mutating func append(_ deadline: Instant?, count: Int) {
    if count < width {
      set(count, deadline)
    } else {
      self = Self(Array(nodes[width..<(width + count)]) + [deadline])
    }
  }

  /// The numbers whose deadlines are at or before `now`, in order.
  func due(_ now: Instant) -> [Int] {
    var due: [Int] = []
    collect(1, now, into: &due)
    return due
  }

  private func collect(_ node: Int, _ now: Instant, into due: inout [Int]) {
    guard let deadline = nodes[node], deadline <= now else { return }
    guard node < width else { return due.append(node - width) }
    collect(2 * node, now, into: &due)
    collect(2 * node + 1, now, into: &due)
  }
}
