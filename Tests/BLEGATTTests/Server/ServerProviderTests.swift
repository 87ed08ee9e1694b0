import BLEATT
import BLEWire
import Synchronization
import Testing

@testable import BLEGATT

/// Dynamic values with a provider: the server answers without the application (Vol 3, Part F, 3.4.4.3, 3.4.4.5 and
/// 3.4.5).
@Suite("Providers of values") struct ServerProviderTests {
  private static let value = AttributeID(rawValue: 1)

  /// A server with one dynamic value, whose handle is 0x0003.
  private func server(_ provider: ValueProvider) throws -> TestServer {
    var service = ServiceDefinition(
      id: ServiceID(rawValue: 1), uuid: "180F",
      characteristics: [
        CharacteristicDefinition(
          id: Self.value, uuid: "2A19", properties: [.read, .write, .writeWithoutResponse],
          permissions: GATTAttributePermissions(read: .open, write: .open), value: .dynamic)
      ])
    service.providers = [Self.value: provider]
    var database = AttributeDatabase()
    try database.add(service)
    var server = TestServer(database)
    server.bearer.client = 7
    return server
  }

  @Test func answersReadsWithTheProvidedValue() throws {
    var server = try server(ValueProvider(read: { _, client in .success([UInt8](0..<30) + [UInt8(client.number)]) }))
    #expect(server.send([0x0A, 3, 0]) == [[0x0B] + [UInt8](0..<22)])
    #expect(server.send([0x0C, 3, 0, 22, 0]) == [[0x0D] + [UInt8](22..<30) + [7]])
    #expect(server.send([0x0C, 3, 0, 31, 0]) == [[0x0D]])
    #expect(server.takeEvents() == [])
    #expect(server.bearer.deadline == nil)
  }

  @Test func rejectsAReadBlobPastTheEndOfAProvidedValue() throws {
    var server = try server(ValueProvider(read: { _, _ in .success([1, 2]) }))
    #expect(server.send([0x0C, 3, 0, 3, 0]) == [[0x01, 0x0C, 3, 0, 0x07]])
  }

  @Test func sendsTheErrorOfAProvider() throws {
    var server = try server(
      ValueProvider(read: { _, _ in .failure(.outOfRange) }, write: { _, _ in .failure(ATTErrorCode(rawValue: 0)) }))
    #expect(server.send([0x0A, 3, 0]) == [[0x01, 0x0A, 3, 0, 0xFF]])
    // 0x00 is no error.
    #expect(server.send([0x12, 3, 0, 1]) == [[0x01, 0x12, 3, 0, 0x0E]])
    #expect(server.send([0x52, 3, 0, 1]) == [])
  }

  @Test func givesWholeWritesToTheProvider() throws {
    let written = Mutex<[[UInt8]]>([])
    var server = try server(
      ValueProvider(write: { value, _ in
        written.withLock { $0.append([UInt8](copying: value)) }
        return .success(())
      }))
    #expect(server.send([0x12, 3, 0, 1, 2]) == [[0x13]])
    #expect(server.send([0x52, 3, 0, 3]) == [])
    #expect(written.withLock { $0 } == [[1, 2], [3]])
    #expect(server.takeEvents() == [])
    // A provider that only writes leaves reads to the application.
    #expect(server.send([0x0A, 3, 0]) == [])
    #expect(server.takeEvents().count == 1)
  }

  @Test func leavesARequestToTheApplicationWhereTheProviderDoes() throws {
    var server = try server(ValueProvider(read: { _, _ in nil }, write: { _, _ in nil }))
    #expect(server.send([0x52, 3, 0, 3]) == [] && server.takeEvents().count == 1)
    #expect(server.send([0x0A, 3, 0]) == [] && server.takeEvents().count == 1)
    #expect(server.bearer.isWaitingForApplication)
  }

  @Test func requestsBehindEarlierEventsAreEvents() throws {
    var server = try server(ValueProvider(read: { _, _ in .success([1]) }))
    server.database.callsProviders = false
    #expect(server.send([0x0A, 3, 0]) == [] && server.takeEvents().count == 1)
  }

  @Test func aRemovedServiceHasNoProvider() throws {
    var server = try server(ValueProvider(read: { _, _ in .success([1]) }))
    try server.database.remove(ServiceID(rawValue: 1))
    #expect(server.database.providers.isEmpty)
    #expect(server.send([0x0A, 3, 0]) == [[0x01, 0x0A, 3, 0, 0x01]])
  }
}
