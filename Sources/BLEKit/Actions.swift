import BLEHost

/// The effects of a change of the state: commands in the order in which they were decided, posted under the lock, and
/// calls of other objects, made after it is released.
struct Actions {
  var commands: [HostCommand] = []
  private(set) var calls: [@Sendable () -> Void] = []

  mutating func later(_ call: @escaping @Sendable () -> Void) { calls.append(call) }
}
