import BLEAssignedNumbers
import BLEKit
import BLEWire
import ToolCore

/// The characteristic that the words of a command line name.
extension AdapterUse {
  /// The characteristic of `device` with the UUID or the name `text`, otherwise the one that the device describes so
  /// (Characteristic User Description): the one at `handle` if that is given, in the service `service` if one is given.
  static func characteristic(
    _ text: String, service: String?, handle: UInt16?, of device: RemoteDevice
  ) async throws -> RemoteCharacteristic {
    let services = try await device.services()
    let isNamed = services.contains { $0.characteristics.contains { UUIDName.matches(text, $0.uuid) } }
    let descriptions =
      isNamed || BluetoothUUID(text) != nil ? [:] : try await descriptions(in: services, of: service, on: device)
    return try choice(text, service: service, handle: handle, in: services, descriptions)
  }

  /// The descriptions of characteristics, by the handles of the values; without those that the device refuses.
  private static func descriptions(
    in services: [RemoteService], of service: String?, on device: RemoteDevice
  ) async throws -> [UInt16: String] {
    var descriptions: [UInt16: String] = [:]
    for found in services where service.map({ UUIDName.matches($0, found.uuid) }) ?? true {
      for characteristic in found.characteristics {
        for descriptor in try await device.descriptors(of: characteristic) where descriptor.uuid == "2901" {
          do throws(BLEError) {
            let text = DeviceText(try await device.read(descriptor)[...])
            if !text.isEmpty { descriptions[characteristic.handle.rawValue] = text.repaired }
          } catch {
            guard device.isConnected, error.kind != .cancelled else { throw error }
          }
        }
      }
    }
    return descriptions
  }

  /// The characteristic that the words of a command line name, among those of services.
  ///
  /// - Parameter descriptions: by the handles of the values.
  static func choice(
    _ text: String, service: String?, handle: UInt16?, in services: [RemoteService],
    _ descriptions: [UInt16: String] = [:]
  ) throws(ToolError) -> RemoteCharacteristic {
    let searched = services.filter { found in service.map { UUIDName.matches($0, found.uuid) } ?? true }
    if let service, searched.isEmpty {
      throw .notFound("the device has no service '\(service)'. \(list("services", services.map { name($0.uuid) }))")
    }
    let all = searched.flatMap { service in service.characteristics.map { (service, $0) } }
    let named = all.filter { UUIDName.matches(text, $0.1.uuid) }
    let described = all.filter { descriptions[$0.1.handle.rawValue]?.lowercased() == text.lowercased() }
    let candidates = named.isEmpty ? described : named
    let place = service.map { " in the service '\($0)'" } ?? ""
    if candidates.isEmpty {
      let names = all.map { _, characteristic in
        name(characteristic.uuid)
          + (descriptions[characteristic.handle.rawValue].map { " '\(String(printable: $0))'" } ?? "")
      }
      throw .notFound("the device has no characteristic '\(text)'\(place). \(list("characteristics", names))")
    }
    let found = handle.map { handle in candidates.filter { $0.1.handle.rawValue == handle } } ?? candidates
    if let first = found.first, found.count == 1 { return first.1 }
    let places = candidates.map { service, characteristic in
      let properties = InspectCommand.names(of: characteristic.properties).joined(separator: ", ")
      return "\(characteristic.handle) (\(name(service.uuid)); \(properties))"
    }
    let list = places.joined(separator: ", ")
    if let handle {
      let digits = String(handle, radix: 16, uppercase: true)
      throw .notFound("the device has no characteristic '\(text)'\(place) at handle 0x\(digits), but at: \(list)")
    }
    throw .usage(
      "the device has \(found.count) characteristics '\(text)'\(place). Choose one of them by --handle or --service: \(list)"
    )
  }

  private static func name(_ uuid: BluetoothUUID) -> String { AssignedNames.uuid(uuid) ?? uuid.uuidString }

  /// A sentence with the names of what a device or a service has.
  private static func list(_ kind: String, _ names: [String]) -> String {
    names.isEmpty ? "There are no \(kind)" : "There are: \(names.joined(separator: ", "))"
  }
}
