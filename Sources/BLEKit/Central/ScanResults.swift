public import BLEAdapter
public import BLEGAP
public import BLEHost
public import BLEWire

/// A device that a scan reports, with what it advertises.
public struct ScanResult: Sendable {
  /// The address to connect to: the identity address if a bond resolves a private one.
  public let address: DeviceAddress
  /// The number of results between the previous one and this one that were dropped, because more than 1024 have waited
  /// for the reader: 0 for a reader that keeps up. The dropped results are older than this one.
  public internal(set) var droppedBefore = 0
  /// What the scan reports; results with the same content share it.
  private let discovery: DiscoveredDevice

  /// Advertising data and scan response together, as received so far (Vol 3, Part C, 11).
  public var contents: AdvertisedData {
    // Lent to the reader of one of its properties, which copies only that one.
    _read { yield discovery.content.data }
  }
  /// The last name that the device has advertised since the scan began, without padding (``DeviceText``); nil if it has
  /// advertised none. ``contents`` has the name of the last advertisement, which may have none.
  public var name: String? { discovery.name }
  /// Those of ``ScanOptions/services`` whose bits are set in the overflow area: the device may have them.
  public var overflowServiceUUIDs: [BluetoothUUID] { discovery.overflowServiceUUIDs }
  /// In dBm; nil if the controller does not know it.
  public var rssi: Int? { discovery.rssi == 127 ? nil : discovery.rssi }
  /// Whether the device accepts connections.
  public var isConnectable: Bool { discovery.isConnectable }
  /// Whether the data is incomplete, because the controller lost the end (Vol 4, Part E, 7.7.65.13).
  public var isTruncated: Bool { discovery.isTruncated }
  /// What the controller reported: the address and its kind, the kind of the PDU, PHYs, advertising set, the octets.
  public var report: AdvertisingReport { discovery.report }

  init(_ address: DeviceAddress, _ device: DiscoveredDevice) { (self.address, discovery) = (address, device) }

  /// The octets of memory that the result refers to.
  var allocatedOctets: Int { discovery.content.allocatedOctets }
}

/// The parameters of a scan.
///
/// ``services``, ``nameText`` and ``minimumRSSI`` are compared with each advertisement of a device, not only with the
/// first one: a device whose name comes later, or that comes nearer, is reported then.
public struct ScanOptions: Hashable, Sendable {
  /// Only devices that advertise one of these services, in their lists or, perhaps, in the overflow area
  /// (``OverflowArea``); empty for all.
  public var services: [BluetoothUUID] = []
  /// Only devices with this text in their name, in upper or lower case; nil for all.
  public var nameText: String?
  /// Only devices with this signal strength or a stronger one, in dBm; nil for all.
  public var minimumRSSI: Int?
  /// Whether each advertisement is reported; false reports each device once, and once more when its scan response adds
  /// to it, or when it advertises another name or its first.
  public var allowsDuplicates = false
  /// Whether scan requests are sent (Vol 6, Part B, 4.4.3.2).
  public var isActive = true
  /// The time between the beginnings of two windows: 2.5 ms to 10.24 s in steps of 0.625 ms (Vol 4, Part E, 7.8.10).
  public var interval = Duration.milliseconds(60)
  /// How long the receiver is on in each interval: 2.5 ms up to the interval.
  public var window = Duration.milliseconds(30)
  /// The PHYs of the primary channels: LE 1M, LE Coded, or both. LE Coded needs a controller that has it.
  public var phys: Set<LEPHY> = [.le1M]
  /// Whether a device with a scan response is reported together with it; it is reported without it if none has arrived
  /// for 2 s, and at the latest at the end of the scan, to a reader whose task is cancelled. The scan is active then.
  public var waitsForScanResponse = false

  /// All devices, each once.
  public init() {}

  /// Devices with one of these services.
  public init(services: [BluetoothUUID]) { self.services = services }

  func parameters() throws(BLEError) -> ScanParameters {
    guard var parameters = ScanParameters(interval: interval, window: window) else {
      throw BLEError(
        .invalidArgument,
        "a scan interval of \(interval) with a window of \(window) is not allowed: 2.5 ms to 10.24 s, the window within the interval"
      )
    }
    (parameters.phys, parameters.waitsForScanResponse) = (phys.phys, waitsForScanResponse)
    parameters.isActive = isActive
    // The data of a device that comes nearer does not change.
    parameters.allowsDuplicates = allowsDuplicates || minimumRSSI != nil
    parameters.reportsChanges = !parameters.allowsDuplicates
    return parameters
  }

  var filter: ScanFilter {
    var filter = ScanFilter(number: 1, services: services, allowsDuplicates: allowsDuplicates)
    (filter.nameText, filter.minimumRSSI) = (nameText?.lowercased(), minimumRSSI.map(Int8.init(clamping:)))
    (filter.waitsForScanResponse, filter.reportsNames) = (waitsForScanResponse, true)
    return filter
  }
}

/// The devices that a scan finds, from ``Adapter/scan(_:)``. It scans for as long as an iterator exists.
public struct ScanResults: AsyncSequence, Sendable {
  public typealias Element = ScanResult
  public typealias Failure = BLEError

  let session: AdapterSession
  let options: ScanOptions

  public func makeAsyncIterator() -> Iterator { Iterator(reader: session.startScan(options)) }

  /// Scans until it is released. Results that have arrived are taken together, and handed out without a wait.
  public struct Iterator: AsyncIteratorProtocol {
    let reader: ScanReader<ScanResult>
    /// The results that were taken, and how many of them were handed out.
    private var batch = ScanBuffer<ScanResult>.Batch()

