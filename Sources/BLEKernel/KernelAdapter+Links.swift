internal import BLEHCI
internal import BLELinux
internal import BLESMP
internal import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// One link of the adapter: known from its HCI event, from its socket, or from both, in either order.
struct KernelLink: Sendable {
  let handle: UInt16
  var isCentral = false
  var socket: MessageSocket?
  /// Frames that the socket has not taken yet, at most ``KernelAdapter/bufferCount``.
  var waiting: [[UInt8]] = []
  /// When a link without a socket counts as taken by another program.
  var patienceEnds: Instant?
  /// The socket ended before the link did: what is sent goes nowhere.
  var isDeaf = false
  /// What the host was last told that the link is worth; nil in the clear.
  var strength: KeyStrength?
  /// Until when the kernel may still be about to raise that.
  var levelSettles: Instant?
  /// The host waits for word of the level, new or not.
  var owesLevel = false
  /// Until when the link is to be encrypted for the kernel to take frames again.
  var securingEnds: Instant?
  /// The peer of a link that we began, until the kernel tells that it has it too.
  var awaited: DeviceAddress?
  /// The socket takes nothing yet: the kernel still asks the peer for its features.
  var isConnecting = false
  /// The level that is wanted as soon as the link has its socket.
  var wantedLevel: UInt8?
}

/// Links and their sockets.
extension KernelAdapter {
  func position(of handle: UInt16) -> Int? { links.firstIndex { $0.handle == handle } }

  /// A link came up: LE Connection Complete or one of its later forms (Vol 4, Part E, 7.7.65.1), status success.
  mutating func linkBegan(_ event: [UInt8]) {
    let handle = UInt16(event[5]) | UInt16(event[6] & 0x0F) << 8
    let isCentral = event[7] == 0
    guard !isCentral || isInitiating else { return }
    forget(handle)
    var link = KernelLink(handle: handle, isCentral: isCentral)
    if isCentral {
      isInitiating = false
      let value = event[9..<15].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      link.awaited = DeviceAddress(octets: BD_ADDR(value), kind: event[8] & 1 == 0 ? .public : .random)
    } else if listener != nil {
      link.patienceEnds = clock.now() + acceptPatience
    }
    links.append(link)
    setAlarm()
  }

  /// The kernel has a link to `peer`. If we began it, its socket may be connected now; earlier the kernel, which had not
  /// seen the link's event, would have begun a second one. A little later the listener has it: the newest one, of whatever
  /// program, gets the links that nobody has connected to.
  mutating func kernelHasLink(to peer: DeviceAddress, byUs: Bool) {
    // The kernel calls a device that it can resolve by its identity.
    let position =
      links.firstIndex { $0.awaited == peer }
      ?? (byUs ? links.firstIndex { $0.awaited?.randomKind == .resolvablePrivate } : nil)
    guard let position else { return }
    links[position].awaited = nil
    do throws(SystemError) {
      // From any address it might leave by another adapter.
      guard identity.octets.value != 0 else { throw SystemError(.connect, EBUSY) }
      let socket = try clientSocket(to: peer)
      links[position].socket = socket
      links[position].isConnecting = true
      watch(socket, links[position].handle, for: [.reading, .writing])
    } catch {
      guard error.number == EBUSY, listener != nil else { return deafen(position) }
      links[position].patienceEnds = clock.now() + acceptPatience
      setAlarm()
    }
  }

  private func clientSocket(to peer: DeviceAddress) throws(SystemError) -> MessageSocket {
    let socket = try BluetoothSockets.attributeProtocol(at: identity, through: system)
    BluetoothSockets.setRoom(SO_SNDBUF, Self.sendRoom, on: socket)
    try BluetoothSockets.connect(socket, to: peer, through: system)
    return MessageSocket(socket)
  }

  /// Hands out what is left of a link and lets go of it.
  mutating func linkEnded(_ handle: UInt16, _ body: Intake) {
    guard let position = position(of: handle) else { return }
    if let socket = links[position].socket { receiveRest(handle, socket, body) }
    forget(handle)
  }

  /// Reads a socket to its end.
  ///
  /// The kernel tells of an error, once, before it hands out what came before it: reading goes on behind it.
  private mutating func receiveRest(_ handle: UInt16, _ socket: MessageSocket, _ body: Intake) {
    for _ in 0..<2 {
      do throws(SystemError) {
        while try receivePDU(handle, socket, body) {}
      } catch {
        // ECONNRESET, EACCES, or its end.
      }
    }
  }

  /// Drops a link with its socket and all that waits on it.
  private mutating func forget(_ handle: UInt16) {
    links.removeAll { $0.handle == handle }
    completed.removeAll { $0.handle == handle }
  }

  /// Takes every link that waits on the listener.
  mutating func acceptLinks(_ body: Intake) throws(SystemError) {
    guard let listener else { return }
    while let (number, peer) = try BluetoothSockets.accept(listener.descriptor, through: system) {
      let socket = MessageSocket(FileDescriptor(adopting: number))
      // The link may have ended meanwhile; its socket goes with it.
      guard let handle = try? BluetoothSockets.connectionHandle(of: socket.descriptor, through: system) else {
        continue
      }
      BluetoothSockets.setRoom(SO_SNDBUF, Self.sendRoom, on: socket.descriptor)
      adopt(socket, handle: handle, peer: peer, body)
    }
  }

