import BLEATT
import BLEWire

/// Finds the Client Characteristic Configuration descriptor of a characteristic, and writes it (Vol 3, Part G,
/// 3.3.3.3).
///
/// ```
///   searching (Find Information) ── found ──────────────────────────────► writing ──► configured
///       │ rejected                                                          ▲
///       ├──────► searchingByType (Read By Type) ── found ───────────────────┘
///       └─ none ──────┴─ none, rejected ──► noConfiguration
/// ```
struct SubscriptionProcedure: ClientProcedure {
  private enum State {
    case searching(DescriptorDiscovery)
    case searchingByType
    case writing(AttributeHandle)
  }

  private let range: ClosedRange<AttributeHandle>
  private let subscription: Subscription
  private var state: State

  init(_ subscription: Subscription, in range: ClosedRange<AttributeHandle>, limit: Int) {
    self.subscription = subscription
    self.range = range
    state = .searching(DescriptorDiscovery(within: range, limit: limit))
  }

  mutating func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard case .searching(var search) = state else { return .finish(.done) }
    return follow(search.begin(mtu: mtu), search)
  }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    switch state {
    case .searching(var search):
      do throws(GATTClientError) { return follow(try search.receive(response, mtu: mtu), search) } catch {
        return searchByType(after: search)
      }
    case .searchingByType:
      let list = try? ListResponse<ReadByTypeResponse>(withLength: response)
      guard let found = list?.packet.attributeDataList.first, range.contains(found.handle) else { return none }
      return write(found.handle)
    case .writing(let handle): return .finish(.configured(handle))
    }
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    switch state {
    case .searching(var search):
      guard !error.code.demandsSecurity else { throw GATTClientError(error) }
      do throws(GATTClientError) { return follow(try search.receive(error), search) } catch {
        return searchByType(after: search)
      }
    case .searchingByType:
      guard !error.code.demandsSecurity else { throw GATTClientError(error) }
      return none
    case .writing: throw GATTClientError(error)
    }
  }

  /// Continues the search until the descriptor is found, then writes the descriptor.
  private mutating func follow(_ step: ClientStep, _ search: DescriptorDiscovery) -> ClientStep {
    if let found = Self.configuration(in: search) { return write(found) }
    guard case .send = step else { return none }
    state = .searching(search)
    return step
  }

  /// Find Information was rejected, or its response is malformed.
  private mutating func searchByType(after search: DescriptorDiscovery) -> ClientStep {
    if let found = Self.configuration(in: search) { return write(found) }
    state = .searchingByType
    return .send(
      .readByTypeRequest(
        .init(
          startingHandle: range.lowerBound, endingHandle: range.upperBound,
          attributeType: .clientCharacteristicConfiguration)))
  }

  private static func configuration(in search: DescriptorDiscovery) -> AttributeHandle? {
    search.found.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
  }

  private mutating func write(_ descriptor: AttributeHandle) -> ClientStep {
    state = .writing(descriptor)
    var value: [UInt8] = []
    value.append(littleEndian: subscription.rawValue)
    return .send(.writeRequest(.init(handle: descriptor, value: value[...])))
  }

  /// Nothing has to be written to end a subscription that was none.
  private var none: ClientStep { .finish(subscription.isEmpty ? .done : .noConfiguration(in: range)) }
}

extension ATTErrorCode {
  /// Whether the server rejects the request until the link is more secure.
  var demandsSecurity: Bool {
    switch self {
    case .insufficientAuthentication, .insufficientAuthorization, .insufficientEncryption,
      .insufficientEncryptionKeySize:
      true
    default: false
    }
  }
}

/// Finds the Service Changed characteristic of the Generic Attribute service, and subscribes to its indications (Vol 3,
/// Part G, 7.1).
struct ServiceChangedProcedure: ClientProcedure {
  private enum State {
    case findingService(PrimaryServiceSearch)
    case findingCharacteristic(CharacteristicDiscovery, end: AttributeHandle)
    case configuring(SubscriptionProcedure)
  }

  private let limit: Int
  private var state: State
  /// The value handle of Service Changed, nil until it is found.
  private(set) var valueHandle: AttributeHandle?
  /// Its handles, nil until the client has subscribed to it.
  private(set) var found: AttributeCache.ServiceChanged?
  var finding: ClientFinding? { valueHandle.map { .serviceChanged($0, found) } }

  init(limit: Int) {
    self.limit = limit
    state = .findingService(PrimaryServiceSearch(.genericAttribute, limit: limit))
  }

  mutating func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard case .findingService(var search) = state else { return .finish(.done) }
    let step = search.begin(mtu: mtu)
    state = .findingService(search)
    return step
  }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    switch state {
    case .findingService(var search):
      let step = try search.receive(response, mtu: mtu)
      state = .findingService(search)
      return try follow(step, mtu: mtu)
    case .findingCharacteristic(var discovery, let end):
      let step = try discovery.receive(response, mtu: mtu)
      state = .findingCharacteristic(discovery, end: end)
      return try follow(step, mtu: mtu)
    case .configuring(var configuration):
      let step = try configuration.receive(response, mtu: mtu)
      state = .configuring(configuration)
      return try follow(step, mtu: mtu)
    }
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    switch state {
    case .findingService(var search): return try follow(try search.receive(error), mtu: ATT.defaultMTU)
    case .findingCharacteristic(var discovery, _):
      return try follow(try discovery.receive(error), mtu: ATT.defaultMTU)
    case .configuring(var configuration):
      let step = try configuration.receive(error)
      state = .configuring(configuration)
      return step
    }
  }

  /// Returns the step of a part. The result of each part begins the next one.
  private mutating func follow(_ step: ClientStep, mtu: Int) throws(GATTClientError) -> ClientStep {
    guard case .finish(let outcome) = step else { return step }
    switch (state, outcome.found) {
    case (_, .services(let services)):
      guard let service = services.first else { throw .noServiceChanged }
      var discovery = CharacteristicDiscovery(within: service.handles, limit: limit)
      let step = discovery.begin(mtu: mtu)
      state = .findingCharacteristic(discovery, end: service.handles.upperBound)
      return step
    case (.findingCharacteristic(_, let end), .characteristics(let characteristics)):
      guard let found = characteristics.first(where: { $0.uuid == .serviceChanged }), found.valueHandle < end else {
        throw .noServiceChanged
      }
      valueHandle = found.valueHandle
      let first = AttributeHandle(found.valueHandle.rawValue &+ 1)
      var configuration = SubscriptionProcedure(.indicate, in: first...end, limit: limit)
      let step = try configuration.begin(mtu: mtu)
      state = .configuring(configuration)
      return step
    case (_, .configured(let descriptor)):
      found = valueHandle.map { AttributeCache.ServiceChanged(valueHandle: $0, configuration: descriptor) }
      return .finish(.done)
    case (.configuring, .noConfiguration): throw .noServiceChanged
    // No part has another outcome.
    default: return .finish(.done)
    }
  }
}

extension GATTClientError {
  fileprivate static let noServiceChanged = Self.errorResponse(
    .attributeNotFound, request: .readByTypeRequest, handle: .first)
}
