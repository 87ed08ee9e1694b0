internal import BLEHCI
internal import BLEL2CAP
internal import BLELinux
internal import BLEWire
internal import Glibc

/// The socket of a credit-based channel.
struct ChannelSocket: Sendable {
  let socket: MessageSocket
  /// The events that the poller watches for. A socket without any is not watched, because its end would be reported
  /// again and again.
  var interest: Poller.Interest = []
  var isConnecting = false
  /// The size of the largest SDU in either direction, in octets. It determines the size of the socket's buffer in the
  /// kernel.
  let mtu: UInt16
  /// The kernel's count for the output queue while it is empty. Some kernels count queued octets, others free octets.
  var idleQueue: Int32?
  /// Decides when SDUs are read.
  var order = ReadingOrder(nil)
}

/// The actions on sockets of credit-based channels.
extension KernelAdapter {
  mutating func perform(_ action: ChannelAction, _ octets: borrowing PacketBuffer, _ message: inout Int) {
    switch action {
    case .connect(let id, let connection): connect(id, connection)
    case .send(let id): send(Self.next(octets, &message), on: id)
    case .read(let id): if !settling.contains(id) { watch(id) { $0.insert(.reading) } }
    case .drain(let id): drain(id)
    case .readQueue(let id): receive(.queue(isEmpty: isIdle(id)), on: id)
    case .close(let id): channels[id] = nil
    case .listen(let spsm, let level, let mtu): listen(spsm, level, mtu)
    case .stopListening(let spsm): services[spsm] = nil
    }
  }

  private mutating func receive(_ event: ChannelEvent, on id: ChannelSocketID) {
    translator.receive(.channel(id, event), now: clock.now(), into: &output)
  }

  private mutating func connect(_ id: ChannelSocketID, _ connection: ChannelConnection) {
    do throws(SystemError) {
      let own = BluetoothSockets.l2capAddress(identity)
      let socket = MessageSocket(try BluetoothSockets.l2cap(own, through: system))
      try BluetoothSockets.setChannel(
        of: socket.descriptor, mtu: connection.mtu, mode: connection.mode, through: system)
      let attributes = sockets[id.handle].flatMap { BluetoothSockets.peer(of: $0.descriptor) }
      let peer = BluetoothSockets.l2capAddress(attributes ?? connection.peer, service: connection.spsm.rawValue)
      try BluetoothSockets.connect(socket.descriptor, to: peer, through: system)
      channels[id] = ChannelSocket(socket: socket, isConnecting: true, mtu: connection.mtu)
      watch(id) { $0.insert(.writing) }
    } catch { receive(.refused(error.number), on: id) }
  }

  /// Receives the result of a socket's attempt to connect.
  private mutating func finishConnecting(_ id: ChannelSocketID) {
    guard let channel = channels[id] else { return }
    watch(id) { $0.remove(.writing) }
    channels[id]?.isConnecting = false
    do throws(SystemError) {
      let failure = try channel.socket.descriptor.pendingError(through: system)
      guard failure == 0 else { throw SystemError(.connect, failure) }
      let remoteMTU = try prepare(channel.socket)
      channels[id]?.idleQueue = BluetoothSockets.outputQueue(of: channel.socket.descriptor)
      let order = readingOrder(of: channel.socket, mtu: channel.mtu)
      channels[id]?.order = order
      receive(.connected(remoteMTU: remoteMTU), on: id)
    } catch {
      channels[id] = nil
      receive(.refused(error.number), on: id)
    }
  }

  /// Prepares the buffers of an open channel.
  ///
  /// - Returns: the largest SDU that the peer accepts.
  private func prepare(_ socket: MessageSocket) throws(SystemError) -> UInt16 {
    let remoteMTU = try BluetoothSockets.remoteMTU(of: socket.descriptor, through: system)
    // The kernel divides an SDU into fragments, and the buffer of each is larger than the fragment. An SDU that does
    // not fit would wait forever.
    BluetoothSockets.setBuffer(
      SO_SNDBUFFORCE, max(Self.sendBuffer, Self.bufferPerOctet * Int32(remoteMTU)), of: socket.descriptor)
    return remoteMTU
  }

