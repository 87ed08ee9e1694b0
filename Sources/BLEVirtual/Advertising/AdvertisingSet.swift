internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// An advertising set of the extended commands, or the advertisement of the legacy commands (Vol 6, Part B, 4.4.2).
struct AdvertisingSet: Sendable {
  /// The state of an enabled set.
  struct Running: Sendable {
    /// The advertiser's address.
    var address: DeviceAddress
    var nextEvent: Instant
    var endsAt: Instant?
    var eventsDone = 0
    /// 0 means no limit.
    var maxEvents: UInt8 = 0
    /// The advertising event in progress, with airtime.
    var event: AdvertisingEvent?
  }

  /// Advertising_Handle; nil for the advertisement of the legacy commands.
  let handle: UInt8?
  /// The parameters, in the form of the extended command.
  private(set) var parameters = HCI.LESetExtendedAdvertisingParameters()
  private var randomAddress: BD_ADDR?
  private var data = AdvertisingPayload()
  private var scanResponse = AdvertisingPayload()
  /// The state of an enabled set; nil if it is disabled.
  private(set) var running: Running?

  init(handle: UInt8?) {
    self.handle = handle
    if handle == nil { parameters.advertisingEventProperties = .legacyConnectableUndirected }
  }

  private var properties: HCI.AdvertisingEventProperties { parameters.advertisingEventProperties }
  private var isLegacyPDU: Bool { properties.contains(.legacy) }
  private var isScannable: Bool { properties.contains(.scannable) }
  private var isHighDutyCycle: Bool { properties.contains(.highDutyCycle) }
  var isConnectable: Bool { properties.contains(.connectable) }

  /// The facts that the periodic advertising of the set depends on.
  var facts: AdvertisingSetFacts {
    AdvertisingSetFacts(
      properties: properties, secondaryPHY: parameters.secondaryAdvertisingPHY, sid: parameters.advertisingSID,
      address: running?.address)
  }

  var isUsingAcceptList: Bool { running != nil && parameters.advertisingFilterPolicy != .all }

  /// The own address that the set needs.
  ///
  /// - Parameter random: the random address of the controller. A set of the extended commands has its own.
  func ownAddress(random: BD_ADDR?) -> OwnAddressRequest {
    OwnAddressRequest(
      type: parameters.ownAddressType, random: handle == nil ? random : randomAddress, peer: parameters.peerAddress)
  }

  // MARK: Parameters and data

  /// Performs LE Set Advertising Parameters (Vol 4, Part E, 7.8.5).
  mutating func setParameters(_ command: HCI.LESetAdvertisingParameters) -> HCIErrorCode {
    guard running == nil else { return .commandDisallowed }
    let properties: HCI.AdvertisingEventProperties
    switch command.advertisingType {
    case .connectableUndirected: properties = .legacyConnectableUndirected
    case .directedHighDutyCycle: properties = [.legacy, .connectable, .directed, .highDutyCycle]
    case .scannableUndirected: properties = .legacyScannableUndirected
    case .nonConnectable: properties = .legacyNonConnectable
    case .directedLowDutyCycle: properties = [.legacy, .connectable, .directed]
    default: return .invalidCommandParameters
    }
    let intervals = LinkLayerLimits.advertisingInterval
    if command.advertisingType != .directedHighDutyCycle {
      guard intervals.contains(command.advertisingIntervalMin), intervals.contains(command.advertisingIntervalMax),
        command.advertisingIntervalMin <= command.advertisingIntervalMax
      else { return .invalidCommandParameters }
    }
    guard command.ownAddressType.rawValue <= 3, command.advertisingFilterPolicy.rawValue <= 3,
      (1...7).contains(command.advertisingChannelMap.rawValue), command.peerAddress.kind.rawValue <= 1
    else { return .invalidCommandParameters }
    parameters.advertisingEventProperties = properties
    parameters.primaryAdvertisingIntervalMin = UInt32(command.advertisingIntervalMin)
    parameters.primaryAdvertisingIntervalMax = UInt32(command.advertisingIntervalMax)
    parameters.ownAddressType = command.ownAddressType
    parameters.peerAddress = command.peerAddress
    parameters.primaryAdvertisingChannelMap = command.advertisingChannelMap
    parameters.advertisingFilterPolicy = command.advertisingFilterPolicy
    return .success
  }

  /// Performs LE Set Extended Advertising Parameters, whose parameters are valid (Vol 4, Part E, 7.8.53).
  ///
  /// - Parameter maximumData: the longest data of the controller, in octets.
  mutating func setParameters(
    _ command: HCI.LESetExtendedAdvertisingParameters, maximumData: Int
  ) -> HCIErrorCode {
    guard running == nil else { return .commandDisallowed }
    let properties = command.advertisingEventProperties
    let limit = properties.contains(.legacy) ? LinkLayerLimits.legacyAdvertisingData : maximumData
    if data.octets.count > limit || scanResponse.octets.count > limit { return .invalidCommandParameters }
    if !data.octets.isEmpty, !Self.carriesData(properties) { return .invalidCommandParameters }
    parameters = command
    return .success
  }

