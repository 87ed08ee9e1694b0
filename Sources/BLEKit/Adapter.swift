public import BLEAdapter
import BLEHost
public import BLEWire

/// A Bluetooth LE adapter, as a peripheral and as a central.
///
/// ```swift
/// let heartRate = LocalService("180D", [
///   LocalCharacteristic("2A37").notify { subscriber in
///     while true {
///       try await subscriber.send([0, UInt8.random(in: 60...75)])
///       try await Task.sleep(for: .seconds(1))
///     }
///   }
/// ])
/// let adapter = try await Adapter.open()
/// try await adapter.serve([heartRate], advertisingAs: "Heart Rate")
/// ```
///
/// Several adapters and CoreBluetooth managers of one process can use the same controller. Each receives the requests
/// for its own services and the results of its own operations. What an `Adapter` has declared (services,
/// advertisements, scans, connections) is withdrawn when the task or scope that declared it ends, at the latest when
/// the adapter is closed or released.
public final class Adapter: Sendable {
  let session: AdapterSession

  /// The identity address of the adapter, which it gives to peers that bond; with ``PrivacyOptions`` other peers see a
  /// private one. Nil before the adapter was powered on.
  public var address: DeviceAddress? { session.run { state, _ in state.address } }

  /// The states of the controller.
  public enum State: Hashable, Sendable {
    /// Not known yet.
    case unknown
    /// The controller was lost; another state follows.
    case resetting
    /// No controller can be used.
    case unsupported
    /// The process lacks the permission to use it.
    case unauthorized
    /// The controller is switched off.
    case poweredOff
    /// Ready.
    case poweredOn

    init(_ state: AdapterState) {
      switch state {
      case .unknown: self = .unknown
      case .resetting: self = .resetting
      case .unsupported: self = .unsupported
      case .unauthorized: self = .unauthorized
      case .poweredOff: self = .poweredOff
      case .poweredOn: self = .poweredOn
      }
    }
  }

  /// Opens an adapter and waits until it is powered on.
  ///
  /// - Parameters:
  ///   - options: the transport and how the adapter presents itself; by default what the command line or the
  ///     environment names, otherwise the machine's first adapter.
  ///   - timeout: how long to wait; nil waits without a limit.
  /// - Throws: ``BLEError/Kind/adapterUnavailable`` with what failed and how to correct it.
  public static func open(
    _ options: AdapterOptions = AdapterOptions(), timeout: Duration? = .seconds(30)
  ) async throws(BLEError) -> Adapter {
    let adapter = Adapter(options)
    try await adapter.waitUntilPoweredOn(timeout: timeout)
    return adapter
  }

  /// Begins to open an adapter; ``states`` reports when it is ready.
  public convenience init(_ options: AdapterOptions = AdapterOptions()) { self.init(client: AdapterClient(options)) }

  /// An adapter over `client`; tests play the host there.
  package init(client: AdapterClient, clock: WaitClock = WaitClock()) {
    session = AdapterSession(client: client, clock: clock)
    session.attach()
  }

  /// The current state.
  public var state: State { session.run { state, _ in State(state.power) } }

  /// Why ``state`` is below ``State/poweredOn``, and what to do; nil when it is powered on, or when there is no error.
  public var stateReason: AdapterError? { session.run { state, _ in state.reason } }

  /// The current state, and each change of it.
  public var states: AsyncStream<State> {
    session.stream(in: \.stateStreams) { [State($0.power)] }
  }

  /// The counters of the adapter, for a metrics library; zeros until its transport is open.
  public var counters: AdapterCounters { session.client.hub?.counters ?? AdapterCounters() }

  /// Waits until the adapter is powered on.
  ///
  /// - Throws: ``BLEError/Kind/adapterUnavailable`` if it cannot be used, ``BLEError/Kind/timedOut`` if it is not ready
  ///   in time; both with what failed and how to correct it.
  public func waitUntilPoweredOn(timeout: Duration? = nil) async throws(BLEError) {
    do {
      try await session.wait(
        for: .power, timeout: timeout, missing: "the adapter is not powered on"
      ) { state, _ throws(BLEError) in
        switch state.power {
        case .poweredOn: return ()
        case .unsupported, .unauthorized: try state.requirePower()
        case .unknown, .resetting, .poweredOff: break
        }
        return nil
      }
    } catch let error where error.kind == .timedOut {
      let reason = stateReason
      let text = reason?.text ?? "the adapter is \(state)"
      throw BLEError(
        .timedOut, "the adapter is not ready after \(timeout ?? .zero): \(text)", adapterError: reason)
    }
  }

  /// The devices that connect to this one, after those that are connected already.
  ///
  /// ```swift
  /// for await device in adapter.connections {
  ///   print("\(device) connected")
  /// }
  /// ```
  public var connections: AsyncStream<RemoteDevice> {
    session.stream(in: \.connectionStreams) { [session] state in
      state.links.keys.filter { state.links[$0]?.isCentral == true }
        .compactMap { state.device($0, of: session) }
    }
  }

  /// Withdraws what the adapter has declared, and releases the controller unless others of this process use it. Waiting
  /// calls throw ``BLEError/Kind/adapterUnavailable``.
  public func close() { session.close() }

  /// Closes each adapter of the process and waits: advertising is stopped, links are ended, transports are closed, and
  /// bonds are stored. It is the last call of a program, also after SIGINT and SIGTERM: adapters cannot be used
  /// afterwards. It blocks the thread.
  ///
  /// - Returns: whether all were closed in time.
  @discardableResult
  public static func shutDownAll(atMost patience: Duration = .seconds(4)) -> Bool {
    AdapterHub.shutDownAll(atMost: patience)
  }
}
