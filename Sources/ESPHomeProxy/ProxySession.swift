import BLEKit
package import BLEProxy
package import BLEWire
package import ESPHomeAPI

/// One client of ESPHome's native API, with its client of the proxy: the messages of one become calls of the other, and
/// events become messages. It does no I/O.
///
/// ```
///   octets ──► APIConnection ──► messages ──► ProxyClient
///   octets ◄── APIConnection ◄── messages ◄── ProxyOutput
/// ```
package struct ProxySession: ~Copyable {
  /// What the server reports about itself.
  package struct Identity: Sendable {
    /// The name on the network, at most 31 octets.
    package var name: String
    /// The address of the first adapter.
    package var address: BD_ADDR
    /// The version of the program.
    package var version: String
    package var isEncrypted: Bool

    package init(name: String, address: BD_ADDR, version: String, isEncrypted: Bool) {
      (self.name, self.address, self.version, self.isEncrypted) = (name, address, version, isEncrypted)
    }
  }

  package let client: ProxyClient
  private let identity: Identity
  private var connection: APIConnection
  private var output = APIConnection.Output()
  private var waiting = ProxyOutput()
  private var version = APIVersion.latest
  /// Whether the client has proven the key.
  package private(set) var isOpened = false
  /// What the client has subscribed to.
  private var wantsAdvertisements = false
  private var wantsSlots = false
  private var wantsStates = false
  private var isActive: Bool?
  /// The devices by the numbers that the client uses for them: those that it has connected to.
  private var devices: [UInt64: DeviceAddress] = [:]
  /// Advertisements that were dropped because the client did not read.
  package private(set) var lostAdvertisements = 0
  private var rate = AdvertisementRate()
  /// Whether no octets of the client are wanted, because a device takes no more operations now
  /// (``ProxyClient/hasRoom``). Those that have been received wait here. ``drain(now:)`` ends it.
  package private(set) var isHeld = false

  /// Why the session is over.
  package enum End: Sendable {
    /// Either end has requested it.
    case closed
    case protocolError(APIConnectionError)
    case proxyError(ProxyError)
  }
  package private(set) var end: End?
  /// Lines for the log since the last call of ``takeLines()``.
  private var lines: [String] = []

  /// The devices of which the address kind is remembered; more connections than that are not possible.
  package static let deviceLimit = 1024
  /// The maximum number of advertisements in a message, and the octets after which another message begins.
  package static let messageCount = 32
  private static let messageOctets = 16_384

  package init(_ identity: Identity, _ connection: APIConnection, _ client: ProxyClient) {
    (self.identity, self.connection, self.client) = (identity, connection, client)
  }

  /// Octets to be written to the socket, since the last call.
  package mutating func takeOctets(into octets: inout [UInt8]) {
    if octets.isEmpty { swap(&octets, &output.octets) } else { octets += output.octets }
    output.octets.removeAll(keepingCapacity: true)
  }

  package mutating func takeLines() -> [String] {
    defer { lines = [] }
    return lines
  }

  /// When ``tick(now:)`` has to be called.
  package var deadline: Instant? {
    .nearer(isHeld ? nil : connection.deadline, wantsStates ? rate.deadline : nil)
  }

  package mutating func tick(now: Instant) {
    if !isHeld { connection.tick(now: now, into: &output) }
    if wantsStates, let perSecond = rate.tick(now: now) { send(state(.advertisementRate, Float(perSecond))) }
    handleEvents(now: now)
  }

  /// Octets of the client have arrived.
  package mutating func receive(_ octets: Span<UInt8>, now: Instant) {
    connection.receive(octets)
    proceed(now: now)
  }

  /// Handles the received messages, as long as the devices take more operations.
  private mutating func proceed(now: Instant) {
    while !holds(now), connection.proceed(now: now, into: &output) { handleEvents(now: now) }
    handleEvents(now: now)
  }

  private mutating func holds(_ now: Instant) -> Bool {
    let holds = !client.hasRoom && connection.isOpen
    if isHeld, !holds { connection.restartKeepAlive(now: now) }
    isHeld = holds
    return holds
  }

  /// Requests the end from the client.
  package mutating func close(now: Instant) {
    connection.close(now: now, into: &output)
    proceed(now: now)
  }

  /// Ends the client of the proxy. ``lostAdvertisements`` is complete then.
  package mutating func leave() { lostAdvertisements += client.close() }

  /// Sends what waits for the client.
  package mutating func drain(now: Instant) {
    guard end == nil else { return }
    client.take(into: &waiting)
    // The events are taken out, because each of them changes the session.
    var taken = ProxyOutput()
    swap(&taken, &waiting)
    for event in taken.events { report(event) }
    lostAdvertisements += taken.lostAdvertisements
    if wantsAdvertisements { send(taken.advertisements) }
    swap(&taken, &waiting)
    proceed(now: now)
  }

  @discardableResult
  private mutating func send(_ message: some APIMessage) -> Bool { connection.send(message, into: &output) }

  private mutating func send(_ received: [ReceivedAdvertisement]) {
    rate.count += received.count
    var message = BluetoothLERawAdvertisementsResponse()
    var octets = 0
    for advertisement in received {
      let address = advertisement.address
      message.advertisements.append(
        BluetoothLERawAdvertisement(
          address: address.octets.value, rssi: Int32(advertisement.rssi ?? -127),
          addressType: UInt32(address.kind.rawValue & 1), data: advertisement.data[...]))
      octets += advertisement.data.count + 16
      guard message.advertisements.count == Self.messageCount || octets > Self.messageOctets else { continue }
      send(message)
      message.advertisements.removeAll(keepingCapacity: true)
      octets = 0
    }
    if !message.advertisements.isEmpty { send(message) }
  }

  private mutating func handleEvents(now: Instant) {
    guard !output.events.isEmpty else { return }
    var events: [APIConnection.Event] = []
    swap(&events, &output.events)
    for event in events {
      switch event {
      case .opened(let client):
        (version, isOpened) = (client.version, true)
        lines.append("client '\(String(printable: client.info))' (API \(client.version)) is connected")
      case .received(let message): handle(message, now: now)
      case .ignored(let type): lines.append("message \(type) of the client is not supported, and is ignored")
      case .ended(let error): end = end ?? error.map { .protocolError($0) } ?? .closed
      }
    }
  }
}

