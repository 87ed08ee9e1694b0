import BLEATT
import BLEHost
import BLEKit
import BLEWire
import Synchronization
import Testing

@testable import BLEGATT

/// What a device describes wrongly, and what it changes during a link.
@Suite("The database of a device, Swift API") struct RemoteDatabaseTests {
  private let server = ScriptedServer()

  @Test func whatADeviceDescribesWronglyIsLeftOutAlone() async throws {
    let device = try await server.connect()
    let fault = GATTClientError.malformedResponse(.readByGroupTypeResponse, reason: "half an entry")
    server.answer(.discoverPrimaryServices) { found in
      .success(.incomplete(found, [DiscoveryFault(handles: 0x40 ... .last, error: fault)]))
    }
    server.answer(.discoverCharacteristics(0x10...0x13)) { _ in
      .failure(.errorResponse(ATTErrorCode(rawValue: 0), request: .readByTypeRequest, handle: 0))
    }
    let services = try await device.services()
    #expect(services.map(\.uuid) == ["180F", "181A"])
    #expect(services.map(\.characteristics.count) == [0, 1])
    #expect(try await device.read(services[1].characteristics[0]) == [0x22])
    let faults = device.discoveryFaults
    #expect(faults.map(\.handles) == [0x40 ... .last, 0x10...0x13])
    #expect(faults.map(\.error.kind) == [.invalidResponse, .att(ATTErrorCode(rawValue: 0))])
    #expect(faults.allSatisfy { !"\($0)".contains("success") })
  }

  /// A device that rejects everything has no services to show: that is an error.
  @Test func aDeviceThatRejectsTheDiscoveryIsAnError() async throws {
    let device = try await server.connect()
    server.answer(.discoverPrimaryServices) { _ in
      .failure(.errorResponse(.unlikelyError, request: .readByGroupTypeRequest, handle: 1))
    }
    await expectThrows(.att(.unlikelyError)) { _ = try await device.services() }
  }

  @Test func valuesWithoutAClientCharacteristicConfigurationAreDelivered() async throws {
    let device = try await server.connect()
    server.answer(.configure(.notify, in: 0x13...0x13)) { _ in .success(.noConfiguration(in: 0x13...0x13)) }
    let level = try await device.characteristic("2A19", in: "180F")
    var values = try await device.values(of: level).subscribed()
    server.notify(0x12, [66])
    #expect(try await values.next() == [66])
  }

  /// The service has no room for a descriptor: it may be directly behind it.
  @Test func theConfigurationOfALastValueIsSearchedBehindTheService() async throws {
    let device = try await server.connect()
    server.change { $0[0].handles = 0x10...0x12 }
    server.answer(.configure(.notify, in: 0x13...0x13)) { _ in .success(.noConfiguration(in: 0x13...0x13)) }
    var values = try await device.values(of: try await device.characteristic("2A19", in: "180F")).subscribed()
    server.notify(0x12, [66])
    #expect(try await values.next() == [66])
    #expect(server.performed.contains(.configure(.notify, in: 0x13...0x13)))
  }

  @Test func aSubscriptionMovesWithItsCharacteristic() async throws {
    let device = try await server.connect()
    var values = try await device.values(of: try await device.characteristic("2A19", in: "180F")).subscribed()
    server.notify(0x12, [66])
    #expect(try await values.next() == [66])
    // Humidity has the handle of the battery now.
    server.change {
      $0[0].handles = 0x30...0x33
      $0[1].handles = 0x10...0x13
    }
    server.changed(1 ... .last)
    try await server.performs(.configure(.notify, in: 0x33...0x33))
    server.notify(0x12, [25])
    server.notify(0x32, [65])
    #expect(try await values.next() == [65], "not the humidity")
  }

