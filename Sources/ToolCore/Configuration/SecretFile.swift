import BLELinux

/// A file with a secret: a key, passkeys, a password, or a description with a passkey. Secrets are in files, and
/// neither in arguments nor in environment variables: every user can read the former, and each child process has the
/// latter.
///
/// A file that other users can read or exchange is refused (``PrivateFolder``). A name without a folder is a credential
/// in a service of systemd, which decides who reads it.
public enum SecretFile {
  /// The longest secret, in octets.
  public static let sizeLimit = 65_536

  /// The path of a file, or of the credential of that name.
  public static func path(of name: String) -> String {
    guard !name.contains("/"), let folder = credentials else { return name }
    return "\(folder)/\(name)"
  }

  private static var credentials: String? { Environment.value("CREDENTIALS_DIRECTORY") }

  private static func isCredential(_ path: String) -> Bool {
    credentials.map { path.hasPrefix("\($0)/") && !path.contains("/../") } ?? false
  }

  /// Reads a secret.
  ///
  /// - Parameters:
  ///   - kind: the file in errors: `key file`.
  ///   - remedy: the sentence that makes a missing file: `Make one with: …`.
  /// - Throws: an error with the file, what is wrong, and the command that corrects it.
  public static func read(_ name: String, _ kind: String, remedy: String) throws(ToolError) -> [UInt8] {
    let path = path(of: name)
    let octets: [UInt8]?
    if isCredential(path) {
      do throws(SystemError) { octets = try Files.octets(of: path, atMost: sizeLimit) } catch {
        throw .input("the \(kind) \(path) cannot be read: \(error). Give the unit: LoadCredential=\(name):FILE")
      }
    } else {
      let (folder, file) = split(path)
      octets = try refusing(path, kind) { () throws(FileRefusal) in
        if let opened = try PrivateFolder.open(folder) { try opened.read(file) } else { nil }
      }
    }
    guard let octets else { throw .input("there is no \(kind) \(path). \(remedy)") }
    guard octets.count <= sizeLimit else { throw .data("the \(kind) \(path) has more than \(sizeLimit) octets") }
    return octets
  }

  /// Refuses a file that other users can read or exchange.
  ///
  /// - Parameter kind: the file in errors: `description with a passkey`.
  public static func check(_ path: String, _ kind: String) throws(ToolError) {
    guard !isCredential(path) else { return }
    let (folder, file) = split(path)
    _ = try refusing(path, kind) { () throws(FileRefusal) in try PrivateFolder.open(folder)?.check(file) }
  }

  private static func refusing<Value>(
    _ path: String, _ kind: String, _ body: () throws(FileRefusal) -> Value
  ) throws(ToolError) -> Value {
    do throws(FileRefusal) { return try body() } catch {
      let folder = split(path).folder
      let remedy =
        switch error {
        case .isOpen: ". Make another secret, because others may have it, or run: chmod 600 '\(path)'"
        case .folderIsOpen: ". Run: chmod go-w '\(folder.isEmpty ? "." : folder)'"
        default: ""  // The error needs no remedy.
        }
      throw .input("the \(kind) \(path) is refused, because \(error)\(remedy)")
    }
  }

  /// The folder, empty for the working one, and the name in it.
  private static func split(_ path: String) -> (folder: String, file: String) {
    guard let slash = path.lastIndex(of: "/") else { return ("", path) }
    return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
  }
}
