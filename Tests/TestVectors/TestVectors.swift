import Foundation

/// The test vectors made by others: a folder of JSON files outside the package, named by `BLE_VECTORS` or beside it.
///
/// A suite has a runner, `run(in:)`, that takes any ``VectorFolder`` and returns a ``VectorReport``. Its test reads the
/// folder of this machine, and is `.enabled(if: TestVectors.areHere, TestVectors.whereToPutThem)`.
public enum TestVectors {
  /// Where the files lie, if they are on this machine.
  public static let folder: VectorFolder? = {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let named = ProcessInfo.processInfo.environment["BLE_VECTORS"].map { URL(filePath: $0) }
    return VectorFolder(named ?? package.deletingLastPathComponent().appending(path: "shared/vectors"))
  }()

  public static var areHere: Bool { folder != nil }

  public static let whereToPutThem: String = "no test vectors here: name their folder in BLE_VECTORS"

  /// The folder of this machine. A test that is enabled without one finds it empty.
  public static var folderOrNone: VectorFolder { folder ?? VectorFolder(files: [:]) }
}
