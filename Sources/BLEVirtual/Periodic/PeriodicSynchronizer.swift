internal import BLEHCI
internal import BLEWire

/// The synchronization state of a controller: the periodic advertising trains that it receives, and the search for a
/// new one (Vol 6, Part B, 4.4.3.4; Vol 4, Part E, 7.8.67 to 7.8.73 and 7.8.88).
///
/// ```
///  Create Sync ──► searching ──SyncInfo in AUX_ADV_IND──► establishing ──► established: Sync Established
///  LL_PERIODIC_SYNC_IND ─────────────────────────────────► establishing ──► established: Sync Transfer Received
/// ```
struct PeriodicSynchronizer: Sendable {
  /// LE Periodic Advertising Create Sync.
  private struct Search: Sendable {
    /// The address and the SID of the advertiser; nil for those of the periodic advertiser list.
    let advertiser: (address: DeviceAddress, sid: UInt8)?
    let parameters: PeriodicSyncParameters
    let reports: PeriodicReports
  }

  /// LE Periodic Advertising Create Sync that has not been answered by LE Periodic Advertising Sync Established.
  private enum Pending: Sendable {
    case none
    /// No AUX_ADV_IND of the advertiser has been received.
    case searching(Search)
    /// A synchronization without a packet.
    case establishing(handle: UInt16)
  }

  /// The greatest Sync_Handle.
  private static let greatestHandle: UInt16 = 0x0EFF

  private let capacity: Int
  private(set) var list: PeriodicAdvertiserList
  private var syncs: [PeriodicSync] = []
  private var pending = Pending.none
  private var lastHandle: UInt16 = 0x007F

  /// - Parameters:
  ///   - capacity: the maximum number of synchronizations.
  ///   - listSize: the number of entries in the periodic advertiser list.
  init(capacity: Int, listSize: UInt8) {
    self.capacity = max(0, min(capacity, Int(Self.greatestHandle)))
    list = PeriodicAdvertiserList(capacity: listSize)
  }

  /// Whether LE Periodic Advertising Create Sync is pending.
  var isPending: Bool { if case .none = pending { false } else { true } }
  /// Whether AUX_ADV_INDs are of interest.
  var isSearching: Bool { if case .searching = pending { true } else { false } }

  private func index(of handle: UInt16) -> Int? { syncs.firstIndex { $0.handle == handle } }

  private func contains(_ address: DeviceAddress, sid: UInt8) -> Bool {
    syncs.contains { $0.address.identity == address.identity && $0.info.sid == sid }
  }

  /// The train of an established synchronization; nil if there is none with this handle.
  func info(of handle: UInt16) -> SyncInfo? {
    index(of: handle).flatMap { syncs[$0].isEstablished ? syncs[$0].info : nil }
  }

  // MARK: Commands

  /// Performs LE Periodic Advertising Create Sync (Vol 4, Part E, 7.8.67).
  ///
  /// - Parameter supportsADI: whether the controller has the feature Periodic Advertising ADI Support.
  mutating func create(_ command: HCI.LEPeriodicAdvertisingCreateSync, supportsADI: Bool) -> HCIErrorCode {
    let usesList = command.options & 0x01 != 0
    let filtersDuplicates = command.options & 0x04 != 0
    let parameters = PeriodicSyncParameters(
      skip: command.skip, timeout: command.syncTimeout, cteType: command.syncCTEType)
    guard command.options <= 0x07, parameters.isValid,
      usesList || (command.advertisingSID <= 0x0F && command.advertiserAddress.kind.rawValue <= 1)
    else { return .invalidCommandParameters }
    guard supportsADI || !filtersDuplicates else { return .unsupportedFeatureOrParameterValue }
    guard !isPending, parameters.cteType != PeriodicSyncParameters.allCTETypes else { return .commandDisallowed }
    if !usesList, contains(command.advertiserAddress, sid: command.advertisingSID) { return .connectionAlreadyExists }
    guard syncs.count < capacity else { return .memoryCapacityExceeded }
    pending = .searching(
      Search(
        advertiser: usesList ? nil : (command.advertiserAddress, command.advertisingSID), parameters: parameters,
        reports: PeriodicReports(isEnabled: command.options & 0x02 == 0, filtersDuplicates: filtersDuplicates)))
    return .success
  }

  /// Ends the pending command: LE Periodic Advertising Create Sync Cancel (Vol 4, Part E, 7.8.68).
  mutating func cancel(_ host: HostInterface, _ context: inout VirtualRadioContext) {
    switch pending {
    case .none: return
    case .searching(let search):
      let advertiser = search.advertiser
      fail(.operationCancelledByHost, advertiser?.address, sid: advertiser?.sid ?? 0, host, &context)
    case .establishing(let handle):
      let index = index(of: handle)
      let sync = index.map { syncs.remove(at: $0) }
      fail(.operationCancelledByHost, sync?.address, sid: sync?.info.sid ?? 0, host, &context)
    }
  }

