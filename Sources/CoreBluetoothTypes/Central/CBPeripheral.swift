import BLEATT
public import BLEAdapter
public import BLEHost
import BLEL2CAP
public import Foundation
import Synchronization

/// The state of the connection to a peripheral; mirrors `CBPeripheralState`.
public enum CBPeripheralState: Int, Sendable {
  /// Not connected.
  case disconnected = 0
  /// A connection request is pending.
  case connecting = 1
  /// The link is established.
  case connected = 2
  /// The link is being ended, or the connection request cancelled.
  case disconnecting = 3
}

/// A discovered device and, while it is connected, its services; mirrors `CBPeripheral`.
///
/// The ``delegate`` receives the results of operations one after the other, in the order of the calls, on the queue of
/// the manager that the peripheral came from. Operations that cannot be performed (on a device that is not connected,
/// or on an object that was not discovered on this connection) are dropped with a line in the log.
///
/// Locks: `contents` protects its content, `delegateLock` the reference to the delegate.
open class CBPeripheral: CBPeer, @unchecked Sendable {
  private let manager: WeakObject<CBCentralManager>
  private let contents = Mutex(Contents())
  private let delegateLock = Mutex(())
  private weak var heldDelegate: (any CBPeripheralDelegate)?

  private struct Contents {
    var name: String?
    var state = CBPeripheralState.disconnected
    var services: [CBService]?
    var rssi: Int?
  }

  init(identifier: UUID, manager: WeakObject<CBCentralManager>) {
    self.manager = manager
    super.init(identifier: identifier)
  }

  deinit { manager.object?.released(identifier) }

  /// The delegate. The peripheral does not retain it.
  open var delegate: (any CBPeripheralDelegate)? {
    get {
      var found: (any CBPeripheralDelegate)?
      delegateLock.withLock { _ in found = heldDelegate }
      return found
    }
    set {
      delegateLock.withLock { _ in heldDelegate = newValue }
      manager.object?.examine(newValue, "CBPeripheralDelegate") { $0 is any CBPeripheralDelegate.Type }
    }
  }

  /// The name it advertises, if it does.
  open var name: String? { contents.withLock { $0.name } }

  /// The state of the connection.
  open var state: CBPeripheralState { contents.withLock { $0.state } }

  /// The services that ``discoverServices(_:)`` has found; nil before.
  ///
  /// The services of a link that has ended stay here until the next link is established: in
  /// ``CBCentralManagerDelegate/centralManager(_:didConnect:)`` they are nil. Between the links they, their
  /// characteristics and values can be read, but operations on them are dropped with a line in the log: they are void,
  /// and the next link discovers new objects.
  open var services: [CBService]? { contents.withLock { $0.services } }

  /// The result of the last ``readRSSI()``, in dBm. CoreBluetooth has deprecated this property.
  open var rssi: NSNumber? { contents.withLock { $0.rssi }.map { NSNumber(value: $0) } }

  /// False: Linux has no Apple Notification Center Service.
  open var ancsAuthorized: Bool { false }

  /// Whether there is room for a write without response. After it was false,
  /// ``CBPeripheralDelegate/peripheralIsReady(toSendWriteWithoutResponse:)`` reports when there is room again. Writes
  /// that do not wait for it are sent all the same, until 1 MiB of operations and writes waits.
  open var canSendWriteWithoutResponse: Bool {
    manager.object?.run { state, _ in state.canSend(self) } ?? false
  }

