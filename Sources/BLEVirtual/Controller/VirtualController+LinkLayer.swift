internal import BLEHCI
internal import BLEWire

/// The Link Layer PDUs of a link.
extension VirtualController {
  /// Sends a control PDU, at once or at the next connection event. A link that is out of range sends nothing.
  mutating func send(_ pdu: LinkLayerPDU, on index: Int, _ context: inout RadioContext) {
    let link = links[index]
    guard !link.isCut else { return }
    if context.pacing == .immediate || pdu.isNoPDU {
      context.transmissions.append(.init(sender: id.slot, receiver: link.peer, link: link.id, payload: .control(pdu)))
    } else {
      links[index].keep(pdu)
      requestEvent(on: index, &context)
    }
  }

  /// Sends the waiting data, at once or from the next connection event on.
  mutating func release(_ index: Int, _ context: inout RadioContext) {
    guard !links[index].waiting.isEmpty, !links[index].holdsData else { return }
    if context.pacing == .immediate {
      let link = links[index]
      for waiting in link.waiting {
        context.transmissions.append(
          .init(
            sender: id.slot, receiver: link.peer, link: link.id,
            payload: .data(buffer: waiting.buffer, isStart: waiting.isStart)))
      }
      links[index].waiting.removeAll(keepingCapacity: true)
    } else {
      requestEvent(on: index, &context)
    }
  }

  /// Plans the next connection event, because a PDU waits for it.
  private mutating func requestEvent(on index: Int, _ context: inout RadioContext) {
    let link = links[index]
    if context.pacing == .airtime {
      context.connections.requestEvent(on: link.id, for: link.role, now: context.now)
    } else if link.nextEvent == nil {
      links[index].nextEvent = link.connectionEvent(after: context.now)
    }
  }

  /// Runs one connection event: all control PDUs, and data packets up to the limit.
  mutating func transmit(at index: Int, _ context: inout RadioContext) {
    let link = links[index]
    for pdu in link.controls {
      context.transmissions.append(.init(sender: id.slot, receiver: link.peer, link: link.id, payload: .control(pdu)))
    }
    links[index].controls.removeAll(keepingCapacity: true)
    if case .connectionEvents(let limit) = context.pacing, !link.holdsData {
      let sent = link.waiting.prefix(max(1, limit))
      for waiting in sent {
        context.transmissions.append(
          .init(
            sender: id.slot, receiver: link.peer, link: link.id,
            payload: .data(buffer: waiting.buffer, isStart: waiting.isStart)))
      }
      links[index].waiting.removeFirst(sent.count)
    }
    let isIdle = links[index].waiting.isEmpty || links[index].holdsData
    links[index].nextEvent = isIdle ? nil : links[index].connectionEvent(after: context.now)
  }

  /// Receives a control PDU from the peer.
  mutating func receive(_ pdu: LinkLayerPDU, on index: Int, _ context: inout RadioContext) {
    switch pdu {
    case .terminate(let reason): close(index, reason, &context)
    case .silence: cut(index, &context)
    case .readyForData:
      links[index].isBlocked = false
      release(index, &context)
    case .integrityFailure: close(index, .terminatedMICFailure, &context)
    case .connectionUpdate(let timing): apply(timing, on: index, &context)
    case .connectionParameterRequest(let parameters): receiveParameterRequest(parameters, on: index, &context)
    case .connectionParameterReject(let reason):
      links[index].isAwaitingParameterReply = false
      reportUpdate(index, reason, &context)
    case .encryptionRequest(let randomNumber, let encryptedDiversifier, let sessionKeyDiversifier):
      receiveEncryptionRequest(
        randomNumber: randomNumber, encryptedDiversifier: encryptedDiversifier,
        sessionKeyDiversifier: sessionKeyDiversifier, on: index, &context)
    case .encryptionReject(let reason): finishEncryption(reason, on: index, &context)
    case .startEncryption(let sessionKey): startEncryption(sessionKey, on: index, &context)
    case .encryptionStarted:
      if context.pacing == .airtime, links[index].role == .peripheral { send(.encryptionStarted, on: index, &context) }
      finishEncryption(.success, on: index, &context)
    case .pauseEncryptionRequest:
      links[index].encryption = .paused
      send(.pauseEncryptionResponse, on: index, &context)
    case .pauseEncryptionResponse: resumeEncryption(on: index, &context)
    default: exchange(pdu, on: index, &context)
    }
  }

  /// Receives a PDU of the procedures that exchange properties of the two ends.
  private mutating func exchange(_ pdu: LinkLayerPDU, on index: Int, _ context: inout RadioContext) {
    let handle = links[index].handle
    switch pdu {
    case .featureRequest: send(.featureResponse(features.all), on: index, &context)
    case .featureResponse(let features):
      host.send(
        HCI.LEReadRemoteFeaturesComplete {
          $0.connectionHandle = handle
          $0.features = features
        }, &context)
    case .versionRequest:
      send(
        .versionResponse(
          version: configuration.version, companyIdentifier: configuration.companyIdentifier,
          subversion: configuration.subversion), on: index, &context)
    case .versionResponse(let version, let companyIdentifier, let subversion):
      host.send(
        HCI.ReadRemoteVersionInformationComplete {
          $0.connectionHandle = handle
          $0.version = version
          $0.companyIdentifier = companyIdentifier
          $0.subversion = subversion
        }, &context)
    case .lengthRequest(let length):
      guard features.contains(.dataPacketLengthExtension) else { return }
      links[index].localDataLength =
        links[index].localDataLength == .initial ? suggestedDataLength : links[index].localDataLength
      send(.lengthResponse(links[index].localDataLength), on: index, &context)
      applyDataLength(length, on: index, &context)
    case .lengthResponse(let length): applyDataLength(length, on: index, &context)
    case .phyRequest(let transmit, let receive): selectPHYs(transmit: transmit, receive: receive, on: index, &context)
    case .phyResponse(let transmit, let receive):
      send(.phyUpdate(transmit: receive, receive: transmit), on: index, &context)
    case .phyUpdate(let transmit, let receive): apply(transmit: transmit, receive: receive, on: index, &context)
    case .channelMap(let map): links[index].channelMap = map
    case .clockAccuracyRequest: send(.clockAccuracyResponse, on: index, &context)
    case .clockAccuracyResponse:
      host.send(HCI.LERequestPeerSCAComplete { $0.connectionHandle = handle }, &context)
    default: break
    }
  }

  /// Applies the effect of a PDU on its sender after the peer has received it.
  mutating func acknowledge(_ pdu: LinkLayerPDU, on index: Int, _ context: inout RadioContext) {
    switch pdu {
    case .terminate(let reason):
      close(index, reason == .pinOrKeyMissing ? reason : .terminatedByLocalHost, &context)
    case .connectionUpdate(let timing): apply(timing, on: index, &context)
    default: break
    }
  }
}
