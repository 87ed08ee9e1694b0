public import Foundation
import Synchronization

/// A characteristic to publish; mirrors `CBMutableCharacteristic`.
///
/// Where its value comes from:
///
/// | made with | reads | writes |
/// |---|---|---|
/// | `value: data` | the stack answers with that constant | never: it must be read-only |
/// | `value: nil` | ``CBPeripheralManagerDelegate/peripheralManager(_:didReceiveRead:)`` | ``CBPeripheralManagerDelegate/peripheralManager(_:didReceiveWrite:)`` |
/// | `storedValue: data` (not in CoreBluetooth) | the stack answers with the stored value | the stack stores the value and reports it to the delegate |
///
/// A published characteristic is frozen, except for ``value``, which the application is free to use: the stack reads it
/// only in ``CBPeripheralManager/add(_:)``.
///
/// ```swift
/// let measurement = CBMutableCharacteristic(
///   type: "2A37", properties: [.notify], value: nil, permissions: [.readable])
/// ```
///
/// The locks are `local` and that of ``CBCharacteristic``.
open class CBMutableCharacteristic: CBCharacteristic, @unchecked Sendable {
  private let local: Mutex<Local>
  private let lengths: ClosedRange<Int>?

  private struct Local {
    var permissions: CBAttributePermissions
    var subscribedCentrals: [CBCentral] = []
  }

  /// - Parameter value: the constant of a read-only characteristic; nil for one whose delegate answers.
  public init(
    type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions
  ) {
    local = Mutex(Local(permissions: permissions))
    lengths = nil
    super.init(type: UUID, properties: properties, value: value)
  }

  /// Creates a characteristic whose value the stack stores: the stack answers reads, accepts writes that the
  /// permissions and `length` allow, and reports them to
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:central:didStoreValueOf:)``. If the delegate does not have that
  /// method, ``value`` does not follow the writes. The application changes the value with
  /// ``CBPeripheralManager/setStoredValue(_:for:)-(_,CBMutableCharacteristic)``. CoreBluetooth has no such initializer.
  ///
  /// - Parameter length: the lengths that the value may have after a write, in octets; at most 512 (Vol 3, Part F,
  ///   3.2.9).
  public init(
    type UUID: CBUUID, properties: CBCharacteristicProperties, storedValue: Data,
    length: ClosedRange<Int> = 0...512,
    permissions: CBAttributePermissions
  ) {
    local = Mutex(Local(permissions: permissions))
    lengths = length
    super.init(type: UUID, properties: properties, value: storedValue)
  }

  /// The permissions of centrals to read and write the value.
  open var permissions: CBAttributePermissions {
    get { local.withLock { $0.permissions } }
    set { local.withLock { $0.permissions = newValue } }
  }

  /// The subscribed centrals, in the order of their subscriptions.
  open var subscribedCentrals: [CBCentral]? { local.withLock { $0.subscribedCentrals } }

  /// The procedures that centrals may use.
  open override var properties: CBCharacteristicProperties {
    get { super.properties }
    set { super.properties = newValue }
  }

  /// The value; ``CBPeripheralManager/add(_:)`` reads it.
  open override var value: Data? {
    get { super.value }
    set { super.value = newValue }
  }

  /// The descriptors to publish with the characteristic.
  open override var descriptors: [CBDescriptor]? {
    get { super.descriptors }
    set { super.descriptors = newValue }
  }

  /// The lengths that a stored value may have; nil where the stack does not store it.
  final var storedLengths: ClosedRange<Int>? { lengths }

  /// - Returns: whether it was not subscribed before.
  final func subscribe(_ central: CBCentral) -> Bool {
    local.withLock { local in
      guard !local.subscribedCentrals.contains(where: { $0 === central }) else { return false }
      local.subscribedCentrals.append(central)
      return true
    }
  }

  /// - Returns: whether it was subscribed before.
  final func unsubscribe(_ central: CBCentral) -> Bool {
    local.withLock { local in
      guard let index = local.subscribedCentrals.firstIndex(where: { $0 === central }) else { return false }
      local.subscribedCentrals.remove(at: index)
      return true
    }
  }

  final func forgetSubscribers() { local.withLock { $0.subscribedCentrals = [] } }
}
