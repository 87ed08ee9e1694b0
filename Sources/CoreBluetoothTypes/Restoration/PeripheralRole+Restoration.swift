import BLEAdapter
import BLEGAP
import BLEGATT
import BLEHost
import BLEWire
import Foundation

extension PeripheralRole {
  /// What an earlier run published and advertised, until the adapter is powered on.
  struct Restoration: Sendable {
    var services: [CBMutableService] = []
    var advertisement: RestoredServices.Advertisement?
    var isReported = false

    init(_ restored: RestoredServices) {
      for service in restored.services.prefix(RestoredServices.limit) {
        services.append(service.service(including: services))
      }
      advertisement = restored.advertisement
    }

    /// The state as the delegate receives it.
    var dictionary: [String: Any] {
      var dictionary: [String: Any] = [:]
      if !services.isEmpty { dictionary[CBPeripheralManagerRestoredStateServicesKey] = services }
      if let advertisement {
        dictionary[CBPeripheralManagerRestoredStateAdvertisementDataKey] = advertisement.dictionary
      }
      return dictionary
    }
  }

  /// The first state of the adapter: the delegate is called. With power on, the services are published and the
  /// advertisement starts, both without a call, as they never ended for the application.
  mutating func restore(isPoweredOn: Bool, into effects: inout PeripheralEffects) {
    guard let restored = restoration else { return }
    if !restored.isReported {
      report = restored
      effects.calls.append(.willRestore)
    }
    restoration?.isReported = true
    guard isPoweredOn else { return }
    restoration = nil
    for service in restored.services {
      do {
        let id = HostIDs.service()
        try publish(service, as: id, into: &effects)
        restoredServices.insert(id)
        unansweredServices.insert(id)
      } catch {
        effects.warnings.append("\(service) is not restored: \(error.localizedDescription)")
      }
    }
    guard let advertisement = restored.advertisement else { return }
    do {
      let id = HostIDs.advertising()
      let content = try Advertisement(dictionary: advertisement.dictionary)
      _ = try begin(content, .coreBluetooth, as: id, into: &effects)
      (restoredAdvertising, advertising, declared) = (id, .on(id), advertisement)
    } catch {
      effects.warnings.append("the advertisement is not restored: \(error.localizedDescription)")
    }
  }

  /// The state for the next run.
  var restorable: RestoredServices {
    let ids = published.keys.sorted { $0.rawValue < $1.rawValue }.prefix(RestoredServices.limit)
    let positions = Dictionary(uniqueKeysWithValues: zip(ids, 0...))
    let services = ids.compactMap { published[$0] }.map { publication in
      var record = publication.record
      record.includes = publication.includes.compactMap { positions[$0] }
      // The attributes are in this order; only values that the stack stores change.
      var attributes = publication.attributes.map { self.attributes[$0] }[...]
      for index in record.characteristics.indices {
        let characteristic = attributes.popFirst() as? CBMutableCharacteristic
        if let value = characteristic?.value, characteristic?.storedLengths != nil {
          record.characteristics[index].value = value
        }
        for place in record.characteristics[index].descriptors.indices {
          let descriptor = attributes.popFirst() as? CBMutableDescriptor
          if descriptor?.storedLengths != nil, case .data(let value)? = descriptor?.held {
            record.characteristics[index].descriptors[place].data = value
          }
        }
      }
      return record
    }
    var restorable = RestoredServices(services: services)
    if advertising != .off { restorable.advertisement = declared }
    return restorable
  }
}

/// Services that the program adds although an earlier run has published them.
extension PeripheralRole {
  /// Looks for restored services of the type of `service` that the program holds nothing of. An equal one makes room:
  /// `service` gets its handles and its subscribers. If all differ, the first one is withdrawn, because the program
  /// defines its service anew.
  ///
  /// - Returns: whether `service` is published with that, and its answer is in line.
  /// - Throws: why `service` cannot be published.
  mutating func replaceRestored(
    by service: CBMutableService, into effects: inout PeripheralEffects
  ) throws(CBError) -> Bool {
    var candidates: [ServiceID] = []
    for id in restoredServices.sorted(by: { $0.rawValue < $1.rawValue })
    where published[id]?.service.type == service.type && isUnheld(id) { candidates.append(id) }
    guard let first = candidates.first else { return false }
    let new = try MutableServiceDefinition(service, id: first, published: serviceIDs, known: attributeIDs)
    let record = RestoredServices.Service(service)
    let equal = candidates.first { id in
      published[id]?.record.definition == record.definition && published[id]?.includes == new.definition.includes
    }
    guard let equal else {
      if let id = candidates.first(where: { includers(of: $0).isEmpty }) { withdraw(id, into: &effects) }
      return false
    }
    effects.warnings += new.warnings
    let subscriptions = put(service, new.attributes.map(\.1), record, inPlaceOf: equal, into: &effects)
    restoredServices.remove(equal)
    // The host may not have answered yet: its answer for the restored service is then the answer for this one.
    adds.ask(equal, service, answer: unansweredServices.remove(equal) == nil ? .success : nil)
    flushAnswers(into: &effects)
    effects.calls += subscriptions
    return true
  }

