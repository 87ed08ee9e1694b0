internal import BLEHCI
internal import BLEWire

/// A pending connection request of the host (Vol 4, Part E, 7.8.12 and 7.8.66).
struct Initiator: Sendable {
  var filterPolicy: HCI.InitiatorFilterPolicy
  var peerAddress: DeviceAddress
  var ownAddressType: HCI.OwnAddressType
  var parameters: HCI.ConnectionParameters
  /// Whether it receives extended advertisements too.
  var isExtended: Bool
  /// The connection parameters for each initiating PHY; ``parameters`` are those of the first.
  var parametersByPHY: [HCI.PHY: HCI.ConnectionParameters]
  /// The scan windows, with airtime.
  var schedule: ScanSchedule

  func addressRequest(_ random: BD_ADDR?, for peer: DeviceAddress) -> OwnAddressRequest {
    OwnAddressRequest(type: ownAddressType, random: random, peer: peer)
  }

  /// The connection parameters for a link that begins on `phy`; nil if `phy` is no initiating PHY.
  func parameters(on phy: HCI.PHY) -> HCI.ConnectionParameters? { parametersByPHY[phy] }
}

/// The fields of a connection complete event.
struct ConnectionReport: Sendable {
  var status = HCIErrorCode.success
  var handle = ConnectionHandle(rawValue: 0)
  var role: HCI.Role
  var peerAddress: DeviceAddress
  var localResolvableAddress: BD_ADDR?
  var peerResolvableAddress: BD_ADDR?
  var timing = LinkTiming(interval: 0, latency: 0, timeout: 0)
}

/// The beginning and the end of links.
extension VirtualController {
  /// LE Create Connection and LE Extended Create Connection.
  mutating func createConnection(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leCreateConnection {
      answer(packet, as: HCI.LECreateConnection.self, &context) { me, command, context in
        var schedule = ScanSchedule([.le1M: .init(interval: command.scanInterval, window: command.scanWindow)])
        schedule.start = context.now
        let initiator = Initiator(
          filterPolicy: command.initiatorFilterPolicy, peerAddress: command.peerAddress,
          ownAddressType: command.ownAddressType, parameters: command.parameters, isExtended: false,
          parametersByPHY: [.le1M: command.parameters], schedule: schedule)
        let scan = HCI.InitiatingParameters {
          $0.scanInterval = command.scanInterval
          $0.scanWindow = command.scanWindow
        }
        return .init { $0.status = me.initiate(initiator, [scan], &context) }
      }
    } else {
      answer(packet, as: HCI.LEExtendedCreateConnection.self, &context) { me, command, context in
        guard let first = command.initiations.first else { return .init { $0.status = .invalidCommandParameters } }
        guard command.initiatingPHYs.isSubset(of: [.le1M, .le2M, .leCoded]) else {
          return .init { $0.status = .unsupportedFeatureOrParameterValue }
        }
        guard command.initiations.allSatisfy({ $0.parameters.isValid }) else {
          return .init { $0.status = .invalidCommandParameters }
        }
        let initiations = Array(zip(command.initiatingPHYs.phys, command.initiations))
        let windows = initiations.map { phy, initiation in
          (phy, ScanSchedule.Windows(interval: initiation.scanInterval, window: initiation.scanWindow))
        }
        var schedule = ScanSchedule(Dictionary(windows, uniquingKeysWith: { first, _ in first }))
        schedule.start = context.now
        let initiator = Initiator(
          filterPolicy: command.initiatorFilterPolicy, peerAddress: command.peerAddress,
          ownAddressType: command.ownAddressType, parameters: first.parameters, isExtended: true,
          parametersByPHY: Dictionary(
            initiations.map { ($0, $1.parameters) }, uniquingKeysWith: { first, _ in first }),
          schedule: schedule)
        return .init { $0.status = me.initiate(initiator, command.initiations, &context) }
      }
    }
  }

