internal import BLEHCI
package import BLELinux
package import BLESMP
package import BLEWire
internal import CBluetoothLinux

/// The place where an adapter of this machine comes from: finds it, makes it ready, opens it, and does so again when it
/// comes back; at the end it puts the adapter back as it was.
///
/// ```
///  waiting ── the kernel tells of the adapter ──► open ── switched off, unplugged ──► waiting
/// ```
package struct KernelPort: ~Copyable, Sendable {
  /// The way to the controller.
  package enum Mode: Hashable, Sendable {
    /// The kernel runs it (`linux:…`).
    case shared(AdapterChoice)
    /// Past the kernel's stack (`hci-socket:…`).
    case userChannel(index: UInt16)
  }

  package let name: String
  private let mode: Mode
  private let system: SystemCalls
  private var keeper: AdapterKeeper
  private var adapter: KernelAdapter?
  private var channel: UserChannel?
  /// The adapter was plugged in, or we have just come.
  private var isNew = true
  /// Watched while a radio switch keeps the adapter from us.
  private var radioSwitch: RadioSwitch?
  /// A radio switch took an adapter that was on without our doing: it is to be on again, and to stay so.
  private var wasOn = false

  /// Opens the adapter.
  ///
  /// - Throws: ``TransportError``; of kind `poweredOff` never, for such an adapter is waited for: ``takeAbsence()`` says why.
  package static func open(
    _ mode: Mode, named name: String, through system: SystemCalls = .kernel
  ) throws(TransportError) -> KernelPort {
    let management: ManagementSocket
    do throws(SystemError) {
      management = try ManagementSocket(through: system)
    } catch { throw TransportError(usingAdapter: name, error) }
    let keeper =
      switch mode {
      case .shared(let choice): AdapterKeeper(choice, .sharing, named: name, management)
      case .userChannel(let index): AdapterKeeper(.index(index), .takingOver, named: name, management)
      }
    var port = KernelPort(name, mode, keeper, system)
    do throws(TransportError) {
      guard try port.seek() else { throw nothingThere(name, mode) }
    } catch {
      guard error.kind == .poweredOff else { throw error }
      port.absence = error
      port.told = error.kind
      port.watchRadioSwitch()
    }
    return port
  }

  /// The adapter that is meant, if the kernel has it now: its index, and its address if it has one.
  package static func identify(
    _ mode: Mode, through system: SystemCalls = .kernel
  ) -> (index: UInt16, address: BD_ADDR?)? {
    guard let management = try? ManagementSocket(through: system) else { return nil }
    var keeper =
      switch mode {
      case .shared(let choice): AdapterKeeper(choice, .sharing, named: "", management)
      case .userChannel(let index): AdapterKeeper(.index(index), .takingOver, named: "", management)
      }
    guard let found = try? keeper.find() else { return nil }
    return (found.index, found.address.value == 0 ? nil : found.address)
  }

  private init(_ name: String, _ mode: Mode, _ keeper: AdapterKeeper, _ system: SystemCalls) {
    self.name = name
    self.mode = mode
    self.keeper = keeper
    self.system = system
    adapter = nil
    channel = nil
    radioSwitch = nil
  }

  /// What there is to tell of an adapter that is not open.
  private var absence: TransportError?
  /// How it was last said to be missing.
  private var told: TransportError.Kind?

  /// Why the adapter is not open, when that is news: it is off, or was off and is now gone.
  package mutating func takeAbsence() -> TransportError? {
    defer { absence = nil }
    return absence
  }

  package var isOpen: Bool { adapter != nil || channel != nil }

  /// Opens the adapter if it is there and may be opened.
  ///
  /// - Returns: false while it is not there or off: the kernel tells when that changes.
  package mutating func accept() throws(TransportError) -> Bool {
    switch radioSwitch {
    case .some(let news): news.drain()
    case .none: break
    }
    do throws(TransportError) {
      return try seek()
    } catch {
      guard error.kind == .poweredOff else { throw error }
      return false
    }
  }

  private mutating func seek() throws(TransportError) -> Bool {
    do throws(TransportError) {
      return try attempt()
    } catch {
      // It went down while it was opened, and the kernel may have said so before anyone listened.
      guard error.cause?.number == ENETDOWN else { throw error }
      return try attempt()
    }
  }

  private mutating func attempt() throws(TransportError) -> Bool {
    guard let found = try keeper.find() else {
      keeper.adapterWentAway()
      isNew = true
      if told == .poweredOff {
        // The kernel switches an adapter off before it takes it away.
        absence = TransportError(.closed, at: name, "the adapter was unplugged", remedy: "plug it in again")
        told = .closed
      }
      return false
    }
    try keeper.prepare(found, isNew: isNew)
    if wasOn { keeper.leaveToUser() }
    wasOn = false
    do throws(SystemError) {
      switch mode {
      case .shared: adapter = try openShared(keeper.refreshed(found))
      case .userChannel:
        channel = UserChannel(MessageSocket(try BluetoothSockets.hci(.user(found.index), through: system)), name)
      }
    } catch {
      keeper.restore()
      throw TransportError(usingAdapter: name, error)
    }
    isNew = false
    told = nil
    radioSwitch = nil
    return true
  }

  private func openShared(_ found: AdapterInformation) throws(SystemError) -> KernelAdapter {
    let raw = try BluetoothSockets.hci(.raw(found.index), through: system)
    try BluetoothSockets.setFilter(on: raw, events: KernelAdapter.wantedEvents, through: system)
    BluetoothSockets.setRoom(SO_RCVBUFFORCE, KernelAdapter.eventRoom, on: raw)
    let events = MessageSocket(raw)
    // A command that every process may not send: says at once whether this one may.
    let probe = KernelAdapter.probe
    _ = try events.send(probe.span)
    let listener = try KernelAdapter.openListener(at: found.identity, through: system)
    var adapter = try KernelAdapter.over(
      named: name, found, events: events, management: keeper.management, listener: listener,
      isDaemons: keeper.isDaemons, through: system)
    adapter.noteOwnCommand(probe)
    return adapter
  }

  /// The adapter is lost: closes it and waits for it.
  package mutating func close() {
    adapter = nil
    channel = nil
  }

  /// Tells the port why the adapter was lost.
  package mutating func lost(_ error: TransportError) {
    close()
    told = error.kind
    guard error.kind == .poweredOff else { return isNew = true }
    watchRadioSwitch()
    guard radioSwitch != nil else { return keeper.leaveToUser() }
    isNew = true
    wasOn = !keeper.switchesOn
  }

  /// Of an adapter that is unblocked only its switch tells.
  private mutating func watchRadioSwitch() {
    radioSwitch = keeper.index.map { RadioSwitch.blocks(hci: $0) } == true ? RadioSwitch() : nil
  }

  /// Closes all and puts the adapter back as it was.
  package mutating func end() {
    adapter?.finish()
    close()
    keeper.restore()
  }

  package mutating func receive(_ body: Intake) throws(TransportError) {
    try adapter?.receive(body)
    try channel?.receive { body($0, nil) }
  }

  /// Hands over what the host asks of the kernel's security manager.
  package mutating func perform(_ directives: [SecurityDirective]) throws(TransportError) {
    try adapter?.perform(directives)
  }

  package mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) {
    try adapter?.send(packets)
    try channel?.send(packets)
  }

  package mutating func flush() throws(TransportError) { try channel?.flush() }

  package var hasBacklog: Bool {
    switch channel {
    case .some(let channel): channel.hasBacklog
    case .none: false
    }
  }

  /// Whether ``receive(_:)`` has something although no descriptor says so.
  package var hasCompletions: Bool {
    switch adapter {
    case .some(let adapter): adapter.hasCompletions
    case .none: false
    }
  }

  package mutating func takeNotice() -> String? { adapter?.takeNotice() }

  /// Commands that were sent here and not by the host, oldest first.
  package mutating func takeOwnCommands() -> [[UInt8]] { adapter?.takeOwnCommands() ?? [] }

  /// Watches the open adapter.
  package func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    switch adapter {
    case .some(let adapter): try poller.watch(adapter.poller.descriptor, token: token, for: .reading)
    case .none: break
    }
    switch channel {
    case .some(let channel): try poller.watch(channel.socket.descriptor, token: token, for: interest)
    case .none: break
    }
  }

  package func unwatch(on poller: borrowing Poller) {
    switch adapter {
    case .some(let adapter): poller.unwatch(adapter.poller.descriptor)
    case .none: break
    }
    switch channel {
    case .some(let channel): poller.unwatch(channel.socket.descriptor)
    case .none: break
    }
  }

  /// Watches for news of adapters, after which ``accept()`` may get on.
  package func watchPort(on poller: borrowing Poller, token: UInt64) throws(SystemError) {
    try poller.watch(keeper.management.socket.descriptor, token: token, for: .reading)
    switch radioSwitch {
    case .some(let news): try poller.watch(news.descriptor, token: token, for: .reading)
    case .none: break
    }
  }

  package func unwatchPort(on poller: borrowing Poller) {
    poller.unwatch(keeper.management.socket.descriptor)
    switch radioSwitch {
    case .some(let news): poller.unwatch(news.descriptor)
    case .none: break
    }
  }

  private static func nothingThere(_ name: String, _ mode: Mode) -> TransportError {
    switch mode {
    case .shared(.index(let index)), .userChannel(let index):
      // The kernel's management does not list a controller that somebody took from it.
      if FileIdentity(at: "/sys/class/bluetooth/hci\(index)") != nil {
        return TransportError(usingAdapter: name, SystemError(.bind, EBUSY))
      }
    default: break
    }
    let what =
      switch mode {
      case .shared(.first): "there is no Bluetooth adapter with Low Energy"
      case .shared(.index(let index)), .userChannel(let index): "there is no adapter hci\(index)"
      case .shared(.address(let address)): "there is no adapter with the address \(address)"
      }
    return TransportError(.unavailable, at: name, what, remedy: "plug one in (btmgmt info lists them)")
  }
}
