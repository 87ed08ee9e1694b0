package import BLEATT
import BLEGATT
package import BLEWire

/// The attributes of a server, as far as the requests and responses of a trace show them.
package struct SeenDatabase {
  private struct Service {
    var end: AttributeHandle
    var uuid: BluetoothUUID
    var isPrimary: Bool
  }

  private struct Characteristic {
    var declaration: AttributeHandle
    var properties: GATTCharacteristicProperties
  }

  /// The types of the attributes.
  package private(set) var uuids: [AttributeHandle: BluetoothUUID] = [:]
  private var services: [AttributeHandle: Service] = [:]
  /// By the handles of the values.
  private var characteristics: [AttributeHandle: Characteristic] = [:]
  private var includes: [AttributeHandle: [UInt8]] = [:]
  private var values: [AttributeHandle: [UInt8]] = [:]
  private var security: [AttributeHandle: SeenDevice.Security] = [:]

  /// Whether the trace has a discovery.
  package var hasServices: Bool { !services.isEmpty }

  package mutating func addService(
    _ uuid: BluetoothUUID?, at handle: AttributeHandle, end: AttributeHandle, type: BluetoothUUID
  ) {
    uuids[handle] = type
    guard let uuid, type == "2800" || type == "2801" else { return }
    services[handle] = Service(end: end, uuid: uuid, isPrimary: type == "2800")
  }

  package mutating func addCharacteristic(
    _ uuid: BluetoothUUID, at handle: AttributeHandle, properties: UInt8, declaration: AttributeHandle
  ) {
    uuids[declaration] = "2803"
    uuids[handle] = uuid
    characteristics[handle] = Characteristic(
      declaration: declaration, properties: GATTCharacteristicProperties(rawValue: properties))
  }

  package mutating func addInclude(_ value: Bytes, at handle: AttributeHandle) {
    uuids[handle] = "2802"
    includes[handle] = Array(value)
  }

  package mutating func addAttribute(_ uuid: BluetoothUUID, at handle: AttributeHandle) { uuids[handle] = uuid }

  /// Keeps the first value of an attribute: that before the client has written.
  package mutating func addValue(_ value: Bytes, of handle: AttributeHandle) {
    if values[handle] == nil { values[handle] = Array(value) }
  }

  /// Keeps a part that follows those of the value before (Vol 3, Part G, 4.8.3).
  package mutating func addPart(_ part: Bytes, of handle: AttributeHandle, at offset: UInt16) {
    let known = values[handle]?.count ?? 0
    guard known == Int(offset), known + part.count <= ATT.maximumValueLength else { return }
    values[handle, default: []] += part
  }

  package mutating func addRefusal(_ code: ATTErrorCode, of handle: AttributeHandle) {
    switch code {
    case .insufficientAuthentication: security[handle] = .authenticated
    case .insufficientEncryption, .insufficientEncryptionKeySize: security[handle] = security[handle] ?? .encrypted
    default: break  // The others are not about security.
    }
  }

  /// The type of an attribute, and the characteristic that it belongs to; nil for an attribute without a discovery.
  func attribute(at handle: AttributeHandle) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)? {
    uuids[handle].map { type in
      let value = characteristics.keys.filter { $0 <= handle }.max()
      return (type, value.flatMap { uuids[$0] })
    }
  }

  /// The device of this server, without what it advertises.
  package var device: SeenDevice {
    var device = SeenDevice()
    let declared = characteristics.sorted { $0.key < $1.key }
    for (start, service) in services.sorted(by: { $0.key < $1.key }) {
      var seen = SeenDevice.Service(uuid: service.uuid, isPrimary: service.isPrimary)
      seen.handles = start...max(start, service.end)
      seen.includes = includes.filter { start < $0.key && $0.key <= service.end }.sorted { $0.key < $1.key }
        .map { ($0.key, $0.value) }
      let members = declared.filter { start < $0.value.declaration && $0.key <= service.end }
      for (index, (handle, characteristic)) in members.enumerated() {
        guard let uuid = uuids[handle] else { continue }
        let isLast = index + 1 == members.count
        let descriptors = uuids.filter { attribute, _ in
          attribute > handle && attribute <= service.end
            && (isLast || attribute < members[index + 1].value.declaration)
        }
        let inOrder = descriptors.sorted { $0.key < $1.key }
        var found = SeenDevice.Characteristic(
          uuid: uuid, properties: characteristic.properties, value: values[handle], security: security[handle] ?? .none,
          descriptors: inOrder.map { ($0.value, values[$0.key]) })
        (found.declaration, found.handle) = (characteristic.declaration, handle)
        found.descriptorHandles = inOrder.map { $0.key }
        seen.characteristics.append(found)
      }
      device.services.append(seen)
    }
    return device
  }
}
