internal import BLEHCI
internal import BLEL2CAP
internal import BLELinux
internal import BLEWire
internal import Glibc

/// Credit-based channels: frames from the host, and events of the sockets (Docs/Decisions/kernel.md#channels).
extension KernelTranslator {
  /// Receives a frame from the host on any channel except that of ATT. The kernel has the Security Manager channel, on
  /// which the host sends nothing.
  mutating func receiveFrame(
    _ payload: Span<UInt8>, on channel: ChannelID, of handle: ConnectionHandle, now: Instant,
    into output: inout KernelOutput
  ) {
    guard channel == .signalling || channel.isDynamic else { return }
    // The first frame for a channel that the host opens is on the signalling channel.
    if channel == .signalling { prepareChannels(of: handle) }
    channels[handle]?.receive(payload, on: channel, now: now, into: &output)
  }

  private mutating func prepareChannels(of handle: ConnectionHandle) {
    guard channels[handle] == nil, let link = links[handle] else { return }
    channels[handle] = KernelChannels(link)
  }

  /// Connects the sockets of a link's channels, once the kernel has the link.
  mutating func releaseChannels(_ handle: ConnectionHandle, into output: inout KernelOutput) {
    guard links[handle]?.isSettled == true else { return }
    channels[handle]?.linkIsUp(into: &output)
  }

  /// Returns a name for the socket of a channel that a peer has opened; nil for a link that the host does not have.
  mutating func takeChannelSocket(on handle: ConnectionHandle) -> ChannelSocketID? {
    prepareChannels(of: handle)
    return channels[handle]?.takeSocket()
  }

  /// Whether the next SDU of a channel's socket can be received.
  func reads(_ id: ChannelSocketID) -> Bool { channels[id.handle]?.reads(id) == true }

  /// Receives an SDU from a channel's socket.
  mutating func receive(sdu: Span<UInt8>, on id: ChannelSocketID, now: Instant, into output: inout KernelOutput) {
    channels[id.handle]?.receive(sdu: sdu, on: id, now: now, into: &output)
  }

  mutating func receive(_ event: ChannelEvent, on id: ChannelSocketID, now: Instant, into output: inout KernelOutput) {
    channels[id.handle]?.receive(event, on: id, now: now, into: &output)
    // The host decides on the channel by the level of the link, so it receives the level first.
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
