import BLEATT
import BLEGATT
import BLEWire
import TestSupport

/// Random services as a server publishes them, and the attributes of its database: two forms of the same draws.
///
/// Unlike ``RandomDatabase``, the services are well formed: a client must find exactly them.
struct PublishedServices {
  struct Service {
    var discovered: DiscoveredService
    var isPrimary: Bool
    var includes: [IncludedService] = []
    var characteristics: [Characteristic] = []
  }

  struct Characteristic {
    var discovered: DiscoveredCharacteristic
    var value: Value
    /// The handles after the value, where there are any.
    var rest: ClosedRange<AttributeHandle>?
    var descriptors: [(discovered: DiscoveredDescriptor, value: Value)] = []
  }

  struct Value {
    var id: AttributeID
    var handle: AttributeHandle
    var octets: [UInt8]
    var read: AccessRequirement?
    var write: AccessRequirement?
    var lengths: ClosedRange<Int>
  }

  private(set) var services: [Service] = []
  private(set) var definitions: [AttributeDefinition] = []
  private var random: SplitMix64
  private var last = 0
  private var identifiers: UInt32 = 0

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    // Some databases end at the last handle.
    let isHigh = draw(0...9) == 0
    for _ in 0..<draw(0...7) { addService() }
    if isHigh, !services.isEmpty { moveLastService() }
  }

  private mutating func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

  private mutating func octets(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(draw(0...255)) } }

  /// Few values, so that types repeat; also 128-bit UUIDs within the Bluetooth Base UUID that have no 16-bit form.
  private mutating func uuid() -> BluetoothUUID {
    switch draw(0...4) {
    case 0: BluetoothUUID(uuid32: 0x0001_0000 + UInt32(draw(0...3))).attributeType
    case 1, 2: BluetoothUUID(littleEndian: [UInt8](repeating: UInt8(draw(1...3)), count: 16)) ?? BluetoothUUID(1)
    default: BluetoothUUID(0xFF00 + UInt16(draw(0...5)))
    }
  }

  private mutating func access() -> AccessRequirement? {
    switch draw(0...9) {
    case 0: nil
    case 1: AccessRequirement(security: .encrypted)
    case 2: AccessRequirement(security: .authenticated, minimumKeySize: 16)
    default: .open
    }
  }

  /// The next handle, with a gap now and then.
  private mutating func handle() -> AttributeHandle {
    last += 1 + (draw(0...7) == 0 ? draw(1...40) : 0)
    return AttributeHandle(rawValue: UInt16(last))
  }

  private mutating func addService() {
    let (start, uuid, isPrimary) = (handle(), uuid(), services.isEmpty || draw(0...3) > 0)
    let declaration = definitions.count
    define(start, isPrimary ? .primaryService : .secondaryService, .fixed(uuid.littleEndian))
    var includes: [IncludedService] = []
    for included in services.shuffled(using: &random).prefix(draw(0...2)) {
      let handle = handle()
      let short = included.discovered.uuid.size == .uuid16 ? included.discovered.uuid.littleEndian : []
      define(handle, .include, .fixed(Self.octets(included.discovered.handles) + short))
      includes.append(IncludedService(declaration: handle, service: included.discovered))
    }
    var characteristics: [Characteristic] = []
    for _ in 0..<draw(0...5) { characteristics.append(characteristic()) }
    if draw(0...2) == 0 { last += draw(1...5) }
    let end = AttributeHandle(rawValue: UInt16(last))
    definitions[declaration].groupEnd = end
    for index in characteristics.indices {
      let next = characteristics.dropFirst(index + 1).first?.discovered.declaration.rawValue ?? UInt16(last + 1)
      let value = characteristics[index].discovered.valueHandle.rawValue
      guard value + 1 < next else { continue }
      characteristics[index].rest = AttributeHandle(rawValue: value + 1)...AttributeHandle(rawValue: next - 1)
    }
    services.append(
      Service(
        discovered: DiscoveredService(handles: start...end, uuid: uuid), isPrimary: isPrimary, includes: includes,
        characteristics: characteristics))
  }

  private mutating func characteristic() -> Characteristic {
    let (declaration, uuid) = (handle(), uuid())
    let properties = GATTCharacteristicProperties(rawValue: UInt8(draw(0...255)))
    let index = definitions.count
    define(declaration, .characteristic, .fixed([]))
    let value = value(uuid)
    definitions[index].value = .fixed([properties.rawValue] + Self.octets(value.handle) + uuid.littleEndian)
    var found = Characteristic(
      discovered: DiscoveredCharacteristic(
        declaration: declaration, properties: properties, valueHandle: value.handle, uuid: uuid), value: value)
    let types: [BluetoothUUID] = ["2901", "2904", "2908", "0F0F0F0F-0000-4000-8000-0F0F0F0F0F0F"]
    for type in types.shuffled(using: &random).prefix(draw(0...3)) {
      let value = self.value(type)
      found.descriptors.append((DiscoveredDescriptor(handle: value.handle, uuid: type), value))
    }
    return found
  }

  private mutating func value(_ type: BluetoothUUID) -> Value {
    // Around the lengths that fit one PDU of an ATT_MTU of 23, 48, 185, 247 or 517.
    let count = [0, 1, 2, 19, 20, 21, 22, 23, 44, 47, 48, 182, 185, 246, 247, 300, 511, 512][draw(0...17)]
    identifiers += 1
    let lengths = draw(0...2) == 0 ? count...count : 0...512
    let value = Value(
      id: AttributeID(rawValue: identifiers), handle: handle(), octets: octets(count), read: access(), write: access(),
      lengths: lengths)
    let permissions = GATTAttributePermissions(read: value.read, write: value.write)
    define(value.handle, type, .stored(value.octets, length: lengths), permissions, value.id)
    return value
  }

  private mutating func define(
    _ handle: AttributeHandle, _ type: BluetoothUUID, _ value: ValueSource,
    _ permissions: GATTAttributePermissions = .readable, _ id: AttributeID? = nil
  ) {
    definitions.append(AttributeDefinition(handle: handle, type: type, permissions: permissions, value: value, id: id))
  }

  /// Moves the end of the last service to 0xFFFF.
  private mutating func moveLastService() {
    let index = services.count - 1
    let range = services[index].discovered.handles.lowerBound...AttributeHandle.last
    services[index].discovered.handles = range
    if let place = definitions.firstIndex(where: { $0.handle == range.lowerBound }) {
      definitions[place].groupEnd = .last
    }
    guard let last = services[index].characteristics.indices.last else { return }
    let value = services[index].characteristics[last].discovered.valueHandle
    services[index].characteristics[last].rest = AttributeHandle(rawValue: value.rawValue + 1) ... .last
  }

  private static func octets(_ handle: AttributeHandle) -> [UInt8] {
    [UInt8(handle.rawValue & 0xFF), UInt8(handle.rawValue >> 8)]
  }

  private static func octets(_ range: ClosedRange<AttributeHandle>) -> [UInt8] {
    octets(range.lowerBound) + octets(range.upperBound)
  }
}