  @Test func aSubscriptionEndsWithACharacteristicThatIsGone() async throws {
    let device = try await server.connect()
    var values = try await device.values(of: try await device.characteristic("2A19", in: "180F")).subscribed()
    server.change { $0.removeFirst() }
    server.changed(0x10...0x13)
    do {
      _ = try await values.next()
      Issue.record("no error")
    } catch {
      #expect(error.kind == .servicesChanged)
      #expect(error.description.contains("2A19"))
    }
  }

  /// The second of two equal characteristics is not confused with the first.
  @Test func aSubscriptionToASecondInstanceMovesToTheSecondInstance() async throws {
    let device = try await server.connect()
    server.change { $0.insert(ScriptedServer.Service(0x08...0x0B, "180F", "2A19"), at: 0) }
    let services = try await device.services()
    var values = try await device.values(of: services[1].characteristics[0]).subscribed()
    server.change {
      $0[0].handles = 0x50...0x53
      $0[1].handles = 0x60...0x63
    }
    server.changed(1 ... .last)
    try await server.performs(.configure(.notify, in: 0x63...0x63))
    server.notify(0x52, [1])
    server.notify(0x62, [2])
    #expect(try await values.next() == [2])
  }

  @Test func attributesFromBeforeAChangeAreNotUsed() async throws {
    let device = try await server.connect()
    let (battery, air) = (try await device.service("180F"), try await device.service("181A"))
    let values = try device.attributeValues()
    let descriptors = try await device.descriptors(of: battery.characteristics[0])
    server.changed(0x10...0x13)
    await #expect(throws: BLEError.self) { for try await _ in values {} }
    let (old, descriptor) = (battery.characteristics[0], try #require(descriptors.first))
    await expectThrows(.servicesChanged) { _ = try await device.read(old) }
    await expectThrows(.servicesChanged) { try await device.write([1], to: old) }
    await expectThrows(.servicesChanged) { try await device.writeWithoutResponse([1], to: old) }
    await expectThrows(.servicesChanged) { _ = try await device.descriptors(of: old) }
    await expectThrows(.servicesChanged) { _ = try await device.read(descriptor) }
    await expectThrows(.servicesChanged) { _ = try await device.values(of: old).subscribed() }
    #expect(try await device.read(air.characteristics[0]) == [0x22], "it has not changed")
    // They are discovered again, and those from before stay invalid.
    let new = try await device.characteristic("2A19", in: "180F")
    #expect(try await device.read(new) == [0x12])
    await expectThrows(.servicesChanged) { _ = try await device.read(old) }
  }

  @Test func aDiscoveryDuringWhichTheServicesChangeBeginsAgain() async throws {
    let device = try await server.connect()
    server.answer(.discoverCharacteristics(0x20...0x23), once: true) { [server] found in
      server.change { $0.removeFirst() }
      server.changed(0x10...0x13)
      return .success(found)
    }
    let services = try await device.services()
    #expect(services.map(\.uuid) == ["181A"])
    #expect(try await device.read(services[0].characteristics[0]) == [0x22])
  }

  @Test func aDiscoveryThatNeverSettlesIsAnError() async throws {
    let device = try await server.connect()
    server.answer(.discoverCharacteristics(0x20...0x23)) { [server] found in
      server.changed(0x10...0x13)
      return .success(found)
    }
    await expectThrows(.servicesChanged) { _ = try await device.services() }
    let discoveries = server.performed.count { $0 == .discoverPrimaryServices }
    #expect(discoveries == 1 + 3)
  }

  private func expectThrows(
    _ kind: BLEError.Kind, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
  ) async {
    let error = await #expect(throws: BLEError.self, sourceLocation: sourceLocation) { try await body() }
    #expect(error?.kind == kind, sourceLocation: sourceLocation)
  }
}

/// A device whose GATT server the test plays: a list of services, each with one characteristic that notifies.
private final class ScriptedServer: Sendable {
  struct Service: Sendable {
    var handles: ClosedRange<AttributeHandle>
    var uuid: BluetoothUUID
    var characteristic: BluetoothUUID

    init(_ handles: ClosedRange<AttributeHandle>, _ uuid: BluetoothUUID, _ characteristic: BluetoothUUID) {
      (self.handles, self.uuid, self.characteristic) = (handles, uuid, characteristic)
    }

