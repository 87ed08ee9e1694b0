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

  private mutating func handle(_ event: HCIEvent, now: Instant, into output: inout HostOutput) {
    switch event.parameters {
    case let event as any SessionEvent:
      withSession(now: now, into: &output) { $0.receive(event, now: now, packets: &$1, into: &$2) }
    case let event as HCI.DisconnectionComplete:
      guard event.status == .success else { return }
      links.supersededEnded(event.connectionHandle, into: &output.packets)
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
    case let event as any LEEventParameters: handle(event, now: now, into: &output)
    default: break
    }
  }

  private mutating func handle(_ event: any LEEventParameters, now: Instant, into output: inout HostOutput) {
    switch event {
    case let event as HCI.LEConnectionComplete:
      connectionCompleted(NewLink(event), event.status, now: now, into: &output)
    case let event as HCI.LEEnhancedConnectionComplete:
      connectionCompleted(NewLink(event), event.status, now: now, into: &output)
    case let event as HCI.LEConnectionUpdateComplete:
      guard let index = links.index(of: event.connectionHandle) else { return }
      withLink(index, now: now, into: &output) { $0.updated(event, &$3) }
    case let event as HCI.LERemoteConnectionParameterRequest:
      send(LinkSignalling.answer(to: event), for: .reply, now: now, into: &output)
    case let event as HCI.LELongTermKeyRequest: longTermKeyRequested(event, now: now, into: &output)
    case let event as any RadioEvent:
      let identities = event.addresses.map { bonds.identity(of: $0, toolbox) }
      withRadio(now: now, into: &output) { $0.receive(event, by: identities, &$1) }
    case let event as HCI.LEPHYUpdateComplete:
      guard let index = links.index(of: event.connectionHandle) else { return }
      withLink(index, now: now, into: &output) { $0.phys.updated(event, into: &$3.effects) }
    default: break
    }
  }

  private mutating func connectionCompleted(
    _ new: NewLink, _ status: HCIErrorCode, now: Instant, into output: inout HostOutput
  ) {
    // A link that another program of this machine made as a central is none of ours.
    let isForeign = new.role == .central && !session.isExclusive && !radio.isConnecting
    if status != .success {
      if radio.isConnecting { withRadio(now: now, into: &output) { $0.connectionFailed(status, &$1) } }
    } else if !isForeign {
      linkUp(new, now: now, into: &output)
    }
  }
}