  /// Whether advertising data is allowed: not in a directed legacy PDU or a scannable extended advertisement.
  private static func carriesData(_ properties: HCI.AdvertisingEventProperties) -> Bool {
    properties.contains(.legacy) ? !properties.contains(.directed) : !properties.contains(.scannable)
  }

  mutating func setRandomAddress(_ address: BD_ADDR) -> HCIErrorCode {
    guard running == nil || !isConnectable else { return .commandDisallowed }
    randomAddress = address
    return .success
  }

  /// Sets the complete advertising data: LE Set Advertising Data.
  mutating func replaceData(_ octets: Bytes) { data.replace(octets) }

  /// Sets the complete scan response data: LE Set Scan Response Data.
  mutating func replaceScanResponse(_ octets: Bytes) { scanResponse.replace(octets) }

  /// Performs LE Set Extended Advertising Data (Vol 4, Part E, 7.8.54).
  mutating func setData(_ command: HCI.LESetExtendedAdvertisingData, maximum: Int) -> HCIErrorCode {
    set(\.data, command.operation, command.fragmentPreference, command.advertisingData, maximum: maximum)
  }

  /// Performs LE Set Extended Scan Response Data (Vol 4, Part E, 7.8.55).
  mutating func setScanResponse(_ command: HCI.LESetExtendedScanResponseData, maximum: Int) -> HCIErrorCode {
    set(\.scanResponse, command.operation, command.fragmentPreference, command.scanResponseData, maximum: maximum)
  }

  private mutating func set(
    _ payload: WritableKeyPath<Self, AdvertisingPayload>, _ operation: HCI.DataOperation,
    _ preference: HCI.FragmentPreference, _ octets: Bytes, maximum: Int
  ) -> HCIErrorCode {
    guard operation.rawValue <= 4, preference.rawValue <= 1 else { return .invalidCommandParameters }
    let isData = payload == \Self.data
    if isData {
      guard Self.carriesData(properties) || octets.isEmpty else { return .invalidCommandParameters }
    } else {
      guard isScannable || octets.isEmpty else { return .invalidCommandParameters }
      if running != nil, isScannable, !isLegacyPDU, octets.isEmpty { return .commandDisallowed }
    }
    if isLegacyPDU, operation != .complete || octets.count > LinkLayerLimits.legacyAdvertisingData {
      return .invalidCommandParameters
    }
    if running != nil, operation != .complete, operation != .unchanged { return .commandDisallowed }

    if operation == .unchanged {
      guard running != nil, isData, octets.isEmpty, !isLegacyPDU, !data.octets.isEmpty else {
        return .invalidCommandParameters
      }
    } else if operation == .complete, running != nil, isData, octets.count <= maximum, octets.count > greatestData {
      return .packetTooLong
    }
    return self[keyPath: payload].receive(operation, octets, maximum: maximum)
  }

  /// The longest advertising data of the set. The data of a connectable extended advertisement must be in one packet,
  /// because its AUX_ADV_IND has no AuxPtr (Vol 6, Part B, 2.3.4). Longer data is Packet Too Long (Vol 4, Part E,
  /// 7.8.54 and 7.8.56).
  private var greatestData: Int {
    guard !isLegacyPDU, isConnectable else { return LinkLayerLimits.extendedAdvertisingData }
    return AdvertisingPDU.greatestPayload - AdvertisingPDU.auxiliaryFields(of: properties)
  }

  // MARK: Beginning and end

  /// The error for enabling the set with LE Set Extended Advertising Enable; nil if its parameters and data allow it
  /// (Vol 4, Part E, 7.8.56).
  func refusal(of wanted: HCI.EnabledAdvertisingSet) -> HCIErrorCode? {
    guard !data.isPartial, !scanResponse.isPartial else { return .commandDisallowed }
    if isScannable, !isLegacyPDU, scanResponse.octets.isEmpty { return .commandDisallowed }
    guard data.octets.count <= greatestData else { return .packetTooLong }
    guard !isHighDutyCycle || (1...128).contains(wanted.duration) else { return .invalidCommandParameters }
    return nil
  }

  /// The end of an advertisement of the legacy commands that begins now; nil if it has none.
  func legacyEnd(now: Instant) -> Instant? { isHighDutyCycle ? now + .milliseconds(1280) : nil }

  /// Enables the set, or restarts it.
  mutating func start(_ running: Running) { self.running = running }

  /// Disables the set.
  mutating func stop() { running = nil }

  /// Disables the set because of a link: LE Advertising Set Terminated.
  mutating func connected(on link: ConnectionHandle, _ host: HostInterface, _ context: inout VirtualRadioContext) {
    terminate(.success, link: link, host, &context)
  }

