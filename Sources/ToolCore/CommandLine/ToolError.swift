import Glibc

/// The reason why a program ends, with an exit status of sysexits.h.
public struct ToolError: Error, CustomStringConvertible {
  public let description: String
  public let status: Int32

  public init(description: String, status: Int32) {
    self.description = description
    self.status = status
  }

  /// The text of an error number of the system.
  public static func text(ofError number: Int32) -> String { unsafe String(cString: strerror(number)) }

  /// 64, EX_USAGE: the command line is wrong.
  public static func usage(_ text: String, of command: CommandDeclaration? = nil) -> Self {
    let help = command.map { "usage: \($0.usage)\nMore: \($0.invocation) --help" } ?? "The commands: ble --help"
    return Self(description: "\(text)\n\(help)", status: 64)
  }

  /// 65, EX_DATAERR: the content of a file or an operand is malformed.
  public static func data(_ text: String) -> Self { Self(description: text, status: 65) }

  /// 66, EX_NOINPUT: a file cannot be read.
  public static func input(_ text: String) -> Self { Self(description: text, status: 66) }

  /// 68, EX_NOHOST: the device was not found.
  public static func notFound(_ text: String) -> Self { Self(description: text, status: 68) }

  /// 69, EX_UNAVAILABLE: a part that the command needs does not work.
  public static func unavailable(_ text: String) -> Self { Self(description: text, status: 69) }

  /// 73, EX_CANTCREAT: a file cannot be written.
  public static func output(_ text: String) -> Self { Self(description: text, status: 73) }

  /// 76, EX_PROTOCOL: the device rejected a request, or its answer is malformed.
  public static func device(_ text: String) -> Self { Self(description: text, status: 76) }
}
