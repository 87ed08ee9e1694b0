import BLEHCI
import BLEWire
import ToolCore

/// The links of a trace, for the error about a link that it does not have.
package struct TraceLinks: CustomStringConvertible {
  private struct Link: Hashable {
    var handle: ConnectionHandle
    var peer: DeviceAddress?
  }

  /// The links of the text.
  package static let limit = 16

  private var links: [Link] = []
  private var hasMore = false
  /// Whether an entry belongs to the link that the options name.
  package private(set) var hasSelected = false

  package init() {}

  package mutating func add(_ entry: TraceEntry, isSelected: Bool) {
    hasSelected = hasSelected || isSelected
    guard let handle = entry.link else { return }
    let link = Link(handle: handle, peer: entry.peer)
    // Some entries of a link do not have the device.
    guard !links.contains(where: { $0 == link || link.peer == nil && $0.handle == handle }) else { return }
    if links.count < Self.limit { links.append(link) } else { hasMore = true }
  }

  /// The error about a link that the trace does not have.
  package func absence(of link: String) -> String { "has no link '\(link)'. \(self)" }

  package var description: String {
    if links.isEmpty { return "It has no links" }
    let names = links.map { link in link.peer.map { "\(link.handle) with \($0.word)" } ?? "\(link.handle)" }
    return "It has: \(names.joined(separator: ", "))\(hasMore ? " and others" : "")"
  }
}