  /// Disables the set if its duration has elapsed or its maximum number of events is reached. A set with the high duty
  /// cycle reports a failed connection (Vol 4, Part E, 7.7.65.1).
  mutating func tick(_ host: HostInterface, _ context: inout VirtualRadioContext) {
    guard let running else { return }
    if let end = running.endsAt, end <= context.now {
      if isHighDutyCycle {
        ConnectionReport(status: .advertisingTimeout, role: .peripheral, peerAddress: parameters.peerAddress)
          .send(to: host, &context)
      }
      terminate(.advertisingTimeout, link: nil, host, &context)
    } else if running.maxEvents > 0, running.eventsDone >= Int(running.maxEvents), running.event == nil {
      terminate(.limitReached, link: nil, host, &context)
    }
  }

  /// Disables the set. A set of the extended commands sends LE Advertising Set Terminated.
  private mutating func terminate(
    _ status: HCIErrorCode, link: ConnectionHandle?, _ host: HostInterface, _ context: inout VirtualRadioContext
  ) {
    let ended = running
    running = nil
    guard let handle else { return }
    host.send(
      HCI.LEAdvertisingSetTerminated {
        $0.status = status
        $0.advertisingHandle = handle
        $0.connectionHandle = link ?? ConnectionHandle(rawValue: 0)
        if let ended, ended.maxEvents > 0 {
          $0.numCompletedExtendedAdvertisingEvents = UInt8(clamping: ended.eventsDone)
        }
      }, &context)
  }

  // MARK: Advertising events

  /// The time of the next step of the advertising event, of the next event, or of the end.
  var deadline: Instant? {
    guard let running else { return nil }
    return .nearer(running.event?.end ?? running.nextEvent, running.endsAt)
  }

  /// Whether an advertising event must begin.
  func isEventDue(at now: Instant) -> Bool { running.map { $0.event == nil && $0.nextEvent <= now } ?? false }

  /// The time from one advertising event to the next, without the random delay.
  private var interval: Duration {
    if isHighDutyCycle { return .microseconds(3750) }
    return .microseconds(625 * Int64(max(0x20, parameters.primaryAdvertisingIntervalMin)))
  }

  /// Begins an advertising event and schedules the next one.
  ///
  /// - Parameters:
  ///   - address: a new address of the advertiser; nil if it has not changed.
  ///   - controller: the sender, with its transmit power and the RSSI at which others receive it.
  mutating func beginEvent(
    from address: DeviceAddress?, of controller: AdvertisingSets.Sender, now: Instant, _ random: inout RandomSource
  ) -> AdvertisingPDU? {
    guard var running else { return nil }
    if let address { running.address = address }
    running.nextEvent = now + interval + (isHighDutyCycle ? .zero : Self.delay(&random))
    running.eventsDone += 1
    self.running = running
    return AdvertisingPDU(
      sender: controller.slot, handle: handle, address: properties.contains(.anonymous) ? nil : running.address,
      properties: properties, target: parameters.peerAddress,
      data: Self.carriesData(properties) ? data.octets : [], dataIdentifier: data.identifier, parameters: parameters,
      txPower: properties.contains(.includeTxPower) ? controller.txPower : 127, rssi: controller.rssi)
  }

  /// advDelay: 0 to 10 ms (Vol 6, Part B, 4.4.2.2.1).
  static func delay(_ random: inout RandomSource) -> Duration {
    .microseconds(Int64.random(in: 0...10_000, using: &random))
  }

  /// Stores the advertising event in progress.
  mutating func setEvent(_ event: AdvertisingEvent?) { running?.event = event }

  /// The answer to a scan request; nil if the filter policy rejects the request.
  ///
  /// - Parameter scanner: the scanner's identity address if it is resolved, otherwise its address.
  func respond(
    to scanner: DeviceAddress, isInAcceptList: Bool, for advertisement: AdvertisingPDU, _ host: HostInterface,
    _ context: inout VirtualRadioContext
  ) -> AdvertisingPDU? {
    guard let running else { return nil }
    let policy = parameters.advertisingFilterPolicy
    if policy == .scanRequestsFromAcceptList || policy == .acceptListOnly, !isInAcceptList { return nil }
    if parameters.scanRequestNotificationEnable, let handle {
      host.send(
        HCI.LEScanRequestReceived {
          $0.advertisingHandle = handle
          $0.scannerAddress = scanner
        }, &context)
    }
    var response = advertisement
    response.address = running.address
    response.data = scanResponse.octets
    response.dataIdentifier = scanResponse.identifier
    response.isScanResponse = true
    return response
  }

  /// Whether the set accepts a connection.
  ///
  /// - Parameter initiator: an identity address, or the address of a device without one.
  func accepts(_ initiator: DeviceAddress, isInAcceptList: Bool) -> Bool {
    guard running != nil, isConnectable else { return false }
    if properties.contains(.directed) { return parameters.peerAddress == initiator }
    let policy = parameters.advertisingFilterPolicy
    return isInAcceptList || (policy != .connectionsFromAcceptList && policy != .acceptListOnly)
  }
}
