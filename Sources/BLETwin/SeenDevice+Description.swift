import BLEKit
import BLEProfiles
package import BLETrace
import BLEWire
import ToolCore

extension SeenDevice {
  /// The services that `ble serve` has in any case.
  static let ownServices: Set<BluetoothUUID> = ["1800", "1801"]

  /// The description of the device for `ble serve`, and the parts that a description cannot have.
  ///
  /// - Parameter fallback: the name of a device without one.
  package func described(orNamed fallback: String) -> (ServiceDescription, leftOut: [String]) {
    var leftOut: [String] = []
    let described = services.filter { !Self.ownServices.contains($0.uuid) }.compactMap {
      service -> ServiceDescription.Service? in
      guard !UUIDName.Kind.service.excludes(service.uuid) else {
        leftOut.append("the service \(service.uuid.uuidString), which is not the type of a service")
        return nil
      }
      return ServiceDescription.Service(
        uuid: service.uuid, isPrimary: service.isPrimary,
        characteristics: service.characteristics.compactMap { Self.describe($0, &leftOut) })
    }
    let description = ServiceDescription(
      name: descriptionName(or: fallback), appearance: descriptionAppearance,
      advertise: advertised.map { advertised in
        // A file is for devices that have these services.
        advertised.filter { uuid in described.contains { $0.uuid == uuid } }
      }, services: described)
    return (description, leftOut)
  }

  /// The readable values that were not seen: the description has none for them, and `ble serve` has empty ones.
  package var unseenValues: [String] {
    services.filter { !Self.ownServices.contains($0.uuid) }.flatMap { service in
      service.characteristics.filter { $0.value == nil && $0.properties.contains(.read) }
        .map { "\($0.uuid.uuidString) of \(service.uuid.uuidString)" }
    }
  }

  /// The name that it advertises, or else that of Generic Access.
  func descriptionName(or fallback: String) -> String {
    let names = [name, valueOfGAP("2A00").flatMap { Self.text($0) }].compactMap(\.self).filter { !$0.isEmpty }
    return (names.first ?? fallback).prefix(octets: ServiceDescription.maximumNameLength)
  }

  var descriptionAppearance: UInt16? { appearance ?? valueOfGAP("2A01").flatMap { UInt16(octets: $0) } }

  private func valueOfGAP(_ uuid: BluetoothUUID) -> [UInt8]? {
    services.first { $0.uuid == "1800" }?.characteristics.first { $0.uuid == uuid }?.value
  }

  private static func text(_ octets: [UInt8]) -> String? {
    let text = DeviceText(octets[...]).repaired
    return text.isEmpty ? nil : text
  }

  private static func describe(
    _ seen: Characteristic, _ leftOut: inout [String]
  ) -> ServiceDescription.Characteristic? {
    guard !UUIDName.Kind.characteristic.excludes(seen.uuid) else {
      leftOut.append("the characteristic \(seen.uuid.uuidString), which is not the type of a characteristic")
      return nil
    }
    let known = ServiceDescription.Property.members(of: seen.properties)
    let others = seen.properties.subtracting(GATTCharacteristicProperties(known.map(\.bit)))
    if !others.isEmpty { leftOut.append("the properties \(others) of \(seen.uuid.uuidString)") }
    guard !known.isEmpty else {
      leftOut.append("the characteristic \(seen.uuid.uuidString), which has no other properties")
      return nil
    }
    var description: String?
    for (uuid, value) in seen.descriptors {
      switch uuid {
      case "2901": description = value.flatMap(text)?.prefix(octets: TypedValue.maximumLength)
      case "2902": break  // Part of a characteristic with notifications or indications.
      default: leftOut.append("the descriptor \(uuid.uuidString) of \(seen.uuid.uuidString)")
      }
    }
    return ServiceDescription.Characteristic(
      uuid: seen.uuid, properties: known, value: seen.value ?? [], security: seen.security,
      description: description)
  }
}

extension String {
  /// The longest beginning of whole scalars in at most `limit` octets. Invalid octets of a device become longer as
  /// text.
  fileprivate func prefix(octets limit: Int) -> String {
    var (end, count) = (unicodeScalars.startIndex, 0)
    while end < unicodeScalars.endIndex {
      count += String(unicodeScalars[end]).utf8.count
      if count > limit { break }
      end = unicodeScalars.index(after: end)
    }
    return String(self[..<end])
  }
}
