internal import BLELinux
internal import BLESMP
package import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// Speaks the kernel's management protocol: which adapters there are, and switching them on and off.
///
/// A message is code, controller index and parameter length, 16 bits each and little-endian, then the parameters; code
/// numbers are those of BlueZ's `doc/mgmt-api.txt`.
struct ManagementSocket: Sendable {
  static let patience = Duration.seconds(6)
  /// The index of messages that are about no single controller.
  static let noIndex: UInt16 = 0xFFFF

  enum Command: UInt16 {
    case readIndexList = 0x0003
    case readInformation = 0x0004
    case setPowered = 0x0005
    case setBondable = 0x0009
    case setSecureSimplePairing = 0x000B
    case setLowEnergy = 0x000D
    case loadLongTermKeys = 0x0013
    case disconnect = 0x0014
    case readConnections = 0x0015
    case setIOCapability = 0x0018
    case unpairDevice = 0x001B
    case userConfirmationReply = 0x001C
    case userConfirmationNegativeReply = 0x001D
    case userPasskeyReply = 0x001E
    case userPasskeyNegativeReply = 0x001F
    case stopDiscovery = 0x0024
    case setSecureConnections = 0x002D
    case loadIdentityResolvingKeys = 0x0030
  }

  /// What the kernel answers a command with.
  struct Reply: Equatable {
    let status: Status
    let parameters: [UInt8]
  }

  struct Status: RawRepresentable, Equatable {
    let rawValue: UInt8
    static let success = Self(rawValue: 0x00)
    static let failed = Self(rawValue: 0x03)
    static let busy = Self(rawValue: 0x0A)
    static let rejected = Self(rawValue: 0x0B)
    static let notSupported = Self(rawValue: 0x0C)
    static let invalidIndex = Self(rawValue: 0x11)
    static let switchedOffByRadioSwitch = Self(rawValue: 0x12)
    static let permissionDenied = Self(rawValue: 0x14)
    /// Ours: none came in time.
    static let noAnswer = Self(rawValue: 0xFF)
  }

  /// What happened to an adapter.
  enum News: Equatable {
    case added(UInt16)
    case removed(UInt16)
    case settings(UInt16, AdapterSettings)
    /// Another program has given the adapter a name or a class.
    case configured(UInt16)
    case security(UInt16, SecurityReport)
    /// A command that ``post(_:_:_:)`` sent was refused.
    case refused(UInt16, Command, Status)
    /// The kernel has a Low Energy link to a device, under the address it knows it by; this side began it, if it says so.
    case connected(UInt16, DeviceAddress, byUs: Bool)
    /// The kernel takes itself to be discovering, for devices of some types.
    case discovering(UInt16, types: UInt8)
    case other
  }

  let socket: MessageSocket
  /// How long ``request(_:_:_:)`` waits.
  var patience = Self.patience

  init(through system: SystemCalls) throws(SystemError) {
    socket = MessageSocket(try BluetoothSockets.hci(.control, through: system))
  }

  init(_ socket: MessageSocket) { self.socket = socket }

  /// Sends a command and waits for its answer; news that come meanwhile are dropped, so ask for the state afterwards.
  func request(
    _ command: Command, _ index: UInt16 = noIndex, _ parameters: [UInt8] = []
  ) throws(SystemError) -> Reply {
    try post(command, index, parameters)
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    var poller = try Poller(capacity: 1)
    try poller.watch(socket.descriptor, token: 0, for: .reading)
    var buffer = [UInt8](repeating: 0, count: 1024)
    while true {
      while let count = try socket.receive(into: &buffer) {
        if count == 0 { throw SystemError(.receive, EPIPE) }
        if let reply = Self.reply(buffer.span.extracting(first: count), to: command, index) { return reply }
      }
      guard clock.now() < deadline else { return Reply(status: .noAnswer, parameters: []) }
      try poller.wait(until: deadline, on: clock)
    }
  }

  /// Sends a command without waiting; ``news()`` tells where the kernel refuses it.
  func post(_ command: Command, _ index: UInt16, _ parameters: [UInt8]) throws(SystemError) {
    var message: [UInt8] = []
    message.append(littleEndian: command.rawValue)
    message.append(littleEndian: index)
    message.append(littleEndian: UInt16(clamping: parameters.count))
    message += parameters
    _ = try socket.send(message.span)
  }

  /// The answer to `command` where `message` is one: Command Complete (0x0001) or Command Status (0x0002).
  private static func reply(_ message: Span<UInt8>, to command: Command, _ index: UInt16) -> Reply? {
    guard let event = message.uint16(at: 0), event == 1 || event == 2, message.uint16(at: 2) == index,
      message.uint16(at: 6) == command.rawValue, message.count > 8
    else { return nil }
    return Reply(
      status: Status(rawValue: message[8]), parameters: [UInt8](copying: message.extracting(9..<message.count)))
  }

