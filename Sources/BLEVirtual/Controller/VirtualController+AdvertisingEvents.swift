internal import BLEHCI
internal import BLEWire

/// Advertising in progress: events, scan requests, connection requests, the end of a set.
extension VirtualController {
  /// The sets whose advertising event is due.
  func setsDue(at now: Instant) -> [Int] {
    advertisingSets.indices.filter { index in
      advertisingSets[index].running.map { $0.event == nil && $0.nextEvent <= now } ?? false
    }
  }

  /// Begins an advertising event of set `index`, plans the next one, and returns the advertisement.
  mutating func advertise(_ index: Int, _ context: inout RadioContext) -> Advertisement? {
    guard var running = advertisingSets[index].running else { return nil }
    refreshAddress(of: index, &running, &context)
    let set = advertisingSets[index]
    let isHighDuty = set.properties.contains(.highDutyCycle)
    running.nextEvent = context.now + set.interval + (isHighDuty ? .zero : advertisingDelay())
    running.eventsDone += 1
    advertisingSets[index].running = running

    let carriesData = set.isLegacyPDU ? !set.isDirected : !set.isScannable
    return Advertisement(
      sender: id.slot, handle: set.handle, address: set.properties.contains(.anonymous) ? nil : running.address,
      properties: set.properties, target: set.parameters.peerAddress,
      data: carriesData ? set.data.octets : [], dataIdentifier: set.data.identifier,
      parameters: set.parameters,
      txPower: set.properties.contains(.includeTxPower) ? power.level : 127, rssi: configuration.rssi)
  }

  /// The answer of the set to a scan request from `scanner`; nil if the filter policy rejects the request.
  mutating func answerScanRequest(
    for advertisement: Advertisement, from scanner: DeviceAddress, _ context: inout RadioContext
  ) -> Advertisement? {
    guard let index = setIndex(advertisement.handle), let running = advertisingSets[index].running else { return nil }
    let set = advertisingSets[index]
    let identity = resolvingList.resolve(scanner, context.cryptography) ?? scanner
    let policy = set.parameters.advertisingFilterPolicy
    if policy == .scanRequestsFromAcceptList || policy == .acceptListOnly {
      guard acceptList.contains(identity.identity) else { return nil }
    }
    if set.parameters.scanRequestNotificationEnable, let handle = set.handle {
      host.send(
        HCI.LEScanRequestReceived {
          $0.advertisingHandle = handle
          $0.scannerAddress = identity
        }, &context)
    }
    var response = advertisement
    response.address = running.address
    response.data = set.scanResponse.octets
    response.dataIdentifier = set.scanResponse.identifier
    response.isScanResponse = true
    return response
  }

  /// Whether the set accepts a connection from `initiator`.
  func acceptsConnection(
    for advertisement: Advertisement, from initiator: DeviceAddress, _ context: RadioContext
  ) -> Bool {
    guard let index = setIndex(advertisement.handle), advertisingSets[index].running != nil,
      advertisingSets[index].isConnectable, links.count < maximumLinks
    else { return false }
    let set = advertisingSets[index]
    let resolved = resolvingList.resolve(initiator, context.cryptography)
    let identity = (resolved ?? initiator).identity
    if resolved == nil, resolvingList.rejects(initiator) { return false }
    if links.contains(where: { $0.role == .peripheral && $0.peerAddress.identity == identity }) { return false }
    if set.isDirected { return set.parameters.peerAddress == identity }
    let policy = set.parameters.advertisingFilterPolicy
    if policy == .connectionsFromAcceptList || policy == .acceptListOnly { return acceptList.contains(identity) }
    return true
  }

  /// Ends the sets whose duration is over or whose maximum number of events is reached.
  mutating func tickAdvertisingTimeouts(_ context: inout RadioContext) {
    for index in advertisingSets.indices {
      guard let running = advertisingSets[index].running else { continue }
      if let end = running.endsAt, end <= context.now {
        endAdvertising(index, .advertisingTimeout, &context)
      } else if running.maxEvents > 0, running.eventsDone >= Int(running.maxEvents), running.event == nil {
        endAdvertising(index, .limitReached, &context)
      }
    }
  }

  /// Disables a set and reports the reason. A set with the high duty cycle reports a failed connection (Vol 4, Part E,
  /// 7.7.65.1).
  private mutating func endAdvertising(_ index: Int, _ reason: HCIErrorCode, _ context: inout RadioContext) {
    let set = advertisingSets[index]
    let eventsDone = set.running?.eventsDone ?? 0
    advertisingSets[index].running = nil
    if set.properties.contains(.highDutyCycle), reason == .advertisingTimeout {
      ConnectionReport(status: reason, role: .peripheral, peerAddress: set.parameters.peerAddress)
        .send(to: host, &context)
    }
    reportTermination(of: set, status: reason, link: nil, eventsDone: eventsDone, &context)
  }

  /// Sends Advertising Set Terminated for a set of the extended commands.
  mutating func reportTermination(
    of set: AdvertisingSet, status: HCIErrorCode, link: ConnectionHandle?, eventsDone: Int,
    _ context: inout RadioContext
  ) {
    guard let handle = set.handle else { return }
    host.send(
      HCI.LEAdvertisingSetTerminated {
        $0.status = status
        $0.advertisingHandle = handle
        $0.connectionHandle = link ?? ConnectionHandle(rawValue: 0)
        let isCounted = set.running.map { $0.maxEvents > 0 } ?? (status == .limitReached)
        $0.numCompletedExtendedAdvertisingEvents = isCounted ? UInt8(clamping: eventsDone) : 0
      }, &context)
  }

  /// Renews a private address that the controller generated, if it has expired.
  private mutating func refreshAddress(
    of index: Int, _ running: inout AdvertisingSet.Running, _ context: inout RadioContext
  ) {
    let parameters = advertisingSets[index].parameters
    guard parameters.ownAddressType.rawValue >= 2 else { return }
    let random = advertisingSets[index].handle == nil ? addresses.random : advertisingSets[index].randomAddress
    let request = OwnAddressRequest(type: parameters.ownAddressType, random: random, peer: parameters.peerAddress)
    if let address = ownAddress(for: request, context) { running.address = address }
  }
}
