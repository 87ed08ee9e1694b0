import BLETrace
import ToolCore

extension TraceFilter {
  /// The options of a command line.
  init(_ arguments: ParsedArguments) throws(ToolError) {
    self.init()
    showsAll = arguments.has("all")
    layers = Set(arguments.allValues("layer"))
    guard let text = arguments.value("link") else { return }
    guard let link = Link(text) else {
      throw .usage(
        "--link takes a handle such as 0x0040 or an address such as C0:11:22:33:44:55 or C0:11:22:33:44:55-random, not "
          + "'\(text)'",
        of: arguments.command)
    }
    self.link = link
  }
}