  /// The maximum length of one ``writeValue(_:for:type:)``, in octets. Without a response the value has to fit into one
  /// packet; with one, the stack sends as many packets as needed. The limit is never above the 512 octets that a value
  /// may have (Vol 3, Part F, 3.2.9).
  open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
    guard type == .withoutResponse else { return ATT.maximumValueLength }
    return manager.object?.run { state, _ in state.longestCommand(of: self) } ?? ATT.defaultMTU - 3
  }

  /// Reads the signal strength of the link.
  open func readRSSI() { command("readRSSI") { $0.readRSSI(self, into: &$1) } }

  /// Finds the primary services, or those of certain types; ``services`` then has them, and those found before.
  ///
  /// - Parameter serviceUUIDs: the types; nil finds all except Generic Access (1800) and Generic Attribute (1801),
  ///   which are found by their types only, as on Apple's systems.
  open func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    command("discoverServices") { $0.ask(self, "discoverServices", .services(serviceUUIDs?.map(\.value)), into: &$1) }
  }

  /// Finds the services that a service includes.
  open func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
    guard let service: PeerService = remote(service, "discoverIncludedServices") else { return }
    command("discoverIncludedServices") {
      $0.ask(
        self, "discoverIncludedServices", .includedServices(service, includedServiceUUIDs?.map(\.value)), into: &$1)
    }
  }

  /// Finds the characteristics of a service, or those of certain types.
  open func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    guard let service: PeerService = remote(service, "discoverCharacteristics") else { return }
    command("discoverCharacteristics") {
      $0.ask(self, "discoverCharacteristics", .characteristics(service, characteristicUUIDs?.map(\.value)), into: &$1)
    }
  }

  /// Finds the descriptors of a characteristic.
  open func discoverDescriptors(for characteristic: CBCharacteristic) {
    guard let characteristic: PeerCharacteristic = remote(characteristic, "discoverDescriptors") else { return }
    command("discoverDescriptors") { $0.ask(self, "discoverDescriptors", .descriptors(characteristic), into: &$1) }
  }

  /// Reads the whole value of a characteristic.
  open func readValue(for characteristic: CBCharacteristic) {
    guard let characteristic: PeerCharacteristic = remote(characteristic, "readValue") else { return }
    command("readValue") { $0.ask(self, "readValue", .value(characteristic), into: &$1) }
  }

  /// Reads the whole value of a descriptor.
  open func readValue(for descriptor: CBDescriptor) {
    guard let descriptor: PeerDescriptor = remote(descriptor, "readValue") else { return }
    command("readValue") { $0.ask(self, "readValue", .descriptorValue(descriptor), into: &$1) }
  }

  /// Writes a value. With a response, the delegate receives the result. Without one there is no result, and a value
  /// that is too long or for which there is no room (see ``canSendWriteWithoutResponse``) is dropped.
  open func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
    guard let characteristic: PeerCharacteristic = remote(characteristic, "writeValue") else { return }
    let octets = [UInt8](data)
    command("writeValue") {
      switch type {
      case .withResponse: $0.ask(self, "writeValue", .write(characteristic), value: octets, into: &$1)
      case .withoutResponse: $0.writeWithoutResponse(self, characteristic, octets, into: &$1)
      }
    }
  }

  /// Writes a descriptor, except the Client Characteristic Configuration (0x2902), which ``setNotifyValue(_:for:)``
  /// sets.
  open func writeValue(_ data: Data, for descriptor: CBDescriptor) {
    guard let descriptor: PeerDescriptor = remote(descriptor, "writeValue") else { return }
    let octets = [UInt8](data)
    command("writeValue") { $0.ask(self, "writeValue", .writeDescriptor(descriptor), value: octets, into: &$1) }
  }

  /// Subscribes to a value, or unsubscribes: by notifications if the characteristic has them, otherwise by
  /// indications.
  open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    guard let characteristic: PeerCharacteristic = remote(characteristic, "setNotifyValue") else { return }
    command("setNotifyValue") { $0.ask(self, "setNotifyValue", .notify(characteristic, enabled), into: &$1) }
  }

  /// Opens an L2CAP channel to a PSM of the device; ``CBPeripheralDelegate/peripheral(_:didOpen:error:)`` reports the
  /// result.
  ///
  /// If the device requires security, the link is encrypted or the devices pair, as for an attribute. Errors:
  /// ``CBError/operationNotSupported`` where the device has no such PSM, ``CBError/outOfSpace`` where it has no room,
  /// ``CBError/invalidParameters`` for a number that is not a PSM, ``CBError/encryptionTimedOut`` or
  /// ``CBError/peerRemovedPairingInformation`` where the link could not be encrypted, a ``CBATTError`` for the security
  /// that is missing, and the error of the link where it ends.
  open func openL2CAPChannel(_ psm: CBL2CAPPSM) {
    command("openL2CAPChannel") { $0.openChannel(self, SPSM(rawValue: psm), into: &$1) }
  }

  /// Requests other PHYs for the link. The controllers choose among those that both devices allow; an empty set means
  /// no preference (Vol 4, Part E, 7.8.49). ``CBPeripheralDelegate/peripheral(_:didUpdatePHY:error:)`` answers. Not in
  /// CoreBluetooth.
  ///
  /// - Parameter coding: the coding of this device's transmissions on LE Coded.
  public final func setPreferredPHY(transmit: Set<LEPHY>, receive: Set<LEPHY>, coding: LECoding = .any) {
    let preference = PHYPreference(transmit: transmit, receive: receive, coding: coding)
    command("setPreferredPHY") { $0.phy(self, "setPreferredPHY", .setPHY(preference), into: &$1) }
  }

  /// Requests the data length, the PHY and the timing of a priority, as far as both devices support them. A rejected
  /// setting is logged. Not in CoreBluetooth.
  public final func requestConnectionPriority(_ priority: ConnectionPriority) {
    command("requestConnectionPriority") { $0.prioritize(self, priority, into: &$1) }
  }

  /// Requests an interval that may be shorter than 7.5 ms, with subrating (Bluetooth 6.2; Vol 4, Part E, 7.8.154).
  /// ``CBPeripheralDelegate/peripheral(_:didUpdateConnectionTiming:error:)`` answers. Not in CoreBluetooth.
  ///
  /// Errors: ``CBError/invalidParameters`` for values that `ConnectionRateRequest` or the controller does not allow,
  /// and while another request for the link is outstanding; ``CBError/operationNotSupported`` where the adapter or the
  /// device has no shorter connection intervals, which the text says.
  public final func requestConnectionRate(_ request: ConnectionRateRequest) {
    command("requestConnectionRate") { $0.requestRate(self, request, into: &$1) }
  }

  /// Reads the PHYs of the link; ``CBPeripheralDelegate/peripheral(_:didUpdatePHY:error:)`` answers. Not in
  /// CoreBluetooth.
  public final func readPHY() {
    command("readPHY") { $0.phy(self, "readPHY", .readPHY, into: &$1) }
  }

  final func update(name: String?) { contents.withLock { $0.name = name ?? $0.name } }
  final func update(rssi: Int) { contents.withLock { $0.rssi = rssi } }
  final func update(state: CBPeripheralState) { contents.withLock { $0.state = state } }
  final func update(services: [CBService]?) { contents.withLock { $0.services = services } }

  /// A link was established: objects of an earlier link are invalid.
  final func connected() {
    contents.withLock { contents in
      contents.state = .connected
      contents.services = nil
    }
  }

  /// The object as one that was discovered on a peripheral; an object of the application's own is not accepted.
  final func remote<Local: CBAttribute, Remote>(_ object: Local, _ command: StaticString) -> Remote? {
    if let remote = object as? Remote { return remote }
    manager.object?.misuse("\(command): \(object) was not found on a peripheral")
    return nil
  }

  private func command(
    _ name: StaticString, _ body: (inout CentralRole, inout CentralEffects) -> Void
  ) {
    guard let manager = manager.object, manager.accepts(name) else { return }
    manager.run(body)
  }
}
