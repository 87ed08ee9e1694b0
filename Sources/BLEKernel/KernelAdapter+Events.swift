internal import BLEHCI
internal import BLELinux
internal import BLEWire
internal import CBluetoothLinux

/// The raw HCI socket and the news of the adapter.
extension KernelAdapter {
  /// Events that concern the host; the kernel's own completed packets, keys and scans stay below.
  static let wantedEvents: [UInt8] = [
    HCIEventCode.disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .commandComplete,
    .commandStatus, .hardwareError, .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
  ].map(\.rawValue)

  /// Reads every event that is there.
  mutating func receiveEvents(_ body: Intake) throws(SystemError) {
    var buffer = [UInt8](repeating: 0, count: 260)
    while let count = try events.receive(into: &buffer) {
      guard count > 3, buffer[0] == HCIPacketType.event.rawValue else {
        if count == 0 { throw SystemError(.receive, EPIPE) }
        continue
      }
      handleEvent(&buffer, count, body)
    }
  }

  private mutating func handleEvent(_ event: inout [UInt8], _ count: Int, _ body: Intake) {
    switch HCIEventCode(rawValue: event[1]) {
    case .commandComplete:
      Self.widenBuffers(&event, count)
      let opcode = HCIOpcode(rawValue: UInt16(event[4]) | UInt16(event[5]) << 8)
      if opcode == .leSetScanEnable || opcode == .leSetExtendedScanEnable { try? endDiscovery() }
      if opcode == Self.probedOpcode { probeAnswered() }
    case .disconnectionComplete where count >= 7 && event[3] == 0:
      // What the peer had sent before it left comes before its leaving.
      linkEnded(UInt16(event[4]) | UInt16(event[5]) << 8, body)
    case .leMeta:
      switch LESubeventCode(rawValue: event[3]) {
      // The kernel answers these itself; a second answer would break what it began.
      case .longTermKeyRequest, .remoteConnectionParameterRequest: return
      case .connectionComplete, .enhancedConnectionComplete, .enhancedConnectionCompleteV2:
        if count >= 15, event[4] == 0 { linkBegan(event) }
      default: break
      }
    default: break
    }
    body(event.span.extracting(first: count), nil)
    if event[1] == HCIEventCode.encryptionChange.rawValue
      || event[1] == HCIEventCode.encryptionKeyRefreshComplete.rawValue,
      count >= 6, event[3] == 0
    {
      encryptionChanged(UInt16(event[4]) | UInt16(event[5]) << 8, body)
    }
  }

  /// Whole frames are sent and the kernel cuts them: the answers to LE Read Buffer Size (Vol 4, Part E, 7.8.2) say so.
  private static func widenBuffers(_ event: inout [UInt8], _ count: Int) {
    guard count >= 10, event[6] == 0 else { return }
    let opcode = HCIOpcode(rawValue: UInt16(event[4]) | UInt16(event[5]) << 8)
    guard opcode == .leReadBufferSize || opcode == .leReadBufferSizeV2 else { return }
    put(UInt16(bufferLength), in: &event, at: 7)
    event[9] = UInt8(bufferCount)
  }

  mutating func sendCommand(_ packet: Span<UInt8>) throws(SystemError) {
    note(packet)
    guard commands.isEmpty else {
      guard commands.count < Self.commandLimit else { throw SystemError(.send, EIO) }
      return commands.append([UInt8](copying: packet))
    }
    guard try !events.send(packet) else { return }
    commands.append([UInt8](copying: packet))
    try poller.watch(events.descriptor, token: KernelToken.events, for: [.reading, .writing])
  }

  mutating func sendWaitingCommands() throws(SystemError) {
    while let first = commands.first {
      guard try events.send(first.span) else { return }
      commands.removeFirst()
    }
    try poller.watch(events.descriptor, token: KernelToken.events, for: .reading)
  }

  /// Remembers what of our commands decides about links.
  private mutating func note(_ command: Span<UInt8>) {
    guard let opcode = command.uint16(at: 1), command.count > 4 else { return }
    switch HCIOpcode(rawValue: opcode) {
    case .leSetAdvertisingEnable, .leSetExtendedAdvertisingEnable: if command[4] == 1 { advertises = true }
    case .leCreateConnection, .leExtendedCreateConnection: isInitiating = true
    case .leSetScanEnable, .leSetExtendedScanEnable:
      scans = command[4] == 1
      if scans { discovery = discovery.begunAgain }
    default: break
    }
  }

  /// Reads what the kernel tells of its adapters; only ours matters.
  mutating func receiveNews(_ body: Intake) throws(TransportError) {
    do throws(SystemError) {
      while let news = try management.news() {
        switch news {
        case .removed(index):
          throw SystemError(.receive, ENODEV)
        case .settings(index, let settings) where !settings.contains(.powered):
          throw SystemError(.receive, ENETDOWN)
        case .configured(index): isDaemons = isDaemons || BluetoothDaemon.isRunning
        case .security(index, let report): try receive(report, body)
        // Its answer says that it had ended already.
        case .refused(index, .stopDiscovery, _): break
        case .refused(index, let command, let status):
          tell("\(name): the kernel refused \(command) with management status 0x\(String(status.rawValue, radix: 16))")
        case .connected(index, let peer, let byUs):
          // The controller's event came to us before the kernel acted on it.
          try receiveEvents(body)
          kernelHasLink(to: peer, byUs: byUs)
        case .discovering(index, let types) where discovery == .begun:
          discovery = .told(types: types)
          try endDiscovery()
        default: break
        }
      }
    } catch {
      switch error.number {
      case ENODEV: throw TransportError(.closed, at: name, "hci\(index) was unplugged", remedy: "plug it in again")
      case ENETDOWN where RadioSwitch.blocks(hci: index): throw .radioSwitchBlocks(hci: index, at: name)
      case ENETDOWN:
        throw TransportError(
          .poweredOff, at: name, "hci\(index) was switched off", remedy: "btmgmt --index \(index) power on")
      default: throw TransportError(usingAdapter: name, error)
      }
    }
  }
}
