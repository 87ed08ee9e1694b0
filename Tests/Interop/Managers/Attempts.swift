/// The procedures of lines that are under way. Each ends with a line: its result, or `failed` with the reason.
@MainActor final class Attempts {
  private let name: String
  private var running: [Int: Task<Void, Never>] = [:]
  private var last = 0

  init(_ name: String) { self.name = name }

  func start(_ procedure: @escaping @MainActor @Sendable () async throws -> String) {
    last += 1
    let number = last
    running[number] = Task { @MainActor in
      do {
        let result = try await procedure()
        say("\(name) \(result)")
      } catch {
        say("\(name) failed: \(error)")
      }
      running[number] = nil
    }
  }

  /// Says `settled` when the procedures that are under way now have ended: a link that has ended ends those that use
  /// it.
  func settle() {
    let tasks = Array(running.values)
    Task { @MainActor in
      for task in tasks { await task.value }
      say("\(name) settled")
    }
  }
}
