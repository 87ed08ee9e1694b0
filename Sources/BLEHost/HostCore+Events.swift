import BLEHCI
import BLEWire

/// Commands to the controller, and what its events mean.
extension HostCore {
  /// Takes one event packet without its indicator octet (Vol 4, Part E, 5.4.4).
  mutating func receiveEvent(_ packet: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    // Completed packets come with every few data packets: read in place.
    if packet.count > 2, packet[0] == HCIEventCode.numberOfCompletedPackets.rawValue {
      return packetsCompleted(packet.extracting(2..<packet.count), now: now, into: &output)
    }
    do throws(CodecError) {
      let event = try HCIEvent(decoding: [UInt8](copying: packet)[...])
      handle(event, now: now, into: &output)
    } catch {
      report(
        .controller, "a malformed event (\(error)): \([UInt8](copying: packet).prefix(16).hexadecimal)", into: &output)
    }
    session.checkShutdown(now: now, hasLinks: !links.isEmpty)
  }

  private mutating func packetsCompleted(_ parameters: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    var through: [TransmittedFrames] = []
    swap(&through, &scratch.transmitted)
    do throws(CodecError) {
      let excess = try acl.receive(
        numberOfCompletedPackets: parameters, into: &output.packets, transmitted: &through)
      if excess > 0 { report(.controller, "\(excess) packets completed that were not sent", into: &output) }
    } catch {
      report(.controller, "a malformed Number Of Completed Packets event: \(error)", into: &output)
    }
    for frames in through { transmitted(frames, now: now, into: &output) }
    through.removeAll(keepingCapacity: true)
    swap(&through, &scratch.transmitted)
    relieveCongestion(now: now, into: &output)
  }

  private mutating func handle(_ event: HCIEvent, now: Instant, into output: inout HostOutput) {
    switch event.parameters {
    case let event as HCI.CommandComplete:
      if isSecuredBySystem, event.opcode == .leLongTermKeyRequestNegativeReply {
        return systemMissedKey(event.returnParameters, into: &output)
      }
      withSession(now: now, into: &output) { $0.receive(event, now: now, packets: &$1, into: &$2) }
    case let event as HCI.CommandStatus:
      withSession(now: now, into: &output) { $0.receive(event, now: now, packets: &$1, into: &$2) }
    case let event as HCI.DisconnectionComplete:
      guard event.status == .success else { return }
      supersededLinkEnded(event.connectionHandle, into: &output)
      removeLink(event.connectionHandle, reason: event.reason, into: &output)
      withRadio(now: now, into: &output) { $0.linkEnded(&$1) }
    case let event as HCI.EncryptionChange:
      encryptionChanged(
        event.connectionHandle, event.status, isOn: event.encryptionEnabled != .off, now: now, into: &output)
    case let event as HCI.EncryptionChangeV2:
      encryptionChanged(
        event.connectionHandle, event.status, isOn: event.encryptionEnabled != .off, now: now, into: &output)
    case let event as HCI.EncryptionKeyRefreshComplete:
      encryptionChanged(event.connectionHandle, event.status, isOn: true, now: now, into: &output)
    case let event as HCI.HardwareError:
      withSession(now: now, into: &output) { $0.hardwareFailed(code: event.hardwareCode, into: &$2) }
    case is HCI.DataBufferOverflow: report(.controller, "its data buffers overflowed", into: &output)
    case let event as any LEEventParameters: handle(event, now: now, into: &output)
    default: break
    }
  }