  private func readingOrder(of socket: MessageSocket, mtu: UInt16) -> ReadingOrder {
    let wanted = ReadingOrder.buffer(mtu: mtu)
    if let memory = BluetoothSockets.memory(of: socket.descriptor), memory.buffer < wanted {
      BluetoothSockets.setReceiveBuffer(wanted, of: socket.descriptor)
    }
    return ReadingOrder(BluetoothSockets.memory(of: socket.descriptor))
  }

  private func isIdle(_ id: ChannelSocketID) -> Bool {
    guard let channel = channels[id] else { return true }
    return BluetoothSockets.outputQueue(of: channel.socket.descriptor) == channel.idleQueue
  }

  private mutating func send(_ sdu: Bytes, on id: ChannelSocketID) {
    guard let socket = channels[id]?.socket else { return receive(.failed, on: id) }
    do throws(SystemError) {
      if try socket.send(sdu.span) { return receive(.sent, on: id) }
      watch(id) { $0.insert(.writing) }
      receive(.full, on: id)
    } catch { receive(.failed, on: id) }
  }

  private mutating func watch(_ id: ChannelSocketID, _ change: (inout Poller.Interest) -> Void) {
    guard var interest = channels[id]?.interest, let socket = channels[id]?.socket else { return }
    let before = interest
    change(&interest)
    guard interest != before else { return }
    channels[id]?.interest = interest
    guard !interest.isEmpty else { return poller.unwatch(socket.descriptor) }
    // This fails only if the system has no memory. The channel then ends with its link.
    try? poller.watch(socket.descriptor, token: AdapterToken.channel(id), for: interest)
  }

  private mutating func listen(_ spsm: SPSM, _ level: SocketSecurity.Level, _ mtu: UInt16) {
    services[spsm] = nil
    do throws(SystemError) {
      let own = BluetoothSockets.l2capAddress(identity, service: spsm.rawValue)
      let socket = MessageSocket(try BluetoothSockets.l2cap(own, through: system))
      try BluetoothSockets.setChannel(of: socket.descriptor, mtu: mtu, through: system)
      if level > .low { try BluetoothSockets.setSecurity(of: socket.descriptor, to: level, through: system) }
      try BluetoothSockets.listen(socket.descriptor, through: system)
      try poller.watch(
        socket.descriptor, token: AdapterToken.services | UInt64(spsm.rawValue), for: .reading)
      services[spsm] = (socket, mtu)
    } catch {
      translator.receive(.listeningFailed(spsm, error.number), now: clock.now(), into: &output)
    }
  }
}

/// The events of sockets of credit-based channels.
extension KernelAdapter {
  mutating func acceptChannels(_ spsm: SPSM) throws(SystemError) {
    guard let (listener, mtu) = services[spsm] else { return }
    while let (socket, _) = try BluetoothSockets.accept(listener.descriptor, through: system) {
      // If the link has ended meanwhile, or belongs to another program, the socket is closed.
      guard let handle = try? BluetoothSockets.connectionHandle(of: socket.descriptor, through: system),
        let id = translator.takeChannelSocket(on: handle)
      else { continue }
      do throws(SystemError) {
        let remoteMTU = try prepare(socket)
        let mode = BluetoothSockets.mode(of: socket.descriptor)
        try add(socket, id, AcceptedChannel(spsm: spsm, mode: mode, remoteMTU: remoteMTU), mtu: mtu)
      } catch {
        // The channel has ended meanwhile.
      }
    }
  }

  /// Adds the socket of a channel that a peer has opened.
  mutating func add(
    _ socket: MessageSocket, _ id: ChannelSocketID, _ channel: AcceptedChannel, mtu: UInt16
  ) throws(SystemError) {
    channels[id] = ChannelSocket(
      socket: socket, mtu: mtu, idleQueue: BluetoothSockets.outputQueue(of: socket.descriptor),
      order: readingOrder(of: socket, mtu: mtu))
    try report(.channel(id, .accepted(channel)))
  }

