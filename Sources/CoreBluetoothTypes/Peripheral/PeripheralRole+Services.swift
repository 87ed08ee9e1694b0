import BLEATT
import BLEAdapter
import BLEGATT
import BLEHost
import BLEWire
import Foundation

extension PeripheralRole {
  /// Publishes `service`, or records why not; in both cases the answer comes in its turn.
  mutating func add(_ service: CBMutableService, into effects: inout PeripheralEffects) {
    let id = HostIDs.service()
    do {
      if try replaceRestored(by: service, into: &effects) { return }
      try publish(service, as: id, into: &effects)
      adds.ask(id, service)
    } catch {
      adds.ask(id, service, answer: .failure(error))
      flushAnswers(into: &effects)
    }
  }

  /// - Throws: why the service cannot be published.
  mutating func publish(
    _ service: CBMutableService, as id: ServiceID, into effects: inout PeripheralEffects
  ) throws(CBError) {
    updateTarget = nil
    let new = try MutableServiceDefinition(service, id: id, published: serviceIDs, known: attributeIDs)
    for (attribute, object) in new.attributes {
      attributes[attribute] = object
      attributeIDs[ObjectIdentifier(object)] = attribute
    }
    published[id] = Publication(
      service: service, attributes: new.attributes.map(\.0), includes: new.definition.includes, record: .init(service))
    serviceIDs[ObjectIdentifier(service)] = id
    effects.commands.append(.services(.add(new.definition)))
    effects.warnings += new.warnings
  }

  mutating func serviceAdded(
    _ id: ServiceID, _ result: Result<ServiceHandles, DatabaseError>, into effects: inout PeripheralEffects
  ) {
    if unansweredServices.remove(id) != nil {
      guard case .failure(let error) = result, let publication = published[id] else { return }
      effects.warnings.append("\(publication.service) is not restored: \(CBError(error).localizedDescription)")
      return forget(id)
    }
    guard adds.contains(id) else { return }
    switch result {
    case .success: adds.answer(id, .success)
    case .failure(let error):
      adds.answer(id, .failure(CBError(error)))
      forget(id)
    }
    flushAnswers(into: &effects)
  }

  mutating func remove(_ service: CBMutableService, into effects: inout PeripheralEffects) {
    guard let id = serviceIDs[ObjectIdentifier(service)] else {
      effects.misuses.append("remove: \(service) is not published by this manager")
      return
    }
    let includer = published.values.first { publication in
      publication.service !== service && publication.service.includedServices?.contains { $0 === service } == true
    }
    if let includer {
      effects.misuses.append("remove: \(service) is included by \(includer.service): remove that one first")
      return
    }
    withdraw(id, into: &effects)
  }

  mutating func removeAll(into effects: inout PeripheralEffects) {
    // A service is published after those it includes, so the newest goes first.
    for id in published.keys.sorted(by: { $0.rawValue > $1.rawValue }) { withdraw(id, into: &effects) }
  }

  /// Removes a service: its subscribers are removed without a call, and requests for it are rejected.
  mutating func withdraw(_ id: ServiceID, into effects: inout PeripheralEffects) {
    guard let publication = published[id] else { return }
    let gone = Set(publication.attributes)
    for request in pending.removeAll(where: { $0.concerns(gone) }) {
      effects.commands.append(.respond(request.key.peer, request.key.token, .failure(.unlikelyError)))
    }
    retiring[id] = gone
    forget(id)
    effects.commands.append(.services(.remove(id)))
  }

  mutating func serviceRemoved(
    _ id: ServiceID, _ result: Result<ClosedRange<AttributeHandle>, DatabaseError>,
    into effects: inout PeripheralEffects
  ) {
    guard retiring.removeValue(forKey: id) != nil else { return }
    guard case .failure(let error) = result else { return }
    // A service that the host refused to add does not exist there.
    if case .unknownService = error { return }
    effects.misuses.append("remove: \(error)")
  }

  private mutating func forget(_ id: ServiceID) {
    guard let publication = published.removeValue(forKey: id) else { return }
    restoredServices.remove(id)
    updateTarget = nil
    serviceIDs[ObjectIdentifier(publication.service)] = nil
    for attribute in publication.attributes {
      guard let object = attributes.removeValue(forKey: attribute) else { continue }
      attributeIDs[ObjectIdentifier(object)] = nil
      (object as? CBMutableCharacteristic)?.forgetSubscribers()
    }
    let gone = Set(publication.attributes)
    for peer in links.keys { links[peer]?.subscriptions.removeAll { gone.contains($0) } }
  }

  /// Changes a value that the stack stores.
  mutating func setStoredValue(
    _ value: [UInt8], for attribute: CBAttribute, lengths: ClosedRange<Int>?, into effects: inout PeripheralEffects
  ) throws(CBError) {
    guard let lengths else {
      throw CBError(
        .invalidParameters, "the value of \(attribute) is not kept by the stack: make it with init(storedValue:)")
    }
    guard lengths.contains(value.count) else {
      throw CBError(
        .invalidParameters,
        "\(value.count) octets for \(attribute), which takes \(lengths.lowerBound) to \(lengths.upperBound)")
    }
    guard let id = attributeIDs[ObjectIdentifier(attribute)] else { return }
    effects.commands.append(.services(.setValue(id, value)))
  }

  /// Sets whether the host reports what centrals write to stored values: a write that no client asks for is not
  /// reported.
  mutating func setReportsStoredWrites(_ reports: Bool, into effects: inout PeripheralEffects) {
    guard reports != reportsStoredWrites else { return }
    reportsStoredWrites = reports
    effects.commands.append(.services(.reportStoredWrites(reports)))
  }

  mutating func stored(
    _ peer: LinkID, _ attribute: AttributeID, _ value: [UInt8], into effects: inout PeripheralEffects
  ) {
    guard let link = links[peer], let object = attributes[attribute] else { return }
    (object as? CBCharacteristic)?.value = Data(value)
    (object as? CBDescriptor)?.held = .data(Data(value))
    effects.calls.append(.stored(link.central, object))
  }
}
