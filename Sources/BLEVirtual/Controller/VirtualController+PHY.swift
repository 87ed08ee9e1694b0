internal import BLEHCI
internal import BLEWire

/// The commands for data length, PHY and channels of a link (Vol 4, Part E, 7.8.19, 7.8.20, 7.8.33 to 7.8.35 and
/// 7.8.46 to 7.8.49).
extension VirtualController {
  mutating func performDataLengthCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leSetDataLength:
      answer(packet, as: HCI.LESetDataLength.self, &context) { me, command, _ in
        let response = HCI.LinkResponse { $0.connectionHandle = command.connectionHandle }
        guard me.linkIndex(command.connectionHandle) != nil else {
          return response.refused(.unknownConnectionIdentifier)
        }
        let isAllowed = DataLength.isAllowed(octets: command.txOctets, time: command.txTime)
        return isAllowed ? response : response.refused(.invalidCommandParameters)
      } then: { me, command, context in
        guard let index = me.linkIndex(command.connectionHandle) else { return }
        me.requestDataLength(DataLength(octets: command.txOctets, time: command.txTime), on: index, &context)
      }
    case .leReadSuggestedDefaultDataLength:
      answer(packet, as: HCI.LEReadSuggestedDefaultDataLength.self, &context) { me, _, _ in
        .init {
          $0.suggestedMaxTXOctets = me.suggestedDataLength.octets
          $0.suggestedMaxTXTime = me.suggestedDataLength.time
        }
      }
    case .leWriteSuggestedDefaultDataLength:
      answer(packet, as: HCI.LEWriteSuggestedDefaultDataLength.self, &context) { me, command, _ in
        guard DataLength.isAllowed(octets: command.suggestedMaxTXOctets, time: command.suggestedMaxTXTime) else {
          return .init { $0.status = .invalidCommandParameters }
        }
        me.suggestedDataLength = DataLength(octets: command.suggestedMaxTXOctets, time: command.suggestedMaxTXTime)
        return .init()
      }
    default:
      answer(packet, as: HCI.LEReadMaximumDataLength.self, &context) { me, _, context in
        let greatest = me.greatestDataLength(context)
        return .init {
          $0.supportedMaxTXOctets = greatest.octets
          $0.supportedMaxTXTime = greatest.time
          $0.supportedMaxRXOctets = greatest.octets
          $0.supportedMaxRXTime = greatest.time
        }
      }
    }
  }

  /// The greatest data length of the controller. With airtime it includes the time of LE Coded.
  private func greatestDataLength(_ context: RadioContext) -> DataLength {
    context.pacing == .airtime && features.contains(.leCodedPHY) ? .greatestCoded : .greatest
  }

  mutating func requestDataLength(_ length: DataLength, on index: Int, _ context: inout RadioContext) {
    guard features.contains(.dataPacketLengthExtension) else { return }
    links[index].localDataLength = length.limited(to: greatestDataLength(context))
    send(.lengthRequest(links[index].localDataLength), on: index, &context)
  }

  /// Applies the data length of both ends, and reports a change to the host.
  mutating func applyDataLength(_ peer: DataLength, on index: Int, _ context: inout RadioContext) {
    let greatest = greatestDataLength(context)
    let transmit = links[index].localDataLength.limited(to: greatest)
    let receive = peer.limited(to: greatest)
    guard links[index].transmitLength != transmit || links[index].receiveLength != receive else { return }
    links[index].transmitLength = transmit
    links[index].receiveLength = receive
    let handle = links[index].handle
    host.send(
      HCI.LEDataLengthChange {
        $0.connectionHandle = handle
        $0.maxTXOctets = transmit.octets
        $0.maxTXTime = transmit.time
        $0.maxRXOctets = receive.octets
        $0.maxRXTime = receive.time
      }, &context)
  }

  mutating func performPHYCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leReadPHY:
      answer(packet, as: HCI.LEReadPHY.self, &context) { me, command, _ in
        let index = me.linkIndex(command.connectionHandle)
        return .init {
          $0.status = index == nil ? .unknownConnectionIdentifier : .success
          $0.connectionHandle = command.connectionHandle
          $0.txPHY = index.map { me.links[$0].transmitPHY } ?? .le1M
          $0.rxPHY = index.map { me.links[$0].receivePHY } ?? .le1M
        }
      }
    case .leSetDefaultPHY:
      answer(packet, as: HCI.LESetDefaultPHY.self, &context) { me, command, _ in
        let transmit = me.choice(command.txPHYs, isFree: command.allPHYs.contains(.transmitter))
        let receive = me.choice(command.rxPHYs, isFree: command.allPHYs.contains(.receiver))
        guard let transmit, let receive else { return .init { $0.status = .unsupportedFeatureOrParameterValue } }
        me.preferredTransmitPHYs = transmit
        me.preferredReceivePHYs = receive
        return .init()
      }
    default:
      answer(packet, as: HCI.LESetPHY.self, &context) { me, command, _ in
        guard me.linkIndex(command.connectionHandle) != nil else {
          return .init { $0.status = .unknownConnectionIdentifier }
        }
        guard me.choice(command.txPHYs, isFree: command.allPHYs.contains(.transmitter)) != nil,
          me.choice(command.rxPHYs, isFree: command.allPHYs.contains(.receiver)) != nil, command.phyOptions <= 2
        else { return .init { $0.status = .unsupportedFeatureOrParameterValue } }
        return .init()
      } then: { me, command, context in
        guard let index = me.linkIndex(command.connectionHandle),
          let transmit = me.choice(command.txPHYs, isFree: command.allPHYs.contains(.transmitter)),
          let receive = me.choice(command.rxPHYs, isFree: command.allPHYs.contains(.receiver))
        else { return }
        me.links[index].isPHYRequested = true
        if command.phyOptions > 0 { me.links[index].prefersS2 = command.phyOptions == 1 }
        me.send(.phyRequest(transmit: transmit, receive: receive), on: index, &context)
      }
    }
  }

  /// The PHYs of a direction that the host allows; nil if it names none, or one that the controller does not support.
  private func choice(_ wanted: HCI.PHYs, isFree: Bool) -> HCI.PHYs? {
    if isFree { return features.linkLayer.phys }
    guard !wanted.isEmpty, wanted.isSubset(of: features.linkLayer.phys) else { return nil }
    return wanted
  }

  /// Whether the controller has a PHY.
  func supports(_ phy: HCI.PHY) -> Bool { features.linkLayer.phys.isSuperset(of: HCI.PHYs(of: [phy])) }

  /// Receives a PHY request: each direction gets the fastest PHY that both ends support, or keeps its PHY.
  mutating func selectPHYs(transmit: HCI.PHYs, receive: HCI.PHYs, on index: Int, _ context: inout RadioContext) {
    let mine = receive.intersection(features.linkLayer.phys).intersection(preferredTransmitPHYs)
    let theirs = transmit.intersection(features.linkLayer.phys).intersection(preferredReceivePHYs)
    let own = Self.fastest(mine) ?? links[index].transmitPHY
    let peers = Self.fastest(theirs) ?? links[index].receivePHY
    guard context.pacing == .airtime else {
      send(.phyUpdate(transmit: peers, receive: own), on: index, &context)
      return apply(transmit: own, receive: peers, on: index, &context)
    }
    let isPeripheral = links[index].role == .peripheral
    send(
      isPeripheral
        ? .phyResponse(transmit: peers, receive: own) : .phyUpdate(transmit: peers, receive: own), on: index, &context)
  }

  /// Applies PHYs. Reports a change to the host, and the result of its own request even without a change.
  mutating func apply(transmit: HCI.PHY, receive: HCI.PHY, on index: Int, _ context: inout RadioContext) {
    let isNew = links[index].transmitPHY != transmit || links[index].receivePHY != receive
    guard isNew || links[index].isPHYRequested else { return }
    links[index].transmitPHY = transmit
    links[index].receivePHY = receive
    links[index].isPHYRequested = false
    let handle = links[index].handle
    host.send(
      HCI.LEPHYUpdateComplete {
        $0.connectionHandle = handle
        $0.txPHY = transmit
        $0.rxPHY = receive
      }, &context)
  }

  private static func fastest(_ set: HCI.PHYs) -> HCI.PHY? {
    if set.contains(.le2M) { return .le2M }
    if set.contains(.le1M) { return .le1M }
    return set.contains(.leCoded) ? .leCoded : nil
  }

  mutating func performChannelCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leReadChannelMap {
      answer(packet, as: HCI.LEReadChannelMap.self, &context) { me, command, _ in
        let index = me.linkIndex(command.connectionHandle)
        let map = index.map { me.links[$0].channelMap } ?? 0
        return .init {
          $0.status = index == nil ? .unknownConnectionIdentifier : .success
          $0.connectionHandle = command.connectionHandle
          $0.channelMap = Bytes((0..<5).map { UInt8(truncatingIfNeeded: map >> UInt64(8 * $0)) })
        }
      }
    } else {
      answer(packet, as: HCI.LESetHostChannelClassification.self, &context) { me, command, _ in
        let map = command.channelMap.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // At least two channels stay in use, and the three upper bits are reserved (Vol 4, Part E, 7.8.19).
        guard map <= VirtualLink.allChannels, map.nonzeroBitCount >= 2 else {
          return .init { $0.status = .invalidCommandParameters }
        }
        me.channelClassification = map
        return .init()
      } then: { me, _, context in
        for index in me.links.indices where me.links[index].role == .central {
          if context.pacing != .airtime { me.links[index].channelMap = me.channelClassification }
          me.send(.channelMap(me.channelClassification), on: index, &context)
        }
      }
    }
  }
}

extension DataLength {
  fileprivate static func isAllowed(octets: UInt16, time: UInt16) -> Bool {
    (27...251).contains(octets) && (328...17040).contains(time)
  }
}