  /// Performs LE Periodic Advertising Terminate Sync (Vol 4, Part E, 7.8.69).
  mutating func terminate(_ handle: UInt16) -> HCIErrorCode {
    guard let index = index(of: handle), syncs[index].isEstablished else { return .unknownAdvertisingIdentifier }
    syncs.remove(at: index)
    return .success
  }

  /// Performs LE Set Periodic Advertising Receive Enable (Vol 4, Part E, 7.8.88).
  ///
  /// - Parameter supportsADI: whether the controller has the feature Periodic Advertising ADI Support.
  mutating func setReceiveEnable(
    _ command: HCI.LESetPeriodicAdvertisingReceiveEnable, supportsADI: Bool
  ) -> HCIErrorCode {
    guard command.enable <= 0x03 else { return .invalidCommandParameters }
    let filtersDuplicates = command.enable & 0x02 != 0
    guard supportsADI || !filtersDuplicates else { return .unsupportedFeatureOrParameterValue }
    guard let index = index(of: command.syncHandle), syncs[index].isEstablished else {
      return .unknownAdvertisingIdentifier
    }
    syncs[index].setReports(
      PeriodicReports(isEnabled: command.enable & 0x01 != 0, filtersDuplicates: filtersDuplicates))
    return .success
  }

  mutating func add(_ command: HCI.LEAddDeviceToPeriodicAdvertiserList) -> HCIErrorCode {
    list.add(command, isInUse: isPending)
  }

  mutating func remove(_ command: HCI.LERemoveDeviceFromPeriodicAdvertiserList) -> HCIErrorCode {
    list.remove(command, isInUse: isPending)
  }

  mutating func clearList() -> HCIErrorCode { list.clear(isInUse: isPending) }

  // MARK: Beginning

  /// Receives the SyncInfo of an AUX_ADV_IND. If it is that of the pending command, synchronization begins.
  mutating func receive(
    _ info: SyncInfo, from sender: AdvertiserIdentity, _ host: HostInterface, _ context: inout VirtualRadioContext
  ) {
    guard case .searching(let search) = pending, let address = sender.address, !sender.isRejected else { return }
    let isKnown = contains(address, sid: info.sid)
    if let advertiser = search.advertiser {
      guard advertiser.address.identity == address.identity, advertiser.sid == info.sid else { return }
      // A sync transfer was faster.
      if isKnown { return fail(.connectionAlreadyExists, address, sid: info.sid, host, &context) }
      if search.parameters.rejectsPlainPackets {
        return fail(.unsupportedRemoteFeature, address, sid: info.sid, host, &context)
      }
    } else {
      guard list.contains(address.identity, sid: info.sid), !isKnown, !search.parameters.rejectsPlainPackets
      else { return }
    }
    guard syncs.count < capacity, let handle = newHandle() else {
      return fail(.memoryCapacityExceeded, address, sid: info.sid, host, &context)
    }
    syncs.append(
      PeriodicSync(
        handle: handle, info, from: address, search.parameters, reports: search.reports, for: .command,
        now: context.now))
    pending = .establishing(handle: handle)
  }

  /// Begins the synchronization with a train that a peer has transferred, unless there is one already.
  ///
  /// - Parameter address: the advertiser's address as reported to the host.
  mutating func receive(
    _ transfer: SyncTransfer, on link: ConnectionHandle, from address: DeviceAddress,
    _ parameters: PeriodicSyncParameters, reports: PeriodicReports, _ host: HostInterface,
    _ context: inout VirtualRadioContext
  ) {
    guard !contains(address, sid: transfer.info.sid) else { return }
    let request = PeriodicSync.Request.transfer(link, serviceData: transfer.serviceData)
    let hasRoom = syncs.count < capacity
    guard hasRoom, !parameters.rejectsPlainPackets, let handle = newHandle() else {
      let reason = hasRoom ? HCIErrorCode.unsupportedRemoteFeature : .memoryCapacityExceeded
      return answer(request, reason, of: nil, transfer.info, from: address, host, &context)
    }
    syncs.append(
      PeriodicSync(
        handle: handle, transfer.info, from: address, parameters, reports: reports, for: request, now: context.now))
  }

  /// A handle that no synchronization has. Recently used handles come last.
  private mutating func newHandle() -> UInt16? {
    for _ in 0...Self.greatestHandle {
      lastHandle = lastHandle >= Self.greatestHandle ? 0 : lastHandle + 1
      if index(of: lastHandle) == nil { return lastHandle }
    }
    return nil
  }

