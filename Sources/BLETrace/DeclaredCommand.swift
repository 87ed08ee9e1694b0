import BLEHCI
import BLEWire

/// What a trace shows of the commands of one opcode.
struct DeclaredCommand: Sendable {
  /// The text of the fields of a command, and its link; nil for a command without one.
  let summary: @Sendable (_ parameters: Bytes) throws(CodecError) -> (text: String, link: ConnectionHandle?)
  /// The text of the fields of its return parameters.
  let response: @Sendable (_ returnParameters: Bytes) throws(CodecError) -> String

  /// Nil for an opcode without a declaration.
  init?(_ opcode: HCIOpcode) {
    guard let command = Self.all[opcode] else { return nil }
    self = command
  }

  static func isDeclared(_ opcode: HCIOpcode) -> Bool { all[opcode] != nil }

  private static let all: [HCIOpcode: Self] = {
    var table = Table()
    HCI.visitCommandTypes(with: &table)
    return table.commands
  }()

  private struct Table: HCICommandTypeVisitor {
    var commands: [HCIOpcode: DeclaredCommand] = [:]

    mutating func visit<Command: HCICommand>(_ type: Command.Type) {
      add(type) { _ in nil }
    }

    mutating func visit<Command: LinkCommand>(_ type: Command.Type) {
      add(type) { $0.connectionHandle }
    }

    private mutating func add<Command: HCICommand>(
      _ type: Command.Type, link: @escaping @Sendable (Command) -> ConnectionHandle?
    ) {
      commands[Command.opcode] = DeclaredCommand(
        summary: { parameters throws(CodecError) in
          let command = try Command(decoding: parameters)
          return (FieldSummary.text(of: command), link(command))
        },
        response: { parameters throws(CodecError) in
          FieldSummary.text(of: try Command.Response(returned: parameters))
        })
    }
  }

  private init(
    summary: @escaping @Sendable (Bytes) throws(CodecError) -> (text: String, link: ConnectionHandle?),
    response: @escaping @Sendable (Bytes) throws(CodecError) -> String
  ) {
    (self.summary, self.response) = (summary, response)
  }
}
