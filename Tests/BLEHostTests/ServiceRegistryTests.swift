import BLEATT
import BLECrypto
import BLEGATT
import BLEWire
import Testing

@testable import BLEHost

/// The database and who owns what is in it, without links.
@Suite("Service registry") struct ServiceRegistryTests {
  private let first = OwnerID(rawValue: 1)
  private let second = OwnerID(rawValue: 2)

  private func registry() -> ServiceRegistry { ServiceRegistry(HostConfiguration(), LibCrypto()) }

  private func words(_ effects: [Effect<ServiceEffect>]) -> [String] {
    effects.map { effect in
      switch effect {
      case .own(.changed): "changed"
      case .event(.services(.added(let id, .success)), let recipient): "added \(id.rawValue) \(recipient)"
      case .event(.services(.added(let id, .failure)), _): "not added \(id.rawValue)"
      case .event(.services(.removed(let id, .success)), _): "removed \(id.rawValue)"
      case .event(.services(.removed(let id, .failure)), _): "not removed \(id.rawValue)"
      case .event(.refused, let recipient): "refused \(recipient)"
      default: "other"
      }
    }
  }

  @Test func tellsLinksOfANewServiceBeforeItsOwner() {
    var (registry, effects) = (registry(), [Effect<ServiceEffect>]())
    registry.add(Choices.service(1), for: first, into: &effects)
    #expect(words(effects) == ["changed", "added 1 \(Recipient.owner(first))"])
    #expect(registry.recipient(of: AttributeID(rawValue: 11)) == .owner(first))
    #expect(registry.recipient(of: AttributeID(rawValue: 99)) == .everyone)
  }

  @Test func refusesAServiceThatIsThereAlready() {
    var (registry, effects) = (registry(), [Effect<ServiceEffect>]())
    registry.add(Choices.service(1), for: first, into: &effects)
    effects = []
    registry.add(Choices.service(1), for: second, into: &effects)
    #expect(words(effects) == ["not added 1"])
    #expect(registry.updatedValue(AttributeID(rawValue: 11), of: first) != nil)
    #expect(registry.updatedValue(AttributeID(rawValue: 11), of: second) == nil)
  }

  @Test func doesNotLetAnOwnerRemoveOrChangeWhatIsAnothers() {
    var (registry, effects) = (registry(), [Effect<ServiceEffect>]())
    registry.add(Choices.service(1), for: first, into: &effects)
    effects = []
    registry.remove(ServiceID(rawValue: 1), of: second, into: &effects)
    registry.setValue(AttributeID(rawValue: 11), [1], from: second, into: &effects)
    #expect(words(effects) == ["not removed 1", "refused \(Recipient.owner(second))"])
    registry.setValue(AttributeID(rawValue: 11), [5], from: first, into: &effects)
    #expect(registry.database.storedValue(of: AttributeID(rawValue: 11)) == [5])
  }

  /// A copy of another server's database replaces all services, and its removal brings back those of the host.
  @Test func replacesTheWholeDatabaseForOneOwner() {
    var (registry, effects) = (registry(), [Effect<ServiceEffect>]())
    let before = registry.database.databaseHash()
    let (copy, value) = (ServiceID(rawValue: 7), AttributeID(rawValue: 11))
    let attributes = [
      AttributeDefinition(handle: 0x0030, type: .primaryService, value: .fixed([0x0F, 0x18])),
      AttributeDefinition(handle: 0x0031, type: .characteristic, value: .fixed([0x02, 0x35, 0x00, 0x19, 0x2A])),
      AttributeDefinition(handle: 0x0035, type: "2A19", value: .dynamic, id: value),
    ]
    registry.perform(.replaceAll(copy, attributes), from: first, into: &effects)
    #expect(words(effects) == ["changed", "added 7 \(Recipient.owner(first))"])
    #expect(registry.database.count == 3 && registry.database.handle(of: value) == 0x0035)
    #expect(registry.recipient(of: value) == .owner(first))
    effects = []
    registry.perform(.replaceAll(ServiceID(rawValue: 8), attributes), from: second, into: &effects)
    registry.remove(copy, of: second, into: &effects)
    #expect(words(effects) == ["not added 8", "not removed 7"])
    effects = []
    registry.removeAll(of: first, into: &effects)
    #expect(words(effects) == ["changed", "removed 7"])
    #expect(registry.database.databaseHash() == before && registry.database.handle(of: value) == nil)
    effects = []
    registry.perform(.replaceAll(copy, attributes.reversed()), from: first, into: &effects)
    #expect(words(effects) == ["not added 7"] && registry.database.databaseHash() == before)
  }

  @Test func removesWhatAnOwnerDeclaredInTheOrderOfTheIdentifiers() {
    var (registry, effects) = (registry(), [Effect<ServiceEffect>]())
    registry.add(Choices.service(2), for: first, into: &effects)
    registry.add(Choices.service(1), for: first, into: &effects)
    registry.add(Choices.service(3), for: second, into: &effects)
    effects = []
    registry.removeAll(of: first, into: &effects)
    #expect(words(effects) == ["changed", "removed 1", "changed", "removed 2"])
    #expect(registry.owners.services(of: second) == [ServiceID(rawValue: 3)])
  }
}
