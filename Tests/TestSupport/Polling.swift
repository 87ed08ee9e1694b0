/// Waits until a condition holds, for a state that nothing reports: a file of another thread, the end of a link.
///
/// The pause between two looks leaves the processor to the work that the test waits for. The test does not depend on
/// its length, and has no limit of time: the watchdog of a run names a test that hangs.
public func until(isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool) async throws {
  while try await !condition() { try await Task.sleep(for: .milliseconds(1)) }
}
