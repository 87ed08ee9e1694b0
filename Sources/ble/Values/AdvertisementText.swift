import BLEAssignedNumbers
import BLEGAP
import BLEWire

/// The content of an advertisement in plain words.
enum AdvertisementText {
  /// One line: name, services, beacon or manufacturer.
  static func line(_ octets: Bytes) -> String { line(AdvertisedData(advertisingData: octets)) }

  /// One line: name, services, beacon or manufacturer.
  static func line(_ data: AdvertisedData) -> String {
    var parts: [String] = []
    if let name = data.localName { parts.append("\"\(printable(String(decoding: name.octets, as: UTF8.self)))\"") }
    parts += data.serviceUUIDs.map { AssignedNames.uuid($0) ?? $0.uuidString }
    parts += data.serviceData.map(service)
    parts += data.manufacturerData.map(manufacturer)
    if let appearance = data.appearance, let name = AssignedNames.appearance(appearance.rawValue) { parts.append(name) }
    if let power = data.txPowerLevel { parts.append("\(power) dBm sent") }
    if !data.isWellFormed { parts.append("malformed") }
    return parts.isEmpty ? "no name and no services" : parts.joined(separator: ", ")
  }

  /// Manufacturer data: an iBeacon, or the company and the octets.
  static func manufacturer(_ data: ManufacturerData) -> String {
    if let beacon = iBeacon(data) { return beacon }
    let company = AssignedNames.company(data.company.rawValue) ?? "\(data.company)"
    return data.data.isEmpty ? company : "\(company) \(ValueText.spaced(data.data))"
  }

  /// Service data: an Eddystone frame, or the service and the octets.
  static func service(_ data: ServiceData) -> String {
    if data.uuid == "FEAA", let frame = eddystone(data.data) { return frame }
    let name = AssignedNames.uuid(data.uuid) ?? data.uuid.uuidString
    return "\(name) \(ValueText.text(data.data, of: nil))"
  }

  /// Apple's format: type 0x02, length 21, a UUID, major and minor number, the strength at one metre; big-endian.
  private static func iBeacon(_ data: ManufacturerData) -> String? {
    let octets = data.data
    guard data.company.rawValue == 0x004C, octets.count == 23, octets.starts(with: [0x02, 0x15]),
      let uuid = BluetoothUUID(bigEndian: octets.dropFirst(2).prefix(16)), let major = octets.uint16(at: 18),
      let minor = octets.uint16(at: 20), let power = octets.last
    else { return nil }
    return "iBeacon \(uuid) \(major.byteSwapped)/\(minor.byteSwapped), \(Int8(bitPattern: power)) dBm at 1 m"
  }

  /// Google's format: UID (0x00), URL (0x10), TLM (0x20), EID (0x30).
  private static func eddystone(_ octets: Bytes) -> String? {
    let rest = octets.dropFirst(2)
    switch octets.first {
    case 0x00 where rest.count >= 16:
      return "Eddystone-UID \(rest.prefix(10).hexadecimal) \(rest.dropFirst(10).prefix(6).hexadecimal)"
    case 0x10: return url(rest).map { "Eddystone-URL \($0)" }
    case 0x20 where octets.count >= 6:
      let battery = octets.uint16(at: 2)?.byteSwapped ?? 0
      return "Eddystone-TLM battery \(battery) mV"
    case 0x30 where rest.count >= 8: return "Eddystone-EID \(rest.prefix(8).hexadecimal)"
    default: return nil
    }
  }

  private static func url(_ octets: Bytes) -> String? {
    let schemes = ["http://www.", "https://www.", "http://", "https://"]
    let ends = [".com", ".org", ".edu", ".net", ".info", ".biz", ".gov"]
    guard let first = octets.first, Int(first) < schemes.count else { return nil }
    return octets.dropFirst().reduce(into: schemes[Int(first)]) { text, octet in
      switch Int(octet) {
      case 0..<7: text += ends[Int(octet)] + "/"
      case 7..<14: text += ends[Int(octet) - 7]
      default: text += printable(String(decoding: [octet], as: UTF8.self))
      }
    }
  }
}
