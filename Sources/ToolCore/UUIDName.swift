import BLEAssignedNumbers
public import BLEWire

/// UUIDs as people write them: digits, or the name that the Bluetooth SIG or a vendor has given.
public enum UUIDName {
  /// The UUIDs with this text or name, in either case; empty if there is none. `Service` at the end of a name may be
  /// left out.
  public static func uuids(_ text: String) -> [BluetoothUUID] {
    if let uuid = BluetoothUUID(text) { return [uuid] }
    return byName[key(text)] ?? []
  }

  /// Text that is no UUID.
  public struct Failure: Error, CustomStringConvertible { public let description: String }

  /// What a UUID is the type of.
  public enum Kind: String, Sendable {
    case service, characteristic

    /// Whether the Bluetooth SIG has assigned a UUID to something else.
    public func excludes(_ uuid: BluetoothUUID) -> Bool {
      guard let number = uuid.shortValue, (0x1800..<0x3000).contains(number) else { return false }
      return !(self == .service ? 0x1800..<0x1900 : 0x2A00..<0x3000).contains(number)
    }
  }

  /// The UUID with this text or name.
  ///
  /// - Throws: ``Failure`` if there is none or several, with the name that is most like it.
  public static func uuid(_ text: String, of kind: Kind) throws(Failure) -> BluetoothUUID {
    if let uuid = BluetoothUUID(text) { return uuid }
    let found = uuids(text).filter { !kind.excludes($0) }
    if let uuid = found.first, found.count == 1 { return uuid }
    let shown = "'\(String(printable: text.prefix(64)))'"
    if found.isEmpty {
      let hint = nearestName(to: text, of: kind).map { ". Did you mean '\($0)'?" } ?? ""
      throw Failure(
        description:
          "\(shown) is neither a UUID, which has 4, 8 or 36 characters, such as 180F, nor the name of a "
          + "\(kind.rawValue)\(hint)"
      )
    }
    throw Failure(
      description: "\(shown) is the name of \(found.map(\.uuidString).joined(separator: ", ")). Use one of the UUIDs")
  }

  /// Whether `text` is the UUID or its name.
  public static func matches(_ text: String, _ uuid: BluetoothUUID) -> Bool { uuids(text).contains(uuid) }

  /// The name that is most like `text`, among those of services or characteristics; nil if there is none.
  public static func nearestName(to text: String, of kind: Kind) -> String? {
    let range: Range<UInt32> = kind == .service ? 0x1800..<0x1900 : 0x2A00..<0x3000
    return nearest(to: text, in: AssignedNames.all.filter { range.contains($0.key.shortValue ?? 0) }.values.sorted())
  }

  private static let byName = Dictionary(grouping: AssignedNames.all.keys) { key(AssignedNames.all[$0] ?? "") }
    .mapValues { $0.sorted { $0.uuidString < $1.uuidString } }

  private static func key(_ name: String) -> String {
    let name = name.lowercased()
    return name.hasSuffix(" service") ? String(name.dropLast(8)) : name
  }
}
