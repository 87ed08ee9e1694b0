internal import BLEHCI
internal import BLEWire

/// The commands of the controller by itself: configuration and information (Vol 4, Part E, 7.3, 7.4 and 7.8).
extension VirtualController {
  mutating func performLocalCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .setEventMask:
      answer(packet, as: HCI.SetEventMask.self, &context) { me, command, _ in
        me.host.setEventMask(command.eventMask)
        return .init()
      }
    case .reset:
      answer(packet, as: HCI.Reset.self, &context) { me, _, context in
        me.resetState(&context)
        return .init()
      }
    case .setEventMaskPage2:
      answer(packet, as: HCI.SetEventMaskPage2.self, &context) { me, command, _ in
        me.host.setEventMaskPage2(command.eventMask)
        return .init()
      }
    case .readLEHostSupport:
      answer(packet, as: HCI.ReadLEHostSupport.self, &context) { me, _, _ in
        .init { $0.leSupportedHost = me.features.isLESupportedByHost }
      }
    case .writeLEHostSupport:
      answer(packet, as: HCI.WriteLEHostSupport.self, &context) { me, command, _ in
        me.features.setLESupportedByHost(command.leSupportedHost)
        return .init()
      }
    case .leSetEventMask:
      answer(packet, as: HCI.LESetEventMask.self, &context) { me, command, _ in
        me.host.setLEEventMask(command.eventMask)
        return .init()
      }
    case .leSetHostFeature:
      answer(packet, as: HCI.LESetHostFeature.self, &context) { me, command, _ in
        .init { $0.status = me.features.setHostFeature(command, hasLinks: !me.links.isEmpty) }
      }
    case .leReadRFPathCompensation:
      answer(packet, as: HCI.LEReadRFPathCompensation.self, &context) { me, _, _ in me.power.pathCompensationResponse }
    case .leWriteRFPathCompensation:
      answer(packet, as: HCI.LEWriteRFPathCompensation.self, &context) { me, command, _ in
        .init { $0.status = me.power.setPathCompensation(command) }
      }
    case .setControllerToHostFlowControl, .hostBufferSize, .hostNumberOfCompletedPackets:
      performFlowControlCommand(packet, &context)
    case .readTransmitPowerLevel, .readRSSI, .readAuthenticatedPayloadTimeout, .writeAuthenticatedPayloadTimeout:
      performLinkCommand(packet, &context)
    case .leReadSuggestedDefaultDataLength, .leWriteSuggestedDefaultDataLength, .leReadMaximumDataLength:
      performDataLengthCommand(packet, &context)
    default: readInformation(packet, &context)
    }
  }

  /// The commands of controller to host flow control (Vol 4, Part E, 7.3.38 to 7.3.40).
  private mutating func performFlowControlCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .setControllerToHostFlowControl:
      answerStatus(packet, of: HCI.SetControllerToHostFlowControl.self, &context) { me, command, _ in
        me.flowControl.setEnable(command, hasLinks: !me.links.isEmpty)
      }
    case .hostBufferSize:
      answerStatus(packet, of: HCI.HostBufferSize.self, &context) { me, command, _ in
        me.flowControl.setBufferSize(command, hasLinks: !me.links.isEmpty)
      }
    default:
      // Only an error is answered.
      guard flowControl.isOn, let command = try? HCI.HostNumberOfCompletedPackets(decoding: packet.parameters) else {
        return host.refuse(
          packet.opcode, flowControl.isOn ? .invalidCommandParameters : .commandDisallowed, &context)
      }
      flowControl.complete(command)
      sendReadyForData(&context)
    }
  }

  /// Lets the peers send again the PDUs for which the host had no buffer.
  mutating func sendReadyForData(_ context: inout RadioContext) {
    guard flowControl.isOn else { return }
    for link in links {
      context.transmissions.append(
        .init(sender: id.slot, receiver: link.peer, link: link.id, payload: .control(.readyForData)))
    }
  }

  /// The commands that read the properties of the controller.
  private mutating func readInformation(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .readLocalVersionInformation:
      answer(packet, as: HCI.ReadLocalVersionInformation.self, &context) { me, _, _ in
        .init {
          $0.hciVersion = me.configuration.version
          $0.hciSubversion = me.configuration.subversion
          $0.lmpVersion = me.configuration.version
          $0.companyIdentifier = me.configuration.companyIdentifier
          $0.lmpSubversion = me.configuration.subversion
        }
      }
    case .readLocalSupportedCommands:
      answer(packet, as: HCI.ReadLocalSupportedCommands.self, &context) { me, _, _ in
        .init { $0.supportedCommands = me.features.supportedCommands }
      }
    case .readLocalSupportedFeatures:
      answer(packet, as: HCI.ReadLocalSupportedFeatures.self, &context) { _, _, _ in
        .init { $0.features = [.brEDRNotSupported, .leSupported] }
      }
    case .readBufferSize:
      answer(packet, as: HCI.ReadBufferSize.self, &context) { me, _, _ in
        .init {
          $0.aclDataPacketLength = UInt16(clamping: me.buffers.packetLength)
          $0.totalNumACLDataPackets = UInt16(clamping: me.buffers.count)
        }
      }
    case .readBDADDR:
      answer(packet, as: HCI.ReadBDADDR.self, &context) { me, _, _ in .init { $0.address = me.addresses.publicAddress }
      }
    case .leReadBufferSize:
      answer(packet, as: HCI.LEReadBufferSize.self, &context) { me, _, _ in
        .init {
          guard !me.configuration.sharesBuffersWithBREDR else { return }
          $0.aclDataPacketLength = UInt16(clamping: me.buffers.packetLength)
          $0.totalNumACLDataPackets = UInt8(clamping: me.buffers.count)
        }
      }
    case .leReadBufferSizeV2:
      answer(packet, as: HCI.LEReadBufferSizeV2.self, &context) { me, _, _ in
        .init {
          guard !me.configuration.sharesBuffersWithBREDR else { return }
          $0.aclDataPacketLength = UInt16(clamping: me.buffers.packetLength)
          $0.totalNumACLDataPackets = UInt8(clamping: me.buffers.count)
        }
      }
    case .leReadLocalSupportedFeatures:
      answer(packet, as: HCI.LEReadLocalSupportedFeatures.self, &context) { me, _, _ in
        .init { $0.features = me.features.all }
      }
    case .leReadSupportedStates:
      answer(packet, as: HCI.LEReadSupportedStates.self, &context) { _, _, _ in .init { $0.states = 0x3FF_FFFF_FFFF } }
    case .leReadTransmitPower:
      answer(packet, as: HCI.LEReadTransmitPower.self, &context) { me, _, _ in
        .init {
          $0.minTXPower = me.power.range.lowerBound
          $0.maxTXPower = me.power.range.upperBound
        }
      }
    default:
      // Every command of `SupportedCommand.all` has its case.
      host.complete(packet.opcode, HCI.StatusResponse { $0.status = .unknownCommand }, &context)
    }
  }
}
