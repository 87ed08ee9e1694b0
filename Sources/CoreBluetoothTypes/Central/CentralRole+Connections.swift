import BLEATT
import BLEAdapter
import BLEGAP
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Foundation

extension CentralRole {
  /// Connects, without a timeout.
  mutating func connect(_ peripheral: CBPeripheral, _ options: ConnectOptions, into effects: inout CentralEffects) {
    guard let device = device(of: peripheral, for: "connect", into: &effects) else { return }
    switch device.phase {
    case .disconnected: begin(device.address, options, into: &effects)
    case .connecting(let id, let pending, let isPosted):
      // The options of this run replace those of an earlier one.
      guard restoredConnections.remove(id) != nil, pending != options else { return }
      pendingConnections[id] = nil
      if isPosted { effects.commands.append(.initiating(.cancel(id))) }
      begin(device.address, options, into: &effects)
    case .cancelling(let id, _): devices[device.address]?.phase = .cancelling(id, next: options)
    case .connected: effects.calls.append(.connected(peripheral))
    case .disconnecting(let peer, _): devices[device.address]?.phase = .disconnecting(peer, next: options)
    }
  }

  /// The seconds between an attempt to connect that has failed and the next one.
  private static let attemptPause = 1

  /// - Parameter delay: the seconds until the connection is requested; nil for those of the options.
  private mutating func begin(
    _ address: DeviceAddress, _ options: ConnectOptions, after delay: Int? = nil, into effects: inout CentralEffects
  ) {
    let id = HostIDs.connect()
    let delay = delay ?? options.startDelay
    pendingConnections[id] = address
    devices[address]?.object.object?.update(state: .connecting)
    devices[address]?.phase = .connecting(id, options, isPosted: delay == 0)
    if delay > 0 {
      effects.calls.append(.startLater(seconds: delay, id))
    } else {
      effects.commands.append(connect(id, address, options))
    }
  }

  private func connect(_ id: ConnectID, _ address: DeviceAddress, _ options: ConnectOptions) -> HostCommand {
    let phys = options.phys ?? devices.record(of: address).phys
    return .initiating(.connect(id, address, options.parameters, InitiatingParameters(phys: phys.phys)))
  }

  /// The start delay of a connection has passed.
  mutating func start(_ id: ConnectID, into effects: inout CentralEffects) {
    guard let address = pendingConnections[id], case .connecting(id, let options, false) = devices[address]?.phase
    else { return }
    devices[address]?.phase = .connecting(id, options, isPosted: true)
    effects.commands.append(connect(id, address, options))
  }

  /// Cancels a pending connection or ends a link;
  /// ``CBCentralManagerDelegate/centralManager(_:didDisconnectPeripheral:error:)`` follows without an error.
  mutating func cancel(_ peripheral: CBPeripheral, into effects: inout CentralEffects) {
    guard let device = device(of: peripheral, for: "cancelPeripheralConnection", into: &effects) else { return }
    switch device.phase {
    case .connecting(let id, _, isPosted: true):
      devices[device.address]?.phase = .cancelling(id, next: nil)
      peripheral.update(state: .disconnecting)
      effects.commands.append(.initiating(.cancel(id)))
    case .connecting(let id, _, isPosted: false):
      devices[device.address]?.phase = .cancelling(id, next: nil)
      connectionEnded(id, CBError(.operationCancelled), into: &effects)
    case .connected(let peer, _):
      devices[device.address]?.phase = .disconnecting(peer, next: nil)
      peripheral.update(state: .disconnecting)
      effects.commands.append(.link(peer, .release))
    case .cancelling(let id, _): devices[device.address]?.phase = .cancelling(id, next: nil)
    case .disconnecting(let peer, _): devices[device.address]?.phase = .disconnecting(peer, next: nil)
    case .disconnected: break
    }
  }

