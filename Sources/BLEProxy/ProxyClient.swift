public import BLEKit
package import BLEWire
import Synchronization

/// One user of a ``Proxy``: a connection of a network protocol, or a part of a program. Its connections and its scan
/// end with it.
///
/// ```swift
/// let (ready, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
/// let client = proxy.makeClient { _ in signal.yield() }
/// client.scan(ProxyScan())
/// var output = ProxyOutput()
/// for await _ in ready {
///   client.take(into: &output)
///   for event in output.events { handle(event) }
///   for advertisement in output.advertisements { forward(advertisement) }
/// }
/// ```
///
/// Events and advertisements wait in bounded queues until the client takes them. A client that is slow loses the oldest
/// advertisements, and never an event: one that does not take its events is closed.
public final class ProxyClient: Sendable {
  private let proxy: Proxy
  let id: UInt32
  private let queue: Mutex<Queue>
  private let onReady: @Sendable (Waiting) -> Void
  /// The devices for which as many operations wait as may.
  private let fullLinks = Atomic(0)

  /// What waits for a client.
  public enum Waiting: Comparable, Sendable {
    /// Advertisements only, which may wait a little for others.
    case advertisements
    /// Events.
    case events
  }

  private struct Queue: Sendable {
    var output = ProxyOutput()
    /// The octets of values in the events.
    var octets = 0
    /// The place of the oldest advertisement, once there are as many as may wait.
    var oldest = 0
    /// The output that `onReady` has last announced and that still waits.
    var announced: Waiting?
    var isClosed = false
  }

  init(_ id: UInt32, of proxy: Proxy, onReady: @escaping @Sendable (Waiting) -> Void) {
    (self.id, self.proxy, self.onReady) = (id, proxy, onReady)
    queue = Mutex(Queue())
  }

  // The proxy refers to its clients until they are closed: there is no `deinit`.

  /// Sets the advertisements that the client wants; nil for none. ``ProxyEvent/scanner(_:)`` follows.
  public func scan(_ scan: ProxyScan?) { proxy.setScan(scan, of: self) }

  /// Connects to a device: ``ProxyEvent/connected(_:mtu:)`` or ``ProxyEvent/disconnected(_:_:)`` follows. The device
  /// has a slot from now on. The adapter is the one that receives the device best and has a free slot.
  ///
  /// - Parameter address: an address of an advertisement, or an earlier one.
  public func connect(to address: DeviceAddress) { proxy.connect(to: address.identity, self) }

  /// Ends the connection to a device, or the attempt to make one. ``ProxyEvent/disconnected(_:_:)`` follows when the
  /// slot is free.
  public func disconnect(from address: DeviceAddress) { proxy.disconnect(from: address.identity, self) }

  /// Whether each device of the client takes another operation.
  ///
  /// While it is false, a client requests no operation, because one on a device with
  /// ``ProxyConfiguration/operationLimit`` operations fails: a server reads nothing more from its socket. It becomes
  /// true when half of them have ended, with one of the events ``ProxyEvent/finished(_:_:_:)`` and
  /// ``ProxyEvent/disconnected(_:_:)``.
  public var hasRoom: Bool { fullLinks.load(ordering: .sequentiallyConsistent) == 0 }

  func noteFull(_ isFull: Bool) { fullLinks.add(isFull ? 1 : -1, ordering: .sequentiallyConsistent) }

  /// Performs an operation after those that were requested before. ``ProxyEvent/finished(_:_:_:)`` follows.
  public func perform(_ operation: ProxyOperation, on address: DeviceAddress) {
    proxy.perform(operation, on: address.identity, self)
  }

  /// The address of a bonded device, with its kind; nil if there is none.
  package func bondedDevice(_ octets: BD_ADDR) -> DeviceAddress? { proxy.bondedDevice(octets) }

  /// The connections of the proxy now; ``ProxyEvent/slots(_:)`` has the changes.
  public var slots: ConnectionSlots { proxy.slots }

  /// The state of the scan now; ``ProxyEvent/scanner(_:)`` has the changes.
  public var scanner: ScannerStatus { proxy.scanner }

  /// Ends the client: its connections, attempts and subscriptions. No event follows.
  ///
  /// - Returns: the advertisements that were dropped since the last call of ``take(into:)``.
  @discardableResult
  public func close() -> Int {
    let lost = queue.withLock { queue in
      defer { (queue.isClosed, queue.output) = (true, ProxyOutput()) }
      return queue.output.lostAdvertisements
    }
    proxy.remove(self)
    return lost
  }

  /// Takes the waiting events and advertisements. The memory of `output` is reused.
  public func take(into output: inout ProxyOutput) {
    output.removeAll()
    queue.withLock { queue in
      queue.announced = nil
      if queue.oldest > 0 { queue.output.rotate(to: queue.oldest) }
      (queue.oldest, queue.octets) = (0, 0)
      swap(&queue.output, &output)
    }
  }

