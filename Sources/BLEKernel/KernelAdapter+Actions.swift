internal import BLEHCI
internal import BLELinux
internal import BLEWire
internal import Glibc

/// The actions of the translator.
extension KernelAdapter {
  /// Performs all actions, and the actions that follow from their results.
  mutating func performActions() throws(SystemError) {
    while !output.actions.isEmpty {
      var batch = SocketActions()
      swap(&batch, &spareActions)
      swap(&batch, &output.actions)
      var message = 0
      for action in batch.actions {
        try perform(action, batch.octets, &message)
      }
      batch.removeAll()
      swap(&batch, &spareActions)
    }
  }

  private mutating func perform(
    _ action: SocketAction, _ octets: borrowing PacketBuffer, _ message: inout Int
  ) throws(SystemError) {
    switch action {
    case .sendCommand: try sendCommand(Self.next(octets, &message))
    case .sendManagement: try management.post(Self.next(octets, &message).span)
    case .sendPDU(let handle): sendPDU(Self.next(octets, &message), on: handle)
    case .readEvents:
      try receiveEvents()
      translator.receive(.eventsRead, now: clock.now(), into: &output)
    case .drain(let handle):
      drain(handle)
      translator.receive(.drained(handle), now: clock.now(), into: &output)
    case .close(let handle): sockets[handle] = nil
    case .connect(let handle, let peer):
      translator.receive(.connected(handle, connect(handle, to: peer)), now: clock.now(), into: &output)
    case .replaceListener:
      try replaceListener()
      translator.receive(
        .listenerReplaced(daemonRuns: BluetoothDaemon.isRunning), now: clock.now(), into: &output)
    case .readSecurity(let handle):
      let security = sockets[handle].flatMap {
        try? BluetoothSockets.security(of: $0.descriptor, through: system)
      }
      translator.receive(.security(handle, security), now: clock.now(), into: &output)
    case .raiseSecurity(let handle, let level):
      let isPending =
        sockets[handle].map { BluetoothSockets.raiseSecurity(of: $0.descriptor, to: level, through: system) } ?? false
      translator.receive(.raised(handle, isPending: isPending), now: clock.now(), into: &output)
    case .channel(let action): perform(action, octets, &message)
    case .findDaemon:
      translator.receive(.daemon(isRunning: BluetoothDaemon.isRunning), now: clock.now(), into: &output)
    }
  }

  static func next(_ octets: borrowing PacketBuffer, _ message: inout Int) -> Bytes {
    defer { message += 1 }
    return octets[message]
  }

  private mutating func sendPDU(_ pdu: Bytes, on handle: ConnectionHandle) {
    guard let socket = sockets[handle] else { return translator.rejected(pdu.span, on: handle, .failed, into: &output) }
    do throws(SystemError) {
      if try socket.send(pdu.span) {
        return translator.receive(.sent(handle), now: clock.now(), into: &output)
      }
      watch(socket, handle, for: [.reading, .writing])
      translator.rejected(pdu.span, on: handle, .full, into: &output)
    } catch {
      translator.rejected(pdu.span, on: handle, error.number == ENOTCONN ? .notConnected : .failed, into: &output)
    }
  }

  private mutating func sendCommand(_ command: Bytes) throws(SystemError) {
    if commands.isEmpty, try events.send(command.span) { return }
    guard commands.count < Self.commandLimit else { throw SystemError(.send, EIO) }
    commands.append(Array(command))
    if commands.count == 1 {
      try poller.watch(events.descriptor, token: AdapterToken.events, for: [.reading, .writing])
    }
  }

  mutating func sendWaitingCommands() throws(SystemError) {
    while let first = commands.first {
      guard try events.send(first.span) else { return }
      commands.removeFirst()
    }
    try poller.watch(events.descriptor, token: AdapterToken.events, for: .reading)
  }

  private mutating func connect(
    _ handle: ConnectionHandle, to peer: DeviceAddress
  ) -> SocketEvent.ConnectionResult {
    do throws(SystemError) {
      let socket = MessageSocket(try BluetoothSockets.attributeProtocol(at: identity, through: system))
      BluetoothSockets.setBuffer(SO_SNDBUF, Self.sendBuffer, of: socket.descriptor)
      try BluetoothSockets.connect(socket.descriptor, to: peer, through: system)
      sockets[handle] = socket
      watch(socket, handle, for: [.reading, .writing])
      return .pending
    } catch { return error.number == EBUSY ? .busy : .failed }
  }

  /// Opens the listener again. It is then the newest listener on the adapter.
  private mutating func replaceListener() throws(SystemError) {
    listener = nil
    let opened = try Self.openListener(at: identity, through: system)
    try poller.watch(opened.descriptor, token: AdapterToken.listener, for: .reading)
    listener = opened
  }

  static func openListener(
    at identity: DeviceAddress, through system: SystemCalls
  ) throws(SystemError) -> MessageSocket {
    let socket = try BluetoothSockets.attributeProtocol(at: identity, through: system)
    try BluetoothSockets.listen(socket, through: system)
    return MessageSocket(socket)
  }
}
