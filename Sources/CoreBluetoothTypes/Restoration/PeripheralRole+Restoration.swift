import BLEEngine
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

    /// As the delegate receives it.
    var dictionary: [String: Any] {
      var dictionary: [String: Any] = [:]
      if !services.isEmpty { dictionary[CBPeripheralManagerRestoredStateServicesKey] = services }
      if let advertisement {
        dictionary[CBPeripheralManagerRestoredStateAdvertisementDataKey] = advertisement.dictionary
      }
      return dictionary
    }
  }

  /// The first state of the adapter: the delegate is called. With power on, the services are published and the advertisement starts,
  /// both without a call, as they never ended for the application.
  mutating func restore(isPoweredOn: Bool, into effects: inout PeripheralEffects) {
    guard let restored = restoration else { return }
    if !restored.isReported { effects.calls.append(.willRestore(restored)) }
    restoration?.isReported = true
    guard isPoweredOn else { return }
    restoration = nil
    for service in restored.services {
      do {
        let id = HostNames.service()
        try publish(service, as: id, into: &effects)
        restoredServices.insert(id)
      } catch {
        effects.warnings.append("\(service) is not restored: \(error.localizedDescription)")
      }
    }
    guard let advertisement = restored.advertisement else { return }
    do {
      let id = HostNames.advertising()
      let content = try Advertisement(dictionary: advertisement.dictionary)
      _ = try begin(content, .coreBluetooth, as: id, into: &effects)
      (restoredStart, advertising, declared) = (id, .on(id), advertisement)
    } catch {
      effects.warnings.append("the advertisement is not restored: \(error.localizedDescription)")
    }
  }

  /// For the next run.
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
