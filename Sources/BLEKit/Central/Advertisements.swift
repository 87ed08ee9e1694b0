import BLEHCI
public import BLEHost
public import BLEWire

/// One advertisement or scan response as the controller has received it, from ``Adapter/advertisements(_:)``: neither
/// parsed nor joined with others.
public struct ReceivedAdvertisement: Sendable {
  /// What equal reports of a device share.
  private let shared: ScanReport.Shared
  private let strength: Int8
  /// The number of advertisements between the previous one and this one that were dropped, because more than 1024 have
  /// waited for the reader.
  public internal(set) var droppedBefore = 0

  init(_ scanReport: ScanReport) { (shared, strength) = (scanReport.shared, scanReport.rssi) }

  /// The address to connect to: the identity address if a bond resolves a private one.
  public var address: DeviceAddress { shared.content.address }
  /// The address in the report.
  public var reportedAddress: DeviceAddress { shared.content.reportedAddress }
  /// The AD structures (Vol 3, Part C, 11): at most 31 octets of a legacy advertisement, 1650 of an extended one.
  public var data: [UInt8] { shared.content.data }
  /// In dBm; nil where the controller does not report it.
  public var rssi: Int? { strength == 127 ? nil : Int(strength) }
  /// Whether it is the answer to a scan request.
  public var isScanResponse: Bool { shared.content.isScanResponse }
  /// Whether the device accepts connections.
  public var isConnectable: Bool { shared.content.isConnectable }
  /// Whether it was a legacy PDU.
  public var isLegacy: Bool { shared.content.isLegacy }
  /// Whether the end of the data is missing, because the controller lost it (Vol 4, Part E, 7.7.65.13).
  public var isTruncated: Bool { shared.content.isTruncated }
  /// The PHY of the primary channels: LE 1M or LE Coded.
  public var primaryPHY: LEPHY { LEPHY(shared.content.primaryPHY) ?? .le1M }
  /// The PHY of the secondary channels; nil for legacy PDUs.
  public var secondaryPHY: LEPHY? { LEPHY(shared.content.secondaryPHY) }
  /// The PHYs to connect to the device with.
  public var phys: Set<LEPHY> { [primaryPHY, secondaryPHY ?? .le1M] }

  /// Whether it has the content of another one: only the signal strength differs. A device that repeats its
  /// advertisement is recognized without a comparison of octets.
  public func hasContent(of other: Self) -> Bool { shared === other.shared }
}

extension ReceivedAdvertisement: ScanElement {
  /// The object of the content, and its octets.
  var allocatedOctets: Int {
    Self.objectOctets + shared.content.data.allocatedOctets
  }

  private static let objectOctets = BLEWire.allocatedOctets(16 + MemoryLayout<ScanReport.Content>.size)
}

/// The advertisements that an adapter receives, from ``Adapter/advertisements(_:)``. It scans for as long as an
/// iterator exists.
public struct Advertisements: AsyncSequence, Sendable {
  public typealias Element = ReceivedAdvertisement
  public typealias Failure = BLEError

  let session: AdapterSession
  let options: ScanOptions

  public func makeAsyncIterator() -> Iterator { Iterator(reader: session.startReceiving(options)) }

  /// Scans until it is released. Advertisements that have arrived are taken together, and handed out without a wait.
  public struct Iterator: AsyncIteratorProtocol {
    let reader: ScanReader<ReceivedAdvertisement>
    private var batch = ScanBuffer<ReceivedAdvertisement>.Batch()

    init(reader: ScanReader<ReceivedAdvertisement>) { self.reader = reader }

    public mutating func next() async throws(BLEError) -> ReceivedAdvertisement? { try await next(isolation: nil) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> ReceivedAdvertisement? {
      if let advertisement = batch.next() { return advertisement }
      try await reader.take(into: &batch, isolation: actor)
      return batch.next()
    }

    /// The next advertisement, if it has arrived already.
    ///
    /// ```swift
    /// var advertisements = adapter.advertisements().makeAsyncIterator()
    /// while let first = try await advertisements.next() {
    ///   var batch = [first]
    ///   while let another = advertisements.nextWaiting() { batch.append(another) }
    ///   forward(batch)
    /// }
    /// ```
    public mutating func nextWaiting() -> ReceivedAdvertisement? { batch.next() }
  }
}

extension Adapter {
  /// Scans for as long as the sequence is read, and reports each advertisement and each scan response as it was
  /// received. For programs that forward or record advertisements; ``scan(_:)`` has devices, with what they advertise.
  ///
  /// ```swift
  /// for try await advertisement in adapter.advertisements() {
  ///   print(advertisement.address, advertisement.data)
  /// }
  /// ```
  ///
  /// A slow reader loses the oldest advertisements, as in ``scan(_:)``. ``ScanOptions/services`` has no effect: nothing
  /// is parsed.
  ///
  /// - Parameter options: by default all advertisements, with scan requests.
  public func advertisements(_ options: ScanOptions = .everyAdvertisement) -> Advertisements {
    Advertisements(session: session, options: options)
  }
}

extension ScanOptions {
  /// Every advertisement of every device.
  public static var everyAdvertisement: Self {
    var options = Self()
    options.allowsDuplicates = true
    return options
  }
}

/// One reader of advertisements.
struct AdvertisementReceiver: Sendable {
  let parameters: ScanParameters
  let results: ScanBuffer<ReceivedAdvertisement>

  /// - Returns: whether the reader waits.
  func receive(_ scanReports: [ScanReport]) -> Bool {
    results.append { results in
      // An overdue one was received before.
      for scanReport in scanReports where !scanReport.isOverdue { results.append(ReceivedAdvertisement(scanReport)) }
    }
  }
}

extension AdapterSession {
  func startReceiving(_ options: ScanOptions) -> ScanReader<ReceivedAdvertisement> {
    startScan { state, id, results throws(BLEError) in
      state.receivers[id] = AdvertisementReceiver(parameters: try options.parameters(), results: results)
    } ending: { state, id in
      state.receivers.removeValue(forKey: id) != nil
    }
  }
}
