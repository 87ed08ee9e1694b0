internal import BLEHCI
internal import BLEWire

/// What goes out on a link and what comes in.
extension VirtualController {
  /// Sends a control PDU: at once, or at the next connection event. A silent link keeps it for ever.
  mutating func send(_ pdu: LinkLayerPDU, on index: Int, _ air: inout Air) {
    let link = links[index]
    guard !link.isCut else { return }
    if air.pacing == .immediate || pdu.isNoPDU {
      air.transmissions.append(.init(sender: id.slot, receiver: link.peer, link: link.id, payload: .control(pdu)))
    } else {
      links[index].keep(pdu)
      requestEvent(on: index, &air)
    }
  }

  /// Data may move again: at once, or from the next connection event on.
  mutating func release(_ index: Int, _ air: inout Air) {
    guard !links[index].waiting.isEmpty, !links[index].holdsData else { return }
    if air.pacing == .immediate {
      let link = links[index]
      for waiting in link.waiting {
        air.transmissions.append(
          .init(
            sender: id.slot, receiver: link.peer, link: link.id,
            payload: .data(buffer: waiting.buffer, isStart: waiting.isStart)))
      }
      links[index].waiting.removeAll(keepingCapacity: true)
    } else {
      requestEvent(on: index, &air)
    }
  }

  /// Something waits for the next connection event.
  private mutating func requestEvent(on index: Int, _ air: inout Air) {
    let link = links[index]
    if air.pacing == .airtime {
      air.connections.requestEvent(on: link.id, for: link.role, now: air.now)
    } else if link.nextEvent == nil {
      links[index].nextEvent = link.connectionEvent(after: air.now)
    }
  }

  /// One connection event: every control PDU and so many data packets.
  mutating func transmit(at index: Int, _ air: inout Air) {
    let link = links[index]
    for pdu in link.controls {
      air.transmissions.append(.init(sender: id.slot, receiver: link.peer, link: link.id, payload: .control(pdu)))
    }
    links[index].controls.removeAll(keepingCapacity: true)
    if case .connectionEvents(let limit) = air.pacing, !link.holdsData {
      let sent = link.waiting.prefix(max(1, limit))
      for waiting in sent {
        air.transmissions.append(
          .init(
            sender: id.slot, receiver: link.peer, link: link.id,
            payload: .data(buffer: waiting.buffer, isStart: waiting.isStart)))
      }
      links[index].waiting.removeFirst(sent.count)
    }
    let isIdle = links[index].waiting.isEmpty || links[index].holdsData
    links[index].nextEvent = isIdle ? nil : links[index].connectionEvent(after: air.now)
  }

  /// Takes a control PDU from the peer.
  mutating func receive(_ pdu: LinkLayerPDU, on index: Int, _ air: inout Air) {
    switch pdu {
    case .terminate(let reason): close(index, reason, &air)
    case .silence: cut(index, &air)
    case .readyForData:
      links[index].isBlocked = false
      release(index, &air)
    case .integrityFailure: close(index, .terminatedMICFailure, &air)
    case .connectionUpdate(let timing): apply(timing, on: index, &air)
    case .connectionParameterRequest(let parameters): considerParameters(parameters, on: index, &air)
    case .connectionParameterReject(let reason):
      links[index].isAwaitingParameterReply = false
      reportUpdate(index, reason, &air)
    case .encryptionRequest(let randomNumber, let encryptedDiversifier, let sessionKeyDiversifier):
      considerEncryption(
        randomNumber: randomNumber, encryptedDiversifier: encryptedDiversifier,
        sessionKeyDiversifier: sessionKeyDiversifier, on: index, &air)
    case .encryptionReject(let reason): finishEncryption(reason, on: index, &air)
    case .startEncryption(let sessionKey): startEncryption(sessionKey, on: index, &air)
    case .encryptionStarted:
      if air.pacing == .airtime, links[index].role == .peripheral { send(.encryptionStarted, on: index, &air) }
      finishEncryption(.success, on: index, &air)
    case .pauseEncryptionRequest:
      links[index].encryption = .paused
      send(.pauseEncryptionResponse, on: index, &air)
    case .pauseEncryptionResponse: resumeEncryption(on: index, &air)
    default: exchange(pdu, on: index, &air)
    }
  }

  /// Questions about what the two ends are and can, and their answers.
  private mutating func exchange(_ pdu: LinkLayerPDU, on index: Int, _ air: inout Air) {
    let handle = links[index].handle
    switch pdu {
    case .featureRequest: send(.featureResponse(configuration.features.union(hostFeatures)), on: index, &air)
    case .featureResponse(let features):
      send(
        HCI.LEReadRemoteFeaturesComplete {
          $0.connectionHandle = handle
          $0.features = features
        }, &air)
    case .versionRequest:
      send(
        .versionResponse(
          version: configuration.version, companyIdentifier: configuration.companyIdentifier,
          subversion: configuration.subversion), on: index, &air)
    case .versionResponse(let version, let companyIdentifier, let subversion):
      send(
        HCI.ReadRemoteVersionInformationComplete {
          $0.connectionHandle = handle
          $0.version = version
          $0.companyIdentifier = companyIdentifier
          $0.subversion = subversion
        }, &air)
    case .lengthRequest(let length):
      guard configuration.features.contains(.dataPacketLengthExtension) else { return }
      links[index].localDataLength =
        links[index].localDataLength == .initial ? suggestedDataLength : links[index].localDataLength
      send(.lengthResponse(links[index].localDataLength), on: index, &air)
      agreeDataLength(length, on: index, &air)
    case .lengthResponse(let length): agreeDataLength(length, on: index, &air)
    case .phyRequest(let transmit, let receive): agreePHY(transmit: transmit, receive: receive, on: index, &air)
    case .phyResponse(let transmit, let receive):
      send(.phyUpdate(transmit: receive, receive: transmit), on: index, &air)
    case .phyUpdate(let transmit, let receive): apply(transmit: transmit, receive: receive, on: index, &air)
    case .channelMap(let map): links[index].channelMap = map
    case .clockAccuracyRequest: send(.clockAccuracyResponse, on: index, &air)
    case .clockAccuracyResponse:
      send(HCI.LERequestPeerSCAComplete { $0.connectionHandle = handle }, &air)
    default: break
    }
  }

  /// The peer has the PDU: what it means for the sender.
  mutating func acknowledge(_ pdu: LinkLayerPDU, on index: Int, _ air: inout Air) {
    switch pdu {
    case .terminate(let reason):
      close(index, reason == .pinOrKeyMissing ? reason : .terminatedByLocalHost, &air)
    case .connectionUpdate(let timing): apply(timing, on: index, &air)
    default: break
    }
  }
}
