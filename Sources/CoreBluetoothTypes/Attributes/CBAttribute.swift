public import BLEWire
public import Foundation

/// What services, characteristics and descriptors share: a type; mirrors `CBAttribute`.
///
/// The classes below it may be used from any thread: each keeps what changes behind a lock (Docs/Decisions/0051).
open class CBAttribute: NSObject, @unchecked Sendable {
  private let type: BluetoothUUID

  init(type: BluetoothUUID) { self.type = type }

  open var uuid: BluetoothUUID { type }

  open override var description: String { "<\(Swift.type(of: self)) \(uuid)>" }
}
