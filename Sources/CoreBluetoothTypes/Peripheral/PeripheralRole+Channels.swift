import BLEAdapter
import BLEGATT
import BLEHost
import BLEL2CAP
import BLEWire

/// L2CAP channels that centrals open (Vol 3, Part A, 4.22 to 4.26).
extension PeripheralRole {
  /// A request to publish a channel, or a published one.
  struct PublishedChannel: Sendable {
    /// Nil until the host has assigned it.
    var psm: SPSM?
    /// The program has withdrawn it.
    var isUnpublished = false
  }

  mutating func publishChannel(isEncrypted: Bool, into effects: inout PeripheralEffects) {
    let id = HostIDs.listen()
    channels[id] = PublishedChannel()
    let service = ChannelService(requirement: isEncrypted ? .encrypted : .open)
    effects.commands.append(.channels(.listen(id, service)))
  }

  mutating func unpublishChannel(_ psm: SPSM, into effects: inout PeripheralEffects) {
    guard let id = channels.first(where: { $0.value.psm == psm && !$0.value.isUnpublished })?.key else {
      let error = CBError(
        .invalidParameters,
        "the PSM \(psm.rawValue) is not published by this manager: use that of didPublishL2CAPChannel")
      return effects.calls.append(.didUnpublishL2CAPChannel(psm.rawValue, error))
    }
    channels[id]?.isUnpublished = true
    effects.commands.append(.channels(.stopListening(psm)))
  }

  mutating func listening(
    _ id: ListenID, _ result: Result<SPSM, HostError>, into effects: inout PeripheralEffects
  ) {
    guard channels[id] != nil else {
      // It was withdrawn with the services.
      if case .success(let psm) = result { effects.commands.append(.channels(.stopListening(psm))) }
      return
    }
    switch result {
    case .success(let psm):
      channels[id]?.psm = psm
      effects.calls.append(.didPublishL2CAPChannel(psm.rawValue, nil))
    case .failure(let error):
      channels[id] = nil
      effects.calls.append(.didPublishL2CAPChannel(0, CBError(error)))
    }
  }

  mutating func stoppedListening(_ psm: SPSM, into effects: inout PeripheralEffects) {
    guard let (id, channel) = channels.first(where: { $0.value.psm == psm }) else { return }
    channels[id] = nil
    if channel.isUnpublished { effects.calls.append(.didUnpublishL2CAPChannel(psm.rawValue, nil)) }
  }

  /// A central has opened a channel to a published PSM.
  func channelOpened(_ channel: OpenedChannel, into effects: inout PeripheralEffects) {
    guard channel.isIncoming else { return }
    effects.calls.append(.openedChannel(channel, links[channel.peer]?.central))
  }

  /// The adapter has lost what was published.
  mutating func withdrawChannels(_ error: CBError, into effects: inout PeripheralEffects) {
    for (_, channel) in channels.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let psm = channel.psm else {
        effects.calls.append(.didPublishL2CAPChannel(0, error))
        continue
      }
      if channel.isUnpublished {
        effects.calls.append(.didUnpublishL2CAPChannel(psm.rawValue, nil))
      } else {
        effects.commands.append(.channels(.stopListening(psm)))
      }
    }
    channels = [:]
  }
}

extension CBPeripheralManager {
  /// Calls the delegate with a channel; closes it where nobody takes it.
  func make(opened channel: OpenedChannel, by central: CBCentral?) {
    guard let stream = client.stream(of: channel) else { return }
    guard let central, let delegate else { return stream.close() }
    let made = CBL2CAPChannel(stream, psm: channel.spsm.rawValue, peer: central)
    delegate.peripheralManager(self, didOpen: made, error: nil)
  }
}
