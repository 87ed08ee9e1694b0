import BLEWire
public import Foundation

/// An attribute with a type: the superclass of services, characteristics and descriptors.
///
/// Its subclasses can be used from any thread: each protects its mutable state with a lock
/// (Docs/Decisions/corebluetooth.md#uuids-classes-and-codes). This class is immutable.
open class CBAttribute: NSObject, @unchecked Sendable {
  private let typeObject: CBUUID

  init(type: CBUUID) { typeObject = type }

  /// The type of the attribute.
  open var uuid: CBUUID { typeObject }

  /// The type as a value.
  final var type: BluetoothUUID { typeObject.value }

  /// The class and the type: `<CBMutableService 180D>`.
  open override var description: String { "<\(Swift.type(of: self)) \(uuid)>" }
}