    var discovered: DiscoveredService { DiscoveredService(handles: handles, uuid: uuid) }
    var characteristics: [DiscoveredCharacteristic] {
      let first = handles.lowerBound.rawValue
      return [
        DiscoveredCharacteristic(
          declaration: AttributeHandle(first + 1), properties: [.read, .notify],
          valueHandle: AttributeHandle(first + 2),
          uuid: characteristic)
      ]
    }
  }

  typealias Answer = @Sendable (GATTClient.Outcome) -> Result<GATTClient.Outcome, GATTClientError>

  private struct State: Sendable {
    var services = [Service(0x10...0x13, "180F", "2A19"), Service(0x20...0x23, "181A", "2A6F")]
    var answers: [GATTClient.Operation.Kind: (once: Bool, answer: Answer)] = [:]
    var performed: [GATTClient.Operation.Kind] = []
  }

  private let host = ScriptedHost()
  private let peer = LinkID(rawValue: 9)
  private let state = Mutex(State())
  private let operations = Notes<GATTClient.Operation.Kind>()

  /// Connects, and answers the operations of the client from then on.
  func connect() async throws -> RemoteDevice {
    let adapter = try await host.open()
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0009), kind: .random)
    async let link = adapter.connect(to: address, timeout: nil)
    guard case .initiating(.connect(let id, _, _, _)) = try await host.next() else { throw CancellationError() }
    host.say(
      .connected(
        ConnectedLink(
          peer: peer, address: address, role: .central,
          timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: id)))
    let device = try await link
    Task { [self] in
      while let command = try? await host.next() {
        guard case .link(peer, .client(let operation)) = command else { continue }
        host.say(.client(peer, .finished(operation.id, perform(operation.kind))))
        operations.note(operation.kind)
      }
    }
    return device
  }

  var performed: [GATTClient.Operation.Kind] { state.withLock { $0.performed } }

  func change(_ body: @Sendable (inout [Service]) -> Void) { state.withLock { body(&$0.services) } }

  func changed(_ range: ClosedRange<AttributeHandle>) { host.say(.client(peer, .servicesChanged(range))) }

  func notify(_ handle: AttributeHandle, _ value: [UInt8]) { host.say(.client(peer, .notification(handle, value))) }

  /// Answers an operation in another way; the argument is the right outcome.
  func answer(_ kind: GATTClient.Operation.Kind, once: Bool = false, _ answer: @escaping Answer) {
    state.withLock { $0.answers[kind] = (once, answer) }
  }

  /// Waits until the client has performed an operation.
  func performs(_ kind: GATTClient.Operation.Kind) async throws {
    while try await operations.next() != kind {}
  }

  private func perform(_ kind: GATTClient.Operation.Kind) -> Result<GATTClient.Outcome, GATTClientError> {
    let (outcome, answer) = state.withLock { state in
      state.performed.append(kind)
      let answer = state.answers[kind]
      if answer?.once == true { state.answers[kind] = nil }
      return (Self.outcome(of: kind, state.services), answer?.answer)
    }
    return answer?(outcome) ?? .success(outcome)
  }

  private static func outcome(of kind: GATTClient.Operation.Kind, _ services: [Service]) -> GATTClient.Outcome {
    switch kind {
    case .discoverPrimaryServices: .services(services.map(\.discovered))
    case .discoverPrimaryServicesByUUID(let uuid): .services(services.filter { $0.uuid == uuid }.map(\.discovered))
    case .discoverCharacteristics(let range):
      .characteristics(services.first { $0.handles == range }?.characteristics ?? [])
    case .discoverDescriptors(let range): .descriptors([DiscoveredDescriptor(handle: range.lowerBound, uuid: "2902")])
    case .readLong(let handle): .value([UInt8(handle.rawValue)])
    case .configure(_, let range): .configured(range.lowerBound)
    default: .done
    }
  }
}
