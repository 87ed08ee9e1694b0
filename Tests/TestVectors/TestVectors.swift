public import Foundation

/// The test vectors made by others: a folder of JSON files outside the package, named by `BLE_VECTORS` or beside it.
///
/// A suite that reads them is `@Suite(.enabled(if: TestVectors.areHere, TestVectors.whereToPutThem))`.
public enum TestVectors {
  /// Where the files lie, if they are on this machine.
  public static let folder: URL? = {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let named = ProcessInfo.processInfo.environment["BLE_VECTORS"].map { URL(filePath: $0) }
    let folder = named ?? package.deletingLastPathComponent().appending(path: "shared/vectors")
    return FileManager.default.fileExists(atPath: folder.appending(path: "att.json").path) ? folder : nil
  }()

  public static var areHere: Bool { folder != nil }

  public static let whereToPutThem: String = "no test vectors here: name their folder in BLE_VECTORS"

  /// Reads `name.json`; `Case` declares the fields that the test looks at.
  public static func load<Case: Decodable>(_ name: String, as type: Case.Type) throws -> VectorFile<Case> {
    guard let folder else { throw CocoaError(.fileNoSuchFile) }
    return try JSONDecoder().decode(
      VectorFile<Case>.self, from: Data(contentsOf: folder.appending(path: "\(name).json")))
  }
}

/// One file of vectors.
public struct VectorFile<Case: Decodable>: Decodable {
  public let format: Int
  public let cases: [Case]
}
