import BLELinux
import Foundation

extension PairingOptions.Storage {
  /// The store of an adapter that is reached by `transport`.
  func store(
    transport: String, program: String = CommandLine.arguments.first ?? "program",
    environment: (String) -> String? = Environment.value
  ) -> any BondStore {
    switch self {
    case .custom(let store): return store
    case .memory: return MemoryBondStore()
    case .file(let path): return FileBondStore(path: path)
    case .standard:
      if let path = environment("BLE_BONDS") { return FileBondStore(path: path) }
      // A simulated adapter is gone with the program, and so is everybody who knew it.
      if transport.hasPrefix("virtual") { return MemoryBondStore() }
      let state =
        environment("XDG_STATE_HOME") ?? environment("HOME").map { $0 + "/.local/state" }
        ?? NSTemporaryDirectory() + "/\(getuid())"
      let name = (program as NSString).lastPathComponent + "-" + transport
      let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._"))
      let file = String(String.UnicodeScalarView(name.unicodeScalars.map { allowed.contains($0) ? $0 : "_" }))
      return FileBondStore(path: "\(state)/BluetoothLE/\(file).json")
    }
  }
}
