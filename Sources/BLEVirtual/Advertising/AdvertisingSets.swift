internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The advertising state of a controller: its advertising sets (Vol 6, Part B, 4.4.2; Vol 4, Part E, 7.8.5 to 7.8.9 and
/// 7.8.52 to 7.8.60).
struct AdvertisingSets: Sendable {
  /// The properties of the controller that receivers of an advertisement notice.
  struct Sender: Sendable {
    /// The slot of the controller.
    let slot: Int
    /// In dBm.
    let txPower: Int8
    /// The RSSI at which others receive it, in dBm.
    let rssi: Int8
  }

  /// A set that is to be enabled together with others.
  struct Start: Sendable {
    fileprivate let index: Int
    fileprivate let running: AdvertisingSet.Running
  }

  /// The maximum number of sets.
  let capacity: UInt8
  /// The longest advertising data, in octets.
  let maximumDataLength: Int
  private var sets: [AdvertisingSet] = []

  /// - Parameter maximumDataLength: the longest data in octets, limited to 31 to 1,650.
  init(capacity: UInt8, maximumDataLength: Int) {
    self.capacity = capacity
    self.maximumDataLength = min(
      LinkLayerLimits.extendedAdvertisingData, max(LinkLayerLimits.legacyAdvertisingData, maximumDataLength))
  }

  /// Whether a set is enabled.
  var isRunning: Bool { sets.contains { $0.running != nil } }
  /// Whether the advertisement of the legacy commands is enabled.
  var isLegacyRunning: Bool { sets.contains { $0.handle == nil && $0.running != nil } }
  /// Whether an enabled set uses the filter accept list.
  var isUsingAcceptList: Bool { sets.contains(where: \.isUsingAcceptList) }

  private func index(of handle: UInt8?) -> Int? { sets.firstIndex { $0.handle == handle } }

  /// The facts that the periodic advertising of a set depends on; nil if there is no such set.
  func facts(of handle: UInt8) -> AdvertisingSetFacts? { index(of: handle).map { sets[$0].facts } }

  // MARK: Legacy commands

  /// The index of the advertisement of the legacy commands, which always exists.
  private mutating func legacyIndex() -> Int {
    if let index = index(of: nil) { return index }
    sets.append(AdvertisingSet(handle: nil))
    return sets.count - 1
  }

  mutating func setParameters(_ command: HCI.LESetAdvertisingParameters) -> HCIErrorCode {
    sets[legacyIndex()].setParameters(command)
  }

  mutating func setData(_ command: HCI.LESetAdvertisingData) {
    sets[legacyIndex()].replaceData(command.advertisingData)
  }

  mutating func setScanResponse(_ command: HCI.LESetScanResponseData) {
    sets[legacyIndex()].replaceScanResponse(command.scanResponseData)
  }

  /// The own address that the advertisement of the legacy commands needs.
  ///
  /// - Parameter random: the random address of the controller.
  mutating func legacyOwnAddress(random: BD_ADDR?) -> OwnAddressRequest {
    sets[legacyIndex()].ownAddress(random: random)
  }

  /// Enables the advertisement of the legacy commands (Vol 4, Part E, 7.8.9). Enabling it again restarts it.
  ///
  /// - Parameters:
  ///   - address: the own address; nil if the controller has no address of the type.
  ///   - mayConnect: whether the controller can have another link.
  mutating func enableLegacy(
    from address: DeviceAddress?, mayConnect: Bool, now: Instant, _ random: inout RandomSource
  ) -> HCIErrorCode {
    let index = legacyIndex()
    guard let address else { return .invalidCommandParameters }
    guard mayConnect || !sets[index].isConnectable else { return .connectionLimitExceeded }
    let first = now + AdvertisingSet.delay(&random)
    sets[index].start(.init(address: address, nextEvent: first, endsAt: sets[index].legacyEnd(now: now)))
    return .success
  }

  mutating func disableLegacy() { sets[legacyIndex()].stop() }

  // MARK: Extended commands

  mutating func setRandomAddress(_ command: HCI.LESetAdvertisingSetRandomAddress) -> HCIErrorCode {
    guard let index = index(of: command.advertisingHandle) else { return .unknownAdvertisingIdentifier }
    return sets[index].setRandomAddress(command.randomAddress)
  }

  /// Performs LE Set Extended Advertising Parameters (Vol 4, Part E, 7.8.53).
  ///
  /// - Parameter phys: the PHYs of the controller.
  mutating func setParameters(_ command: HCI.LESetExtendedAdvertisingParameters, phys: HCI.PHYs) -> HCIErrorCode {
    if let refusal = Self.refusal(of: command, phys: phys) { return refusal }
    if let index = index(of: command.advertisingHandle) {
      return sets[index].setParameters(command, maximumData: maximumDataLength)
    }
    guard sets.count < Int(capacity) else { return .memoryCapacityExceeded }
    var set = AdvertisingSet(handle: command.advertisingHandle)
    let status = set.setParameters(command, maximumData: maximumDataLength)
    sets.append(set)
    return status
  }

  /// The error for parameters that no set can have; nil for valid parameters.
  private static func refusal(
    of command: HCI.LESetExtendedAdvertisingParameters, phys: HCI.PHYs
  ) -> HCIErrorCode? {
    let properties = command.advertisingEventProperties
    guard command.advertisingHandle <= 0xEF, properties.rawValue <= 0x7F else { return .invalidCommandParameters }
    if properties.contains(.legacy) {
      let allowed: [UInt16] = [0x13, 0x15, 0x1D, 0x12, 0x10]
      guard allowed.contains(properties.rawValue), command.primaryAdvertisingPHY == .le1M else {
        return .invalidCommandParameters
      }
    } else {
      guard !properties.isSuperset(of: [.connectable, .scannable]), !properties.contains(.highDutyCycle),
        !properties.contains(.anonymous) || properties.isDisjoint(with: [.connectable, .scannable])
      else { return .invalidCommandParameters }
    }
    guard command.primaryAdvertisingIntervalMin >= 0x20,
      command.primaryAdvertisingIntervalMin <= command.primaryAdvertisingIntervalMax,
      (1...7).contains(command.primaryAdvertisingChannelMap.rawValue), command.ownAddressType.rawValue <= 3,
      command.peerAddress.kind.rawValue <= 1, command.advertisingFilterPolicy.rawValue <= 3,
      command.advertisingTXPower == 127 || (-127...20).contains(command.advertisingTXPower),
      command.advertisingSID <= 0x0F,
      command.primaryAdvertisingPHY == .le1M || command.primaryAdvertisingPHY == .leCoded,
      properties.contains(.legacy) || (1...3).contains(command.secondaryAdvertisingPHY.rawValue)
    else { return .invalidCommandParameters }
    let isCoded =
      command.primaryAdvertisingPHY == .leCoded
      || (!properties.contains(.legacy) && command.secondaryAdvertisingPHY == .leCoded)
    return isCoded && !phys.contains(.leCoded) ? .unsupportedFeatureOrParameterValue : nil
  }

  mutating func setData(_ command: HCI.LESetExtendedAdvertisingData) -> HCIErrorCode {
    guard let index = index(of: command.advertisingHandle) else { return .unknownAdvertisingIdentifier }
    return sets[index].setData(command, maximum: maximumDataLength)
  }

  mutating func setScanResponse(_ command: HCI.LESetExtendedScanResponseData) -> HCIErrorCode {
    guard let index = index(of: command.advertisingHandle) else { return .unknownAdvertisingIdentifier }
    return sets[index].setScanResponse(command, maximum: maximumDataLength)
  }

  mutating func remove(_ handle: UInt8) -> HCIErrorCode {
    guard let index = index(of: handle) else { return .unknownAdvertisingIdentifier }
    guard sets[index].running == nil else { return .commandDisallowed }
    sets.remove(at: index)
    return .success
  }

  mutating func clear() -> HCIErrorCode {
    guard !isRunning else { return .commandDisallowed }
    sets = []
    return .success
  }

  // MARK: LE Set Extended Advertising Enable (Vol 4, Part E, 7.8.56)

  // Either all sets of a command are enabled, or none is. Each needs an own address, which the controller chooses. So
  // the controller first requests the refusal and the address of each set, and then enables them together.

  /// The error for the list of sets, regardless of the individual sets; nil if there is none.
  func refusal(of command: HCI.LESetExtendedAdvertisingEnable) -> HCIErrorCode? {
    if command.sets.isEmpty { return command.enable ? .invalidCommandParameters : nil }
    let handles = Set(command.sets.map(\.advertisingHandle))
    return handles.count == command.sets.count ? nil : .invalidCommandParameters
  }

  /// The error for one of the sets; nil if it can be enabled or disabled.
  ///
  /// - Parameter mayConnect: whether the controller can have another link.
  func refusal(of wanted: HCI.EnabledAdvertisingSet, isEnabled: Bool, mayConnect: Bool) -> HCIErrorCode? {
    guard wanted.advertisingHandle <= 0xEF else { return .invalidCommandParameters }
    guard let index = index(of: wanted.advertisingHandle) else { return .unknownAdvertisingIdentifier }
    guard isEnabled else { return nil }
    if let refusal = sets[index].refusal(of: wanted) { return refusal }
    return mayConnect || !sets[index].isConnectable ? nil : .connectionLimitExceeded
  }

  /// The data for enabling one of the sets; nil if there is no such set.
  func start(
    of wanted: HCI.EnabledAdvertisingSet, from address: DeviceAddress, now: Instant, _ random: inout RandomSource
  ) -> Start? {
    guard let index = index(of: wanted.advertisingHandle) else { return nil }
    let end = wanted.duration > 0 ? now + .milliseconds(10 * Int64(wanted.duration)) : nil
    return Start(
      index: index,
      running: .init(
        address: address, nextEvent: now + AdvertisingSet.delay(&random), endsAt: end,
        maxEvents: wanted.maxExtendedAdvertisingEvents))
  }

  mutating func enable(_ starts: [Start]) { for start in starts { sets[start.index].start(start.running) } }

  /// Disables the sets, or all sets if the list is empty.
  mutating func disable(_ unwanted: [HCI.EnabledAdvertisingSet]) {
    for index in sets.indices {
      if unwanted.isEmpty || unwanted.contains(where: { $0.advertisingHandle == sets[index].handle }) {
        sets[index].stop()
      }
    }
  }

  // MARK: Events

  /// The time of the next step of an event, of the next event, or of the end of a set.
  var deadline: Instant? {
    var nearest: Instant?
    for set in sets { nearest = .nearer(nearest, set.deadline) }
    return nearest
  }

  /// Ends the sets whose duration has elapsed or whose maximum number of events is reached.
  mutating func tick(_ host: HostInterface, _ context: inout VirtualRadioContext) {
    for index in sets.indices { sets[index].tick(host, &context) }
  }

  /// The handles of the sets whose advertising event is due.
  func handlesDue(at now: Instant) -> [UInt8?] {
    var handles: [UInt8?] = []
    for index in sets.indices where sets[index].isEventDue(at: now) { handles.append(sets[index].handle) }
    return handles
  }

  /// The own address that a set needs; nil if there is no such set.
  ///
  /// - Parameter random: the random address of the controller.
  func ownAddress(of handle: UInt8?, random: BD_ADDR?) -> OwnAddressRequest? {
    index(of: handle).map { sets[$0].ownAddress(random: random) }
  }

  /// The own address that a set needs for its next event, if it uses a private address, which may have expired.
  ///
  /// - Parameter random: the random address of the controller.
  func renewedAddress(of handle: UInt8?, random: BD_ADDR?) -> OwnAddressRequest? {
    guard let index = index(of: handle), sets[index].running != nil else { return nil }
    let request = sets[index].ownAddress(random: random)
    return request.isResolvable ? request : nil
  }

  /// Begins an advertising event of a set and schedules the next one.
  ///
  /// - Parameter address: a new address of the advertiser; nil if it has not changed.
  mutating func beginEvent(
    of handle: UInt8?, from address: DeviceAddress?, _ sender: Sender, now: Instant, _ random: inout RandomSource
  ) -> AdvertisingPDU? {
    guard let index = index(of: handle) else { return nil }
    return sets[index].beginEvent(from: address, of: sender, now: now, &random)
  }

  /// The advertising event of a set that is in progress, with airtime.
  func event(of handle: UInt8?) -> AdvertisingEvent? { index(of: handle).flatMap { sets[$0].running?.event } }

  mutating func setEvent(_ event: AdvertisingEvent?, of handle: UInt8?) {
    if let index = index(of: handle) { sets[index].setEvent(event) }
  }

  /// The advertising events with a packet that has ended, with airtime.
  func eventsDue(at now: Instant) -> [AdvertisingEvent] {
    sets.compactMap(\.running?.event).filter { $0.end <= now }
  }

  /// The answer of a set to a scan request; nil if the filter policy rejects the request.
  ///
  /// - Parameter scanner: the scanner's identity address if it is resolved, otherwise its address.
  func respond(
    to scanner: DeviceAddress, isInAcceptList: Bool, for advertisement: AdvertisingPDU, _ host: HostInterface,
    _ context: inout VirtualRadioContext
  ) -> AdvertisingPDU? {
    guard let index = index(of: advertisement.handle) else { return nil }
    return sets[index].respond(to: scanner, isInAcceptList: isInAcceptList, for: advertisement, host, &context)
  }

  /// Whether a set accepts a connection.
  ///
  /// - Parameter initiator: an identity address, or the address of a device without one.
  func accepts(_ initiator: DeviceAddress, isInAcceptList: Bool, on handle: UInt8?) -> Bool {
    index(of: handle).map { sets[$0].accepts(initiator, isInAcceptList: isInAcceptList) } ?? false
  }

  /// Disables a set because of a link.
  mutating func connected(
    _ handle: UInt8?, on link: ConnectionHandle, _ host: HostInterface, _ context: inout VirtualRadioContext
  ) {
    if let index = index(of: handle) { sets[index].connected(on: link, host, &context) }
  }
}
