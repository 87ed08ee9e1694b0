internal import BLELinux
internal import BLEWire
internal import CBluetoothLinux

/// Finds the adapter that is meant, makes it ready, and puts back at the end what it changed.
struct AdapterKeeper: Sendable {
  /// What the adapter is wanted for.
  enum Purpose: Equatable, Sendable {
    /// The kernel runs it and we share it: it is to be switched on with Low Energy.
    case sharing
    /// We take it from the kernel: it is to be switched off.
    case takingOver
  }

  let name: String
  let purpose: Purpose
  let management: ManagementSocket
  private let choice: AdapterChoice
  /// Once found, an adapter is known by its address: it may come back under another index.
  private var address: BD_ADDR?
  private(set) var index: UInt16?
  /// Commands that put the adapter back, newest first.
  private var undoing: [(command: ManagementSocket.Command, parameters: [UInt8])] = []
  /// Whether it was off when we first met it, so that switching it on is our business when it is plugged in again.
  private(set) var switchesOn = false
  /// We met it on and switched it off to set it up: whatever came between, it is to be on in the end.
  private var wasOn = false
  /// Whether bluetoothd has set the adapter up: then pairing is its business.
  private(set) var isDaemons = false
  private let daemonRuns: @Sendable () -> Bool

  init(
    _ choice: AdapterChoice, _ purpose: Purpose, named name: String, _ management: ManagementSocket,
    daemonRuns: @escaping @Sendable () -> Bool = { BluetoothDaemon.isRunning }
  ) {
    self.daemonRuns = daemonRuns
    self.choice = choice
    self.purpose = purpose
    self.name = name
    self.management = management
  }

  /// The adapter, if it is there now.
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

  /// Makes the adapter ready for what it is wanted for.
  ///
  /// The kernel's SMP takes its settings up only while an adapter comes up. So one that is off is switched on with Low
  /// Energy and security set first, and one that is on without them, and has no links, is switched off before. One that
  /// bluetoothd has set up is left as it is.
  ///
  /// - Parameter isNew: it was plugged in, or we have just come: switching it on is our business. Otherwise its user
  ///   switched it off and will switch it on.
  mutating func prepare(_ adapter: AdapterInformation, isNew: Bool) throws(TransportError) {
    switch purpose {
    case .takingOver:
      if adapter.current.contains(.powered) {
        try change(.setPowered, to: false, back: true, of: adapter)
      }
    case .sharing:
      guard adapter.supported.contains(.lowEnergy) else {
        throw TransportError(
          .unsupported, at: name, "hci\(adapter.index) has no Bluetooth Low Energy", remedy: "take another adapter")
      }
      let setUp = adapter.supported.intersection([.lowEnergy, .secureConnections])
      isDaemons = adapter.current.isSuperset(of: setUp) && daemonRuns()
      if !isDaemons { rememberTrust(of: adapter) }
      let isOn = adapter.current.contains(.powered)
      var isLeftOn = isOn && (isDaemons || adapter.current.contains(.bondable))
      if isOn, !isLeftOn { isLeftOn = try hasConnections(adapter) }
      if isLeftOn {
        if !adapter.current.contains(.lowEnergy) { try change(.setLowEnergy, to: true, back: false, of: adapter) }
        return
      }
      guard isOn || isNew || switchesOn || wasOn else {
        throw TransportError(.poweredOff, at: name, "hci\(adapter.index) is switched off", remedy: powerOnLine(adapter))
      }
      if isOn {
        wasOn = true
        try change(.setPowered, to: false, back: nil, of: adapter)
      } else {
        switchesOn = !wasOn
      }
      if !adapter.current.contains(.lowEnergy) { try change(.setLowEnergy, to: true, back: false, of: adapter) }
      for (command, setting) in [
        (ManagementSocket.Command.setSecureSimplePairing, AdapterSettings.secureSimplePairing),
        (.setSecureConnections, .secureConnections), (.setBondable, .bondable),
      ] where adapter.supported.contains(setting) && !adapter.current.contains(setting) {
        do throws(TransportError) {
          try change(command, to: true, back: setting == .secureSimplePairing ? false : nil, of: adapter)
        } catch {
          // A controller for Low Energy alone refuses the first, and works; one that does not answer does not.
          guard error.kind != .inputOutput else { throw error }
        }
      }
      try change(.setPowered, to: true, back: wasOn ? nil : false, of: adapter)
    }
  }

