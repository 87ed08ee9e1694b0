public import BLECrypto
public import BLEWire

/// A simulated radio: any number of virtual controllers that exchange HCI packets with their hosts and Link Layer PDUs
/// with each other.
///
/// It does no I/O and reads no clock: each call passes the time. ``receive(_:from:now:into:)-(Bytes,_,_,_)`` takes a
/// packet from a host, the output lists the packets for hosts with their destinations, and ``deadline`` is the time of
/// the next event: an advertising event, a supervision timeout, the end of a scan. An hour of advertising takes a few
/// milliseconds.
///
/// ```
///   host A ──receive──► ┌ VirtualController ┐ ──PDU─► ┌ VirtualController ┐ ◄──receive── host B
///          ◄──output─── │ commands, events, │         │ advertising sets, │ ───output──►
///                       └ links, buffers    ┘ ◄─PDU── └ scanner, links    ┘
/// ```
///
/// ```swift
/// var radio = VirtualRadio(seed: 1)
/// var output = VirtualRadioOutput()
/// let id = radio.attach(now: .start)
/// radio.receive([0x01, 0x03, 0x0C, 0x00], from: id, now: .start, into: &output)  // HCI_Reset
/// output.forEach { destination, packet in print(destination, packet.count) }  // Command Complete
/// ```
public struct VirtualRadio: Sendable {
  /// When data and Link Layer control PDUs of a link move.
  public enum Pacing: Hashable, Sendable {
    /// At once, in the call that receives them from the host.
    case immediate
    /// At the link's connection events, with a limit of ACL packets for each direction in an event.
    case connectionEvents(packetsPerEvent: Int)
    /// With the timing of a real radio (Vol 6, Part B). PDUs take the airtime of their PHY and move only at connection
    /// events, changes take effect at their instant, and a scanner receives in its scan windows, on one advertising
    /// channel at a time.
    case airtime
  }

  var controllers: [VirtualController] = []
  var context: VirtualRadioContext
  private var random: RandomSource
  private var generation: UInt32 = 0
  /// The changes of powers and paths that take effect when the radio next runs, because hosts receive events of them.
  var changes: [RadioChange] = []
  /// The nearest deadline, if it has been computed. ACL data that moves at once does not change it.
  private var cachedDeadline: Instant??

  /// - Parameters:
  ///   - seed: the seed of every random number of the radio: addresses, advertising delays, keys.
  ///   - pacing: the time at which PDUs move.
  ///   - cryptography: AES and P-256 for the controllers.
  public init(seed: UInt64 = 0, pacing: Pacing = .immediate, cryptography: any Cryptography = LibCrypto()) {
    random = .seeded(seed)
    context = VirtualRadioContext(pacing: pacing, cryptography: cryptography)
  }

  /// Adds a controller to the radio and powers it on.
  public mutating func attach(
    _ configuration: VirtualControllerConfiguration = VirtualControllerConfiguration(), now: Instant
  ) -> ControllerID {
    generation &+= 1
    cachedDeadline = nil
    let slot = controllers.firstIndex { !$0.isAttached } ?? controllers.count
    let id = ControllerID(slot: slot, generation: generation)
    context.paths.removeAll(of: slot)
    let controller = VirtualController(id: id, configuration: configuration, random: .seeded(random.next()))
    if slot == controllers.count { controllers.append(controller) } else { controllers[slot] = controller }
    context.hasPacketFaults = controllers.contains { $0.hasPacketFaults }
    return id
  }

  /// Powers a controller off. It sends nothing more, and its peers lose their links after the supervision timeout.
  public mutating func detach(_ id: ControllerID, now: Instant) {
    guard let slot = slot(of: id) else { return }
    cachedDeadline = nil
    context.now = now
    controllers[slot].powerOff(&context)
    deliver()
  }

  /// The controllers that are powered on, in the order of their slots.
  public var attached: [ControllerID] { controllers.filter(\.isAttached).map(\.id) }

  /// Receives one complete H4 packet (the type octet first) from the host of a controller. Everything that was due
  /// before `now` is done first.
  ///
  /// A packet for a controller that is powered off is dropped.
  public mutating func receive(
    _ packet: Span<UInt8>, from id: ControllerID, now: Instant, into output: inout VirtualRadioOutput
  ) {
    guard let slot = slot(of: id) else { return }
    swap(&context.output, &output)
    defer { swap(&context.output, &output) }
    if let due = deadline, due <= now { advance(to: now) }
    context.now = now
    if context.hasPacketFaults { receiveWithFaults(packet, slot: slot) } else { perform(packet, slot: slot) }
  }

