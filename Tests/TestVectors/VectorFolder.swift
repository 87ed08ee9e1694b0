public import Foundation

/// A folder with files of test vectors, in the format that the README beside them documents.
///
/// Any such folder will do: a file may be missing or empty, and cases may be of kinds and have keys that no suite
/// reads.
public struct VectorFolder: Sendable {
  private let contents: @Sendable (_ file: String) -> Data?

  /// The folder at `url`; nil where there is none.
  public init?(_ url: URL) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
      return nil
    }
    contents = { try? Data(contentsOf: url.appending(path: $0)) }
  }

  /// A folder made of texts, for tests of the suites themselves.
  public init(files: [String: String]) {
    contents = { files[$0].map { Data($0.utf8) } }
  }

  /// Reads a file whose cases have no databases.
  public func file<Case: Decodable & Sendable>(
    _ name: String, cases type: Case.Type, into report: inout VectorReport
  ) -> VectorFile<Case, NoDatabase> {
    file(name, cases: type, databases: NoDatabase.self, into: &report)
  }

  /// Reads `name.json`. What cannot be read is noted, or a failure where the file is not JSON, and has no cases.
  public func file<Case: Decodable & Sendable, Database: Decodable & Sendable>(
    _ name: String, cases type: Case.Type, databases: Database.Type, into report: inout VectorReport
  ) -> VectorFile<Case, Database> {
    let file = "\(name).json"
    let nothing = VectorFile<Case, Database>(name: file, content: .init())
    guard let octets = contents(file) else {
      report.note("\(file): not in this folder")
      return nothing
    }
    guard octets.contains(where: { !" \t\r\n".utf8.contains($0) }) else {
      report.note("\(file): empty")
      return nothing
    }
    let content: VectorFile<Case, Database>.Content
    do {
      content = try JSONDecoder().decode(VectorFile<Case, Database>.Content.self, from: octets)
    } catch {
      report.fail("\(file): not readable: \(error)")
      return nothing
    }
    guard content.format ?? 1 == 1 else {
      report.note("\(file): format \(content.format ?? 0), and 1 is what is read here")
      return nothing
    }
    return VectorFile(name: file, content: content)
  }
}

/// One file of vectors. Each of its cases and databases is read by itself, so that one which is not understood does not
/// take the others with it.
public struct VectorFile<Case: Decodable & Sendable, Database: Decodable & Sendable>: Sendable {
  struct Content: Decodable, Sendable {
    var format: Int?
    var cases: [Attempt<Case>]?
    var databases: [String: Attempt<Database>]?
  }

  let name: String
  let content: Content

  /// The cases of these kinds, nil for every case, with their names.
  ///
  /// - Parameter known: all kinds that some suite reads: the cases of any other are counted in one note a kind. Nil:
  ///   another suite looks for them.
  public func cases(
    of kinds: Set<String>? = nil, notingAllBut known: Set<String>? = nil, into report: inout VectorReport
  ) -> [(name: String, value: Case)] {
    var found: [(name: String, value: Case)] = []
    var unknown: [String: Int] = [:]
    for (number, attempt) in (content.cases ?? []).enumerated() {
      let label = attempt.head?.name ?? "case \(number + 1) of \(name)"
      if let kinds {
        let kind = attempt.head?.kind ?? ""
        guard kinds.contains(kind) else {
          if known?.contains(kind) == false { unknown[kind, default: 0] += 1 }
          continue
        }
      }
      switch attempt.result {
      case .success(let value): found.append((label, value))
      case .failure(let fault): report.fail("\(label): not as documented: \(fault)")
      }
    }
    for (kind, count) in unknown.sorted(by: { $0.key < $1.key }) {
      report.note("\(name): passed over: \(count) of the kind '\(kind)', which no suite knows")
    }
    return found
  }

  /// The databases that can be read.
  public var databases: [String: Database] {
    (content.databases ?? [:]).compactMapValues { try? $0.result.get() }
  }
}

/// Stands for the databases of a file that has none.
public struct NoDatabase: Decodable, Sendable {
  public init(from decoder: any Decoder) {}
}

/// Something that is read, or the reason why it is not.
struct Attempt<Value: Decodable & Sendable>: Decodable, Sendable {
  struct Head: Decodable, Sendable { var name, kind: String? }
  struct Fault: Error, CustomStringConvertible { var description: String }

  let head: Head?
  let result: Result<Value, Fault>

  init(from decoder: any Decoder) {
    head = try? Head(from: decoder)
    do {
      result = .success(try Value(from: decoder))
    } catch {
      result = .failure(Fault(description: "\(error)"))
    }
  }
}