// MARK: - Messages of the client

extension ProxySession {
  private mutating func handle(_ message: ClientMessage, now: Instant) {
    switch message {
    case .deviceInfo: send(deviceInfo)
    case .listEntities:
      for sensor in Sensor.allCases { send(sensor.entity) }
      send(ListEntitiesDoneResponse())
    case .subscribeStates:
      wantsStates = true
      rate.start(now: now)
      sendStates(client.slots)
    case .subscribeAdvertisements:
      wantsAdvertisements = true
      updateScan()
    case .unsubscribeAdvertisements:
      wantsAdvertisements = false
      client.scan(nil)
    case .subscribeConnectionsFree:
      wantsSlots = true
      send(response(client.slots))
    case .setScannerMode(let request):
      isActive = request.mode == .active
      if wantsAdvertisements { updateScan() } else { send(response(client.scanner)) }
    case .device(let request): perform(request)
    case .getServices(let request): perform(.discoverServices, on: request.address)
    case .read(let request): perform(request.address, request.handle) { .read($0) }
    case .readDescriptor(let request): perform(request.address, request.handle) { .read($0) }
    case .write(let request):
      perform(request.address, request.handle) { .write($0, Array(request.data), withResponse: request.response) }
    case .writeDescriptor(let request):
      perform(request.address, request.handle) { .write($0, Array(request.data), withResponse: true) }
    case .notify(let request):
      perform(request.address, request.handle) { request.enable ? .startNotifying($0) : .stopNotifying($0) }
    case .setConnectionParameters(let request): perform(request)
    }
  }

  private mutating func updateScan() {
    var scan = ProxyScan()
    scan.isActive = isActive
    client.scan(scan)
  }

