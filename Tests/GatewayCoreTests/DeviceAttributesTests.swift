import BLEWire
import GatewayCore
import Testing

/// The characteristics of a device by name, of which several can have one type.
struct DeviceAttributesTests {
  private let address = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random)

  private func attributes(_ services: [(BluetoothUUID, [BluetoothUUID])]) -> DeviceAttributes {
    DeviceAttributes(of: address, services: services.map { (service: $0.0, characteristics: $0.1) })
  }

  private func subscription(_ text: String) throws -> GatewayConfiguration.Subscription {
    try GatewayConfiguration.Subscription(text)
  }

  @Test func eachCharacteristicOfOneTypeHasAName() {
    let attributes = attributes([
      ("180F", ["2A19"]), ("181A", ["2A6E", "2A6F", "2A6E"]), ("180F", ["2A19", "2A19"]), ("180F", []),
    ])
    #expect(
      attributes.names.map(\.path) == [
        "180F/2A19", "181A/2A6E", "181A/2A6F", "181A/2A6E-2", "180F-2/2A19", "180F-2/2A19-2",
      ])
    #expect(attributes.names.allSatisfy { $0.address == address })
  }

  @Test func aSubscriptionIsForEachCharacteristicOfItsTypes() throws {
    let attributes = attributes([("180F", ["2A19", "2A1A"]), ("181A", ["2A6E", "2A19"]), ("180F", ["2A19"])])
    let published = attributes.published([try subscription("180F/2A19"), try subscription("181A/2A6F")])
    #expect(published.names.map(\.path) == ["180F/2A19", "180F-2/2A19"])
    #expect(published.missing == [try subscription("181A/2A6F")])
    #expect(published.excess == 0)
  }

  @Test func theNumberOfPublishedCharacteristicsIsLimited() throws {
    let limit = DeviceAttributes.publishedLimit
    let subscriptions = [try subscription("180F/2A19"), try subscription("181A/2A6E")]
    func published(_ count: Int) -> DeviceAttributes.Published {
      attributes([("180F", [BluetoothUUID](repeating: "2A19", count: count)), ("181A", ["2A6E"])])
        .published(subscriptions)
    }
    #expect(published(limit - 1).names.count == limit && published(limit - 1).excess == 0)
    #expect(published(limit - 1).names.last?.path == "181A/2A6E")
    #expect(published(limit).names.count == limit && published(limit).excess == 1)
    #expect(published(limit + 5).names.count == limit && published(limit + 5).excess == 6)
  }
}
