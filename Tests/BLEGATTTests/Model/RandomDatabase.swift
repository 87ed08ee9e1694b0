import BLEATT
import BLEGATT
import BLEWire
import TestSupport

/// A random database, as the definitions of a server and as the table of the model: two lists from the same draws.
struct RandomDatabase {
  private(set) var definitions: [AttributeDefinition] = []
  private(set) var table: [ServerModel.Attribute] = []
  private var random: SplitMix64
  private var next = 0
  private var lastID: UInt32 = 0

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    next = draw(0...3)
    for _ in 0..<draw(0...4) { addService() }
    // The end of a service is its last attribute, where no larger handle was drawn; a characteristic ends with its
    // service.
    for index in table.indices where table[index].isService {
      let following = table[index...].dropFirst().first { $0.isService }?.handle ?? 0x10000
      let last = table.last { $0.handle < following }?.handle ?? table[index].handle
      let end = draw(0...1) == 0 ? last : min(last + draw(0...3), following - 1, 0xFFFF)
      table[index].groupEnd = end
      definitions[index].groupEnd = AttributeHandle(rawValue: UInt16(end))
    }
    for index in table.indices where table[index].type == [0x03, 0x28] {
      let rest = table[index...].dropFirst()
      let service = table[...index].last { $0.isService }
      let following = rest.first { [[0x00, 0x28], [0x01, 0x28], [0x02, 0x28], [0x03, 0x28]].contains($0.type) }
      let end = service?.groupEnd ?? 0xFFFF
      let isInService = following.map { $0.handle <= end } ?? false
      table[index].groupEnd =
        isInService ? rest.last { $0.handle < (following?.handle ?? 0) }?.handle ?? table[index].handle : end
    }
  }

  private mutating func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

  private mutating func octets(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(draw(0...255)) } }

  /// Few different UUIDs, so that requests by type find several attributes.
  private mutating func uuid() -> [UInt8] {
    switch draw(0...3) {
    case 0: [UInt8(draw(0...3)), 0xFF]
    case 1: [UInt8](repeating: UInt8(draw(1...2)), count: 16)
    default: [0x10, 0xFF]
    }
  }

  private mutating func access() -> ServerModel.Access? {
    switch draw(0...9) {
    case 0: nil
    case 1: .init(level: 1, keySize: 7)
    case 2: .init(level: 2, keySize: draw(7...16))
    case 3: .init(level: 3, keySize: 16)
    case 4: .init(authorization: true)
    default: .init()
    }
  }

  private mutating func addService() {
    next += draw(0...2)
    add(draw(0...2) == 0 ? [0x01, 0x28] : [0x00, 0x28], uuid(), .constant, read: .init(), write: nil)
    for _ in 0..<draw(0...1) { add([0x02, 0x28], Array(octets(4)), .constant, read: .init(), write: nil) }
    for _ in 0..<draw(0...4) { addCharacteristic() }
  }

  private mutating func addCharacteristic() {
    let (properties, type) = (UInt8(draw(0...255)), uuid())
    add([0x03, 0x28], [properties] + ServerModel.octets(next + 2) + type, .constant, read: .init(), write: nil)
    addValue(type)
    if draw(0...1) == 0 {
      let allowed = (properties & 0x10 != 0 ? 1 : 0) | (properties & 0x20 != 0 ? 2 : 0) as UInt8
      add([0x02, 0x29], [0, 0], .clientConfiguration(allowed: allowed), read: .init(), write: access() ?? .init())
    }
    if draw(0...2) == 0 { addValue([0x01, 0x29]) }
  }

  private mutating func addValue(_ type: [UInt8]) {
    let lengths = [0, 1, 2, 3, 18, 19, 20, 21, 22, 23, 40, 251, 253, 254, 300, 511, 512]
    let count = lengths[draw(0...lengths.count - 1)]
    switch draw(0...4) {
    case 0: add(type, octets(count), .constant, read: access(), write: nil)
    case 1: add(type, octets(count), .stored(lengths: count...count), read: access(), write: access())
    case 2: add(type, octets(count), .stored(lengths: min(count, 2)...512), read: access(), write: access())
    case 3: add(type, octets(count), .stored(lengths: 0...max(count, 20)), read: access(), write: access())
    default: add(type, octets(count), .application, read: access(), write: access())
    }
  }

  private mutating func add(
    _ type: [UInt8], _ value: [UInt8], _ rule: ServerModel.Rule, read: ServerModel.Access?, write: ServerModel.Access?
  ) {
    next += 1
    table.append(.init(handle: next, type: type, value: value, read: read, write: write, rule: rule))
    var source = ValueSource.fixed(value)
    switch rule {
    case .constant: break
    case .stored(let lengths): source = .stored(value, length: lengths)
    case .application: source = .dynamic
    case .clientConfiguration: source = .stored(value, length: 2...2)
    }
    lastID += 1
    definitions.append(
      AttributeDefinition(
        handle: AttributeHandle(rawValue: UInt16(next)), type: BluetoothUUID(littleEndian: type) ?? BluetoothUUID(0),
        permissions: GATTAttributePermissions(
          read: read.map(AccessRequirement.init), write: write.map(AccessRequirement.init)),
        value: source, id: AttributeID(rawValue: lastID)))
  }
}

extension ServerModel.Attribute {
  var isService: Bool { type == [0x00, 0x28] || type == [0x01, 0x28] }
}

extension AccessRequirement {
  fileprivate init(_ access: ServerModel.Access) {
    self.init(
      security: SecurityLevel(rawValue: UInt8(access.level)) ?? .none,
      minimumKeySize: UInt8(max(7, access.keySize)), authorization: access.authorization)
  }
}