  // MARK: Events

  /// The time of the next event, of the end of its packets, or of a loss.
  var deadline: Instant? {
    var nearest: Instant?
    for sync in syncs { nearest = .nearer(nearest, sync.deadline) }
    return nearest
  }

  /// An event that begins, or whose packets end.
  enum Step: Sendable {
    case begin(handle: UInt16, SyncInfo)
    case end(handle: UInt16, SyncInfo, PeriodicPDU)
  }

  /// The first step that is due.
  func stepDue(at now: Instant) -> Step? {
    guard let sync = syncs.first(where: { $0.isEventDue(at: now) }) else { return nil }
    if let incoming = sync.incoming { return .end(handle: sync.handle, sync.info, incoming.pdu) }
    return .begin(handle: sync.handle, sync.info)
  }

  /// Begins to receive the packets of an event, with airtime.
  mutating func begin(_ pdu: PeriodicPDU, on handle: UInt16) {
    if let index = index(of: handle) { syncs[index].begin(pdu) }
  }

  /// Receives the packets of an event.
  ///
  /// - Parameter lengthOfChains: the number of octets after which the data is truncated; nil if it is complete.
  mutating func receive(
    _ pdu: PeriodicPDU, on handle: UInt16, lengthOfChains: Int?, _ host: HostInterface,
    _ context: inout VirtualRadioContext
  ) {
    guard let index = index(of: handle) else { return }
    if let request = syncs[index].receive() {
      answer(request, .success, of: handle, syncs[index].info, from: syncs[index].address, host, &context)
    }
    syncs[index].report(pdu, lengthOfChains: lengthOfChains, host, &context)
  }

  /// Misses the packets of an event. After six events without a first packet, the synchronization fails.
  mutating func miss(on handle: UInt16, _ host: HostInterface, _ context: inout VirtualRadioContext) {
    guard let index = index(of: handle), let request = syncs[index].miss() else { return }
    let sync = syncs.remove(at: index)
    answer(request, .connectionFailedToBeEstablished, of: nil, sync.info, from: sync.address, host, &context)
  }

  /// Ends the synchronizations whose timeout has elapsed.
  mutating func tick(_ host: HostInterface, _ context: inout VirtualRadioContext) {
    for index in syncs.indices.reversed() where syncs[index].isLost(at: context.now) {
      let handle = syncs.remove(at: index).handle
      host.send(HCI.LEPeriodicAdvertisingSyncLost { $0.syncHandle = handle }, &context)
    }
  }

  // MARK: Answers

  /// Ends the pending command with an error. The event has the advertiser, as those of many controllers, although the
  /// specification requires it after a success only.
  ///
  /// - Parameter address: nil for a search by the list.
  private mutating func fail(
    _ reason: HCIErrorCode, _ address: DeviceAddress?, sid: UInt8, _ host: HostInterface,
    _ context: inout VirtualRadioContext
  ) {
    pending = .none
    host.send(
      HCI.LEPeriodicAdvertisingSyncEstablished {
        $0.status = reason
        $0.advertisingSID = sid
        $0.advertiserAddress = address ?? DeviceAddress(octets: BD_ADDR(), kind: .public)
      }, &context)
  }

  /// Answers a request.
  ///
  /// - Parameter handle: the handle of the synchronization; nil after a failure.
  private mutating func answer(
    _ request: PeriodicSync.Request, _ status: HCIErrorCode, of handle: UInt16?, _ info: SyncInfo,
    from address: DeviceAddress, _ host: HostInterface, _ context: inout VirtualRadioContext
  ) {
    switch request {
    case .command:
      guard status.isSuccess else { return fail(status, address, sid: info.sid, host, &context) }
      pending = .none
      host.send(
        HCI.LEPeriodicAdvertisingSyncEstablished {
          $0.syncHandle = handle ?? 0
          $0.advertisingSID = info.sid
          $0.advertiserAddress = address
          $0.advertiserPHY = info.phy
          $0.periodicAdvertisingInterval = info.interval
        }, &context)
    case .transfer(let link, let serviceData):
      host.send(
        HCI.LEPeriodicAdvertisingSyncTransferReceived {
          $0.status = status
          $0.connectionHandle = link
          $0.serviceData = serviceData
          $0.syncHandle = handle ?? 0
          $0.advertisingSID = info.sid
          $0.advertiserAddress = address
          $0.advertiserPHY = info.phy
          $0.periodicAdvertisingInterval = info.interval
        }, &context)
    }
  }
}
