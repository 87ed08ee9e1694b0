import Foundation

/// What a suite found out about the vectors of a folder.
public struct VectorReport: Sendable {
  /// How many cases were checked.
  public private(set) var checked = 0
  /// What our code does against the vectors; or vectors against their documentation.
  public private(set) var failures: [String] = []
  /// What was passed over or is done differently, and why. One line each.
  public private(set) var notes: [String] = []

  public init() {}

  public mutating func note(_ line: String) { notes.append(line) }
  public mutating func fail(_ line: String) { failures.append(line) }

  /// Checks one case.
  ///
  /// - Parameters:
  ///   - policy: the case's tags, which say where its octets rest on a choice and not on the specification. Faults of a
  ///     case with such a tag are a note and no failure.
  ///   - settled: tags that leave no choice, because the suite sets its code up as they say.
  public mutating func check(
    _ name: String, policy: [String]? = nil, settled: Set<String> = [], _ body: (inout VectorChecks) throws -> Void
  ) {
    var checks = VectorChecks()
    do {
      try body(&checks)
    } catch let reason as NotApplicable {
      note("\(name): passed over: \(reason)")
      return
    } catch {
      checks.fail("\(error)")
    }
    checked += 1
    notes += checks.notes.map { "\(name): \($0)" }
    guard !checks.faults.isEmpty else { return }
    let line = "\(name): \(checks.faults.joined(separator: "; "))"
    let choices = (policy ?? []).filter { !settled.contains($0) }
    if choices.isEmpty {
      fail(line)
    } else {
      note("\(line): another choice, as its policy says: \(choices.joined(separator: ", "))")
    }
  }

  /// Writes what is worth a reader's time to standard error.
  public func tell(_ suite: String) {
    let lines = ["\(checked) cases checked"] + notes
    FileHandle.standardError.write(Data(lines.map { "[vectors] \(suite): \($0)\n" }.joined().utf8))
  }
}

/// The checks of one case.
public struct VectorChecks: Sendable {
  public private(set) var faults: [String] = []
  public private(set) var notes: [String] = []

  public init() {}

  public mutating func fail(_ fault: String) { faults.append(fault) }
  public mutating func note(_ line: String) { notes.append(line) }

  public mutating func expect(_ condition: Bool, _ fault: @autoclosure () -> String) {
    if !condition { faults.append(fault()) }
  }

  public mutating func equal<Value: Equatable>(_ ours: Value, _ theirs: Value, _ what: String) {
    if ours != theirs { faults.append("\(what) is \(ours), expected \(theirs)") }
  }

  /// As ``equal(_:_:_:)``, where the vector says anything about it: a missing key means "not applicable".
  public mutating func equal<Value: Equatable>(_ ours: Value, ifGiven theirs: Value?, _ what: String) {
    if let theirs { equal(ours, theirs, what) }
  }

  /// Checks that decoding refuses octets, with the codec's error.
  public mutating func refuses<Fault: Error>(as fault: Fault.Type, _ body: () throws -> Void) {
    do {
      try body()
      faults.append("accepted, although it is malformed")
    } catch is Fault {
    } catch {
      faults.append("refused with \(error)")
    }
  }

  /// A value without which the case cannot be checked.
  ///
  /// - Throws: ``MissingValue``, which makes a fault of it.
  public func need<Value>(_ value: Value?, _ what: String) throws(MissingValue) -> Value {
    guard let value else { throw MissingValue(what: what) }
    return value
  }
}

/// The vector lacks something that its kind must have, or says it in a form that is not the documented one.
public struct MissingValue: Error, CustomStringConvertible {
  public let what: String
  public init(what: String) { self.what = what }
  public var description: String { "no usable \(what)" }
}

/// The case asks for something that a suite cannot do: it is passed over with a note.
public struct NotApplicable: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
