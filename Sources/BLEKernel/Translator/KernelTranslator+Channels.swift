internal import BLEHCI
internal import BLEL2CAP
internal import BLELinux
internal import BLEWire
internal import Glibc

/// Credit-based channels: frames of the host, events of their sockets (Docs/Decisions/0071).
extension KernelTranslator {
  /// Receives a frame of the host on any channel but that of ATT. The kernel has the channel of the Security Manager, and the
  /// host nothing to send on it.
  mutating func receiveFrame(
    _ payload: Span<UInt8>, on channel: ChannelID, of handle: ConnectionHandle, now: Instant,
    into output: inout KernelOutput
  ) {
    guard channel == .signalling || channel.isDynamic else { return }
    // The first frame of a channel that the host opens is on the signalling channel.
    if channel == .signalling { prepareChannels(of: handle) }
    channels[handle]?.receive(payload, on: channel, now: now, into: &output)
  }

  private mutating func prepareChannels(of handle: ConnectionHandle) {
    guard channels[handle] == nil, let link = links[handle] else { return }
    channels[handle] = KernelChannels(link)
  }

  /// The kernel has a link now: sockets of its channels can connect.
  mutating func releaseChannels(_ handle: ConnectionHandle, into output: inout KernelOutput) {
    guard links[handle]?.isSettled == true else { return }
    channels[handle]?.linkIsUp(into: &output)
  }

  /// A name for the socket of a channel that a peer has opened; nil for a link that the host does not have.
  mutating func takeChannelSocket(on handle: ConnectionHandle) -> ChannelSocketID? {
    prepareChannels(of: handle)
    return channels[handle]?.takeSocket()
  }

  /// Whether the next SDU of a channel's socket can be received.
  func reads(_ id: ChannelSocketID) -> Bool { channels[id.handle]?.reads(id) == true }

  /// Receives an SDU of a channel's socket.
  mutating func receive(sdu: Span<UInt8>, on id: ChannelSocketID, now: Instant, into output: inout KernelOutput) {
    channels[id.handle]?.receive(sdu: sdu, on: id, now: now, into: &output)
  }

  mutating func receive(_ event: ChannelEvent, on id: ChannelSocketID, now: Instant, into output: inout KernelOutput) {
    channels[id.handle]?.receive(event, on: id, now: now, into: &output)
    // The host decides by the level of the link: it gets that first.
    if case .accepted = event, channels[id.handle] != nil { output.actions.append(.readSecurity(id.handle)) }
  }

  mutating func listeningFailed(_ spsm: SPSM, _ number: Int32, into output: inout KernelOutput) {
    let reason =
      switch number {
      case EADDRINUSE: "another program listens for it. Use another number, or stop that program"
      case EACCES:
        "numbers below 0x0080 need the capability CAP_NET_BIND_SERVICE. Add cap_net_bind_service to the program's capabilities"
      default: "\(SystemError(.listen, number))"
      }
    output.log("\(name): no channels to \(spsm) are accepted: \(reason)")
  }
}