  /// - Parameter services: those that the managers of the adapter have seen on the device.
  mutating func connected(
    _ connection: ConnectedLink, advertising services: [BluetoothUUID], into effects: inout CentralEffects
  ) {
    let isOurs = connection.role == .central
    guard let id = connection.request, let address = pendingConnections.removeValue(forKey: id),
      let device = devices[address]
    else {
      guard connections[connection.peer] == nil, otherLinks[connection.peer] == nil else { return }
      let link = OtherLink(address: connection.address.identity, isOurs: isOurs, services: services)
      otherLinks[connection.peer] = link
      if isOurs { tell(.peerConnected, of: link.address, services, into: &effects) }
      return
    }
    let shared = otherLinks.removeValue(forKey: connection.peer)
    connections[connection.peer] = PeripheralConnection(
      address: address, peer: connection.peer, isOurs: isOurs, knownServices: services)
    if let shared { mtuChanged(connection.peer, shared.mtu) }
    switch device.phase {
    case .connecting(_, let options, _):
      guard let object = device.object.object else {
        // Its object was released before the event arrived.
        devices[address]?.phase = .disconnecting(connection.peer, next: nil)
        return effects.commands.append(.link(connection.peer, .release))
      }
      devices[address]?.phase = .connected(connection.peer, options)
      object.connected()
      effects.facts.append(.connected(address))
      effects.calls.append(.connected(object))
      if let priority = options.priority {
        effects.commands.append(.link(connection.peer, .prioritize(priority)))
      }
      readName(of: object, connection.peer, into: &effects)
      if shared == nil { tell(.peerConnected, of: address, services, into: &effects) }
    case .cancelling(_, let next):
      devices[address]?.phase = .disconnecting(connection.peer, next: next)
      effects.commands.append(.link(connection.peer, .release))
    case .disconnected, .connected, .disconnecting: break
    }
  }

  /// An attempt has failed. One that failed because no link was established is repeated: a pending connection has no
  /// end but a link, a refusal, or its cancellation.
  mutating func connectionFailed(_ id: ConnectID, _ error: HostError, into effects: inout CentralEffects) {
    if case .controller(_, .connectionFailedToBeEstablished) = error, let address = pendingConnections[id],
      case .connecting(id, let options, _) = devices[address]?.phase, devices[address]?.object.object != nil
    {
      pendingConnections[id] = nil
      return begin(address, options, after: Self.attemptPause, into: &effects)
    }
    connectionEnded(id, CBError(connecting: error), into: &effects)
  }

  /// A pending connection ended without a link: cancelled by the application, or not possible.
  mutating func connectionEnded(_ id: ConnectID, _ error: CBError, into effects: inout CentralEffects) {
    guard let address = pendingConnections.removeValue(forKey: id), let device = devices[address] else { return }
    devices[address]?.phase = .disconnected
    let object = device.object.object
    object?.update(state: .disconnected)
    guard let object else { return }
    if case .cancelling(_, let next) = device.phase {
      effects.calls.append(.disconnected(object, isReconnecting: false, nil))
      if let next { begin(address, next, into: &effects) }
    } else {
      effects.calls.append(.failedToConnect(object, error))
    }
  }

  /// Reads the name of a device whose advertisements have none, each time it connects.
  private mutating func readName(of object: CBPeripheral, _ peer: LinkID, into effects: inout CentralEffects) {
    guard object.name == nil else { return }
    let id = HostIDs.operation()
    connections[peer]?.nameRead = id
    effects.commands.append(.link(peer, .inspect(GATTClient.Operation(id: id, .readUsingUUID("2A00", 1...0xFFFF)))))
  }

  /// - Parameter isUp: whether the link stays, because other managers use it or the device made it.
  mutating func disconnected(
    _ peer: LinkID, _ reason: HCIErrorCode, isUp: Bool, into effects: inout CentralEffects
  ) {
    if isUp, let connection = connections[peer] {
      // Only this manager's use has ended.
      linkEnded(peer, CBError(disconnected: reason), reconnects: false, isUp: true, into: &effects)
      otherLinks[peer] = OtherLink(
        address: connection.address, isOurs: connection.isOurs, services: connection.knownServices, mtu: connection.mtu)
      return
    }
    if let link = otherLinks.removeValue(forKey: peer), link.isOurs {
      tell(.peerDisconnected, of: link.address, link.services, into: &effects)
    }
    linkEnded(peer, CBError(disconnected: reason), reconnects: true, into: &effects)
  }