  private mutating func initiate(
    _ wanted: Initiator, _ scans: [HCI.InitiatingParameters], _ context: inout RadioContext
  ) -> HCIErrorCode {
    guard initiator == nil else { return .commandDisallowed }
    let range: ClosedRange<UInt16> = 0x0004...(wanted.isExtended ? 0xFFFF : 0x4000)
    for scan in scans {
      guard range.contains(scan.scanInterval), range.contains(scan.scanWindow), scan.scanWindow <= scan.scanInterval
      else { return .invalidCommandParameters }
    }
    guard wanted.parameters.isValid, wanted.filterPolicy.rawValue <= 1, wanted.ownAddressType.rawValue <= 3,
      wanted.filterPolicy == .acceptList || wanted.peerAddress.kind.rawValue <= 3,
      ownAddress(for: wanted.addressRequest(addresses.random, for: wanted.peerAddress), context) != nil
    else { return .invalidCommandParameters }
    guard links.count < maximumLinks else { return .connectionLimitExceeded }
    if wanted.filterPolicy == .peerAddress,
      links.contains(where: { $0.peerAddress.identity == wanted.peerAddress.identity })
    {
      return .connectionAlreadyExists
    }
    initiator = wanted
    return .success
  }

  /// Performs LE Create Connection Cancel (Vol 4, Part E, 7.8.13).
  mutating func cancelConnection(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    answer(packet, as: HCI.LECreateConnectionCancel.self, &context) { me, _, _ in
      .init { $0.status = me.initiator == nil ? .commandDisallowed : .success }
    } then: { me, _, context in
      let peer = me.initiator?.filterPolicy == .peerAddress ? me.initiator?.peerAddress : nil
      me.initiator = nil
      let nobody = DeviceAddress(octets: BD_ADDR(), kind: .public)
      me.reportConnection(
        ConnectionReport(status: .unknownConnectionIdentifier, role: .central, peerAddress: peer ?? nobody), &context)
    }
  }

  /// The own address and the parameters of a connect request, if `advertisement` matches the pending connection
  /// request.
  mutating func connectRequest(
    for advertisement: Advertisement, _ context: inout RadioContext
  ) -> (ownAddress: DeviceAddress, parameters: HCI.ConnectionParameters)? {
    guard let initiator, advertisement.properties.contains(.connectable), let address = advertisement.address,
      initiator.isExtended || advertisement.isLegacyPDU, links.count < maximumLinks,
      let parameters = initiator.parameters(on: advertisement.linkPHY)
    else { return nil }
    let resolved = resolvingList.resolve(address, context.cryptography)
    if resolved == nil, resolvingList.rejects(address) { return nil }
    let identity = (resolved ?? address).identity
    if initiator.filterPolicy == .acceptList {
      guard acceptList.contains(identity) else { return nil }
    } else {
      guard identity == initiator.peerAddress.identity || address == initiator.peerAddress else { return nil }
    }
    if links.contains(where: { $0.peerAddress.identity == identity }) { return nil }
    if advertisement.properties.contains(.directed), !isOwnAddress(advertisement.target, context) { return nil }
    guard let own = ownAddress(for: initiator.addressRequest(addresses.random, for: identity), context) else {
      return nil
    }
    return (own, parameters)
  }

  /// Opens this end of a new link and reports it to the host.
  ///
  /// - Parameter advertisement: the advertisement that was answered. The peripheral's set ends with the connection.
  mutating func open(
    _ id: UInt64, as role: HCI.Role, ownAddress: DeviceAddress, peer: Int, peerAddress: DeviceAddress,
    rssi: Int8, timing: LinkTiming, from advertisement: Advertisement, _ context: inout RadioContext
  ) {
    guard let handle = newHandle() else { return }
    let resolved = resolvingList.resolve(peerAddress, context.cryptography)
    if let resolved { resolvingList.record(peerAddress.octets, of: resolved) }
    let known = resolved ?? peerAddress
    links.append(
      VirtualLink(
        id: id, handle: handle, role: role, peer: peer, peerAddress: known, rssi: rssi, anchor: context.now,
        timing: timing))
    if role == .central { initiator = nil }

    let isPrivate = ownAddress.randomKind == .resolvablePrivate && ownAddress.octets != addresses.random
    reportConnection(
      ConnectionReport(
        handle: handle, role: role, peerAddress: known, localResolvableAddress: isPrivate ? ownAddress.octets : nil,
        peerResolvableAddress: resolved == nil ? nil : peerAddress.octets, timing: timing), &context)
    if role == .peripheral, let index = setIndex(advertisement.handle) {
      let set = advertisingSets[index]
      advertisingSets[index].running = nil
      reportTermination(of: set, status: .success, link: handle, eventsDone: set.running?.eventsDone ?? 0, &context)
    }
    if features.contains(.channelSelectionAlgorithm2) {
      host.send(
        HCI.LEChannelSelectionAlgorithm {
          $0.connectionHandle = handle
          $0.channelSelectionAlgorithm = 1
        }, &context)
    }
    if suggestedDataLength.octets > DataLength.initial.octets {
      requestDataLength(suggestedDataLength, on: links.count - 1, &context)
    }
  }