  /// Handles one packet from the host of the controller in `slot`.
  mutating func perform(_ packet: Span<UInt8>, slot: Int) {
    if packet.count > 0, packet[0] == 0x02 {
      receiveData(packet.extracting(1...), slot: slot)
    } else {
      cachedDeadline = nil
      controllers[slot].receive([UInt8](copying: packet)[...], &context)
      deliver()
    }
  }

  /// Receives one complete H4 packet from an array or a slice.
  public mutating func receive(
    _ packet: Bytes, from id: ControllerID, now: Instant, into output: inout VirtualRadioOutput
  ) {
    receive(packet.span, from: id, now: now, into: &output)
  }

  /// Does everything that is due at or before `now`, in the order of the deadlines and at their times.
  public mutating func tick(now: Instant, into output: inout VirtualRadioOutput) {
    swap(&context.output, &output)
    defer { swap(&context.output, &output) }
    advance(to: now)
  }

  private mutating func advance(to now: Instant) {
    while let due = deadline, due <= now {
      cachedDeadline = nil
      context.now = due
      if context.hasPacketFaults { releaseHeldPackets() }
      let first = context.output.count
      if !changes.isEmpty { performChanges() }
      for slot in controllers.indices {
        guard controllers[slot].isAttached, let own = controllers[slot].deadline, own <= due else { continue }
        controllers[slot].tick(&context)
        deliver()
        advertise(from: slot)
        runPeriodicEvents(of: slot)
      }
      runConnectionEvents()
      if context.hasPacketFaults { applyFaults(toOutputFrom: first) }
    }
  }

  /// The time at which ``tick(now:into:)`` has something to do; nil if nothing is scheduled.
  public var deadline: Instant? {
    mutating get {
      if let known = cachedDeadline { return known }
      var nearest = Instant?.nearer(context.connections.deadline, changes.first?.time)
      for slot in controllers.indices where controllers[slot].isAttached {
        nearest = .nearer(nearest, controllers[slot].deadline)
      }
      cachedDeadline = .some(nearest)
      return nearest
    }
  }

  /// Replaces the faults of a controller's configuration.
  public mutating func setFaults(_ faults: [VirtualFault], of id: ControllerID) {
    guard let slot = slot(of: id) else { return }
    cachedDeadline = nil
    controllers[slot].setFaults(faults)
    context.hasPacketFaults = controllers.contains { $0.hasPacketFaults }
  }

  /// Ends the links of a controller, as if it was out of range for a moment: each by supervision timeout on both sides.
  public mutating func cutLinks(of id: ControllerID, now: Instant) {
    guard let slot = slot(of: id) else { return }
    cachedDeadline = nil
    context.now = now
    controllers[slot].cutAllLinks(&context)
    deliver()
  }

  /// Takes a controller out of range of all others, or brings it back. Out of range its links end by supervision
  /// timeout on both sides, its advertisements are received by nobody, and it receives none.
  public mutating func setInRange(_ isInRange: Bool, _ id: ControllerID, now: Instant) {
    guard let slot = slot(of: id) else { return }
    controllers[slot].isInRange = isInRange
    if !isInRange { cutLinks(of: id, now: now) }
  }

  /// The HCI violations of a controller's host, the oldest first, at most ``Complaint/limit``.
  public func complaints(about id: ControllerID) -> [Complaint] {
    slot(of: id).map { controllers[$0].complaints.all } ?? []
  }

  /// The connection events of the links that a controller has, with ``Pacing/airtime``, the oldest link first.
  package func connectionEvents(of id: ControllerID, at now: Instant) -> [ConnectionEventCounts] {
    guard let slot = slot(of: id) else { return [] }
    return controllers[slot].linkEnds.compactMap { context.connections[$0.id]?.schedule.counts(at: now) }
  }

  /// Whether a controller scans.
  package func isScanning(_ id: ControllerID) -> Bool { slot(of: id).map { controllers[$0].isScanning } ?? false }

  /// The public address of a controller; nil if it is powered off.
  public func publicAddress(of id: ControllerID) -> DeviceAddress? {
    slot(of: id).map { DeviceAddress(octets: controllers[$0].publicAddress, kind: .public) }
  }

  /// Discards the computed deadline after a change of the schedule.
  mutating func invalidateDeadline() { cachedDeadline = nil }

  func slot(of id: ControllerID) -> Int? {
    guard controllers.indices.contains(id.slot), controllers[id.slot].id == id, controllers[id.slot].isAttached
    else { return nil }
    return id.slot
  }
}

/// The identifier of one controller of one radio, from ``VirtualRadio/attach(_:now:)`` to
/// ``VirtualRadio/detach(_:now:)``. It is not reused.
public struct ControllerID: Hashable, Sendable, CustomStringConvertible {
  let slot: Int
  let generation: UInt32

  public var description: String { "controller \(generation)" }
}