  /// Adds an event; the client is closed if too many wait.
  func report(_ event: ProxyEvent) {
    let limits = (proxy.configuration.eventLimit, proxy.configuration.eventOctets)
    let (tells, isOverflow) = queue.withLock { queue -> (Bool, Bool) in
      guard !queue.isClosed else { return (false, false) }
      let octets = event.octets
      queue.octets += octets
      var isOverflow = false
      if case .slots = event, case .slots? = queue.output.events.last {
        queue.output.events.removeLast()
      } else if queue.output.events.count >= limits.0
        || octets > 0 && queue.octets > limits.1 && !queue.output.events.isEmpty
      {
        isOverflow = true
      }
      if isOverflow {
        queue.isClosed = true
        queue.output.clear()
        let text =
          "the client has not taken \(limits.0) events or \(limits.1) octets of values and services: it is closed"
        queue.output.events = [.closed(ProxyError(.limitExceeded, text))]
      } else {
        queue.output.events.append(event)
      }
      defer { queue.announced = .events }
      return (queue.announced != .events, isOverflow)
    }
    if tells { onReady(.events) }
    if isOverflow { proxy.remove(self) }
  }

  /// Ends the client from the side of the proxy.
  func end(_ error: ProxyError) {
    report(.closed(error))
    queue.withLock { $0.isClosed = true }
  }

  /// Adds the advertisements that the client wants.
  func receive(_ advertisements: [ReceivedAdvertisement], _ scan: ProxyScan) {
    let limit = max(1, proxy.configuration.advertisementLimit)
    let (tells, lost) = queue.withLock { queue -> (Bool, Int) in
      guard !queue.isClosed else { return (false, 0) }
      let lostBefore = queue.output.lostAdvertisements
      for advertisement in advertisements where scan.wants(advertisement) {
        if queue.output.advertisements.count < limit {
          queue.output.advertisements.append(advertisement)
        } else {
          queue.output.advertisements[queue.oldest] = advertisement
          queue.oldest = queue.oldest + 1 < limit ? queue.oldest + 1 : 0
          queue.output.lostAdvertisements += 1
        }
      }
      let lost = queue.output.lostAdvertisements - lostBefore
      guard queue.announced == nil, !queue.output.advertisements.isEmpty else { return (false, lost) }
      queue.announced = .advertisements
      return (true, lost)
    }
    if lost > 0 { proxy.noteLost(lost) }
    if tells { onReady(.advertisements) }
  }
}

/// What waits for a ``ProxyClient``.
public struct ProxyOutput: Sendable {
  /// In order.
  public internal(set) var events: [ProxyEvent] = []
  /// In order.
  public internal(set) var advertisements: [ReceivedAdvertisement] = []
  /// The advertisements before these that were dropped since the last time.
  public internal(set) var lostAdvertisements = 0

  /// Creates an empty output.
  public init() {}

  mutating func removeAll() {
    events.removeAll(keepingCapacity: true)
    advertisements.removeAll(keepingCapacity: true)
    lostAdvertisements = 0
  }

  /// Removes everything but the number of dropped advertisements.
  mutating func clear() { (events, advertisements) = ([], []) }

  /// Puts the advertisements of a ring in order.
  mutating func rotate(to first: Int) {
    advertisements = Array(advertisements[first...]) + advertisements[..<first]
  }
}

extension ProxyScan {
  @inline(__always)
  fileprivate func wants(_ advertisement: ReceivedAdvertisement) -> Bool {
    if let minimumRSSI, advertisement.rssi ?? -128 < minimumRSSI { return false }
    return phys.count == 2 || phys.contains(advertisement.primaryPHY)
  }
}

extension ProxyEvent {
  /// The octets that the event refers to.
  fileprivate var octets: Int {
    switch self {
    case .value(_, _, let octets): octets.count
    case .finished(_, let operation, let result):
      switch (operation, result) {
      case (_, .success(.value(let octets))): octets.count
      case (_, .success(.services(let services))): services.reduce(0) { $0 + $1.octets }
      case (.write(_, let octets, _), _): octets.count
      case (_, .success(.done)), (_, .failure): 0
      }
    case .connected, .disconnected, .slots, .scanner, .closed: 0
    }
  }
}

extension ProxyService {
  /// The memory that it takes.
  fileprivate var octets: Int {
    characteristics.reduce(MemoryLayout<Self>.stride) { octets, characteristic in
      octets + MemoryLayout<ProxyCharacteristic>.stride
        + characteristic.descriptors.count * MemoryLayout<RemoteDescriptor>.stride
    }
  }
}
