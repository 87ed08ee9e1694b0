package import BLELinux

extension PairingOptions.Storage {
  /// The store of an adapter that is reached by `transport`; if bonds are kept in memory, `log` receives the reason.
  package func store(
    transport: String, program: String = CommandLine.arguments.first ?? "program",
    environment: (String) -> String? = Environment.value, log: @escaping Log = BluetoothLog.write
  ) -> any BondStore {
    switch self {
    case .custom(let store): return store
    case .memory: return MemoryBondStore()
    case .file(let path): return FileBondStore(path: path, log: log)
    case .standard:
      if let path = path(transport: transport, program: program, environment: environment) {
        return FileBondStore(path: path, log: log)
      }
      if !transport.hasPrefix("virtual") {
        log(
          .notice(
            "\(transport): bonds are kept in memory and lost at the end (no folder for them: none of STATE_DIRECTORY, "
              + "XDG_STATE_HOME and HOME holds an absolute path). Set BLE_BONDS to the path of a file, or "
              + "StateDirectory= in the systemd unit.",
            .storage))
      }
      return MemoryBondStore()
    }
  }

  /// The file of the bonds of an adapter, or, if its bonds are in the program's own store, the file beside which the
  /// program keeps other state of the adapter; nil if state is kept in memory.
  package func path(
    transport: String, program: String = CommandLine.arguments.first ?? "program",
    environment: (String) -> String? = Environment.value
  ) -> String? {
    switch self {
    case .memory: return nil
    case .file(let path): return path
    case .standard, .custom:
      if let path = environment("BLE_BONDS") { return path }
      // A simulated adapter ends with the program, and so do all devices that knew it.
      guard !transport.hasPrefix("virtual"), let folder = Self.stateFolder(environment) else { return nil }
      let name = Self.lastComponent(of: program) + "-" + transport
      let file = String(String.UnicodeScalarView(name.unicodeScalars.map { Self.isAllowed($0) ? $0 : "_" }))
      return "\(folder)/BluetoothLE/\(file).json"
    }
  }

  /// The name of a file after its folders, without the slashes at its end; a slash of the root itself.
  private static func lastComponent(of path: String) -> String {
    let components = path.split(separator: "/")
    return components.last.map(String.init) ?? (path.isEmpty ? "" : "/")
  }

  /// Letters, marks and digits of any script, and three signs.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    case .decimalNumber, .letterNumber, .otherNumber: true
    default: scalar == "-" || scalar == "." || scalar == "_"
    }
  }

  /// The folder for state of this user, which only systemd or the user chooses; never a temporary one, in which any
  /// user could have put a file.
  ///
  /// systemd separates the folders of `StateDirectory=` with colons. A path that is not absolute is ignored, as the
  /// XDG Base Directory Specification requires.
  private static func stateFolder(_ environment: (String) -> String?) -> String? {
    let candidates = [
      environment("STATE_DIRECTORY").flatMap { $0.split(separator: ":").first.map(String.init) },
      environment("XDG_STATE_HOME"),
      environment("HOME").map { $0 + "/.local/state" },
    ]
    return candidates.compactMap(\.self).first { $0.hasPrefix("/") }
  }
}
