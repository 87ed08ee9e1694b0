import BLEKit
import BLEWire
import Synchronization
import ToolCore

/// The adapter of a command, and the search for a device.
enum AdapterUse {
  /// Opens the adapter of `--transport` and runs `body`.
  static func withAdapter(_ arguments: ParsedArguments, _ body: (Adapter) async throws -> Void) async throws {
    try await withAdapter(arguments.adapterOptions(), body)
  }

  /// Opens an adapter and runs `body`.
  ///
  /// - Parameter closes: whether the adapter is closed afterwards. Otherwise it is kept until the tool ends with
  ///   `Adapter.shutDownAll()`, which waits until links are ended and bonds are stored.
  static func withAdapter(
    _ options: AdapterOptions, closes: Bool = false, _ body: (Adapter) async throws -> Void
  ) async throws {
    let adapter = try await opened(options)
    if closes {
      defer { adapter.close() }
      return try await body(adapter)
    }
    adapters.withLock { $0.append(adapter) }
    try await body(adapter)
  }

  private static let adapters = Mutex<[Adapter]>([])

  /// Opens an adapter.
  ///
  /// - Throws: `AdapterError`, which has the remedy and the exit status; `BLEError` if the adapter has no error but
  ///   does not become ready.
  static func opened(_ options: AdapterOptions) async throws -> Adapter {
    let adapter = Adapter(options)
    do {
      try await adapter.waitUntilPoweredOn(timeout: .seconds(10))
    } catch {
      let reason = adapter.stateReason
      adapter.close()
      if let reason, error.kind != .cancelled { throw reason }
      throw error
    }
    return adapter
  }

  /// Connects to the device with the address or name `target`, runs `body` and ends the link.
  static func withDevice(
    _ target: String, _ arguments: ParsedArguments, _ body: @escaping @Sendable (RemoteDevice) async throws -> Void
  ) async throws {
    let timeout = try arguments.seconds("timeout") ?? .seconds(30)
    try DeviceSearch.check(target, of: arguments.command)
    try await withAdapter(arguments) { adapter in
      try await withDevice(target, of: adapter, arguments, timeout: timeout, body)
    }
  }

  /// Searches for the device with the address or name `target`, connects to it, runs `body` and ends the link.
  ///
  /// - Parameter timeout: the time until the link is up, in which the search and the attempts are repeated.
  /// - Throws: ``ToolError`` with the address of the device, and the command that makes a bond if one is missing.
  static func withDevice(
    _ target: String, of adapter: Adapter, _ arguments: ParsedArguments, timeout: Duration,
    _ body: @escaping @Sendable (RemoteDevice) async throws -> Void
  ) async throws {
    let device = try await connect(to: target, of: adapter, arguments, timeout: timeout)
    let address = device.address
    let result: Result<Void, any Error>
    do {
      try await PairingFailures.ofTool.during { try await body(device) }
      result = .success(())
    } catch { result = .failure(error) }
    await end(device)
    do { try result.get() } catch let error as BLEError where error.kind != .cancelled {
      throw explained(error, of: address, with: adapter.bond(with: address), arguments)
    }
  }

  /// Searches for the device with the address or name `target`, and connects to it. The callers have checked it
  /// (``DeviceSearch/check(_:of:)``) before they opened the adapter.
  ///
  /// - Parameter timeout: the time until the link is up, in which the search and the attempts are repeated.
  /// - Throws: ``ToolError`` with the address of the device, or the devices in range.
  static func connect(
    to target: String, of adapter: Adapter, _ arguments: ParsedArguments, timeout: Duration,
    inShell shellCommand: String? = nil
  ) async throws -> RemoteDevice {
    let search = SearchProgress(target, with: adapter, timeout: timeout)
    do {
      let device = try await adapter.connect(to: search.target, timeout: timeout)
      await search.end(connectedTo: device.address)
      return device
    } catch {
      await search.end()
      guard error.kind != .cancelled else { throw error }
      guard let address = search.device else {
        throw error.kind == .notFound ? search.notFound(scan: arguments.commandLine("scan")) : error
      }
      throw explained(
        error, of: address, with: adapter.bond(with: address), arguments, inShell: shellCommand)
    }
  }

  /// How long a command waits for the end of its link: what it has to say is printed.
  private static let patience: Duration = .seconds(1)

