internal import BLEGATT
internal import BLEHCI
package import BLEHost
internal import BLEL2CAP
internal import BLESMP
package import BLEWire

/// The output of ``KernelTranslator``: input for the host, and actions on the sockets, each in order.
struct KernelOutput: Sendable {
  var input = HostInput()
  var actions = SocketActions()
  /// Lines for the log, oldest first. Those beyond ``noticeLimit`` are dropped.
  private(set) var notices: [String] = []
  /// The adapter was removed or switched off. The rest of this output is then irrelevant.
  var loss: AdapterLoss?

  static let noticeLimit = 16

  mutating func log(_ notice: String) {
    if notices.count < Self.noticeLimit { notices.append(notice) }
  }

  mutating func takeNotices() -> [String] {
    guard !notices.isEmpty else { return [] }
    defer { notices = [] }
    return notices
  }

  /// Sends a command from the host to the controller.
  mutating func send(_ command: Span<UInt8>) {
    actions.append(.sendCommand) { $0.append(copying: command) }
  }

  /// Sends a command that does not come from the host. The trace records it.
  mutating func sendOwn(_ command: some HCICommand) {
    actions.append(.sendCommand) { $0.append(hci: command) }
    input.append(.sentCommand) { $0.append(hci: command) }
  }

  mutating func append(_ action: ChannelAction) { actions.append(.channel(action)) }

  mutating func append(_ action: ChannelAction, _ sdu: [UInt8]) {
    actions.append(.channel(action)) { $0 += sdu }
  }

  /// Passes a frame from the peer to the host, in two ACL packets if it does not fit in one.
  mutating func append(frame payload: Bytes, channel: ChannelID, on handle: ConnectionHandle) {
    let limit = Int(UInt16.max)
    var rest = payload.dropFirst(limit - BasicFrame.headerLength)
    let first = payload.dropLast(rest.count)
    input.append(.packet) { octets in
      octets.append(aclHeader: handle, .firstFlushable, length: BasicFrame.headerLength + first.count)
      BasicHeader(length: UInt16(clamping: payload.count), channel: channel).encode(to: &octets)
      octets += first
    }
    while !rest.isEmpty {
      let part = rest.prefix(limit)
      rest = rest.dropFirst(limit)
      input.append(.packet) { octets in
        octets.append(aclHeader: handle, .continuing, length: part.count)
        octets += part
      }
    }
  }

  /// Sends a command to the kernel.
  mutating func send(_ request: ManagementRequest, to index: UInt16) {
    actions.append(.sendManagement) { $0 += request.message(to: index) }
  }
}

/// Why the adapter can no longer be used.
enum AdapterLoss: Sendable { case removed, switchedOff }

/// The input of the host: packets, reports about pairings, and commands for its trace, in order.
package struct HostInput: Sendable {
  package enum Item: Equatable, Sendable {
    /// A complete H4 packet from the controller: the next one of ``octets``.
    case packet
    /// A complete H4 command that the adapter sent by itself: the next one of ``octets``.
    case sentCommand
    case report(KernelReport)
  }

  package private(set) var items: [Item] = []
  package private(set) var octets = PacketBuffer()

  package init() {}

  package var isEmpty: Bool { items.isEmpty }

  mutating func append(_ item: Item, _ write: (inout [UInt8]) -> Void) {
    items.append(item)
    octets.append(write)
  }

  mutating func append(_ report: KernelReport) { items.append(.report(report)) }

  mutating func append(completedPackets count: UInt16, on handle: ConnectionHandle) {
    items.append(.packet)
    octets.append(completedPackets: count, on: handle)
  }

  /// Removes the items and keeps the memory.
  package mutating func removeAll() {
    items.removeAll(keepingCapacity: true)
    octets.removeAll()
  }
}

