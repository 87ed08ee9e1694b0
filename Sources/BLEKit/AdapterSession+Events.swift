import BLEAdapter
import BLEHCI
import BLEHost
import BLELinux
import BLESMP

extension AdapterSession {
  /// Changes the state as an event says.
  func apply(_ event: HostEvent, _ state: inout State, _ actions: inout Actions) {
    guard !state.isClosed else { return }
    switch event {
    case .state(let power, let reason):
      // The hub exists before the first event of a host.
      state.lacksHost = client.hub == nil && (power == .unsupported || power == .unauthorized)
      state.powerChanged(power, client.reason(reason), into: &actions)
    case .address(let address): state.address = address
    case .services(.added(let id, let result)):
      state.waits.answer(.serviceAdd(id), result.map { _ in }.mapError(BLEError.init), into: &actions)
    case .services(.removed(let id, _)): state.serviceRemoved(id, into: &actions)
    case .advertising(let id, let event): state.apply(event, of: id, into: &actions)
    case .scanning(.stopped(let error)): state.scanStopped(error, into: &actions)
    case .synchronizing(let id, let event): state.apply(event, of: id, into: &actions)
    case .connected(let connection): state.connected(connection, of: self, into: &actions)
    case .connectionFailed(let id, let error):
      state.abandonedConnects.remove(id)
      state.waits.answer(.connection(id), .failure(BLEError(error)), into: &actions)
    case .link(let peer, let event): state.apply(event, of: peer, into: &actions)
    case .client(let peer, let event): state.client(peer, event, of: self, into: &actions)
    case .server(let peer, let event): state.apply(event, from: peer, of: self, into: &actions)
    case .pairing(let peer, let event): state.apply(event, of: peer, of: self, into: &actions)
    case .bonds(.lost(let peer, _, let loss)):
      state.links[peer]?.bondLoss = loss
      state.proven(peer, into: &actions)
      state.pairingEnded(peer, .failure(BLEError(loss)), into: &actions)
    case .channels(.listening(let id, let result)): state.listening(id, result, into: &actions)
    case .channels(.stoppedListening(let psm)): state.waits.answer(.listenEnd(psm), .success(()), into: &actions)
    case .channels(.opened(let channel)): state.channelOpened(channel, of: self, into: &actions)
    case .channels(.openFailed(let id, let error)): state.channelNotOpened(id, error, into: &actions)
    // The session has handled it before.
    case .scanning(.discovered): break
    // Without the lock: the handler of the log is the application's, and may use the adapter.
    case .refused(let error): actions.later { BluetoothLog.write(.notice("\(error)")) }
    // The adapter's client, and its hub, handle these.
    case .channel, .capabilities, .diagnostic: break
    // BLEKit reports neither: `Adapter.bonds` has the bonds.
    case .bonds(.changed), .bonds(.removed), .bonds(.replaced), .foreignLink: break
    }
  }
}

extension AdapterSession.State {
  fileprivate mutating func apply(
    _ event: HostEvent.Advertising, of id: AdvertisingID, into actions: inout Actions
  ) {
    switch event {
    case .started(let result):
      waits.answer(.advertisingStart(id), result.mapError(BLEError.init), into: &actions)
    case .paused(let status):
      advertisingStreams.yield(.paused(status.map { DisconnectReason(rawValue: $0.rawValue) }), into: &actions)
    case .resumed: advertisingStreams.yield(.resumed, into: &actions)
    case .ended(let error): advertisingEnded(id, BLEError(error), into: &actions)
    case .trainUpdated(let token, let result):
      waits.answer(.trainUpdate(token), result.mapError(BLEError.init), into: &actions)
    case .transferred(let peer, let result):
      waits.answer(.trainTransfer(id, peer), result.mapError(BLEError.init), into: &actions)
    }
  }

  fileprivate mutating func apply(_ event: HostEvent.Link, of peer: LinkID, into actions: inout Actions) {
    switch event {
    case .identified(let identity):
      links[peer]?.address = identity
      clients[peer]?.address = identity
    case .disconnected(let reason): disconnected(peer, reason, into: &actions)
    case .mtu(let mtu):
      links[peer]?.mtu = mtu
      proven(peer, into: &actions)
    case .connectionUpdated(let timing):
      timingChanged(peer, timing, into: &actions)
      proven(peer, into: &actions)
    case .connectionUpdateRefused(let error):
      waits.answer(.timing(peer), .failure(BLEError(error)), into: &actions)
    case .dataLength(let length): links[peer]?.dataLength = length
    case .phy(let result): phyChanged(peer, result, into: &actions)
    case .subrating(let result): subratingChanged(peer, result, into: &actions)
    case .connectionRate(let result): connectionRateChanged(peer, result, into: &actions)
    case .rssi(let result): rssi(peer, result, into: &actions)
    case .power(let event): powerChanged(peer, event, into: &actions)
    case .security(let security): securityChanged(peer, security, into: &actions)
    }
  }

  fileprivate mutating func apply(
    _ event: HostEvent.Server, from peer: LinkID, of session: AdapterSession, into actions: inout Actions
  ) {
    switch event {
    case .requestTimedOut(let token): requestTimedOut(peer, token, into: &actions)
    case .subscription(let attribute, let subscription):
      subscriptionChanged(peer, attribute, subscription, of: session, into: &actions)
    case .updateFinished(let token): updateFinished(token, on: peer, into: &actions)
    // The session has given requests to their handlers.
    case .read, .write, .command: break
    // BLEKit has no stored values, and sends no values without a token.
    case .stored, .updatesFinished: break
    }
  }

  fileprivate mutating func apply(
    _ event: HostEvent.Pairing, of peer: LinkID, of session: AdapterSession, into actions: inout Actions
  ) {
    switch event {
    case .question(let id, let question): asked(peer, id, question, of: session, into: &actions)
    case .succeeded(let device): paired(peer, device, into: &actions)
    case .failed(let failure):
      links[peer]?.pairingFailure = failure
      proven(peer, into: &actions)
      // The end of the link follows, with its reason.
      if failure.origin == .linkLost, links[peer] != nil { return }
      pairingEnded(peer, .failure(BLEError(failure)), into: &actions)
    // An answer to a question that is void changes nothing.
    case .questionWithdrawn, .keypress: break
    }
  }
}