  /// Ends the link.
  static func end(_ device: RemoteDevice) async {
    // In a task of its own: a task that was cancelled cannot wait.
    _ = try? await Task { try await first(within: patience) { await device.disconnect() } }.value
  }

  /// An error of a device, with its address and the command that makes a bond if one is missing.
  ///
  /// - Parameters:
  ///   - arguments: those of the command of the tool.
  ///   - shellCommand: the command of `ble shell` that has failed; the remedy is then of commands of the shell.
  static func explained(
    _ error: BLEError, of device: DeviceAddress, with bond: Bond?, _ arguments: ParsedArguments,
    inShell shellCommand: String? = nil
  ) -> ToolError {
    var text = error.description
    if !text.contains(device.octets.description) { text = "\(device): \(text)" }
    let name = shellCommand ?? arguments.command.name
    if let remedy = remedy(for: error, with: bond, arguments, of: name) {
      text += ". Run: \(shellCommand == nil ? commandLine(remedy, for: device, arguments) : shellCommands(remedy))"
    } else if name == "pair", error.pairingFailure?.reason == PairingRemedy.authenticationRequirements,
      !PairingQuestions.isInteractive
    {
      text += ". Passkeys are displayed and entered on a terminal: run the command on one"
    }
    if let paired = error.bondLoss?.pairedAddress { text += addressRemedy(paired, arguments) }
    return ToolError(description: text, status: BLETool.status(of: error))
  }

  /// The commands of `ble shell`, which removes the bond that it uses itself: another program would leave it in use.
  static func shellCommands(_ remedy: PairingRemedy) -> String {
    let pair = remedy.isAuthenticated ? "pair --\(PairCommand.authenticated.name)" : "pair"
    return remedy.removesBond ? "forget, then connect, then \(pair)" : pair
  }

  /// How a program gets the address that it had when it paired; empty if it is that of another controller.
  private static func addressRemedy(_ paired: DeviceAddress, _ arguments: ParsedArguments) -> String {
    if paired.isRandom { return ". Use: --address \(paired.octets)" }
    guard PairingRemedy.isRadio(arguments.transport) else { return "" }
    return
      ". The address belongs to the place at the endpoint of the radio, and another program has the place of "
      + "\(paired.octets): "
      + "end it, or give each program an endpoint of its own (ble radio --help)"
  }

  /// The command after which the operation can succeed; nil if pairing does not help.
  ///
  /// - Parameter bond: the bond with the device, which a new one has to equal in strength.
  static func command(
    for error: BLEError, of device: DeviceAddress, with bond: Bond?, _ arguments: ParsedArguments
  ) -> String? {
    remedy(for: error, with: bond, arguments, of: arguments.command.name)
      .map { commandLine($0, for: device, arguments) }
  }

  private static func commandLine(
    _ remedy: PairingRemedy, for device: DeviceAddress, _ arguments: ParsedArguments
  ) -> String {
    remedy.commandLine(for: device) { arguments.commandLine($0) }
  }

  /// - Parameter command: the name of the command that has failed.
  private static func remedy(
    for error: BLEError, with bond: Bond?, _ arguments: ParsedArguments, of command: String
  ) -> PairingRemedy? {
    // The command itself has requested the pairing.
    if command == "pair", error.bondLoss == nil { return nil }
    return PairingRemedy(error, bond: bond, transport: arguments.transport)
  }

  /// The result of `body`; nil if it takes longer than `limit`.
  ///
  /// - Throws: the error of `body`; `CancellationError` when the task was cancelled, however `body` ended.
  static func first<Value: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable () async throws -> Value?
  ) async throws -> Value? {
    try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        try await Task.sleep(for: limit)
        return nil
      }
      defer { group.cancelAll() }
      let first = try await group.next() ?? nil
      // The sequences of an adapter end without an error when their task is cancelled.
      try Task.checkCancellation()
      return first
    }
  }
}

extension Adapter {
  /// The bond with a device; nil for none.
  func bond(with device: DeviceAddress) -> Bond? { bonds.first { $0.identity == device.identity } }
}

extension BLEError {
  /// Whether a device has refused the operation because it requires a pairing, or a pairing has failed.
  var isAboutSecurity: Bool {
    switch kind {
    case .security, .att(.insufficientAuthentication), .att(.insufficientEncryption),
      .att(.insufficientEncryptionKeySize):
      true
    default: false  // The others are not about security.
    }
  }
}
