public import BLEAdapter
public import BLEGAP
import BLEHost
import BLEWire

/// How a periodic advertising train is sent.
public struct PeriodicAdvertisingOptions: Equatable, Sendable {
  /// The time from one event of the train to the next: 7.5 ms to 81.92 s, in steps of 1.25 ms (Vol 4, Part E, 7.8.61).
  public var interval = Duration.milliseconds(100)
  /// Whether the packets contain the transmit power.
  public var includesTXPower = false
  /// Whether the packets number the data, so that the controllers of receivers can leave out what they have received
  /// before. A controller that cannot number it sends the train without.
  public var numbersData = true
  /// How the advertisement that announces the train is sent: its interval and its PHYs. It is an extended one, which
  /// accepts no connections; devices find the train the sooner the shorter its interval is.
  public var announcement = AdvertisingOptions(
    policy: .extended(limit: 1650), interval: .milliseconds(100)...Duration.milliseconds(150))

  /// A train with ten events in each second.
  public init() {}
}

/// A periodic advertising train that the adapter sends, from
/// ``Adapter/startPeriodicAdvertising(_:announcedBy:options:)``.
///
/// It is sent until ``stop()`` is called or nothing refers to it any longer, and again after a reset of the controller.
public final class PeriodicAdvertising: Sendable {
  private let session: AdapterSession
  private let id: AdvertisingID

  fileprivate init(session: AdapterSession, id: AdvertisingID) { (self.session, self.id) = (session, id) }

  deinit { stop() }

  /// Stops the train and its announcement.
  public func stop() {
    let id = id
    session.run { _, actions in actions.commands.append(.advertising(.stop(id))) }
  }

  /// Changes the data. It returns when the controller has the data; of several changes at once the last one is sent.
  ///
  /// Up to 251 octets are exchanged while the train goes on. For longer data the controller has to stop the train and
  /// start it anew, so that devices which receive it may have to search for it again (Vol 4, Part E, 7.8.62).
  ///
  /// - Parameter data: at most 1,650 octets.
  /// - Throws: ``BLEError/Kind/invalidArgument`` for data that is too long, or the refusal of the controller: the train
  ///   goes on with the data that it had.
  public func update(_ data: [UInt8]) async throws(BLEError) {
    let (id, token) = (id, HostIDs.update())
    try await session.wait(for: .trainUpdate(token)) { _, actions throws(BLEError) in
      actions.commands.append(.advertising(.updateTrain(id, data, token)))
      return nil
    }
  }

  /// Sends a connected device what it needs to receive the train without searching for it (Vol 6, Part B, 4.6.23).
  ///
  /// - Parameters:
  ///   - device: the device, whose controller has to support the transfer.
  ///   - serviceData: a number for its program (``PeriodicSync/Train/serviceData``).
  /// - Throws: ``BLEError/Kind/disconnected``, or the refusal of the controller.
  public func transfer(to device: RemoteDevice, serviceData: UInt16 = 0) async throws(BLEError) {
    let (id, peer) = (id, device.peer)
    try await session.wait(for: .trainTransfer(id, peer)) { _, actions throws(BLEError) in
      actions.commands.append(.advertising(.transfer(id, to: peer, serviceData: serviceData)))
      return nil
    }
  }
}

extension Adapter {
  /// Starts to send data at fixed times, to any number of devices without a connection (Vol 6, Part B, 4.4.2.12).
  ///
  /// ```swift
  /// let train = try await adapter.startPeriodicAdvertising([0x03, 0x16, 0x1C, 0x18])
  /// for level in UInt8(0)...100 {
  ///   try await train.update([0x04, 0x16, 0x0F, 0x18, level])
  ///   try await Task.sleep(for: .seconds(1))
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - data: at most 1,650 octets, as AD structures (Vol 3, Part C, 11).
  ///   - advertisement: what the announcing advertisement contains; by default nothing but the announcement.
  ///   - options: the intervals and the PHYs.
  /// - Throws: ``BLEError/Kind/unsupported`` if the controller has no periodic advertising,
  ///   ``BLEError/Kind/invalidArgument`` for data that is too long, or an interval that is not allowed.
  public func startPeriodicAdvertising(
    _ data: [UInt8], announcedBy advertisement: Advertisement = Advertisement(),
    options: PeriodicAdvertisingOptions = PeriodicAdvertisingOptions()
  ) async throws(BLEError) -> PeriodicAdvertising {
    let intent = try Self.intent(data, advertisement, options)
    let id = HostIDs.advertising()
    try await session.wait(for: .advertisingStart(id)) { state, actions throws(BLEError) in
      try state.requirePower()
      actions.commands.append(.advertising(.start(id, intent)))
      return nil
    } abandon: { _, actions in
      actions.commands.append(.advertising(.stop(id)))
    }
    return PeriodicAdvertising(session: session, id: id)
  }

  private static func intent(
    _ data: [UInt8], _ advertisement: Advertisement, _ options: PeriodicAdvertisingOptions
  ) throws(BLEError) -> AdvertisingIntent {
    var announcement = options.announcement
    announcement.isConnectable = false
    if case .extended = announcement.policy {} else { announcement.policy = .extended(limit: 1650) }
    let payload: AdvertisingPayload
    do {
      payload = try advertisement.payload(under: announcement.policy)
    } catch {
      throw BLEError(.invalidArgument, "\(error)")
    }
    let interval = (options.interval / .microseconds(1250)).rounded()
    guard var intent = announcement.intent(payload, of: advertisement), let interval = UInt16(exactly: interval),
      LinkLayerLimits.periodicAdvertisingInterval.contains(interval)
    else {
      throw BLEError(
        .invalidArgument,
        "a train with an interval of \(options.interval), announced each \(announcement.interval), is not allowed: "
          + "7.5 ms to 81.92 s, announced each 20 ms to 10.24 s"
      )
    }
    var periodic = PeriodicIntent(data: data)
    periodic.interval = interval...interval
    (periodic.includesTXPower, periodic.numbersData) = (options.includesTXPower, options.numbersData)
    intent.periodic = periodic
    return intent
  }
}
