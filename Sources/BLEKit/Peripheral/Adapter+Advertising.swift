public import BLEAdapter
public import BLEGAP
package import BLEHost
import BLELinux
import BLEWire

/// Whether an advertisement that has started is sent, from ``Adapter/advertisingChanges``.
public enum AdvertisingChange: Hashable, Sendable {
  /// It is paused by a link, or by the controller for this reason. It resumes automatically: when a link has ended, or
  /// when the controller accepts it again.
  case paused(DisconnectReason?)
  /// It is sent again.
  case resumed
}

extension Adapter {
  /// Publishes services and advertises until the task is cancelled; then both are withdrawn.
  ///
  /// ```swift
  /// try await adapter.serve([battery], advertising: Advertisement(localName: "Lamp", serviceUUIDs: ["180F"]))
  /// ```
  ///
  /// If the adapter is lost later, the call waits: the services and the advertisement are restored when it is back.
  ///
  /// - Throws: ``BLEError/Kind/cancelled`` at the end, or the reason why something cannot be published or advertised;
  ///   ``BLEError/Kind/adapterUnavailable`` at once if the adapter is not powered on.
  public func serve(
    _ services: [LocalService], advertising advertisement: Advertisement,
    options: AdvertisingOptions = AdvertisingOptions()
  ) async throws(BLEError) {
    try session.requirePower()
    let publication = try await publish(services)
    do {
      try await advertise(advertisement, options: options)
    } catch {
      await Task(executorPreference: session.clock.executor) { await publication.remove() }.value
      throw error
    }
  }

  /// Publishes services and advertises a name with the types of the primary services. If they do not fit into an
  /// advertisement, the name is shortened, and the log has a line.
  public func serve(_ services: [LocalService], advertisingAs name: String) async throws(BLEError) {
    let uuids = services.filter(\.isPrimary).map(\.uuid)
    let advertisement = Advertisement(localName: name, serviceUUIDs: uuids)
    if let notice = advertisement.omission(place: "with serve(_:advertising:)") { BluetoothLog.write(.notice(notice)) }
    try await serve(services, advertising: advertisement)
  }

  /// Advertises until the task is cancelled.
  ///
  /// Advertising pauses for a link if the controller requires it, and continues after a reset of the controller. If the
  /// controller rejects it for now, it is tried again (``advertisingChanges``).
  ///
  /// - Throws: ``BLEError/Kind/cancelled`` at the end; ``BLEError/Kind/invalidArgument`` for content that does not fit,
  ///   ``BLEError/Kind/unsupported`` if the controller cannot advertise it, at the beginning or later.
  public func advertise(
    _ advertisement: Advertisement, options: AdvertisingOptions = AdvertisingOptions()
  ) async throws(BLEError) {
    let payload: AdvertisingPayload
    do {
      payload = try advertisement.payload(under: options.policy)
    } catch {
      throw BLEError(.invalidArgument, "\(error)")
    }
    guard let intent = options.intent(payload, of: advertisement) else {
      throw BLEError(
        .invalidArgument, "an advertising interval of \(options.interval) is not allowed: 20 ms to 10.24 s")
    }
    try await advertise(intent)
  }

  /// Advertises these octets until the task is cancelled, as ``advertise(_:options:)`` does.
  package func advertise(_ intent: AdvertisingIntent) async throws(BLEError) {
    let id = HostIDs.advertising()
    try await session.wait(for: .advertisingStart(id)) { state, actions throws(BLEError) in
      try state.requirePower()
      actions.commands.append(.advertising(.start(id, intent)))
      return nil
    } abandon: { _, actions in
      actions.commands.append(.advertising(.stop(id)))
    }
    // The task, the end of the adapter or the controller ends it. A task that is cancelled before it waits has begun
    // nothing that `wait` could withdraw.
    do {
      defer { session.run { state, _ in state.endedAdvertisements[id] = nil } }
      try await session.wait(for: .advertisement(id)) { state, _ throws(BLEError) in
        if let error = state.endedAdvertisements[id] { throw error }
        return nil
      }
    } catch {
      session.run { _, actions in actions.commands.append(.advertising(.stop(id))) }
      throw error
    }
  }

  /// The pauses of the adapter's advertisements from now on. Without one, advertising goes on.
  ///
  /// ```swift
  /// for await change in adapter.advertisingChanges {
  ///   print(change)  // paused(…) while a controller rejects it, then resumed
  /// }
  /// ```
  public var advertisingChanges: AsyncStream<AdvertisingChange> { session.stream(in: \.advertisingStreams) }
}

extension AdapterSession.State {
  /// The host has given up an advertisement.
  mutating func advertisingEnded(_ id: AdvertisingID, _ error: BLEError, into actions: inout Actions) {
    // Its task may not wait yet.
    endedAdvertisements[id] = error
    waits.answer(.advertisement(id), .failure(error), into: &actions)
  }
}

extension Advertisement {
  /// What the advertising data and the scan response have no room for, and what to do; nil if all of it is sent.
  ///
  /// - Parameters:
  ///   - place: where the program lists fewer services: the end of the sentence.
  ///   - name: how a service is shown.
  package func omission(place: String, name: (BluetoothUUID) -> String = { $0.uuidString }) -> String? {
    guard let payload = try? payload(under: AdvertisingOptions().policy) else { return nil }
    var parts: [String] = []
    if let localName, !localName.isEmpty, payload.localName?.isComplete != true {
      let sent = payload.localName.map { "'\($0.displayText)' (\($0.octets.count) octets) is sent" } ?? "it is not sent"
      parts.append(
        "the name '\(String(printable: localName))' has \(localName.utf8.count) octets and does not fit into the "
          + "advertisement: \(sent), and devices that search for the whole name do not find it. Shorten it, or list "
          + "fewer services \(place)")
    }
    if !payload.overflowServiceUUIDs.isEmpty {
      parts.append(
        "these services do not fit into the advertisement, and devices that search for them do not find it: "
          + "\(payload.overflowServiceUUIDs.map(name).joined(separator: ", ")). List fewer \(place)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }
}
