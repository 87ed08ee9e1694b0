import GatewayCore
import ToolCore

/// The file with the password of the broker.
enum PasswordFile {
  /// The first line of the file (``SecretFile``).
  ///
  /// - Throws: ``GatewayError`` with the file, what is wrong, and the command that repairs it.
  static func read(_ path: String) throws(GatewayError) -> String {
    let octets: [UInt8]
    do throws(ToolError) {
      octets = try SecretFile.read(path, "password file", remedy: "Make one with: (umask 077; cat > '\(path)')")
    } catch {
      throw GatewayError(.input, error.description)
    }
    let text = String(decoding: octets, as: UTF8.self)
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).first.map(String.init) ?? ""
  }
}
