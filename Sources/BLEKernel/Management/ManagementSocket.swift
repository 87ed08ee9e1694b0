internal import BLELinux
package import BLEWire

/// A command with its parameters, ready to be sent.
struct ManagementRequest: Equatable, Sendable {
  let opcode: ManagementOpcode
  let parameters: [UInt8]

  init(_ command: some ManagementCommand) {
    opcode = type(of: command).opcode
    parameters = command.encoded
  }

  /// The octets of the message to the controller `index`.
  func message(to index: UInt16) -> [UInt8] { ManagementMessage(opcode, index, parameters[...]).encoded }
}

/// The answer to a request.
struct ManagementReply: Equatable, Sendable {
  /// The status; nil if no answer came in time.
  let status: ManagementStatus?
  let parameters: Bytes
}

/// The socket of the kernel's management protocol, which lists the adapters and has their settings.
struct ManagementSocket: Sendable {
  /// The longest message that is read, in octets.
  static let messageLimit = 1_024
  static let patience = Duration.seconds(6)

  let socket: MessageSocket
  /// The longest wait for the answer to a request.
  var patience = Self.patience

  init(through system: SystemCalls) throws(SystemError) {
    socket = MessageSocket(try BluetoothSockets.hci(.control, through: system))
  }

  init(_ socket: MessageSocket) { self.socket = socket }

  /// Sends a command and waits for its answer. Events that arrive meanwhile are dropped: the caller must read the state
  /// afterwards.
  func request(
    _ command: some ManagementCommand, to index: UInt16 = Management.noIndex
  ) throws(SystemError) -> ManagementReply {
    try request(ManagementRequest(command), to: index)
  }

  func request(_ request: ManagementRequest, to index: UInt16) throws(SystemError) -> ManagementReply {
    try post(request.message(to: index).span)
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    var poller = try Poller(capacity: 1)
    try poller.watch(socket.descriptor, token: 0, for: .reading)
    var buffer = [UInt8](repeating: 0, count: Self.messageLimit)
    while true {
      while let count = try receive(into: &buffer) {
        if let reply = Self.reply(buffer[..<count], to: request.opcode, index) { return reply }
      }
      guard clock.now() < deadline else { return ManagementReply(status: nil, parameters: []) }
      try poller.wait(until: deadline, on: clock)
    }
  }

  /// Sends a message without waiting for the answer.
  func post(_ message: Span<UInt8>) throws(SystemError) { _ = try socket.send(message) }

  /// Reads one message.
  ///
  /// - Returns: its length; nil if no message waits.
  func receive(into buffer: inout [UInt8]) throws(SystemError) -> Int? {
    guard let count = try socket.receive(into: &buffer) else { return nil }
    if count == 0 { throw .connectionClosed }
    return count
  }

  private static func reply(_ octets: Bytes, to opcode: ManagementOpcode, _ index: UInt16) -> ManagementReply? {
    guard let message = try? ManagementMessage(decoding: octets), message.index == index else { return nil }
    switch Management.event(message) {
    case .commandComplete(let event) where event.opcode == opcode:
      return ManagementReply(status: event.status, parameters: event.returnParameters)
    case .commandStatus(let event) where event.opcode == opcode:
      return ManagementReply(status: event.status, parameters: [])
    // Every other event comes between a command and its answer.
    default: return nil
    }
  }

  /// Reads information that the kernel has without the controller. A kernel that does not answer has failed.
  private func read<Response: Packet>(
    _ response: Response.Type, _ command: some ManagementCommand, of index: UInt16 = Management.noIndex
  ) throws(SystemError) -> Response? {
    let reply = try request(command, to: index)
    guard let status = reply.status else { throw .noAnswer }
    var octets = reply.parameters
    return status == .success ? try? Response(decodingPrefixOf: &octets) : nil
  }

  /// The indices of the kernel's controllers, lowest first.
  func indices() throws(SystemError) -> [UInt16] {
    let response = try read(Management.ReadIndexList.Response.self, Management.ReadIndexList())
    return response?.indices.map(\.value).sorted() ?? []
  }

  /// Whether the controller has links, made by any program.
  func hasConnections(_ index: UInt16) throws(SystemError) -> Bool {
    let response = try read(Management.ReadConnections.Response.self, Management.ReadConnections(), of: index)
    return (response?.count ?? 0) > 0
  }

  /// The Low Energy devices that the controller has links to, made by any program.
  func connections(_ index: UInt16) throws(SystemError) -> [DeviceAddress] {
    let response = try read(Management.ReadConnections.Response.self, Management.ReadConnections(), of: index)
    return response?.devices.compactMap(\.device) ?? []
  }

  /// The kernel's information about a controller; nil if the kernel has no controller with that index.
  func information(of index: UInt16) throws(SystemError) -> AdapterInformation? {
    try read(Management.ReadInformation.Response.self, Management.ReadInformation(), of: index).map { response in
      AdapterInformation(
        index: index, address: response.address, supported: response.supported, current: response.current)
    }
  }
}

/// A controller of the kernel.
package struct AdapterInformation: Equatable, Sendable {
  var index: UInt16
  var address: BD_ADDR
  var supported: AdapterSettings
  var current: AdapterSettings

  /// The address that L2CAP sockets are bound to: the identity, regardless of the address that is advertised.
  ///
  /// The kernel reports that an adapter has a static random address, but not which one. The zero address stands for any
  /// address of that type.
  var identity: DeviceAddress {
    current.contains(.staticAddress)
      ? DeviceAddress(octets: BD_ADDR(), kind: .random) : DeviceAddress(octets: address, kind: .public)
  }
}

/// The adapter of the machine that a transport string selects.
package enum AdapterChoice: Hashable, Sendable {
  /// The first adapter with Low Energy.
  case first
  case index(UInt16)
  case address(BD_ADDR)
}