  /// - Returns: the calls for the subscriptions of the new objects.
  private mutating func put(
    _ service: CBMutableService, _ objects: [CBAttribute], _ record: RestoredServices.Service,
    inPlaceOf id: ServiceID, into effects: inout PeripheralEffects
  ) -> [PeripheralManagerCall] {
    guard let old = published[id] else { return [] }
    updateTarget = nil
    var subscriptions: [PeripheralManagerCall] = []
    for (attribute, object) in zip(old.attributes, objects) {
      if let value = object.storedOctets { effects.commands.append(.services(.setValue(attribute, value))) }
      guard let before = attributes[attribute] else { continue }
      attributeIDs[ObjectIdentifier(before)] = nil
      (attributes[attribute], attributeIDs[ObjectIdentifier(object)]) = (object, attribute)
      guard let before = before as? CBMutableCharacteristic, let after = object as? CBMutableCharacteristic else {
        continue
      }
      for central in before.subscribedCentrals ?? [] where after.subscribe(central) {
        effects.calls.append(.didUnsubscribe(central, before))
        subscriptions.append(.didSubscribe(central, after))
      }
      before.forgetSubscribers()
    }
    serviceIDs[ObjectIdentifier(old.service)] = nil
    serviceIDs[ObjectIdentifier(service)] = id
    published[id] = Publication(
      service: service, attributes: old.attributes, includes: old.includes, record: record)
    for includer in includers(of: id) { includeAgain(in: includer) }
    return subscriptions
  }

  private func includers(of id: ServiceID) -> [ServiceID] {
    published.filter { $0.value.includes.contains(id) }.map(\.key)
  }

  /// Sets the included services of a published service to the published objects.
  private func includeAgain(in id: ServiceID) {
    guard let publication = published[id] else { return }
    publication.service.includedServices = publication.includes.compactMap { published[$0]?.service }
  }

  /// Whether the program holds neither a restored service nor a part of it: only this role refers to them.
  private mutating func isUnheld(_ id: ServiceID) -> Bool {
    // A service that includes it refers to it, too.
    let includers = includers(of: id)
    for includer in includers where !restoredServices.contains(includer) || !isUnheld(includer) { return false }
    for includer in includers { published[includer]?.service.includedServices = nil }
    defer { for includer in includers { includeAgain(in: includer) } }
    guard published[id]?.service.parts.map({ ObjectIdentifier($0) }) == attributeObjects(of: id),
      var publication = published.removeValue(forKey: id)
    else { return false }
    // The references of the table are put aside; nobody sees that, because the role is locked.
    for attribute in publication.attributes { attributes.removeValue(forKey: attribute) }
    let isUnheld = isKnownUniquelyReferenced(&publication.service) && !publication.service.sharesParts
    for (attribute, part) in zip(publication.attributes, publication.service.parts) { attributes[attribute] = part }
    published[id] = publication
    return isUnheld
  }

  private func attributeObjects(of id: ServiceID) -> [ObjectIdentifier] {
    (published[id]?.attributes ?? []).compactMap { attributes[$0].map { ObjectIdentifier($0) } }
  }
}

extension CBAttribute {
  /// The value that the stack stores; nil where it stores none.
  fileprivate var storedOctets: [UInt8]? {
    switch self {
    case let characteristic as CBMutableCharacteristic where characteristic.storedLengths != nil:
      [UInt8](characteristic.value ?? Data())
    case let descriptor as CBMutableDescriptor where descriptor.storedLengths != nil: descriptor.held.octets ?? []
    default: nil
    }
  }
}
