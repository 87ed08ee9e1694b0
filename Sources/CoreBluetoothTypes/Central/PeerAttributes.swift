import BLEATT
import BLEGATT
import BLEWire
import Foundation
import Synchronization

/// A service discovered on a peripheral, with its handles there.
/// The locks are `seen` and that of ``CBService``.
final class PeerService: CBService, @unchecked Sendable {
  let handles: ClosedRange<AttributeHandle>
  private let owner: WeakObject<CBPeripheral>

  /// Every characteristic that a discovery has seen, requested or not: each one ends where the next one begins.
  var layout: [DiscoveredCharacteristic] {
    get { seen.withLock { $0 } }
    set { seen.withLock { $0 = newValue } }
  }
  private let seen = Mutex<[DiscoveredCharacteristic]>([])

  init(_ found: DiscoveredService, isPrimary: Bool, of peripheral: CBPeripheral?) {
    handles = found.handles
    owner = WeakObject(peripheral)
    super.init(type: CBUUID(found.uuid), isPrimary: isPrimary)
  }

  override var description: String { "<CBService \(uuid)>" }

  var remotePeripheral: CBPeripheral? { owner.object }
}

/// A characteristic discovered on a peripheral, with its handles there.
/// The lock is that of ``CBCharacteristic``.
final class PeerCharacteristic: CBCharacteristic, @unchecked Sendable {
  let found: DiscoveredCharacteristic

  init(_ found: DiscoveredCharacteristic) {
    self.found = found
    super.init(
      type: CBUUID(found.uuid), properties: CBCharacteristicProperties(rawValue: UInt(found.properties.rawValue)),
      value: nil)
  }

  override var description: String { "<CBCharacteristic \(uuid)>" }

  /// The handles between its value and its end, which are its descriptors; nil if there are none.
  var descriptorRange: ClosedRange<AttributeHandle>? {
    guard let service = service as? PeerService else { return nil }
    let next = service.layout.lazy.map(\.declaration).filter { [found] in $0 > found.declaration }.min()
    return found.descriptors(before: next, in: service.handles)
  }
}

/// A descriptor discovered on a peripheral, with its handle there.
/// The lock is that of ``CBDescriptor``.
final class PeerDescriptor: CBDescriptor, @unchecked Sendable {
  let handle: AttributeHandle

  init(_ found: DiscoveredDescriptor) {
    handle = found.handle
    super.init(type: CBUUID(found.uuid), value: .none)
  }

  override var description: String { "<CBDescriptor \(uuid)>" }

  /// Stores the octets that were read, in the type of the descriptor (see ``CBDescriptor/value``).
  func keep(_ octets: [UInt8]) {
    switch type {
    case "2901": held = .text(DeviceText(octets[...]).repaired)
    case "2900", "2902", "2903":
      held = .number(octets.prefix(2).reversed().reduce(0) { $0 << 8 | Int($1) })
    default: held = .data(Data(octets))
    }
  }
}

extension CBService {
  /// The peripheral it was discovered on; nil for a local service, and after the peripheral was released.
  public var peripheral: CBPeripheral! { (self as? PeerService)?.remotePeripheral }
}
