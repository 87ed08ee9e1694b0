import BLETrace
import ToolCore

extension TraceFilter {
  /// The options of a command line.
  init(_ arguments: ParsedArguments) throws(ToolError) {
    self.init()
    showsAll = arguments.has("all")
    layers = Set(arguments.allValues("layer").compactMap { TraceEntry.Layer(rawValue: $0.uppercased()) })
    guard let text = arguments.value("link") else { return }
    guard let link = Link(text) else { throw .usage("--link takes \(Link.rule(text))", of: arguments.command) }
    self.link = link
  }
}
