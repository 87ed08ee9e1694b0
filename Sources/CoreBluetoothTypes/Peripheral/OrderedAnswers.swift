/// Delegate calls in the order of the commands that they answer.
struct OrderedAnswers<ID: Hashable & Sendable, Subject: Sendable>: Sendable {
  struct Entry: Sendable {
    var id: ID
    var subject: Subject
    var answer: Answer?
  }
  enum Answer: Sendable {
    case success
    case failure(CBError)
  }

  private(set) var entries: [Entry] = []

  func contains(_ id: ID) -> Bool { entries.contains { $0.id == id && $0.answer == nil } }

  mutating func ask(_ id: ID, _ subject: Subject, answer: Answer? = nil) {
    entries.append(Entry(id: id, subject: subject, answer: answer))
  }

  mutating func answer(_ id: ID, _ answer: Answer) {
    guard let index = entries.firstIndex(where: { $0.id == id && $0.answer == nil }) else { return }
    entries[index].answer = answer
  }

  /// Answers all that are open.
  mutating func failAll(_ error: CBError) {
    for index in entries.indices where entries[index].answer == nil { entries[index].answer = .failure(error) }
  }

  /// The next one whose turn it is.
  mutating func next() -> (subject: Subject, error: CBError?)? {
    guard let first = entries.first, let answer = first.answer else { return nil }
    entries.removeFirst()
    return switch answer {
    case .success: (first.subject, nil)
    case .failure(let error): (first.subject, error)
    }
  }
}