  private mutating func perform(_ request: BluetoothDeviceRequest) {
    let kind: DeviceAddress.Kind? = request.hasAddressType ? (request.addressType & 1 == 0 ? .public : .random) : nil
    switch request.requestType {
    case .connect, .connectWithCache, .connectWithoutCache:
      guard let address = device(request.address, kind) else { return refuse(request.address) }
      guard devices.count < Self.deviceLimit || devices[request.address] != nil else {
        send(BluetoothDeviceConnectionResponse(address: request.address, connected: false, error: ErrorCode.cancelled))
        return
      }
      if let other = devices[request.address], other != address { client.disconnect(from: other) }
      devices[request.address] = address
      client.connect(to: address)
    case .disconnect:
      guard let address = device(request.address, nil) else { return refuse(request.address) }
      client.disconnect(from: address)
    case .pair: perform(.pair, on: request.address)
    case .unpair: perform(.unpair, on: request.address, devices[request.address] == nil ? kind : nil)
    case .clearCache: perform(.clearCache, on: request.address, devices[request.address] == nil ? kind : nil)
    default: lines.append("request \(request.requestType.rawValue) of the client is not supported, and is ignored")
    }
  }

  private mutating func refuse(_ address: UInt64) {
    send(BluetoothDeviceConnectionResponse(address: address, connected: false, error: ErrorCode.invalidParameter))
  }

  private mutating func perform(_ operation: ProxyOperation, on address: UInt64, _ kind: DeviceAddress.Kind? = nil) {
    guard let device = device(address, kind) else {
      let error = ProxyError(.notConnected, "0x\(String(address, radix: 16)) is no address: it has more than 48 bits")
      return report(operation, .failure(error), address)
    }
    client.perform(operation, on: device)
  }

  private mutating func perform(_ address: UInt64, _ handle: UInt32, _ operation: (AttributeHandle) -> ProxyOperation) {
    guard let number = UInt16(exactly: handle), number != 0 else {
      send(BluetoothGATTErrorResponse(address: address, handle: handle, error: ErrorCode.invalidHandle))
      return
    }
    perform(operation(AttributeHandle(number)), on: address)
  }

  private mutating func perform(_ request: BluetoothSetConnectionParamsRequest) {
    // In units of 1.25 ms and of 10 ms; what is outside of the specification's ranges is refused by the adapter.
    let (low, high) = (min(request.minInterval, 0xFFFF), min(request.maxInterval, 0xFFFF))
    guard low <= high else {
      send(BluetoothSetConnectionParamsResponse(address: request.address, error: ErrorCode.invalidParameter))
      return
    }
    let parameters = ConnectionParameterRequest(
      interval: .microseconds(1250 * Int(low)) ... .microseconds(1250 * Int(high)),
      latency: Int(min(request.latency, 0xFFFF)),
      supervisionTimeout: .milliseconds(10 * Int(min(request.timeout, 0xFFFF)))
    )
    perform(.setConnectionParameters(parameters), on: request.address)
  }

  /// The device that a client names by a number.
  ///
  /// - Parameter kind: the kind of the address; nil if the client has not named it.
  /// - Returns: nil for a number that is no address.
  private func device(_ address: UInt64, _ kind: DeviceAddress.Kind?) -> DeviceAddress? {
    guard address >> 48 == 0 else { return nil }
    let octets = BD_ADDR(address)
    if let kind { return DeviceAddress(octets: octets, kind: kind) }
    if let known = devices[address] ?? client.bondedDevice(octets) { return known }
    // Static random addresses begin with two ones (Vol 6, Part B, 1.3.2.1), and few public ones do.
    return DeviceAddress(octets: octets, kind: address >> 46 == 0b11 ? .random : .public)
  }

  private var deviceInfo: DeviceInfoResponse {
    var info = DeviceInfoResponse()
    info.name = identity.name
    info.friendlyName = identity.name
    info.macAddress = identity.address.description
    info.bluetoothMACAddress = info.macAddress
    info.esphomeVersion = Self.esphomeVersion
    info.model = "ble proxy"
    info.manufacturer = "BluetoothLE"
    info.projectName = "BluetoothLE.ble-proxy"
    info.projectVersion = identity.version
    info.bluetoothProxyFeatureFlags = .all
    info.apiEncryptionSupported = identity.isEncrypted
    return info
  }

  /// The version of ESPHome whose proxy this one equals: clients compare it with the oldest one that they support.
  package static let esphomeVersion = "2026.6.0"
}

// MARK: - Events of the proxy

