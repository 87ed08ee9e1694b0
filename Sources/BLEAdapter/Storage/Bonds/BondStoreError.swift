import BLELinux
import Glibc

/// The reason why bonds were not loaded or not saved.
public struct BondStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file.
  public let path: String
  /// What failed: `the bonds cannot be loaded`.
  public let failure: String
  /// Why: `it belongs to user 1000, and this program runs as user 0`.
  public let reason: String
  /// What to do, as a sentence.
  public let remedy: String

  init(_ path: String, _ failure: String, because reason: String, remedy: String) {
    (self.path, self.failure, self.reason, self.remedy) = (path, failure, reason, remedy)
  }

  /// The three parts, after the path.
  public var description: String { "\(path): \(failure) (\(reason)). \(remedy)" }
}

extension BondStoreError {
  /// A refusal of the file system, or a fault of what was found there.
  init(_ path: String, _ failure: String, _ refusal: FileRefusal) {
    let another = "name another file with PairingOptions.storage or BLE_BONDS"
    let folder = FileBondStore.split(path).folder
    let remedy =
      switch refusal {
      case .failed(let error) where [ENOSPC, EDQUOT].contains(error.number):
        "Make room on the file system of \(folder.isEmpty ? "the working folder" : folder), or \(another)."
      case .failed(let error) where error.number == EROFS:
        "Its file system is read-only: mount it for writing, or \(another)."
      case .failed: "Make the folder \(folder) writable for this program, or \(another)."
      case .isSymbolicLink, .isNotRegular: "Remove it, or \(another)."
      case .isOwned: "Remove it if you did not put it there, or \(another)."
      case .isOpen: "If nobody else had access, run: chmod 600 '\(path)'. If in doubt, remove it and pair again."
      case .folderIsOwned, .folderIsOpen(_, isSticky: true), .hasSeveralNames:
        "Use a folder of your own: \(another)."
      case .folderIsOpen: "Run: chmod go-w '\(folder)', or \(another)."
      case .isTooLong: "Remove it if it is not a file of bonds, or \(another)."
      case .isLocked:
        "End that program, or give each program a file of its own with PairingOptions.storage or BLE_BONDS."
      }
    self.init(path, failure, because: "\(refusal)", remedy: remedy)
  }
}