    init(reader: ScanReader<ScanResult>) { self.reader = reader }

    public mutating func next() async throws(BLEError) -> ScanResult? {
      if let result = batch.next() { return result }
      try await reader.take(into: &batch, isolation: nil)
      return batch.next()
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> ScanResult? {
      if let result = batch.next() { return result }
      try await reader.take(into: &batch, isolation: actor)
      return batch.next()
    }
  }
}

extension Adapter {
  /// Scans for as long as the sequence is read.
  ///
  /// ```swift
  /// for try await result in adapter.scan(ScanOptions(services: ["180D"])) {
  ///   print(result.address, result.rssi ?? 0)
  ///   break  // the scan ends here
  /// }
  /// ```
  ///
  /// A slow reader loses the oldest results: at most 1024 wait, besides those that it has taken.
  /// ``ScanResult/droppedBefore`` counts the lost ones. The sequence ends with an error if the controller rejects the
  /// scan; a reset of the controller does not end it.
  public func scan(_ options: ScanOptions = ScanOptions()) -> ScanResults {
    ScanResults(session: session, options: options)
  }
}

/// One scan that is read.
struct Scan: Sendable {
  let parameters: ScanParameters
  let results: ScanBuffer<ScanResult>
  private let filter: ScanFilter
  /// What devices have advertised since the scan began. Above the limits, the devices that were not received for the
  /// longest time are removed.
  private(set) var devices = ScanTable(limit: deviceLimit, maximumOctets: maximumOctets)

  static let deviceLimit = 32_768
  /// The octets of memory of what the devices have advertised: 1 kB for each of ``deviceLimit``.
  static let maximumOctets = 32 << 20

  init(_ options: ScanOptions, _ parameters: ScanParameters, _ results: ScanBuffer<ScanResult>) {
    (self.parameters, self.results) = (parameters, results)
    filter = options.filter
  }

  /// Gives the results of advertisements and scan responses to the reader, if the scan reports them.
  ///
  /// - Returns: whether the reader waits.
  mutating func receive(_ scanReports: [ScanReport]) -> Bool {
    results.append { results in
      for scanReport in scanReports {
        guard let report = devices.add(scanReport, for: filter).report else { continue }
        results.append(ScanResult(scanReport.shared.content.address, report))
      }
    }
  }

  /// Gives the results that wait for scan responses to the reader.
  mutating func end() {
    let waiting = devices.takeWaiting(for: filter)
    _ = results.append { results in
      for device in waiting { results.append(ScanResult(device.content.address, device)) }
    }
  }
}

extension AdapterSession {
  func startScan(_ options: ScanOptions) -> ScanReader<ScanResult> {
    startScan { state, id, results throws(BLEError) in
      state.scans[id] = Scan(options, try options.parameters(), results)
    } ending: { state, id in
      guard var scan = state.scans.removeValue(forKey: id) else { return false }
      scan.end()
      return true
    }
  }

  /// Starts a scan that is read.
  ///
  /// - Parameters:
  ///   - start: adds it to the scans.
  ///   - end: removes it; false if it is not among them any more.
  func startScan<Element>(
    _ start: @Sendable (inout State, UInt32, ScanBuffer<Element>) throws(BLEError) -> Void,
    ending end: @escaping @Sendable (inout State, UInt32) -> Bool
  ) -> ScanReader<Element> {
    let results = ScanBuffer<Element>()
    let id = HostIDs.next32()
    let reader = ScanReader(results) { [weak self] in
      self?.run { state, actions in
        guard end(&state, id), !state.isClosed else { return }
        state.scansChanged(into: &actions)
      }
    }
    let refusal: BLEError? = run { state, actions in
      guard !state.isClosed else { return .closed }
      do throws(BLEError) {
        try state.requirePower()
        try start(&state, id, results)
      } catch {
        return error
      }
      state.scansChanged(into: &actions)
      return nil
    }
    if let refusal { results.finish(throwing: refusal) }
    return reader
  }
}

extension AdapterSession.State {
  /// Updates the host's scan, which serves all of them.
  mutating func scansChanged(into actions: inout Actions) {
    let parameters = scans.map { ($0.key, $0.value.parameters) } + receivers.map { ($0.key, $0.value.parameters) }
    guard let union = ScanParameters(serving: parameters.sorted { $0.0 < $1.0 }.map(\.1)) else {
      return actions.commands.append(.scanning(.stop))
    }
    actions.commands.append(.scanning(.start(union)))
  }

  /// Gives reports to the scans that want them.
  ///
  /// - Returns: whether one of them has a reader that waits.
  mutating func discovered(_ scanReports: [ScanReport]) -> Bool {
    var waits = false
    var index = scans.startIndex
    while index != scans.endIndex {
      if scans.values[index].receive(scanReports) { waits = true }
      index = scans.index(after: index)
    }
    for receiver in receivers.values where receiver.receive(scanReports) { waits = true }
    return waits
  }

  mutating func scanStopped(_ error: HostError?, into actions: inout Actions) {
    guard let error else { return }
    endScans(BLEError(error), into: &actions)
  }

  /// Ends all scans.
  mutating func endScans(_ error: BLEError, into actions: inout Actions) {
    for var scan in scans.values {
      scan.end()
      actions.later { [results = scan.results] in results.finish(throwing: error) }
    }
    for receiver in receivers.values { actions.later { receiver.results.finish(throwing: error) } }
    (scans, receivers) = ([:], [:])
  }
}

extension ScanResult: ScanElement {}