  private mutating func handle(_ event: any LEEventParameters, now: Instant, into output: inout HostOutput) {
    switch event {
    case let event as HCI.LEConnectionComplete:
      let timing = LinkTiming(
        interval: event.connectionInterval, latency: event.peripheralLatency,
        supervisionTimeout: event.supervisionTimeout)
      connectionCompleted(
        event.status, event.connectionHandle, event.role, event.peerAddress, nil, timing, now: now, into: &output)
    case let event as HCI.LEEnhancedConnectionComplete:
      let timing = LinkTiming(
        interval: event.connectionInterval, latency: event.peripheralLatency,
        supervisionTimeout: event.supervisionTimeout)
      connectionCompleted(
        event.status, event.connectionHandle, event.role, event.peerAddress, event.peerResolvablePrivateAddress, timing,
        now: now, into: &output)
    case let event as HCI.LEConnectionUpdateComplete:
      guard let index = index(of: event.connectionHandle) else { return }
      guard event.status == .success else {
        let error = HostError.controller(.leConnectionUpdate, event.status)
        return output.append(
          .connectionUpdateRefused(links[index].peer, error), to: links[index].parametersOwner.recipient)
      }
      links[index].timing = LinkTiming(
        interval: event.connectionInterval, latency: event.peripheralLatency,
        supervisionTimeout: event.supervisionTimeout)
      output.append(.connectionUpdated(links[index].peer, links[index].timing))
    case let event as HCI.LERemoteConnectionParameterRequest: answer(event, now: now, into: &output)
    case let event as HCI.LELongTermKeyRequest: longTermKeyRequested(event, now: now, into: &output)
    case let event as HCI.LEAdvertisingSetTerminated:
      withRadio(now: now, into: &output) { $0.setTerminated(event, &$1) }
    case let event as HCI.LEAdvertisingReport: receive(event, now: now, into: &output)
    case let event as HCI.LEExtendedAdvertisingReport: receive(event, now: now, into: &output)
    default: break
    }
  }

  private mutating func connectionCompleted(
    _ status: HCIErrorCode, _ handle: ConnectionHandle, _ role: HCI.Role, _ address: DeviceAddress,
    _ privateAddress: BD_ADDR?, _ timing: LinkTiming, now: Instant, into output: inout HostOutput
  ) {
    if status == .success {
      // A link that another program of this machine made as a central is none of ours.
      if role == .central, configuration.ownership == .sharedWithKernel, !radio.isConnecting { return }
      // Where the controller resolved the peer's address, the security manager still computes with the one on the air.
      let resolved = address.identity == address ? nil : address.identity
      var onAir = address.identity
      if let privateAddress {
        let said = DeviceAddress(octets: privateAddress, kind: .random)
        // Some controllers resolve and leave the mark of it out (RootCanal), and some say an address that means nothing.
        let isProven = resolved != nil || bonds.identity(of: said, toolbox) == onAir
        if said.randomKind == .resolvablePrivate, isProven { onAir = said }
      }
      linkUp(handle, role: role, address: onAir, identity: resolved, timing: timing, now: now, into: &output)
    } else if radio.isConnecting {
      withRadio(now: now, into: &output) { $0.connectionFailed(status, &$1) }
    }
  }

  /// The peer's link layer asks for other parameters (Vol 4, Part E, 7.7.65.6): taken where they are valid.
  private mutating func answer(
    _ request: HCI.LERemoteConnectionParameterRequest, now: Instant, into output: inout HostOutput
  ) {
    let isRange = request.intervalMin <= request.intervalMax
    let parameters = ConnectionParameters(
      interval: request.intervalMin...max(request.intervalMin, request.intervalMax), latency: request.maxLatency,
      supervisionTimeout: request.timeout)
    if isRange, parameters.isValid {
      let reply = HCI.LERemoteConnectionParameterRequestReply {
        $0.connectionHandle = request.connectionHandle
        $0.parameters = parameters.wire
      }
      send(reply, for: .reply, now: now, into: &output)
    } else {
      let refusal = HCI.LERemoteConnectionParameterRequestNegativeReply {
        $0.connectionHandle = request.connectionHandle
        $0.reason = .unacceptableConnectionParameters
      }
      send(refusal, for: .reply, now: now, into: &output)
    }
  }
}
