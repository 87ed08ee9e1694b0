package import BLELinux
internal import BLEWire
internal import Glibc

/// An open adapter of this machine: ``KernelAdapter`` or ``UserChannel``.
package protocol AdapterConnection: ~Copyable, Sendable {
  static var purpose: AdapterConfiguration.Purpose { get }

  /// Opens the sockets of an adapter that is configured for ``purpose``.
  static func open(
    _ adapter: AdapterInformation, named name: String, configuredBy configuration: AdapterConfiguration,
    through system: SystemCalls
  ) throws(SystemError) -> Self

  /// Watches for input, and for output if `interest` contains it.
  func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError)
  func unwatch(on poller: borrowing Poller)

  /// Called once, before the adapter is closed at the end.
  mutating func finish()
}

/// Opens an adapter of this machine, opens it again after a loss, and restores its settings at the end.
///
/// ```
///            the kernel reports a change of adapters
///   waiting ───────────────────────────────────────► open
///      ▲                                              │ switched off, unplugged
///      └──────────────────────────────────────────────┘
/// ```
package struct AdapterPort<Connection: AdapterConnection & ~Copyable>: ~Copyable, Sendable {
  package let name: String
  /// The open adapter.
  package var connection: Connection?
  private let choice: AdapterChoice
  private let system: SystemCalls
  private var configuration: AdapterConfiguration
  /// Whether the adapter was plugged in or the program has just started.
  private var isNew = true
  /// The radio switches, watched while one of them blocks the adapter.
  private var radioSwitch: RadioSwitch?
  /// Whether a radio switch blocked an adapter that was on before this program started. The adapter is to be switched
  /// on again, and to stay on.
  private var wasOn = false
  /// Why the adapter is not open, until ``takeUnavailability()`` returns it.
  private var unavailability: TransportError?
  /// The last reason that was reported.
  private var reported: TransportError.Kind?

  /// Opens the management socket.
  package init(
    _ choice: AdapterChoice, named name: String, through system: SystemCalls = .kernel
  ) throws(TransportError) {
    let management: ManagementSocket
    do throws(SystemError) {
      management = try ManagementSocket(through: system)
    } catch { throw TransportError(usingAdapter: name, error) }
    let configuration = AdapterConfiguration(choice, for: Connection.purpose, named: name, management)
    self.init(choice, named: name, configuration, through: system)
  }

  // This initializer cannot fail, because Swift 6.2.3 rejects its own code for an initializer of a noncopyable type
  // that throws after a property has its initial value.
  private init(
    _ choice: AdapterChoice, named name: String, _ configuration: AdapterConfiguration, through system: SystemCalls
  ) {
    self.name = name
    self.choice = choice
    self.system = system
    self.configuration = configuration
    connection = nil
    radioSwitch = nil
  }

  package var isOpen: Bool {
    switch connection {
    case .some: true
    case .none: false
    }
  }

  /// Opens the adapter for the first time. If it is off, the port waits for it, and ``takeUnavailability()`` returns
  /// the reason.
  ///
  /// - Throws: ``TransportError`` if there is no such adapter, or if it cannot be opened.
  package mutating func open() throws(TransportError) {
    do throws(TransportError) {
      guard try openOrRetry() else { throw noAdapter() }
    } catch {
      guard error.kind == .poweredOff else { throw error }
      unavailability = error
      reported = error.kind
      watchRadioSwitch()
    }
  }

  /// Opens the adapter if it is present and on.
  ///
  /// - Returns: false if it is not; the kernel reports when that changes.
  package mutating func accept() throws(TransportError) -> Bool {
    switch radioSwitch {
    case .some(let changes): changes.drain()
    case .none: break
    }
    do throws(TransportError) {
      return try openOrRetry()
    } catch {
      guard error.kind == .poweredOff else { throw error }
      return false
    }
  }

  private mutating func openOrRetry() throws(TransportError) -> Bool {
    do throws(TransportError) {
      return try openIfPresent()
    } catch {
      // It has been switched off meanwhile, and the kernel may have reported that before the port watched for reports.
      guard error.cause?.number == ENETDOWN else { throw error }
      return try openIfPresent()
    }
  }

  private mutating func openIfPresent() throws(TransportError) -> Bool {
    guard let found = try configuration.find() else {
      configuration.adapterRemoved()
      isNew = true
      if reported == .poweredOff {
        // The kernel switches an adapter off before it removes it.
        unavailability = TransportError(.closed, at: name, "the adapter was unplugged", remedy: "Plug it in again.")
        reported = .closed
      }
      return false
    }
    try configuration.prepare(found, isNew: isNew)
    if wasOn { configuration.leavePowerToUser() }
    wasOn = false
    do throws(SystemError) {
      let adapter = Connection.purpose == .sharing ? try configuration.refreshed(found) : found
      connection = try Connection.open(adapter, named: name, configuredBy: configuration, through: system)
    } catch {
      configuration.restore()
      throw TransportError(usingAdapter: name, error)
    }
    isNew = false
    reported = nil
    radioSwitch = nil
    return true
  }

  /// Closes the adapter after an error, and waits until it can be opened again.
  package mutating func close(after error: TransportError) {
    connection = nil
    reported = error.kind
    guard error.kind == .poweredOff else { return isNew = true }
    watchRadioSwitch()
    guard radioSwitch != nil else { return configuration.leavePowerToUser() }
    isNew = true
    wasOn = !configuration.switchesOn
  }

  /// Watches the radio switch, because the kernel does not report when a radio switch unblocks an adapter.
  private mutating func watchRadioSwitch() {
    radioSwitch = configuration.index.map { RadioSwitch.blocks(hci: $0) } == true ? RadioSwitch() : nil
  }

  /// Closes the adapter and restores its settings.
  package mutating func end() {
    connection?.finish()
    connection = nil
    configuration.restore()
  }

  /// The reason why the adapter is not open, once after each change of the reason.
  package mutating func takeUnavailability() -> TransportError? {
    defer { unavailability = nil }
    return unavailability
  }

  /// Watches for changes of adapters, after which ``accept()`` can make progress.
  package func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) {
    try poller.watch(configuration.management.socket.descriptor, token: token, for: .reading)
    switch radioSwitch {
    case .some(let changes): try poller.watch(changes.descriptor, token: token, for: .reading)
    case .none: break
    }
  }

  package func unwatchOpening(on poller: borrowing Poller) {
    poller.unwatch(configuration.management.socket.descriptor)
    switch radioSwitch {
    case .some(let changes): poller.unwatch(changes.descriptor)
    case .none: break
    }
  }

  /// Watches the open adapter.
  package func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    switch connection {
    case .some(let connection): try connection.watch(on: poller, token: token, for: interest)
    case .none: break
    }
  }

  package func unwatch(on poller: borrowing Poller) {
    switch connection {
    case .some(let connection): connection.unwatch(on: poller)
    case .none: break
    }
  }

  private func noAdapter() -> TransportError {
    if case .index(let index) = choice, FileIdentity(at: "/sys/class/bluetooth/hci\(index)") != nil {
      // The kernel's management protocol does not list a controller that a program has taken over.
      return TransportError(usingAdapter: name, SystemError(.bind, EBUSY))
    }
    let what =
      switch choice {
      case .first: "there is no Bluetooth adapter with Low Energy"
      case .index(let index): "there is no adapter hci\(index)"
      case .address(let address): "there is no adapter with the address \(address)"
      }
    return TransportError(.unavailable, at: name, what, remedy: "Plug one in. To list adapters, run: btmgmt info")
  }
}
