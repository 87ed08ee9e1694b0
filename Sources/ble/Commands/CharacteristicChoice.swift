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
    let searched = self.searched(services, service)
    let needsDescriptions =
      isDescription(text, in: searched) || handle == nil && isOnlyDescribed(named(text, in: searched))
    let descriptions = needsDescriptions ? try await descriptions(in: searched, on: device) : [:]
    return try choice(text, service: service, handle: handle, in: services, descriptions)
  }

  private typealias Place = (service: RemoteService, characteristic: RemoteCharacteristic)

  private static func searched(_ services: [RemoteService], _ service: String?) -> [RemoteService] {
    services.filter { found in service.map { UUIDName.matches($0, found.uuid) } ?? true }
  }

  private static func named(_ text: String, in services: [RemoteService]) -> [Place] {
    services.flatMap { service in service.characteristics.map { (service, $0) } }
      .filter { UUIDName.matches(text, $0.1.uuid) }
  }

  /// The characteristics that `text` names or describes.
  private static func candidates(
    _ text: String, in services: [RemoteService], _ descriptions: [UInt16: String]
  ) -> [Place] {
    let named = named(text, in: services)
    guard named.isEmpty else { return named }
    return services.flatMap { service in service.characteristics.map { (service, $0) } }
      .filter { descriptions[$0.1.handle.rawValue]?.lowercased() == text.lowercased() }
  }

  /// Whether text can only be a description: a UUID and a name of a characteristic come first.
  static func isDescription(_ text: String, in services: [RemoteService]) -> Bool {
    BluetoothUUID(text) == nil && named(text, in: services).isEmpty
  }

  /// Whether several characteristics have services of one type, so that besides their handles only descriptions can
  /// tell them apart.
  private static func isOnlyDescribed(_ candidates: [Place]) -> Bool {
    Set(candidates.map(\.service.uuid)).count < candidates.count
  }

  /// The descriptions of characteristics, by the handles of the values; without those that the device refuses.
  private static func descriptions(
    in services: [RemoteService], on device: RemoteDevice
  ) async throws -> [UInt16: String] {
    var descriptions: [UInt16: String] = [:]
    for found in services {
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
    let searched = self.searched(services, service)
    if let service, searched.isEmpty {
      throw .notFound("the device has no service '\(service)'. \(list("services", services.map { name($0.uuid) }))")
    }
    let all = searched.flatMap { service in service.characteristics.map { (service, $0) } }
    let candidates = self.candidates(text, in: searched, descriptions)
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
    if let handle {
      let places = candidates.map { place in "\(place.characteristic.handle) (\(remark(on: place, descriptions)))" }
      let digits = String(handle, radix: 16, uppercase: true)
      throw .notFound(
        "the device has no characteristic '\(text)'\(place) at handle 0x\(digits), but at: "
          + places.joined(separator: ", "))
    }
    /// Whether other words choose a candidate, on a command line that is otherwise the same.
    func isChosen(_ place: Place, by text: String, service: String?) -> Bool {
      let found = Self.candidates(text, in: Self.searched(services, service), descriptions)
      return found.count == 1 && found[0].characteristic.handle == place.characteristic.handle
    }
    let remedies = candidates.map { place in
      guard !isOnlyDescribed(candidates) else { return nil as String? }
      return [name(place.service.uuid), place.service.uuid.uuidString].first { isChosen(place, by: text, service: $0) }
        .map { "--service \(word($0))" }
    }
    let ownDescriptions = candidates.map { place -> String? in
      guard let description = descriptions[place.characteristic.handle.rawValue], isWord(description),
        isDescription(description, in: searched), isChosen(place, by: description, service: service)
      else { return nil }
      return "'\(description)'"
    }
    // Of a device that describes only some of them, the others have handles.
    let (lead, words): (String, [String?]) =
      if !remedies.contains(nil) {
        ("Choose one of them by its service", remedies)
      } else if ownDescriptions.contains(where: { $0 != nil }) {
        ("Name one of them by its description\(ownDescriptions.contains(nil) ? " or its handle" : "")", ownDescriptions)
      } else {
        ("Choose one of them by its handle", ownDescriptions)
      }
    let list = zip(words, candidates).map { word, place in
      guard let word else { return "--handle \(place.characteristic.handle) (\(remark(on: place, descriptions)))" }
      let quoted = descriptions.filter { _ in !word.hasPrefix("'") }
      return "\(word) (\(place.characteristic.handle); \(remark(on: place, quoted)))"
    }
    throw ToolError(
      description: "the device has \(found.count) characteristics '\(String(printable: text))'\(place). \(lead): "
        + list.joined(separator: ", "),
      status: 64)
  }

  /// What tells a user which characteristic it is: the service, what can be done with it, and its description.
  private static func remark(on place: Place, _ descriptions: [UInt16: String]) -> String {
    let properties = InspectCommand.names(of: place.characteristic.properties).joined(separator: ", ")
    let description =
      descriptions[place.characteristic.handle.rawValue].map { "; '\(String(printable: $0.prefix(64)))'" } ?? ""
    return "\(name(place.service.uuid)); \(properties)\(description)"
  }

  /// Whether a description can be typed as it is printed: between quotation marks, in a shell and in `ble shell`.
  private static func isWord(_ description: String) -> Bool {
    !description.hasPrefix("-") && !description.contains("'") && String(printable: description) == description
      && description.count <= 64
  }

  /// A word of a command line, in quotation marks where it needs them.
  private static func word(_ name: String) -> String {
    name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } ? name : "'\(name)'"
  }

  private static func name(_ uuid: BluetoothUUID) -> String { AssignedNames.uuid(uuid) ?? uuid.uuidString }

  /// A sentence with the names of what a device or a service has.
  private static func list(_ kind: String, _ names: [String]) -> String {
    names.isEmpty ? "There are no \(kind)" : "There are: \(names.joined(separator: ", "))"
  }
}
