import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Foundation

/// One link to a peripheral: the objects discovered on it, and the operations without a result.
struct PeripheralConnection: Sendable {
  let address: DeviceAddress
  let peer: LinkID
  /// Whether our central made it; otherwise the device did.
  let isOurs: Bool
  /// The services that the managers of the adapter had seen on the device when it connected.
  let knownServices: [BluetoothUUID]
  var mtu = ATT.defaultMTU
  /// Why the link could not be encrypted with the key of its bond; nil otherwise.
  var bondLoss: BondLoss?

  /// By the handle of the declaration.
  var services: [AttributeHandle: PeerService] = [:]
  /// By the handle of the value.
  var characteristics: [AttributeHandle: PeerCharacteristic] = [:]
  var descriptors: [AttributeHandle: PeerDescriptor] = [:]
  /// The handle of the Client Characteristic Configuration of a value, once known.
  var configurations: [AttributeHandle: AttributeHandle] = [:]
  /// Whether the subscription to Service Changed was requested.
  var watchesServices = false
  /// The read of the Device Name characteristic, while it has no answer.
  var nameRead: GATTClient.OperationID?

  var pending: [PendingOperation] = []
  /// The writes without response that have not left, and the octets that each counts.
  var unsentWrites: [GATTClient.OperationID: Int] = [:]
  /// What ``pending`` and ``unsentWrites`` count towards ``CentralLimits/pendingOctets``.
  var waitingOctets = 0
  /// There was no room for a write: a call follows when there is room.
  var owesReady = false
  /// The reason of a call for more writes that is on its way; nil for none.
  var readyCall: ReadyCall?
  /// Channels that are being opened, in the order of the calls.
  var openingChannels: [OpenChannelID] = []
  /// Reads of the signal strength that are not answered yet.
  var rssiReads = 0
  /// Requests about the PHYs that are not answered yet.
  var phyRequests = 0

  init(address: DeviceAddress, peer: LinkID, isOurs: Bool, knownServices: [BluetoothUUID] = []) {
    (self.address, self.peer, self.isOurs, self.knownServices) = (address, peer, isOurs, knownServices)
  }

  /// The maximum length of a write without response: what the MTU leaves, at most that of a value (Vol 3, Part F,
  /// 3.2.9).
  var longestCommand: Int { min(mtu - 3, ATT.maximumValueLength) }

  /// An operation of the application. The delegate is called in the order of the operations.
  struct PendingOperation: Sendable {
    var id: GATTClient.OperationID
    var subject: Subject
    var result: Result<GATTClient.Outcome, GATTClientError>?
    /// What it counts towards ``CentralLimits/pendingOctets``.
    var octets = 0
  }

  /// Why the delegate is called for more writes without response.
  enum ReadyCall: Sendable {
    /// There is room again after there was none.
    case room
    /// All of them have left.
    case empty
  }

  /// The kind of an operation, and its object.
  enum Subject: Sendable {
    case services([BluetoothUUID]?)
    case includedServices(PeerService, [BluetoothUUID]?)
    case characteristics(PeerService, [BluetoothUUID]?)
    case descriptors(PeerCharacteristic)
    case value(PeerCharacteristic)
    case descriptorValue(PeerDescriptor)
    case write(PeerCharacteristic)
    case writeDescriptor(PeerDescriptor)
    case notify(PeerCharacteristic, Bool)

    /// The delegate's call for the result.
    func call(_ error: (any Error)?) -> PeripheralCall {
      switch self {
      case .services: .discoveredServices(error)
      case .includedServices(let service, _): .discoveredIncludedServices(service, error)
      case .characteristics(let service, _): .discoveredCharacteristics(service, error)
      case .descriptors(let characteristic): .discoveredDescriptors(characteristic, error)
      case .value(let characteristic): .updatedValue(characteristic, error)
      case .descriptorValue(let descriptor): .updatedDescriptor(descriptor, error)
      case .write(let characteristic): .wrote(characteristic, error)
      case .writeDescriptor(let descriptor): .wroteDescriptor(descriptor, error)
      case .notify(let characteristic, _): .updatedNotificationState(characteristic, error)
      }
    }
  }

  /// Whether an object of this link is still valid.
  func has(_ service: PeerService) -> Bool { services[service.handles.lowerBound] === service }
  func has(_ characteristic: PeerCharacteristic) -> Bool {
    characteristics[characteristic.found.valueHandle] === characteristic
  }
  func has(_ descriptor: PeerDescriptor) -> Bool { descriptors[descriptor.handle] === descriptor }

  /// The delegate calls of the operations that fail with the link, in order.
  func failures(_ error: CBError) -> [PeripheralCall] {
    pending.map { $0.subject.call(error) } + openingChannels.map { _ in .didNotOpenChannel(error) }
      + Array(repeating: .rssi(127, error), count: rssiReads)
      + Array(repeating: .phy(nil, error), count: phyRequests)
  }

  func forgetNotifying() {
    for characteristic in characteristics.values where characteristic.isNotifying { characteristic.isNotifying = false }
  }

  /// Removes the objects whose handles are in a range.
  ///
  /// - Returns: the services that became invalid, in the order of their handles.
  mutating func invalidate(_ range: ClosedRange<AttributeHandle>) -> [PeerService] {
    let void = services.values.filter { $0.handles.overlaps(range) }.sorted {
      $0.handles.lowerBound < $1.handles.lowerBound
    }
    for service in void { remove(service) }
    return void
  }

  mutating func remove(_ service: PeerService) {
    services[service.handles.lowerBound] = nil
    func isInside(_ handle: AttributeHandle) -> Bool { service.handles.contains(handle) }
    // A value may lie outside of its service.
    for (handle, characteristic) in characteristics where isInside(characteristic.found.declaration) || isInside(handle)
    {
      characteristic.isNotifying = false
      characteristics[handle] = nil
    }
    descriptors = descriptors.filter { !isInside($0.key) }
    configurations = configurations.filter { !isInside($0.key) }
  }
}
