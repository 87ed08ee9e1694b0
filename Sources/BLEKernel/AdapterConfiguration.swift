package import BLELinux
package import BLEWire
internal import Glibc

/// Finds an adapter, configures it for its purpose, and restores its settings at the end.
package struct AdapterConfiguration: Sendable {
  /// The use of the adapter.
  package enum Purpose: Equatable, Sendable {
    /// The kernel and this process share the adapter: it must be on, with Low Energy.
    case sharing
    /// This process takes the adapter from the kernel: it must be off.
    case takingOver
  }

  let name: String
  let purpose: Purpose
  let management: ManagementSocket
  private let choice: AdapterChoice
  /// The address of the adapter that was found. It identifies the adapter later, when its index may be different.
  private var address: BD_ADDR?
  private(set) var index: UInt16?
  /// The commands that restore the settings, newest first.
  private var restoring: [ManagementRequest] = []
  /// Whether the adapter is switched on when it is plugged in again, because it was off when it was found.
  private(set) var switchesOn = false
  /// Whether the adapter was on and was switched off to be configured. At the end it must be on in any case.
  private var wasOn = false
  /// Whether bluetoothd has configured the adapter. Then bluetoothd pairs.
  private(set) var isPairedByDaemon = false
  private let daemonRuns: @Sendable () -> Bool

  init(
    _ choice: AdapterChoice, for purpose: Purpose, named name: String, _ management: ManagementSocket,
    daemonRuns: @escaping @Sendable () -> Bool = { BluetoothDaemon.isRunning }
  ) {
    self.daemonRuns = daemonRuns
    self.choice = choice
    self.purpose = purpose
    self.name = name
    self.management = management
  }

  /// The adapter that the choice currently selects, if the kernel has it: its index, and its address if it has one.
  package static func identify(
    _ choice: AdapterChoice, for purpose: Purpose, through system: SystemCalls = .kernel
  ) -> (index: UInt16, address: BD_ADDR?)? {
    guard let management = try? ManagementSocket(through: system) else { return nil }
    var configuration = AdapterConfiguration(choice, for: purpose, named: "", management)
    guard let found = try? configuration.find() else { return nil }
    return (found.index, found.address.value == 0 ? nil : found.address)
  }

  /// The adapter; nil if the kernel does not have it now.
  mutating func find() throws(TransportError) -> AdapterInformation? {
    do throws(SystemError) {
      var found: AdapterInformation?
      for candidate in try management.indices() {
        guard let information = try management.information(of: candidate) else { continue }
        if isMeant(information) {
          found = information
          break
        }
      }
      index = found?.index
      if let found, found.address.value != 0 { address = found.address }
      return found
    } catch { throw TransportError(usingAdapter: name, error) }
  }

  private func isMeant(_ candidate: AdapterInformation) -> Bool {
    if let address { return candidate.address == address }
    return switch choice {
    case .first: purpose == .takingOver || candidate.supported.contains(.lowEnergy)
    case .index(let index): candidate.index == index
    case .address(let address): candidate.address == address
    }
  }

  /// Configures the adapter for the purpose.
  ///
  /// The kernel's security manager reads its settings only while an adapter is switched on. So an adapter that is off
  /// is switched on after Low Energy and security are set. An adapter that is on without them, and has no links, is
  /// switched off first. An adapter that bluetoothd has configured is left unchanged.
  ///
  /// - Parameter isNew: whether the adapter was plugged in or the program has just started: the adapter is then
  ///   switched on. Otherwise its user has switched it off, and will switch it on.
  mutating func prepare(_ adapter: AdapterInformation, isNew: Bool) throws(TransportError) {
    switch purpose {
    case .takingOver:
      if adapter.current.contains(.powered) {
        try change(Management.SetPowered(0), restoredBy: ManagementRequest(Management.SetPowered(1)), of: adapter)
      }
    case .sharing: try prepareSharing(adapter, isNew: isNew)
    }
  }

  private mutating func prepareSharing(_ adapter: AdapterInformation, isNew: Bool) throws(TransportError) {
    guard adapter.supported.contains(.lowEnergy) else {
      throw TransportError(
        .unsupported, at: name, "hci\(adapter.index) has no Bluetooth Low Energy", remedy: "Use another adapter.")
    }
    let needed = adapter.supported.intersection([.lowEnergy, .secureConnections])
    isPairedByDaemon = adapter.current.isSuperset(of: needed) && daemonRuns()
    if !isPairedByDaemon { restorePairing(of: adapter) }
    let isOn = adapter.current.contains(.powered)
    var isLeftOn = isOn && (isPairedByDaemon || adapter.current.contains(.bondable))
    if isOn, !isLeftOn { isLeftOn = try hasConnections(adapter) }
    let hasLowEnergy = adapter.current.contains(.lowEnergy)
    if isLeftOn {
      if !hasLowEnergy {
        try change(Management.SetLowEnergy(1), restoredBy: ManagementRequest(Management.SetLowEnergy(0)), of: adapter)
      }
      return
    }
    guard isOn || isNew || switchesOn || wasOn else {
      throw TransportError(
        .poweredOff, at: name, "hci\(adapter.index) is switched off",
        remedy: "Run: btmgmt --index \(adapter.index) power on")
    }
    if isOn {
      wasOn = true
      try change(Management.SetPowered(0), of: adapter)
    } else {
      switchesOn = !wasOn
    }
    if !hasLowEnergy {
      try change(Management.SetLowEnergy(1), restoredBy: ManagementRequest(Management.SetLowEnergy(0)), of: adapter)
    }
    try enableSecurity(of: adapter)
    if wasOn {
      try change(Management.SetPowered(1), of: adapter)
    } else {
      try change(Management.SetPowered(1), restoredBy: ManagementRequest(Management.SetPowered(0)), of: adapter)
    }
  }

  /// Enables the settings that pairing needs, if the controller supports them.
  private mutating func enableSecurity(of adapter: AdapterInformation) throws(TransportError) {
    func isMissing(_ setting: AdapterSettings) -> Bool {
      adapter.supported.contains(setting) && !adapter.current.contains(setting)
    }
    if isMissing(.secureSimplePairing) {
      try changeIfPossible(
        Management.SetSecureSimplePairing(1), restoredBy: ManagementRequest(Management.SetSecureSimplePairing(0)),
        of: adapter)
    }
    // ``restorePairing(of:)`` has already recorded how to restore these two.
    if isMissing(.secureConnections) { try changeIfPossible(Management.SetSecureConnections(1), of: adapter) }
    if isMissing(.bondable) { try changeIfPossible(Management.SetBondable(1), of: adapter) }
  }

  /// Arranges that the settings that the host's pairing policy can change are restored at the end.
  private mutating func restorePairing(of adapter: AdapterInformation) {
    if adapter.supported.contains(.secureConnections) {
      restoreOnce(Management.SetSecureConnections(adapter.current.contains(.secureConnections) ? 1 : 0))
    }
    if adapter.supported.contains(.bondable) {
      restoreOnce(Management.SetBondable(adapter.current.contains(.bondable) ? 1 : 0))
    }
  }

  private mutating func restoreOnce(_ command: some ManagementCommand) {
    let request = ManagementRequest(command)
    if !restoring.contains(where: { $0.opcode == request.opcode }) { restoring.append(request) }
  }

  private func hasConnections(_ adapter: AdapterInformation) throws(TransportError) -> Bool {
    do throws(SystemError) {
      return try management.hasConnections(adapter.index)
    } catch { throw TransportError(usingAdapter: name, error) }
  }

  /// The kernel's information about the adapter after ``prepare(_:isNew:)``.
  func refreshed(_ adapter: AdapterInformation) throws(SystemError) -> AdapterInformation {
    try management.information(of: adapter.index) ?? adapter
  }

  /// Leaves the power of the adapter to its user: it is not switched on again, and stays on at the end.
  mutating func leavePowerToUser() {
    (switchesOn, wasOn) = (false, false)
    restoring.removeAll { $0.opcode == Management.SetPowered.opcode }
  }

  /// The adapter was removed, and its changed settings with it.
  mutating func adapterRemoved() {
    restoring = []
    index = nil
  }

  /// Restores the settings of the adapter.
  mutating func restore() {
    guard let index else { return }
    for request in restoring.reversed() { _ = try? management.request(request, to: index) }
    restoring = []
  }

  /// Changes a setting that the controller may reject: an LE-only controller rejects some and still works. A controller
  /// that does not answer has failed.
  private mutating func changeIfPossible(
    _ command: some ManagementCommand, restoredBy undo: ManagementRequest? = nil,
    of adapter: AdapterInformation
  ) throws(TransportError) {
    do throws(TransportError) {
      try change(command, restoredBy: undo, of: adapter)
    } catch { if error.kind == .inputOutput { throw error } }
  }

  private mutating func change(
    _ command: some ManagementCommand, restoredBy undo: ManagementRequest? = nil,
    of adapter: AdapterInformation
  ) throws(TransportError) {
    let request = ManagementRequest(command)
    let reply: ManagementReply
    do throws(SystemError) {
      reply = try management.request(request, to: adapter.index)
    } catch { throw TransportError(usingAdapter: name, error) }
    guard reply.status == .success else { throw rejection(of: request.opcode, reply.status, adapter) }
    if let undo { restoring.append(undo) }
  }

  private func rejection(
    of opcode: ManagementOpcode, _ status: ManagementStatus?, _ adapter: AdapterInformation
  ) -> TransportError {
    switch status {
    case nil:
      TransportError(
        .inputOutput, at: name, "the kernel did not answer \(opcode) in \(ManagementSocket.patience)",
        remedy: "Unplug the adapter and plug it in again.")
    case .permissionDenied: .missingCapabilities(at: name)
    case .blockedByRadioSwitch: .blockedByRadioSwitch(hci: adapter.index, at: name)
    // Kernel 6.12 has no separate status for this.
    case .failed where RadioSwitch.blocks(hci: adapter.index): .blockedByRadioSwitch(hci: adapter.index, at: name)
    case .busy:
      TransportError(
        .busy, at: name, "another program is configuring hci\(adapter.index)\(BluetoothDaemon.clause)",
        remedy: "Try again in a moment.")
    case .invalidIndex:
      TransportError(.unavailable, at: name, "hci\(adapter.index) was unplugged", remedy: "Plug it in again.")
    case .some(let status):
      TransportError(
        .unavailable, at: name, "the kernel rejected \(opcode) on hci\(adapter.index): \(status)",
        remedy: "To see the state of the adapter, run: btmgmt --index \(adapter.index) info")
    }
  }
}