  /// A link has ended. Pending operations fail before ``CBCentralManagerDelegate`` is called, and no result of this
  /// peripheral follows.
  mutating func linkEnded(
    _ peer: LinkID, _ error: CBError, reconnects: Bool, isUp: Bool = false, into effects: inout CentralEffects
  ) {
    guard let connection = connections.removeValue(forKey: peer), let device = devices[connection.address] else {
      return
    }
    var next: ConnectOptions?
    var isWanted = false
    var isReconnecting = false
    switch device.phase {
    case .disconnecting(_, let wanted):
      isWanted = true
      next = wanted
    case .connected(_, let options) where options.reconnectsByItself && reconnects:
      isReconnecting = true
      next = options
    // The link ends, and nothing is to follow.
    case .disconnected, .connecting, .cancelling, .connected: break
    }
    devices[connection.address]?.phase = .disconnected
    let object = device.object.object
    if let object {
      let reason = isWanted ? CBError(.operationCancelled, "the program cancelled the connection") : error
      effects.calls += connection.failures(reason).map { .peripheral(object, $0) }
    }
    if !connection.unsentWrites.isEmpty {
      effects.notices.append(
        "\(connection.unsentWrites.count) writes without response to \(connection.address) were not sent: the link ended"
      )
    }
    connection.forgetNotifying()
    object?.update(state: .disconnected)
    if isReconnecting { begin(connection.address, next ?? ConnectOptions(), into: &effects) }
    if let object {
      effects.calls.append(.disconnected(object, isReconnecting: isReconnecting, isWanted ? nil : error))
      if !isUp { tell(.peerDisconnected, of: connection.address, connection.knownServices, into: &effects) }
    }
    if let next, !isReconnecting { begin(connection.address, next, into: &effects) }
  }

  /// Reports a link where the application registered for it.
  ///
  /// - Parameter services: those that the managers of the adapter have seen on the device.
  mutating func tell(
    _ event: CBConnectionEvent, of address: DeviceAddress, _ services: [BluetoothUUID],
    into effects: inout CentralEffects
  ) {
    guard let watchedEvents else { return }
    let slot = slot(of: address)
    let device = devices[slot: slot]
    let services = services + devices.record(of: address).data.serviceUUIDs
    guard
      watchedEvents.peripherals.contains(device.identifier)
        || services.contains(where: watchedEvents.services.contains), let object = peripheral(at: address)
    else { return }
    effects.calls.append(.connectionEvent(event, object))
  }
}

extension CBError {
  /// The reason of the end of a link, as CoreBluetooth's code.
  init(disconnected reason: HCIErrorCode) {
    switch reason {
    case HCIErrorCode.connectionTimeout, .linkLayerResponseTimeout: self.init(.connectionTimeout)
    case .remoteUserTerminatedConnection, .remoteDeviceTerminatedLowResources, .remoteDeviceTerminatedPowerOff:
      self.init(.peripheralDisconnected)
    case .connectionFailedToBeEstablished: self.init(.connectionFailed)
    case .pinOrKeyMissing: self.init(.peerRemovedPairingInformation)
    case .authenticationFailure, .terminatedMICFailure: self.init(.encryptionTimedOut, "\(reason)")
    default: self.init(.unknown, "The link ended: \(reason)")
    }
  }

  /// The reason why no link was established.
  init(connecting error: HostError) {
    switch error {
    case .controller(_, .connectionLimitExceeded), .tooMany: self.init(.connectionLimitReached, "\(error)")
    case .controller: self.init(.connectionFailed, "\(error)")
    default: self.init(error)  // The code is that of any other operation.
    }
  }
}