  mutating func serve(_ id: ChannelSocketID, _ ready: Poller.Ready) throws(SystemError) {
    guard let channel = channels[id] else { return }
    if channel.isConnecting {
      finishConnecting(id)
      return try performActions()
    }
    if ready.canWrite || ready.hasEnded, channel.interest.contains(.writing) {
      watch(id) { $0.remove(.writing) }
      try report(.channel(id, .writable))
    }
    if ready.canRead || ready.hasEnded { try readSDUs(id) }
  }

  private mutating func readSDUs(_ id: ChannelSocketID) throws(SystemError) {
    for _ in 0..<Self.readsInTurn {
      guard channels[id] != nil else { return }
      guard translator.reads(id) else { return watch(id) { $0.remove(.reading) } }
      guard mayRead(id) else { return watch(id) { $0.remove(.reading) } }
      switch receiveSDU(id) {
      case .received: try performActions()
      case .none: return
      case .ended: return try report(.channel(id, .ended))
      }
    }
  }

  /// Reads the sockets whose reading order required a wait.
  mutating func serveSettling() throws(SystemError) {
    let now = clock.now()
    for id in settling where channels[id]?.order.deadline.map({ $0 <= now }) ?? true {
      settling.remove(id)
      watch(id) { $0.insert(.reading) }
      try readSDUs(id)
    }
  }

  /// The time at which ``serveSettling()`` is due.
  var settlingDeadline: Instant? {
    settling.reduce(nil) { .nearer($0, channels[$1]?.order.deadline) }
  }

  /// Whether the next SDU of a socket may be read. Otherwise ``serveSettling()`` reads it later.
  private mutating func mayRead(_ id: ChannelSocketID) -> Bool {
    guard let socket = channels[id]?.socket, let memory = BluetoothSockets.memory(of: socket.descriptor) else {
      return true
    }
    switch channels[id]?.order.next(memory, now: clock.now()) {
    case .read?, nil: return true
    // No more SDUs arrive.
    case .stop? where BluetoothSockets.hasEnded(socket.descriptor),
      .wait? where BluetoothSockets.hasEnded(socket.descriptor):
      return true
    case .stop?: BluetoothSockets.setReceiveBuffer(0, of: socket.descriptor)
    case .wait?: break
    case .move(let buffer)?:
      move(id, socket, buffer: buffer)
      return true
    }
    settling.insert(id)
    return false
  }

  private mutating func move(_ id: ChannelSocketID, _ socket: MessageSocket, buffer: UInt32) {
    BluetoothSockets.setReceiveBuffer(buffer, of: socket.descriptor)
    let before = BluetoothSockets.memory(of: socket.descriptor)
    BluetoothSockets.moveQueue(of: socket.descriptor)
    let after = BluetoothSockets.memory(of: socket.descriptor)
    guard let before, let after, let isReading = channels[id]?.order.moved(from: before, to: after) else { return }
    BluetoothSockets.setReceiveBuffer(isReading ? channels[id]?.order.buffer ?? 0 : 0, of: socket.descriptor)
  }

  private enum Reading { case received, none, ended }

  private mutating func receiveSDU(_ id: ChannelSocketID) -> Reading {
    guard let channel = channels[id] else { return .none }
    var octets: [UInt8] = []
    swap(&octets, &sduBuffer)
    defer { swap(&octets, &sduBuffer) }
    if octets.count < Int(channel.mtu) { octets = [UInt8](repeating: 0, count: Int(channel.mtu)) }
    // The kernel reports the error of a channel that has ended before the SDUs that remain: as an error, or as an end
    // if the peer has closed the channel. Reading continues after it.
    for _ in 0..<3 {
      do throws(SystemError) {
        let count = try channel.socket.receive(into: &octets)
        // There is no SDU, or one without octets: check whether the channel has ended.
        if count ?? 0 == 0, BluetoothSockets.hasEnded(channel.socket.descriptor) { continue }
        guard let count else { return .none }
        translator.receive(sdu: octets.span.extracting(first: count), on: id, now: clock.now(), into: &output)
        return .received
      } catch {
        // ECONNRESET, or EACCES after a failed authentication.
      }
    }
    return .ended
  }

  /// Reads the remaining SDUs of a channel after the end of its link, while the host accepts them.
  private mutating func drain(_ id: ChannelSocketID) {
    while translator.reads(id), receiveSDU(id) == .received {}
  }
}