  /// Sends the connection complete event that the host has unmasked. The enhanced event has precedence; the other one has no address
  /// types for identities that the controller has resolved (Vol 4, Part E, 7.7.65.1 and 7.7.65.10).
  mutating func reportConnection(_ report: ConnectionReport, _ context: inout RadioContext) {
    if host.allows(.enhancedConnectionComplete) {
      host.send(
        HCI.LEEnhancedConnectionComplete {
          $0.status = report.status
          $0.connectionHandle = report.handle
          $0.role = report.role
          $0.peerAddress = report.peerAddress
          $0.localResolvablePrivateAddress = report.localResolvableAddress ?? BD_ADDR()
          $0.peerResolvablePrivateAddress = report.peerResolvableAddress ?? BD_ADDR()
          $0.connectionInterval = report.timing.interval
          $0.peripheralLatency = report.timing.latency
          $0.supervisionTimeout = report.timing.timeout
        }, &context)
    } else {
      host.send(
        HCI.LEConnectionComplete {
          $0.status = report.status
          $0.connectionHandle = report.handle
          $0.role = report.role
          $0.peerAddress = report.peerAddress.identity
          $0.connectionInterval = report.timing.interval
          $0.peripheralLatency = report.timing.latency
          $0.supervisionTimeout = report.timing.timeout
        }, &context)
    }
  }

  func linkIndex(_ handle: ConnectionHandle) -> Int? { links.firstIndex { $0.handle == handle } }

  /// Ends the link on this side and reports the reason to the host.
  mutating func close(_ index: Int, _ reason: HCIErrorCode, _ context: inout RadioContext) {
    let handle = links[index].handle
    removeLink(index, &context)
    sendReadyForData(&context)
    host.send(
      HCI.DisconnectionComplete {
        $0.connectionHandle = handle
        $0.reason = reason
      }, &context)
  }

  /// Removes the link and frees its buffers. There is no Number Of Completed Packets for them: the host regards them as
  /// free after Disconnection Complete (Vol 4, Part E, 4.3).
  mutating func removeLink(_ index: Int, _ context: inout RadioContext) {
    context.connections.leave(links[index].id)
    for waiting in links[index].waiting { freeBuffers.append(waiting.buffer) }
    flowControl.usedBuffers -= links[index].heldByHost
    links.remove(at: index)
  }

  /// Stops the link. It ends when the supervision timeout is over.
  ///
  /// With airtime the timeout counts from the latest event. A link without a first event ends 6 intervals after its
  /// beginning (Vol 6, Part B, 4.5.2).
  mutating func cut(_ index: Int, _ context: inout RadioContext) {
    let link = links[index]
    guard !link.isCut else { return }
    var end = context.now + link.timing.supervisionTimeout
    if let connection = context.connections[link.id] {
      if connection.isEstablished {
        end = connection.schedule.latestAnchor(at: context.now) + link.timing.supervisionTimeout
      } else {
        end = link.anchor + link.timing.intervalDuration * 6
        links[index].supervisionReason = .connectionFailedToBeEstablished
      }
      context.connections.stop(link.id)
    }
    links[index].supervisionEnd = max(context.now, end)
  }

  mutating func cutAllLinks(_ context: inout RadioContext) {
    for index in links.indices where !links[index].isCut {
      send(.silence, on: index, &context)
      cut(index, &context)
    }
  }

  /// Does everything that is due on the links: supervision timeouts and connection events.
  mutating func tickLinks(_ context: inout RadioContext) {
    for index in links.indices.reversed() {
      if let end = links[index].supervisionEnd {
        if end <= context.now { close(index, links[index].supervisionReason, &context) }
      } else if let event = links[index].nextEvent, event <= context.now {
        transmit(at: index, &context)
      }
    }
  }
}

extension HCI.ConnectionParameters {
  /// The timing that the controller chooses: the shortest interval.
  var timing: LinkTiming {
    LinkTiming(interval: connectionIntervalMin, latency: maxLatency, timeout: supervisionTimeout)
  }
}
