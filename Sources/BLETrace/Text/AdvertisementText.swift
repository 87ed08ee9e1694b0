import BLEAssignedNumbers
package import BLEGAP
import BLEProfiles
package import BLEWire

/// The content of an advertisement in plain words.
package enum AdvertisementText {
  /// One line: name, services, beacon or manufacturer.
  package static func line(_ octets: Bytes) -> String { line(AdvertisedData(advertisingData: octets)) }

  /// One line: name, services, beacon or manufacturer.
  ///
  /// - Parameter name: the last name of the device, which these data may not have.
  package static func line(_ data: AdvertisedData, name: String? = nil) -> String {
    let content = content(data)
    guard let name = data.name ?? name else { return content.isEmpty ? "no name and no services" : content }
    return "\"\(String(printable: name))\"" + (content.isEmpty ? "" : ", \(content)")
  }

  /// Everything except the name; empty if there is nothing else.
  package static func content(_ data: AdvertisedData) -> String {
    var parts: [String] = []
    parts += data.serviceUUIDs.map { AssignedNames.uuid($0) ?? $0.uuidString }
    parts += data.serviceData.map(service)
    parts += data.manufacturerData.map(manufacturer)
    if let appearance = data.appearance, let name = AssignedNames.appearance(appearance.rawValue) { parts.append(name) }
    if let power = data.txPowerLevel { parts.append("\(power) dBm sent") }
    if !data.isWellFormed { parts.append("malformed") }
    return parts.joined(separator: ", ")
  }

  /// Manufacturer data: an iBeacon, or the company and the octets.
  package static func manufacturer(_ data: ManufacturerData) -> String {
    if let beacon = try? IBeacon(decoding: data) {
      return "iBeacon \(beacon.region) \(beacon.major)/\(beacon.minor), \(beacon.measuredPower) dBm at 1 m"
    }
    let company = AssignedNames.company(data.company.rawValue) ?? "\(data.company)"
    return data.data.isEmpty ? company : "\(company) \(ValueText.spaced(data.data))"
  }

  /// Service data: an Eddystone frame, or the service and the octets.
  package static func service(_ data: ServiceData) -> String {
    if data.uuid == EddystoneFrame.service, let frame = try? EddystoneFrame(decoding: data.data) { return text(frame) }
    let name = AssignedNames.uuid(data.uuid) ?? data.uuid.uuidString
    return "\(name) \(ValueText.text(data.data, of: nil))"
  }

  private static func text(_ frame: EddystoneFrame) -> String {
    switch frame {
    case .uid(_, let namespace, let instance): "Eddystone-UID \(namespace.hexadecimal) \(instance.hexadecimal)"
    case .url(_, let address): "Eddystone-URL \(String(printable: address))"
    case .telemetry(let state):
      "Eddystone-TLM battery \(state.batteryMillivolts ?? 0) mV"
        + (state.temperature256.map { ", \(MedicalFloat(Double($0) / 256, decimals: 1)) °C" } ?? "")
    case .encryptedTelemetry: "Eddystone-TLM, encrypted"
    case .ephemeralIdentifier(_, let identifier): "Eddystone-EID \(identifier.hexadecimal)"
    }
  }
}
