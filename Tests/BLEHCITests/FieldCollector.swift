import BLEWire

/// Lists the fields of a packet with their octets, for a comparison with another stack.
struct FieldCollector: FieldVisitor {
  struct Field {
    var name: String
    var octets: [UInt8]
  }

  private(set) var fields: [Field] = []
  /// The addresses in wire order; their fields have the name of the type octet only.
  private(set) var addresses: [[UInt8]] = []

  init<P: Packet>(_ packet: P) {
    var copy = packet
    copy.layout(&self)
  }

  mutating func integer<T: FixedWidthInteger>(_ name: FieldName, _ value: inout T) throws(Never) {
    var octets: [UInt8] = []
    octets.append(littleEndian: value)
    switch name.description {
    case "BD_ADDR (lower 32 bits)": addresses.append(octets)
    case "BD_ADDR (upper 16 bits)": addresses[addresses.count - 1] += octets
    default: add(name.description, octets)
    }
  }

  mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Never) {
    var all: [UInt8] = []
    all.append(littleEndian: value)
    add(name.description, Array(all.prefix(octets)))
  }

  mutating func value<R: RawRepresentable>(_ name: FieldName, _ value: inout R) throws(Never)
  where R.RawValue: FixedWidthInteger {
    var raw = value.rawValue
    integer(name, &raw)
  }

  mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Never) {
    add(name.description, value)
  }
  mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Never) { add(name.description, value) }
  mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(Never) { add(name.description, value) }
  mutating func padded(_ name: FieldName, size: Int, _ value: inout Bytes) throws(Never) {
    add(name.description, value)
  }

  mutating func list<Group: FieldGroup>(_ name: FieldName, count: Int, _ groups: inout [Group]) throws(Never) {
    for index in groups.indices { groups[index].layout(&self) }
  }
  mutating func counted<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    list(name, count: groups.count, &groups)
  }
  mutating func rest<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(Never) {
    list(name, count: groups.count, &groups)
  }
  mutating func rest(_ name: FieldName, leaving count: Int, _ value: inout Bytes) throws(Never) {
    add(name.description, value)
  }
  mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(Never) {
    add(name.description, uuid.littleEndian)
  }
  mutating func uuid(_ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID) throws(Never) {
    add(name.description, uuid.littleEndian)
  }

  private mutating func add(_ name: String, _ octets: some Collection<UInt8>) {
    fields.append(Field(name: name.replacing("[i]", with: "").lowercased(), octets: Array(octets)))
  }
}

extension FieldCollector.Field {
  /// Whether `other` is the name of the field in another stack, which has lists in the plural.
  func matches(_ other: String) -> Bool {
    other == name || other == name + "s" || (name.hasSuffix("y") && other == name.dropLast() + "ies")
  }

  /// Whether the octets are the value of another stack: a number, or octets in hexadecimal digits.
  func equals(_ other: JSONValue) -> Bool {
    switch other {
    case .number(let number):
      var octets: [UInt8] = []
      octets.append(littleEndian: Int64(number))
      return self.octets.count <= 8 && Array(octets.prefix(self.octets.count)) == self.octets
    case .text(let text): return octets.hexadecimal == text
    default: return false
    }
  }
}

/// Any JSON.
enum JSONValue: Decodable, Sendable {
  case number(Int)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])
  case none

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .none
    } else if let number = try? container.decode(Int.self) {
      self = .number(number)
    } else if let flag = try? container.decode(Bool.self) {
      self = .number(flag ? 1 : 0)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([JSONValue].self) {
      self = .list(list)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// The six octets of an address, in the order of transmission; nil for anything else.
  var address: [UInt8]? {
    guard case .text(let text) = self, text.contains(":") else { return nil }
    return DeviceAddress(text, kind: .public)?.octets.littleEndian
  }

  /// The numbers and texts under each name, of lists and objects too.
  var leaves: [String: [JSONValue]] {
    var leaves: [String: [JSONValue]] = [:]
    collect(under: "", into: &leaves)
    return leaves
  }

  private func collect(under name: String, into leaves: inout [String: [JSONValue]]) {
    switch self {
    case .none: break
    case .number, .text: leaves[name, default: []].append(self)
    case .list(let values): for value in values { value.collect(under: name, into: &leaves) }
    case .object(let members): for (name, value) in members { value.collect(under: name, into: &leaves) }
    }
  }
}
