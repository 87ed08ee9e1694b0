import BLEJSON

/// A file of a version that this program does not read. Such a file is neither replaced nor moved: the program that
/// wrote it can still use it.
///
/// Each stored file has its version in `version`, and the program that wrote it in `program`.
struct NewerVersion: Error, Hashable, CustomStringConvertible {
  /// The program that writes files now.
  static let writer = "BluetoothLE \(PackageVersion.text)"
  /// What to do, as the beginning of a sentence.
  static let remedy = "Use the program that wrote it or a newer one"

  private let version: Int
  private let known: Int
  private let program: String?

  var description: String {
    let writer = program.map { ", written by \($0)" } ?? ""
    return "it has version \(version)\(writer), and this program reads version \(known)"
  }

  /// - Parameter known: the version that this program reads.
  static func check(_ json: JSON, reads known: Int) throws(Self) {
    guard case .object(let members) = json, case .number(let text)? = members["version"], let version = Int(text),
      version > known
    else { return }
    var program: String?
    if case .string(let text)? = members["program"], 1...64 ~= text.utf8.count,
      text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
    {
      program = text
    }
    throw Self(version: version, known: known, program: program)
  }
}

/// The version of the package: that of its programs, and of the files that they write.
package enum PackageVersion {
  package static let text = "0.1.0"
}
