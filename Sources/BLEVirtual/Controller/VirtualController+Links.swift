internal import BLEHCI
internal import BLEWire

/// The commands for one link (Vol 4, Part E, 7.1.6, 7.1.23, 7.5.4, 7.8.18 to 7.8.21, 7.8.31 to 7.8.33 and 7.8.47 to
/// 7.8.49).
extension VirtualController {
  mutating func performLinkCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .disconnect:
      answer(packet, as: HCI.Disconnect.self, &context) { me, command, _ in
        guard me.linkIndex(command.connectionHandle) != nil else {
          return .init { $0.status = .unknownConnectionIdentifier }
        }
        let reasons: [HCIErrorCode] = [
          .authenticationFailure, .remoteUserTerminatedConnection, .remoteDeviceTerminatedLowResources,
          .remoteDeviceTerminatedPowerOff, .unsupportedRemoteFeature, .pairingWithUnitKeyNotSupported,
          .unacceptableConnectionParameters,
        ]
        return .init { $0.status = reasons.contains(command.reason) ? .success : .invalidCommandParameters }
      } then: { me, command, context in
        guard let index = me.linkIndex(command.connectionHandle) else { return }
        me.send(.terminate(command.reason), on: index, &context)
      }
    case .readRemoteVersionInformation:
      requestFromPeer(packet, as: HCI.ReadRemoteVersionInformation.self, .versionRequest, &context)
    case .leReadRemoteFeatures:
      answer(packet, as: HCI.LEReadRemoteFeatures.self, &context) { me, command, _ in
        guard let index = me.linkIndex(command.connectionHandle) else {
          return .init { $0.status = .unknownConnectionIdentifier }
        }
        let mayAsk =
          me.links[index].role == .central || me.features.contains(.peripheralInitiatedFeaturesExchange)
        return .init { $0.status = mayAsk ? .success : .commandDisallowed }
      } then: { me, command, context in
        if let index = me.linkIndex(command.connectionHandle) { me.send(.featureRequest, on: index, &context) }
      }
    case .leRequestPeerSCA: requestFromPeer(packet, as: HCI.LERequestPeerSCA.self, .clockAccuracyRequest, &context)
    case .leConnectionUpdate:
      answer(packet, as: HCI.LEConnectionUpdate.self, &context) { me, command, _ in
        .init { $0.status = me.refusal(of: command) ?? .success }
      } then: { me, command, context in
        if let index = me.linkIndex(command.connectionHandle) { me.update(index, command.parameters, &context) }
      }
    case .leRemoteConnectionParameterRequestReply, .leRemoteConnectionParameterRequestNegativeReply:
      replyToParameterRequest(packet, &context)
    case .leSetDataLength: performDataLengthCommand(packet, &context)
    case .leReadPHY, .leSetDefaultPHY, .leSetPHY: performPHYCommand(packet, &context)
    case .leSetHostChannelClassification, .leReadChannelMap: performChannelCommand(packet, &context)
    default: readLink(packet, &context)
    }
  }

  /// Performs a command by a request to the peer.
  private mutating func requestFromPeer<Command: LinkCommand>(
    _ packet: HCICommandPacket, as type: Command.Type, _ question: LinkLayerPDU, _ context: inout RadioContext
  ) where Command.Response == HCI.AnsweredByStatus {
    answer(packet, as: type, &context) { me, command, _ in
      .init { $0.status = me.linkIndex(command.connectionHandle) == nil ? .unknownConnectionIdentifier : .success }
    } then: { me, command, context in
      if let index = me.linkIndex(command.connectionHandle) { me.send(question, on: index, &context) }
    }
  }

  private mutating func readLink(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .readRSSI:
      answer(packet, as: HCI.ReadRSSI.self, &context) { me, command, _ in
        let index = me.linkIndex(command.connectionHandle)
        return .init {
          $0.status = index == nil ? .unknownConnectionIdentifier : .success
          $0.connectionHandle = command.connectionHandle
          $0.rssi = index.map { me.links[$0].rssi } ?? 127
        }
      }
    case .readTransmitPowerLevel:
      answer(packet, as: HCI.ReadTransmitPowerLevel.self, &context) { me, command, _ in
        let isKnown = me.linkIndex(command.connectionHandle) != nil
        return .init {
          $0.status =
            !isKnown ? .unknownConnectionIdentifier : command.kind > 1 ? .invalidCommandParameters : .success
          $0.connectionHandle = command.connectionHandle
          $0.txPowerLevel = command.kind == 1 ? me.power.range.upperBound : me.power.level
        }
      }
    case .readAuthenticatedPayloadTimeout:
      answer(packet, as: HCI.ReadAuthenticatedPayloadTimeout.self, &context) { me, command, _ in
        let index = me.linkIndex(command.connectionHandle)
        return .init {
          $0.status = index == nil ? .unknownConnectionIdentifier : .success
          $0.connectionHandle = command.connectionHandle
          $0.authenticatedPayloadTimeout = index.map { me.links[$0].authenticatedPayloadTimeout } ?? 0
        }
      }
    default:
      answer(packet, as: HCI.WriteAuthenticatedPayloadTimeout.self, &context) { me, command, _ in
        let response = HCI.LinkResponse { $0.connectionHandle = command.connectionHandle }
        guard let index = me.linkIndex(command.connectionHandle) else {
          return response.refused(.unknownConnectionIdentifier)
        }
        guard command.authenticatedPayloadTimeout > 0 else { return response.refused(.invalidCommandParameters) }
        me.links[index].authenticatedPayloadTimeout = command.authenticatedPayloadTimeout
        return response
      }
    }
  }

  // MARK: Connection parameters

  private func refusal(of command: HCI.LEConnectionUpdate) -> HCIErrorCode? {
    guard let index = linkIndex(command.connectionHandle) else { return .unknownConnectionIdentifier }
    guard command.parameters.isValid else { return .invalidCommandParameters }
    if links[index].role == .peripheral {
      guard features.contains(.connectionParametersRequest) else { return .commandDisallowed }
      guard !links[index].isAwaitingParameterReply else { return .commandDisallowed }
    }
    return nil
  }

  /// Starts an update: the central sends the new timing, the peripheral requests it.
  private mutating func update(_ index: Int, _ parameters: HCI.ConnectionParameters, _ context: inout RadioContext) {
    if links[index].role == .central {
      send(.connectionUpdate(parameters.timing), on: index, &context)
    } else {
      links[index].isAwaitingParameterReply = true
      send(.connectionParameterRequest(parameters), on: index, &context)
    }
  }

  /// Applies new timing on this end and reports it to the host.
  mutating func apply(_ timing: LinkTiming, on index: Int, _ context: inout RadioContext) {
    links[index].timing = timing
    links[index].isAwaitingParameterReply = false
    if links[index].nextEvent != nil { links[index].nextEvent = links[index].connectionEvent(after: context.now) }
    reportUpdate(index, .success, &context)
  }

  mutating func reportUpdate(_ index: Int, _ status: HCIErrorCode, _ context: inout RadioContext) {
    let link = links[index]
    host.send(
      HCI.LEConnectionUpdateComplete {
        $0.status = status
        $0.connectionHandle = link.handle
        $0.connectionInterval = link.timing.interval
        $0.peripheralLatency = link.timing.latency
        $0.supervisionTimeout = link.timing.timeout
      }, &context)
  }

  /// Receives a parameter request of the peripheral. The host answers it if it has unmasked the event; otherwise it is
  /// rejected.
  mutating func receiveParameterRequest(
    _ wanted: HCI.ConnectionParameters, on index: Int, _ context: inout RadioContext
  ) {
    let handle = links[index].handle
    guard features.contains(.connectionParametersRequest),
      host.allows(LESubeventCode.remoteConnectionParameterRequest)
    else {
      return send(.connectionParameterReject(.unsupportedRemoteFeature), on: index, &context)
    }
    links[index].isAwaitingParameterReply = true
    host.send(
      HCI.LERemoteConnectionParameterRequest {
        $0.connectionHandle = handle
        $0.intervalMin = wanted.connectionIntervalMin
        $0.intervalMax = wanted.connectionIntervalMax
        $0.maxLatency = wanted.maxLatency
        $0.timeout = wanted.supervisionTimeout
      }, &context)
  }

  private mutating func replyToParameterRequest(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leRemoteConnectionParameterRequestReply {
      answer(packet, as: HCI.LERemoteConnectionParameterRequestReply.self, &context) { me, command, _ in
        let response = me.checkParameterRequest(on: command.connectionHandle)
        guard response.status.isSuccess, !command.parameters.isValid else { return response }
        return response.refused(.invalidCommandParameters)
      } then: { me, command, context in
        guard let index = me.linkIndex(command.connectionHandle) else { return }
        me.links[index].isAwaitingParameterReply = false
        me.send(.connectionUpdate(command.parameters.timing), on: index, &context)
      }
    } else {
      answer(packet, as: HCI.LERemoteConnectionParameterRequestNegativeReply.self, &context) { me, command, _ in
        me.checkParameterRequest(on: command.connectionHandle)
      } then: { me, command, context in
        guard let index = me.linkIndex(command.connectionHandle) else { return }
        me.links[index].isAwaitingParameterReply = false
        me.send(.connectionParameterReject(command.reason), on: index, &context)
      }
    }
  }

  /// The response to the host's answer to a parameter request: an error if there was none on that link.
  private func checkParameterRequest(on handle: ConnectionHandle) -> HCI.LinkResponse {
    let response = HCI.LinkResponse { $0.connectionHandle = handle }
    guard let index = linkIndex(handle) else { return response.refused(.unknownConnectionIdentifier) }
    let wasAsked = links[index].role == .central && links[index].isAwaitingParameterReply
    return wasAsked ? response : response.refused(.commandDisallowed)
  }
}

extension HCI.LinkResponse {
  func refused(_ status: HCIErrorCode) -> Self {
    var copy = self
    copy.status = status
    return copy
  }
}
