internal import BLEHCI
package import BLELinux
package import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// An adapter that the kernel runs, made to look like an HCI controller.
///
/// Upwards come whole H4 packets: the controller's events from the raw HCI socket, and each ATT PDU of a link's L2CAP socket
/// as one ACL packet. Downwards, commands go to the raw socket and ACL packets to the sockets of their links; a Number Of
/// Completed Packets event is made for each frame that the kernel took, so that the host's flow control works as on a wire.
///
/// ```
///                    host (H4 packets)
///        events, commands │        │ ACL: one ATT PDU each
///                 raw HCI socket   L2CAP socket of each link, channel 4
///                         └─ kernel ─┘
/// ```
///
/// What the kernel's own L2CAP and SMP answer (keys, parameter requests, completed packets) is kept from the host.
package struct KernelAdapter: ~Copyable, Sendable {
  /// Frames that wait on a link whose socket takes none; the host is told of so many buffers in all.
  static let bufferCount = 32
  /// Octets of one of those buffers: no frame of ours is ever cut into fragments.
  static let bufferLength = 1_021
  /// Commands that wait while the kernel's queue is full.
  static let commandLimit = 64
  /// PDUs read from one link before the others have their turn.
  static let readsInTurn = 8
  /// Octets of PDUs that the kernel buffers for a link that sends; the rest waits here and counts as not sent.
  static let sendRoom: Int32 = 16_384
  /// Octets of events that the kernel keeps for us while we are busy.
  static let eventRoom: Int32 = 1 << 20
  /// H4 indicator, ACL header and L2CAP header of a PDU.
  static let headerLength = 9

  let name: String
  let identity: DeviceAddress
  let system: SystemCalls
  let events: MessageSocket
  let management: ManagementSocket
  /// Whether bluetoothd pairs on this adapter; then we do not.
  var isDaemons: Bool
  let index: UInt16
  var listener: MessageSocket?
  var poller: Poller
  let clock = MonotonicClock()
  let alarm: FileDescriptor

  /// A link whose socket does not come within this time was taken by another program's listener.
  var acceptPatience = Duration.seconds(1)

  var links: [KernelLink] = []
  /// Frames that the kernel took and the host has not heard of.
  var completed: [(handle: UInt16, count: UInt16)] = []
  var commands: [[UInt8]] = []
  /// Commands that the host did not send, for its trace; at most ``commandLimit`` are kept.
  private var ownCommands: [[UInt8]] = []
  /// Our last command switched advertising on.
  var advertises = false
  /// We asked for a link as its central.
  var isInitiating = false
  /// Our last command switched scanning on.
  var scans = false
  var discovery = Discovery.none
  /// What the host is to be told by a line in the log.
  package private(set) var notice: String?
  private var packet: [UInt8]

  /// Puts an adapter together from its open sockets.
  static func over(
    named name: String, _ adapter: AdapterInformation, events: MessageSocket, management: ManagementSocket,
    listener: MessageSocket?, isDaemons: Bool = false, through system: SystemCalls
  ) throws(SystemError) -> KernelAdapter {
    let poller = try Poller(capacity: 32)
    let alarm = FileDescriptor(
      adopting: try system(.timer) { timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)) })
    try poller.watch(events.descriptor, token: KernelToken.events, for: .reading)
    try poller.watch(management.socket.descriptor, token: KernelToken.management, for: .reading)
    try poller.watch(alarm, token: KernelToken.alarm, for: .reading)
    if let listener { try poller.watch(listener.descriptor, token: KernelToken.listener, for: .reading) }
    return KernelAdapter(name, adapter, events, management, listener, isDaemons, poller, alarm, system)
  }

  private init(
    _ name: String, _ adapter: AdapterInformation, _ events: MessageSocket, _ management: ManagementSocket,
    _ listener: MessageSocket?, _ isDaemons: Bool, _ poller: consuming Poller, _ alarm: consuming FileDescriptor,
    _ system: SystemCalls
  ) {
    self.name = name
    self.system = system
    self.events = events
    self.management = management
    self.listener = listener
    self.isDaemons = isDaemons
    self.poller = poller
    self.alarm = alarm
    index = adapter.index
    identity = adapter.identity
    packet = Array(repeating: 0, count: Self.headerLength + Self.bufferLength)
  }

  /// Whether frames were taken that the host has not heard of, so that ``receive(_:)`` has something at once.
  package var hasCompletions: Bool { !completed.isEmpty }

  /// Hands over the commands that were sent here and not by the host, oldest first.
  package mutating func takeOwnCommands() -> [[UInt8]] {
    guard !ownCommands.isEmpty else { return [] }
    defer { ownCommands.removeAll() }
    return ownCommands
  }

  mutating func noteOwnCommand(_ command: [UInt8]) {
    if ownCommands.count < Self.commandLimit { ownCommands.append(command) }
  }

  package mutating func takeNotice() -> String? {
    defer { notice = nil }
    return notice
  }

  /// Hands out what has come: events before data, so that a link is known before its first PDU.
  ///
  /// - Throws: ``TransportError`` when the adapter is switched off (`poweredOff`) or gone (`closed`).
  package mutating func receive(_ body: Intake) throws(TransportError) {
    do throws(SystemError) {
      let count = try poller.wait(until: .start, on: clock)
      deliverCompletions(body)
      guard count > 0 else { return }
      if hasEventsReady(count) { try receiveEvents(body) }
      for position in 0..<count {
        let ready = poller[position]
        switch ready.token {
        case KernelToken.events:
          if ready.canWrite { try sendWaitingCommands() }
        case KernelToken.management, KernelToken.alarm: break
        case KernelToken.listener: try acceptLinks(body)
        default: serve(handle: UInt16(truncatingIfNeeded: ready.token &- KernelToken.links), ready, body)
        }
      }
      try alarmWentOff(body)
      deliverCompletions(body)
    } catch { throw TransportError(usingAdapter: name, error) }
    try receiveNews(body)
  }

  private func hasEventsReady(_ count: Int) -> Bool {
    (0..<count).contains { poller[$0].token == KernelToken.events && (poller[$0].canRead || poller[$0].hasEnded) }
  }

  /// Sends a batch of H4 packets.
  package mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) {
    for position in 0..<packets.count {
      let packet = packets[position]
      do throws(SystemError) {
        try send(packet.span)
      } catch { throw TransportError(usingAdapter: name, error) }
    }
  }

  private mutating func send(_ packet: Span<UInt8>) throws(SystemError) {
    guard let handle = packet.uint16(at: 1) else { return }
    switch HCIPacketType(rawValue: packet[0]) {
    case .command: try sendCommand(packet)
    case .aclData: sendFrame(packet, on: handle & 0x0FFF)
    case .event, .synchronousData, .isoData, nil: break
    }
  }

  mutating func tell(_ line: String) { notice = line }

  /// Reads one PDU of a link and hands it out as an ACL packet.
  ///
  /// - Returns: false where none waits.
  mutating func receivePDU(
    _ handle: UInt16, _ socket: MessageSocket, _ body: Intake
  ) throws(SystemError) -> Bool {
    guard let count = try socket.receive(into: &packet, at: Self.headerLength) else { return false }
    guard count > 0 else { throw SystemError(.receive, ECONNRESET) }
    // Packet boundary flag 0b10: first fragment, flushable (Vol 4, Part E, 5.4.2).
    let head = handle & 0x0FFF | 0x2000
    packet[0] = HCIPacketType.aclData.rawValue
    Self.put(head, in: &packet, at: 1)
    Self.put(UInt16(clamping: count + 4), in: &packet, at: 3)
    Self.put(UInt16(clamping: count), in: &packet, at: 5)
    Self.put(4, in: &packet, at: 7)
    body(packet.span.extracting(first: Self.headerLength + count), nil)
    return true
  }

  static func put(_ value: UInt16, in octets: inout [UInt8], at offset: Int) {
    octets[offset] = UInt8(truncatingIfNeeded: value)
    octets[offset + 1] = UInt8(truncatingIfNeeded: value >> 8)
  }
}

/// What the adapter's poller tells readiness under.
enum KernelToken {
  static let events: UInt64 = 0
  static let management: UInt64 = 1
  static let alarm: UInt64 = 2
  static let listener: UInt64 = 3
  /// A link's token is this and its handle.
  static let links: UInt64 = 1 << 16
}
