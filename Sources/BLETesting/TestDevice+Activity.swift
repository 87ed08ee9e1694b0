import BLEWire
import Synchronization

/// What happens on the links of a device.
extension TestDevice {
  /// What has happened on the links of the device since the radio began: the last 32,768 at least.
  ///
  /// The Generic Attribute Service is left out: hosts use it by themselves. Characteristics have the UUIDs of the
  /// discovery on the link; on a link without one, those that the server has when the activity is read.
  public func activity() async throws -> [LinkActivity] { try await activities().all }

  /// Waits until these actions have happened on the links of the device, in this order. Others may lie between them.
  ///
  /// It begins after the last action that the call before has found.
  ///
  /// ```swift
  /// import BLETesting
  ///
  /// func programAnswers(_ sensor: TestDevice) async throws {
  ///   try await sensor.expect(.connected, .paired, .written("FFE1", [1]), within: .seconds(10))
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - actions: UUIDs and values that are nil stand for any.
  ///   - limit: in the time of the radio.
  /// - Returns: what has happened, one for each action.
  /// - Throws: ``TestRadioError/missing(_:)``, which lists what has happened instead.
  @discardableResult
  public func expect(_ actions: LinkAction..., within limit: Duration = .seconds(60)) async throws -> [LinkActivity] {
    let begin = radio.clock.now
    let end = begin.advanced(by: limit.waitable)
    while true {
      let (first, all) = try await activities()
      var place = max(0, expected.withLock { $0 } - first)
      var found: [LinkActivity] = []
      for action in actions {
        guard let index = all[min(place, all.count)...].firstIndex(where: { action.includes($0.action) }) else { break }
        found.append(all[index])
        place = index + 1
      }
      if found.count == actions.count {
        let next = first + place
        expected.withLock { $0 = next }
        return found
      }
      guard radio.clock.now < end else {
        throw TestRadioError.missing(
          complaint(actions[found.count], after: found.last, within: limit, all.suffix(12)))
      }
      // A long wait is as exact in proportion.
      try await radio.clock.sleep(for: max(.milliseconds(10), begin.duration(to: radio.clock.now) / 100))
    }
  }

  /// Waits for a time in which none of these actions may happen on the links of the device.
  ///
  /// - Parameters:
  ///   - actions: UUIDs and values that are nil stand for any.
  ///   - time: in the time of the radio.
  /// - Throws: ``TestRadioError/unwanted(_:)``.
  public func expectNone(of actions: LinkAction..., for time: Duration) async throws {
    let (first, all) = try await activities()
    let begin = first + all.count
    try await radio.clock.sleep(for: time.waitable)
    let (later, after) = try await activities()
    let unwanted = after[min(max(0, begin - later), after.count)...].first { activity in
      actions.contains { $0.includes(activity.action) }
    }
    if let unwanted { throw TestRadioError.unwanted("\(name): \(unwanted), packet \(unwanted.packet)") }
  }

  private func complaint(
    _ missing: LinkAction, after last: LinkActivity?, within limit: Duration, _ all: ArraySlice<LinkActivity>
  ) -> String {
    let order = last.map { " after \"\($0)\"" } ?? ""
    let rest = all.isEmpty ? "nothing has happened on its links" : "its links have"
    return "\(name): not \(missing) within \(limit)\(order); \(rest)" + all.map { "\n  \($0)" }.joined()
  }

  private func activities() async throws -> (first: Int, all: [LinkActivity]) {
    let index = index
    return try await radio.perform { $0.activities(of: index) }
  }
}