/// An action on a socket of the adapter. If an action has a result, the translator must be called with the result
/// before any other input.
enum SocketAction: Equatable, Sendable {
  /// Send the next message of the octets on the raw HCI socket.
  case sendCommand
  /// Send the next message of the octets on the management socket.
  case sendManagement
  /// Send the next message of the octets on the socket of a link. Result: ``SocketEvent/sent(_:)``, or
  /// ``KernelTranslator/rejected(_:on:_:into:)``.
  case sendPDU(ConnectionHandle)
  /// Read the raw HCI socket until it is empty. Result: ``SocketEvent/eventsRead``.
  case readEvents
  /// Read the remaining data on the socket of a link that has ended. Result: ``SocketEvent/drained(_:)``, after the
  /// PDUs.
  case drain(ConnectionHandle)
  case close(ConnectionHandle)
  /// Make a socket for a link and connect it to the peer. Result: ``SocketEvent/connected(_:_:)``.
  case connect(ConnectionHandle, to: DeviceAddress)
  /// Replace the listener with a new one. Result: ``SocketEvent/listenerReplaced(daemonRuns:)``.
  case replaceListener
  /// Read the security level of a link. Result: ``SocketEvent/security(_:_:)``.
  case readSecurity(ConnectionHandle)
  /// Raise the security level of a link. Result: ``SocketEvent/raised(_:isPending:)``.
  case raiseSecurity(ConnectionHandle, to: SocketSecurity.Level)
  /// Determine whether bluetoothd runs. Result: ``SocketEvent/daemon(isRunning:)``.
  case findDaemon
  case channel(ChannelAction)
}

/// An event of a socket of the adapter.
enum SocketEvent: Equatable, Sendable {
  /// The listener has accepted a connection. Its socket now belongs to the link.
  case accepted(ConnectionHandle, from: DeviceAddress)
  case connected(ConnectionHandle, ConnectionResult)
  case readable(ConnectionHandle)
  case writable(ConnectionHandle)
  /// The socket of a link failed, and all its PDUs have been read.
  case failed(ConnectionHandle)
  case sent(ConnectionHandle)
  case drained(ConnectionHandle)
  case eventsRead
  case listenerReplaced(daemonRuns: Bool)
  /// Nil if the kernel does not answer.
  case security(ConnectionHandle, SocketSecurity?)
  /// Whether the kernel is raising the level. Otherwise it is already that high, or cannot be raised.
  case raised(ConnectionHandle, isPending: Bool)
  case daemon(isRunning: Bool)
  case channel(ChannelSocketID, ChannelEvent)
  /// The adapter has no listener for channels to a service; the error number is the reason.
  case listeningFailed(SPSM, Int32)

  enum ConnectionResult: Sendable {
    case pending
    /// The kernel has another socket on the link.
    case busy
    case failed
  }
}

/// Why the socket of a link did not accept a PDU.
enum SendRejection: Sendable {
  /// The PDU can be sent later; the event is ``SocketEvent/writable(_:)``.
  case full
  /// The socket is not connected, or not secured yet.
  case notConnected
  case failed
}

/// The security of a link's socket (the kernel's BT_SECURITY).
struct SocketSecurity: Equatable, Sendable {
  enum Level: UInt8, Comparable, Sendable {
    /// 1: not encrypted.
    case low = 1
    /// 2: encrypted.
    case medium
    /// 3: with an authenticated key.
    case high
    /// 4: with an authenticated Secure Connections key.
    case fips

    /// The level for a number of the kernel; 0 counts as low, and numbers above 4 as ``fips``.
    init(kernel number: UInt8) { self = Self(rawValue: max(1, min(4, number))) ?? .low }

    init(_ level: SecurityLevel) {
      switch level {
      case .none: self = .low
      case .encrypted: self = .medium
      case .authenticated: self = .high
      case .secureConnections: self = .fips
      }
    }

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  var level: Level
  /// The length of the key in octets.
  var keySize: UInt8

  /// The strength of the link's key; nil if the link is not encrypted.
  var strength: KeyStrength? {
    guard level > .low else { return nil }
    return KeyStrength(
      size: keySize, isAuthenticated: level >= .high, isSecureConnections: level >= .fips)
  }
}

/// Actions in order, with the messages that they send.
struct SocketActions: Sendable {
  private(set) var actions: [SocketAction] = []
  private(set) var octets = PacketBuffer()

  var isEmpty: Bool { actions.isEmpty }

  mutating func append(_ action: SocketAction) { actions.append(action) }

  mutating func append(_ action: SocketAction, _ write: (inout [UInt8]) -> Void) {
    actions.append(action)
    octets.append(write)
  }

  /// Removes the actions and keeps the memory.
  mutating func removeAll() {
    actions.removeAll(keepingCapacity: true)
    octets.removeAll()
  }
}