extension ProxySession {
  private mutating func report(_ event: ProxyEvent) {
    switch event {
    case .connected(let address, let mtu):
      send(
        BluetoothDeviceConnectionResponse(address: address.octets.value, connected: true, mtu: UInt32(clamping: mtu)))
    case .disconnected(let address, let error):
      if let error { lines.append("\(address): \(error)") }
      // A client may have asked for the next connection already.
      if !client.slots.allocated.contains(address) { devices[address.octets.value] = nil }
      let code = error.map(ErrorCode.ofConnection) ?? 0
      send(BluetoothDeviceConnectionResponse(address: address.octets.value, connected: false, error: code))
    case .finished(let address, let operation, let result): report(operation, result, address.octets.value)
    case .value(let address, let handle, let octets):
      send(
        BluetoothGATTNotifyDataResponse(
          address: address.octets.value, handle: UInt32(handle.rawValue), data: octets[...]))
    case .slots(let slots):
      if wantsSlots { send(response(slots)) }
      if wantsStates { sendStates(slots) }
    case .scanner(let status): if wantsAdvertisements { send(response(status)) }
    case .closed(let error):
      lines.append("\(error)")
      end = end ?? .proxyError(error)
    }
  }

  private mutating func report(
    _ operation: ProxyOperation, _ result: Result<ProxyOutcome, ProxyError>, _ address: UInt64
  ) {
    var error: Int32 = 0
    if case .failure(let failure) = result {
      error = ErrorCode.ofOperation(failure)
      lines.append("\(failure)")
    }
    switch (operation, result) {
    case (.pair, _): send(BluetoothDevicePairingResponse(address: address, paired: error == 0, error: error))
    case (.unpair, _): send(BluetoothDeviceUnpairingResponse(address: address, success: error == 0, error: error))
    case (.clearCache, _): send(BluetoothDeviceClearCacheResponse(address: address, success: error == 0, error: error))
    case (.setConnectionParameters, _): send(BluetoothSetConnectionParamsResponse(address: address, error: error))
    case (.discoverServices, .success(.services(let services))): send(services, of: address)
    case (.discoverServices, _): send(BluetoothGATTErrorResponse(address: address, handle: 0, error: error))
    case (.read(let handle), .success(.value(let octets))):
      send(BluetoothGATTReadResponse(address: address, handle: UInt32(handle.rawValue), data: octets[...]))
    // A client does not wait for the answer to a write without response, and would take it for that to another write.
    case (.write(_, _, withResponse: false), .success): break
    case (.write(let handle, _, _), .success):
      send(BluetoothGATTWriteResponse(address: address, handle: UInt32(handle.rawValue)))
    case (.startNotifying(let handle), .success), (.stopNotifying(let handle), .success):
      send(BluetoothGATTNotifyResponse(address: address, handle: UInt32(handle.rawValue)))
    case (.read(let handle), _), (.write(let handle, _, _), .failure), (.startNotifying(let handle), .failure),
      (.stopNotifying(let handle), .failure):
      send(BluetoothGATTErrorResponse(address: address, handle: UInt32(handle.rawValue), error: error))
    }
  }

  /// One message for each service: a service of a thousand characteristics fits.
  private mutating func send(_ services: [ProxyService], of address: UInt64) {
    for service in services {
      let message = BluetoothGATTGetServicesResponse(
        address: address,
        services: [
          BluetoothGATTService(
            uuid: GATTUUID(service.uuid, for: version), handle: UInt32(service.handle.rawValue),
            characteristics: service.characteristics.map { characteristic in
              BluetoothGATTCharacteristic(
                uuid: GATTUUID(characteristic.uuid, for: version), handle: UInt32(characteristic.handle.rawValue),
                properties: UInt32(characteristic.properties.rawValue),
                descriptors: characteristic.descriptors.map {
                  BluetoothGATTDescriptor(uuid: GATTUUID($0.uuid, for: version), handle: UInt32($0.handle.rawValue))
                })
            })
        ])
      guard send(message) else {
        lines.append("service \(service.uuid) does not fit into a message: the services are incomplete")
        continue
      }
    }
    send(BluetoothGATTGetServicesDoneResponse(address: address))
  }

