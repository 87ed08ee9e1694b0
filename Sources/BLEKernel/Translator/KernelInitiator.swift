internal import BLEHCI
internal import BLEWire

/// The connection that the host has requested from the controller, with its connection parameters.
///
/// The kernel makes connections of its own, for bluetoothd or for a socket. Its default parameters have a supervision
/// timeout of 420 ms. Such a link can be the one that the host waits for. So the kernel gets the host's parameters for
/// the device beforehand, and a link with other parameters is changed after it has been made
/// (Docs/Decisions/kernel.md#connection-parameters).
struct KernelInitiator: Sendable {
  /// The number of devices of the filter accept list whose parameters the kernel gets.
  static let acceptListLimit = 64

  /// Whether a command from the host has requested a connection.
  private(set) var isInitiating = false
  /// The devices of the command, or of the filter accept list.
  private var devices: [DeviceAddress] = []
  /// The parameters of the command.
  private var parameters: HCI.ConnectionParameters?
  /// The parameters that the kernel got last.
  private var loaded: [Management.LoadConnectionParameters.Entry] = []

  mutating func clearAcceptList() { devices = [] }

  mutating func addToAcceptList(_ device: DeviceAddress) {
    if devices.count < Self.acceptListLimit { devices.append(device) }
  }

  mutating func create(_ command: HCI.LECreateConnection?) {
    create(command?.peerAddress, command?.initiatorFilterPolicy, command?.parameters)
  }

  /// Each PHY has parameters, and the PHY of the link is not yet known: the first parameters are used.
  mutating func create(_ command: HCI.LEExtendedCreateConnection?) {
    create(command?.peerAddress, command?.initiatorFilterPolicy, command?.initiations.first?.parameters)
  }

  private mutating func create(
    _ device: DeviceAddress?, _ policy: HCI.InitiatorFilterPolicy?, _ parameters: HCI.ConnectionParameters?
  ) {
    isInitiating = true
    self.parameters = parameters
    if let device, policy == .peerAddress { devices = [device] }
  }

  /// The command that gives the kernel the parameters for the devices; nil if the kernel already has them.
  ///
  /// The kernel keeps them, so private addresses, which a device changes, are omitted.
  mutating func commandForKernel() -> Management.LoadConnectionParameters? {
    guard let parameters else { return nil }
    let entries = devices.filter(\.isIdentityAddress).map {
      Management.LoadConnectionParameters.Entry($0.identity, parameters)
    }
    guard !entries.isEmpty, entries != loaded else { return nil }
    loaded = entries
    var command = Management.LoadConnectionParameters()
    command.parameters = entries
    return command
  }

  /// Receives a link that has come up while the host waits for one.
  ///
  /// - Returns: the parameters that the link must be given; nil if it has those that the host requested, or if it
  ///   belongs to another program.
  mutating func connected(_ link: ConnectionCompleteEvent) -> HCI.ConnectionParameters? {
    isInitiating = false
    defer { parameters = nil }
    guard let wanted = parameters, devices.contains(where: { $0.identity == link.peer.identity }) else { return nil }
    let isInForce =
      link.interval >= wanted.connectionIntervalMin && link.interval <= wanted.connectionIntervalMax
      && link.latency <= wanted.maxLatency && link.supervisionTimeout == wanted.supervisionTimeout
    return isInForce ? nil : wanted
  }
}

extension Management.LoadConnectionParameters.Entry {
  init(_ device: DeviceAddress, _ parameters: HCI.ConnectionParameters) {
    self.device = ManagementAddress(device)
    minimumInterval = parameters.connectionIntervalMin
    maximumInterval = parameters.connectionIntervalMax
    latency = parameters.maxLatency
    supervisionTimeout = parameters.supervisionTimeout
  }
}

/// A new link, as the events of all versions report it (Vol 4, Part E, 7.7.65.1 and 7.7.65.10).
struct ConnectionCompleteEvent: Sendable {
  let handle: ConnectionHandle
  let role: HCI.Role
  let peer: DeviceAddress
  let interval: UInt16
  let latency: UInt16
  let supervisionTimeout: UInt16

  init(_ event: HCI.LEConnectionComplete) {
    (handle, role, peer) = (event.connectionHandle, event.role, event.peerAddress)
    (interval, latency) = (event.connectionInterval, event.peripheralLatency)
    supervisionTimeout = event.supervisionTimeout
  }

  init(_ event: HCI.LEEnhancedConnectionComplete) {
    (handle, role, peer) = (event.connectionHandle, event.role, event.peerAddress)
    (interval, latency) = (event.connectionInterval, event.peripheralLatency)
    supervisionTimeout = event.supervisionTimeout
  }
}
