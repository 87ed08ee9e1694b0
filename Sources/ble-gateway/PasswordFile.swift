import BLELinux
import GatewayCore

/// The file with the password of the broker.
enum PasswordFile {
  private static let sizeLimit = 4096

  /// The first line of the file. A name without a folder is a credential that systemd has loaded, where it has loaded
  /// any.
  ///
  /// - Throws: ``GatewayError`` with the file, what is wrong, and the command that repairs it.
  static func read(_ path: String) throws(GatewayError) -> String {
    let octets: [UInt8]
    if !path.contains("/"), let folder = Environment.value("CREDENTIALS_DIRECTORY") {
      // systemd decides who reads a credential.
      let credential = "\(folder)/\(path)"
      do throws(SystemError) { octets = try Files.octets(of: credential, atMost: sizeLimit) } catch {
        throw GatewayError(
          .input, "the password \(credential) cannot be read: \(error). Give the unit: LoadCredential=\(path):FILE")
      }
    } else {
      octets = try readPrivate(path)
    }
    let text = String(decoding: octets, as: UTF8.self)
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).first.map(String.init) ?? ""
  }

  private static func readPrivate(_ path: String) throws(GatewayError) -> [UInt8] {
    let slash = path.lastIndex(of: "/")
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ""
    do throws(FileRefusal) {
      let octets: [UInt8]? =
        if let opened = try PrivateFolder.open(folder) { try opened.read(name) } else { nil }
      if let octets { return octets }
    } catch {
      let repair =
        switch error {
        case .isOpen: ". Change the password, because others may have it, or run: chmod 600 \(path)"
        case .folderIsOpen: ". Run: chmod go-w \(folder.isEmpty ? "." : folder)"
        default: ""
        }
      throw GatewayError(.input, "the password file \(path) is refused, because \(error)\(repair)")
    }
    throw GatewayError(.input, "there is no password file \(path). Make one with: (umask 077; cat > \(path))")
  }
}