  private func response(_ slots: ConnectionSlots) -> BluetoothConnectionsFreeResponse {
    BluetoothConnectionsFreeResponse(
      free: UInt32(clamping: slots.free), limit: UInt32(clamping: slots.limit),
      allocated: slots.allocated.map(\.octets.value))
  }

  private func response(_ status: ScannerStatus) -> BluetoothScannerStateResponse {
    var response = BluetoothScannerStateResponse()
    response.state =
      switch status.state {
      case .idle: .idle
      case .starting: .starting
      case .running: .running
      case .failed: .failed
      }
    response.mode = status.isActive ? .active : .passive
    response.configuredMode = status.isActiveByDefault ? .active : .passive
    return response
  }
}

// MARK: - Sensors

extension ProxySession {
  /// What Home Assistant shows of the proxy.
  private enum Sensor: UInt32, CaseIterable {
    case connections = 1
    case advertisementRate

    var entity: ListEntitiesSensorResponse {
      var entity = ListEntitiesSensorResponse()
      (entity.key, entity.stateClass, entity.entityCategory) = (rawValue, .measurement, .diagnostic)
      switch self {
      case .connections:
        (entity.objectID, entity.name, entity.icon) = ("connections", "Connections in use", "mdi:bluetooth-connect")
      case .advertisementRate:
        (entity.objectID, entity.name, entity.icon) = ("advertisements", "Advertisements", "mdi:bluetooth")
        (entity.unitOfMeasurement, entity.accuracyDecimals) = ("1/s", 1)
      }
      return entity
    }
  }

  private func state(_ sensor: Sensor, _ value: Float) -> SensorStateResponse {
    var state = SensorStateResponse()
    (state.key, state.state) = (sensor.rawValue, value)
    return state
  }

  private mutating func sendStates(_ slots: ConnectionSlots) {
    send(state(.connections, Float(slots.allocated.count)))
  }
}

/// The advertisements of a second, as a mean of some time.
private struct AdvertisementRate {
  var count = 0
  private(set) var deadline: Instant?
  private var start: Instant?

  private static let interval = Duration.seconds(30)

  mutating func start(now: Instant) { (count, start, deadline) = (0, now, now + Self.interval) }

  /// - Returns: nil before the time is over.
  mutating func tick(now: Instant) -> Double? {
    guard let deadline, let start, now >= deadline else { return nil }
    defer { self.start(now: now) }
    return Double(count) / ((now - start) / .seconds(1))
  }
}

// MARK: - Errors

/// The error codes of ESPHome: of ATT, of HCI, and some of ESP-IDF.
private enum ErrorCode {
  static let notConnected: Int32 = -1
  static let invalidHandle: Int32 = 0x01
  static let busy: Int32 = 0x84
  static let error: Int32 = 0x85
  static let invalidParameter: Int32 = 0x87
  static let authenticationFailed: Int32 = 0x89
  /// The attempt to connect was ended by the proxy: clients try again, by another proxy if they have one.
  static let cancelled: Int32 = 0x100
  private static let failedToBeEstablished: Int32 = 0x3E

  static func ofConnection(_ error: ProxyError) -> Int32 {
    switch error.kind {
    case .noFreeSlot, .inUse, .limitExceeded, .closed: cancelled
    case .notConnected: notConnected
    case .timedOut: failedToBeEstablished
    case .bluetooth(let reason):
      switch reason.kind {
      case .disconnected: Int32(reason.disconnectReason?.rawValue ?? 0x16)
      case .timedOut: reason.disconnectReason.map { Int32($0.rawValue) } ?? failedToBeEstablished
      case .limitExceeded, .cancelled, .adapterUnavailable: cancelled
      default: self.error  // ESPHome has no code for the others.
      }
    }
  }

  static func ofOperation(_ error: ProxyError) -> Int32 {
    switch error.kind {
    case .notConnected, .closed, .inUse, .noFreeSlot: notConnected
    case .limitExceeded: busy
    case .timedOut: self.error
    case .bluetooth(let reason):
      switch reason.kind {
      case .att(let code): Int32(code.rawValue)
      case .disconnected, .adapterUnavailable, .cancelled: notConnected
      case .security: authenticationFailed
      case .invalidArgument: invalidParameter
      case .limitExceeded: busy
      default: self.error  // ESPHome has no code for the others.
      }
    }
  }
}
