import BLEATT
import BLECrypto
import BLEGATT
import BLEWire

/// An effect of the registry.
enum ServiceEffect: Equatable, Sendable {
  /// Services in this range were added or removed: bonded and subscribed clients get Service Changed.
  case changed(ClosedRange<AttributeHandle>)
}

/// The attribute database and the owner of each service in it.
struct ServiceRegistry: Sendable {
  var database: AttributeDatabase
  private(set) var owners = ServiceOwners()
  /// Whether the program has set the Device Name.
  private var hasDeviceName: Bool
  /// The services that the host has by itself.
  private var generic: GenericServices
  /// The identifier of the attributes that have replaced the whole database.
  private var replacement: ServiceID?

  init(_ configuration: HostConfiguration, _ cryptography: some Cryptography) {
    let cmac: @Sendable ([UInt8]) -> [UInt8] = { message in
      // Without libcrypto's AES there is no hash: the characteristic is then zero, and clients discover again.
      let mac = (try? cryptography.cmac(message, key: 0)) ?? 0
      return (0..<16).map { UInt8(truncatingIfNeeded: mac >> UInt128(8 * (15 - $0))) }
    }
    var generic = GenericServices(
      deviceName: configuration.deviceName ?? "BluetoothLE", appearance: configuration.appearance,
      centralAddressResolution: false,
      databaseHashCMAC: cmac)
    generic.supportsEnhancedBearers = configuration.usesEnhancedBearers
    self.generic = generic
    database = AttributeDatabase(services: generic)
    hasDeviceName = configuration.deviceName != nil
  }

  /// Performs a command about services; others are not for this part.
  mutating func perform(
    _ command: HostCommand.Services, from owner: OwnerID, into effects: inout [Effect<ServiceEffect>]
  ) {
    switch command {
    case .add(let definition): add(definition, for: owner, into: &effects)
    case .replaceAll(let id, let attributes): replaceAll(id, with: attributes, for: owner, into: &effects)
    case .remove(let id): remove(id, of: owner, into: &effects)
    case .setValue(let attribute, let value): setValue(attribute, value, from: owner, into: &effects)
    case .setIdentity(let name, let appearance): setIdentity(name: name, appearance: appearance)
    case .reportStoredWrites(let reports): owners.setReportsStoredWrites(reports, to: owner)
    }
    database.reportsStoredWrites = owners.reportsStoredWrites
  }

  mutating func add(_ service: ServiceDefinition, for owner: OwnerID, into effects: inout [Effect<ServiceEffect>]) {
    do throws(DatabaseError) {
      let handles = try database.add(service)
      owners.add(service, of: owner)
      effects.append(.own(.changed(handles.range)))
      effects.append(.event(.services(.added(service.id, .success(handles))), to: owner.recipient))
    } catch {
      effects.append(.event(.services(.added(service.id, .failure(error))), to: owner.recipient))
    }
  }

  /// Replaces the whole database, as long as no owner has added a service.
  private mutating func replaceAll(
    _ id: ServiceID, with definitions: [AttributeDefinition], for owner: OwnerID,
    into effects: inout [Effect<ServiceEffect>]
  ) {
    do throws(DatabaseError) {
      if let other = owners.anyService { throw .duplicateService(other) }
      try database.replaceAll(with: definitions)
      replacement = id
      owners.add(definitions, as: id, of: owner)
      let last = definitions.last?.handle ?? .first
      var handles: [AttributeID: AttributeHandle] = [:]
      for definition in definitions { if let id = definition.id { handles[id] = definition.handle } }
      effects.append(.own(.changed(.first ... .last)))
      effects.append(
        .event(
          .services(.added(id, .success(ServiceHandles(range: .first...last, attributes: handles)))),
          to: owner.recipient))
    } catch {
      effects.append(.event(.services(.added(id, .failure(error))), to: owner.recipient))
    }
  }

  /// Removes a service of this owner; that of another one is unknown to it.
  mutating func remove(_ id: ServiceID, of owner: OwnerID, into effects: inout [Effect<ServiceEffect>]) {
    do throws(DatabaseError) {
      guard owners.owner(of: id) ?? owner == owner else { throw .unknownService(id) }
      let range: ClosedRange<AttributeHandle>
      if id == replacement {
        database.replaceAll(with: AttributeDatabase(services: generic))
        (replacement, range) = (nil, .first ... .last)
      } else {
        range = try database.remove(id)
      }
      owners.remove(id)
      effects.append(.own(.changed(range)))
      effects.append(.event(.services(.removed(id, .success(range))), to: owner.recipient))
    } catch {
      effects.append(.event(.services(.removed(id, .failure(error))), to: owner.recipient))
    }
  }

  /// Removes all services of an owner that detaches.
  mutating func removeAll(of owner: OwnerID, into effects: inout [Effect<ServiceEffect>]) {
    for service in owners.services(of: owner) { remove(service, of: owner, into: &effects) }
    owners.setReportsStoredWrites(true, to: owner)
    database.reportsStoredWrites = owners.reportsStoredWrites
  }

  /// Changes a value that the stack keeps.
  mutating func setValue(
    _ attribute: AttributeID, _ value: [UInt8], from owner: OwnerID, into effects: inout [Effect<ServiceEffect>]
  ) {
    do throws(DatabaseError) {
      guard isOwn(attribute, of: owner) else { throw .unknownAttribute(attribute) }
      try database.setStored(attribute, value)
    } catch {
      effects.append(.event(.refused(.invalidParameters("\(error)")), to: owner.recipient))
    }
  }

  mutating func setIdentity(name: String?, appearance: UInt16?) {
    if let name {
      generic.deviceName = name
      database.setDeviceName(name)
      hasDeviceName = true
    }
    if let appearance {
      generic.appearance = appearance
      database.setAppearance(appearance)
    }
  }

  /// An advertisement with this name is started: a central that reads the Device Name gets the same one, unless the
  /// program has set another one.
  mutating func advertises(as name: String) {
    if !hasDeviceName { database.setDeviceName(name) }
  }

  /// Whether an attribute belongs to this owner or does not exist; the database reports the latter.
  private func isOwn(_ attribute: AttributeID, of owner: OwnerID) -> Bool {
    owners.owner(of: attribute) ?? owner == owner
  }

  /// The handle of a value that an owner sends; nil where the attribute is not its own or does not exist.
  func updatedValue(_ attribute: AttributeID, of owner: OwnerID) -> AttributeHandle? {
    isOwn(attribute, of: owner) ? database.handle(of: attribute) : nil
  }

  /// The recipient of events about an attribute.
  func recipient(of attribute: AttributeID) -> Recipient { (owners.owner(of: attribute) ?? .process).recipient }
}