  /// What the host's policy for pairing may change is put back in the end, whatever it was changed to.
  private mutating func rememberTrust(of adapter: AdapterInformation) {
    for (command, setting) in [
      (ManagementSocket.Command.setSecureConnections, AdapterSettings.secureConnections), (.setBondable, .bondable),
    ] where adapter.supported.contains(setting) && !undoing.contains(where: { $0.command == command }) {
      undoing.append((command, [adapter.current.contains(setting) ? 1 : 0]))
    }
  }

  private func hasConnections(_ adapter: AdapterInformation) throws(TransportError) -> Bool {
    do throws(SystemError) {
      return try management.hasConnections(adapter.index)
    } catch { throw TransportError(usingAdapter: name, error) }
  }

  /// What the kernel says of the adapter now, after ``prepare(_:isNew:)``.
  func refreshed(_ adapter: AdapterInformation) throws(SystemError) -> AdapterInformation {
    try management.information(of: adapter.index) ?? adapter
  }

  /// Switching the adapter on is its user's business from now on, and it is left on in the end.
  mutating func leaveToUser() {
    (switchesOn, wasOn) = (false, false)
    undoing.removeAll { $0.command == .setPowered }
  }

  /// The adapter is gone, and with it what was changed.
  mutating func adapterWentAway() {
    undoing = []
    index = nil
  }

  /// Puts the adapter back as it was.
  mutating func restore() {
    guard let index else { return }
    for (command, parameters) in undoing.reversed() { _ = try? management.request(command, index, parameters) }
    undoing = []
  }

  private mutating func change(
    _ command: ManagementSocket.Command, to on: Bool, back: Bool?, of adapter: AdapterInformation
  ) throws(TransportError) {
    let reply: ManagementSocket.Reply
    do throws(SystemError) {
      reply = try management.request(command, adapter.index, [on ? 1 : 0])
    } catch { throw TransportError(usingAdapter: name, error) }
    guard reply.status == .success else { throw refusal(command, reply.status, adapter) }
    if let back { undoing.append((command, [back ? 1 : 0])) }
  }

  private func refusal(
    _ command: ManagementSocket.Command, _ status: ManagementSocket.Status, _ adapter: AdapterInformation
  ) -> TransportError {
    switch status {
    case .permissionDenied: .missingCapabilities(at: name)
    case .switchedOffByRadioSwitch: .radioSwitchBlocks(hci: adapter.index, at: name)
    // Kernel 6.12 has no status of its own for it.
    case .failed where RadioSwitch.blocks(hci: adapter.index): .radioSwitchBlocks(hci: adapter.index, at: name)
    case .busy:
      TransportError(
        .busy, at: name, "hci\(adapter.index) is being set up by another program\(BluetoothDaemon.clause)",
        remedy: "try again in a moment")
    case .invalidIndex:
      TransportError(.unavailable, at: name, "hci\(adapter.index) went away", remedy: "plug it in again")
    case .noAnswer:
      TransportError(
        .inputOutput, at: name, "the kernel gave no answer to \(command) in \(ManagementSocket.patience)",
        remedy: "unplug the adapter and plug it in again")
    default:
      TransportError(
        .unavailable, at: name,
        "the kernel refused \(command) on hci\(adapter.index) with management status 0x\(String(status.rawValue, radix: 16))"
      )
    }
  }

  private func powerOnLine(_ adapter: AdapterInformation) -> String { "btmgmt --index \(adapter.index) power on" }
}