  /// Reads one piece of news; nil where none waits.
  func news() throws(SystemError) -> News? {
    var buffer = [UInt8](repeating: 0, count: 1024)
    guard let count = try socket.receive(into: &buffer) else { return nil }
    if count == 0 { throw SystemError(.receive, EPIPE) }
    return Self.news(buffer.span.extracting(first: count))
  }

  static func news(_ message: Span<UInt8>) -> News {
    guard let event = message.uint16(at: 0), let index = message.uint16(at: 2) else { return .other }
    switch event {
    case 0x0001, 0x0002:
      guard let code = message.uint16(at: 6), let command = Command(rawValue: code), message.count > 8 else {
        return .other
      }
      let status = Status(rawValue: message[8])
      return status == .success ? .other : .refused(index, command, status)
    case 0x0007, 0x0008: return .configured(index)
    case 0x0004: return .added(index)
    case 0x0005: return .removed(index)
    case 0x0006:
      guard let low = message.uint16(at: 6), let high = message.uint16(at: 8) else { return .other }
      return .settings(index, AdapterSettings(rawValue: UInt32(high) << 16 | UInt32(low)))
    case 0x000B:
      guard message.count >= 17, message[12] == 1 || message[12] == 2 else { return .other }
      let octets = (6..<12).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(message[$1]) }
      let peer = DeviceAddress(octets: BD_ADDR(octets), kind: message[12] == 2 ? .random : .public)
      return .connected(index, peer, byUs: message[13] & 0x08 != 0)
    case 0x0013:
      guard message.count >= 8, message[7] == 1 else { return .other }
      return .discovering(index, types: message[6])
    default:
      guard message.count >= 6 else { return .other }
      let parameters = [UInt8](copying: message.extracting(6..<message.count))
      return report(event, parameters[...]).map { .security(index, $0) } ?? .other
    }
  }

  /// Asks for what the kernel knows without asking the controller: where it does not answer that, nothing is to be had.
  private func ask(_ command: Command, _ index: UInt16 = noIndex) throws(SystemError) -> Reply {
    let reply = try request(command, index)
    guard reply.status != .noAnswer else { throw SystemError(.receive, ETIMEDOUT) }
    return reply
  }

  /// The controllers that the kernel has, lowest index first.
  func indices() throws(SystemError) -> [UInt16] {
    let reply = try ask(.readIndexList)
    guard let count = reply.parameters.span.uint16(at: 0) else { return [] }
    return (0..<Int(count)).compactMap { reply.parameters.span.uint16(at: 2 + 2 * $0) }.sorted()
  }

  /// Whether the controller has links of anybody's.
  func hasConnections(_ index: UInt16) throws(SystemError) -> Bool {
    let reply = try ask(.readConnections, index)
    return (reply.parameters.span.uint16(at: 0) ?? 0) > 0
  }

  /// What the kernel knows of a controller; nil where it has none of that index.
  func information(of index: UInt16) throws(SystemError) -> AdapterInformation? {
    let reply = try ask(.readInformation, index)
    guard reply.status == .success, reply.parameters.count >= 17 else { return nil }
    func number(_ offset: Int) -> UInt32 {
      (0..<4).reversed().reduce(0) { $0 << 8 | UInt32(reply.parameters[offset + $1]) }
    }
    let address = reply.parameters[0..<6].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return AdapterInformation(
      index: index, address: BD_ADDR(address), supported: AdapterSettings(rawValue: number(9)),
      current: AdapterSettings(rawValue: number(13)))
  }
}

/// Settings of a controller that the kernel keeps.
struct AdapterSettings: OptionSet, Sendable {
  let rawValue: UInt32
  static let powered = Self(rawValue: 1 << 0)
  static let bondable = Self(rawValue: 1 << 4)
  static let secureSimplePairing = Self(rawValue: 1 << 6)
  static let lowEnergy = Self(rawValue: 1 << 9)
  static let secureConnections = Self(rawValue: 1 << 11)
  static let staticAddress = Self(rawValue: 1 << 15)
}

/// One controller that the kernel has.
struct AdapterInformation: Equatable, Sendable {
  var index: UInt16
  var address: BD_ADDR
  var supported: AdapterSettings
  var current: AdapterSettings

  /// What its L2CAP sockets are bound to: the identity, whatever address is advertised.
  ///
  /// The kernel says that an adapter goes by a static random address, and not by which: zero is any of that type.
  var identity: DeviceAddress {
    current.contains(.staticAddress)
      ? DeviceAddress(octets: BD_ADDR(), kind: .random) : DeviceAddress(octets: address, kind: .public)
  }
}

/// Which adapter of the machine is meant.
package enum AdapterChoice: Hashable, Sendable {
  /// The first one that can do Low Energy.
  case first
  case index(UInt16)
  case address(BD_ADDR)
}