  /// Gives a link its socket; one that was up before us is announced first.
  mutating func adopt(_ socket: MessageSocket, handle: UInt16, peer: DeviceAddress, _ body: Intake) {
    if position(of: handle) == nil {
      links.append(KernelLink(handle: handle))
      body(Self.connectionComplete(handle, peer).span, nil)
    }
    guard let position = position(of: handle) else { return }
    links[position].socket = socket
    links[position].awaited = nil
    links[position].patienceEnds = nil
    links[position].isDeaf = false
    watch(socket, handle, for: .reading)
    // It may have been encrypted before it had a socket to ask.
    askLevel(position, body)
    if let level = links[position].wantedLevel { secure(position, level) }
    flush(position)
  }

  /// LE Connection Complete for a link whose own event came before we listened; its timing is not known, so it says the
  /// kernel's default: 50 ms, no latency, 5 s.
  private static func connectionComplete(_ handle: UInt16, _ peer: DeviceAddress) -> [UInt8] {
    var event: [UInt8] = [
      HCIPacketType.event.rawValue, HCIEventCode.leMeta.rawValue, 19, LESubeventCode.connectionComplete.rawValue, 0,
    ]
    event.append(littleEndian: handle)
    event += [1, peer.kind == .random ? 1 : 0] + peer.octets.littleEndian
    for value in [40, 0, 500] as [UInt16] { event.append(littleEndian: value) }
    event.append(0)
    return event
  }

  /// A link's socket can go on.
  mutating func serve(handle: UInt16, _ ready: Poller.Ready, _ body: Intake) {
    guard let position = position(of: handle), let socket = links[position].socket else { return }
    if ready.canWrite {
      if links[position].isConnecting { watch(socket, handle, for: .reading) }
      links[position].isConnecting = false
      if let level = links[position].wantedLevel { secure(position, level) }
      flush(position)
    }
    guard ready.canRead || ready.hasEnded else { return }
    if links[position].levelSettles != nil { askLevel(position, body) }
    do throws(SystemError) {
      for _ in 0..<Self.readsInTurn {
        guard try receivePDU(handle, socket, body) else { break }
      }
    } catch {
      // ECONNRESET, or EACCES after a failed authentication: the link's own event tells the reason.
      receiveRest(handle, socket, body)
      deafen(position)
    }
  }

  /// The socket is of no more use; what waits for it counts as sent.
  private mutating func deafen(_ position: Int) {
    links[position].socket = nil
    links[position].isDeaf = true
    count(links[position].waiting.count, of: links[position].handle)
    links[position].waiting = []
  }

  /// Sends the PDU of one ACL packet: H4 indicator, ACL header, L2CAP header, PDU.
  mutating func sendFrame(_ packet: Span<UInt8>, on handle: UInt16) {
    guard packet.count > Self.headerLength, let position = position(of: handle) else { return }
    // The kernel runs the other channels; the host has nothing to say on them.
    guard packet.uint16(at: 7) == 4, !links[position].isDeaf else { return count(1, of: handle) }
    let pdu = packet.extracting(Self.headerLength..<packet.count)
    if let socket = links[position].socket, links[position].waiting.isEmpty, !links[position].isConnecting {
      do throws(SystemError) {
        if try socket.send(pdu) { return count(1, of: handle) }
        watch(socket, handle, for: [.reading, .writing])
      } catch {
        // While the kernel secures the link it takes nothing, and says that it is not connected.
        guard error.number == ENOTCONN, links[position].securingEnds != nil else {
          count(1, of: handle)
          return deafen(position)
        }
      }
    }
    // The host keeps to its credits; a frame past them is a fault of this process and is not kept.
    guard links[position].waiting.count < Self.bufferCount else { return count(1, of: handle) }
    links[position].waiting.append([UInt8](copying: pdu))
  }

  mutating func flush(_ position: Int) {
    guard let socket = links[position].socket, !links[position].waiting.isEmpty else { return }
    let handle = links[position].handle
    do throws(SystemError) {
      while let first = links[position].waiting.first {
        guard try socket.send(first.span) else { return watch(socket, handle, for: [.reading, .writing]) }
        links[position].waiting.removeFirst()
        count(1, of: handle)
      }
      watch(socket, handle, for: .reading)
    } catch {
      guard error.number == ENOTCONN, links[position].securingEnds != nil else { return deafen(position) }
      watch(socket, handle, for: .reading)
    }
  }

  private func watch(_ socket: MessageSocket, _ handle: UInt16, for interest: Poller.Interest) {
    // It can fail only where the system is out of memory; the link then ends by its own timeout.
    try? poller.watch(socket.descriptor, token: KernelToken.links + UInt64(handle), for: interest)
  }

  private mutating func count(_ frames: Int, of handle: UInt16) {
    guard frames > 0 else { return }
    if let last = completed.indices.last, completed[last].handle == handle {
      completed[last].count &+= UInt16(clamping: frames)
    } else {
      completed.append((handle, UInt16(clamping: frames)))
    }
  }

  /// Number Of Completed Packets (Vol 4, Part E, 7.7.19) for what the kernel took.
  mutating func deliverCompletions(_ body: Intake) {
    guard !completed.isEmpty else { return }
    for (handle, count) in completed {
      let event: InlineArray<8, UInt8> = [
        HCIPacketType.event.rawValue, HCIEventCode.numberOfCompletedPackets.rawValue, 5, 1,
        UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8), UInt8(truncatingIfNeeded: count),
        UInt8(truncatingIfNeeded: count >> 8),
      ]
      body(event.span, nil)
    }
    completed.removeAll(keepingCapacity: true)
  }
}
