import BLEAssignedNumbers
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
    let search = SearchProgress(target, with: adapter, timeout: timeout)
    let result: Result<Void, any Error>
    do {
      let device = try await adapter.connect(to: search.target, timeout: timeout)
      await search.end(connectedTo: device.address)
      do {
        try await body(device)
        result = .success(())
      } catch { result = .failure(error) }
      await end(device)
    } catch { result = .failure(error) }
    await search.end()
    do { try result.get() } catch let error as BLEError where error.kind != .cancelled {
      guard let address = search.device else {
        throw error.kind == .notFound ? search.notFound(scan: arguments.commandLine("scan")) : error
      }
      throw explained(error, of: address, with: adapter.bonds.first { $0.identity == address.identity }, arguments)
    }
  }

  /// How long a command waits for the end of its link: what it has to say is printed.
  private static let patience: Duration = .seconds(1)

  /// Ends the link.
  private static func end(_ device: RemoteDevice) async {
    // In a task of its own: a task that was cancelled cannot wait.
    _ = try? await Task { try await first(within: patience) { await device.disconnect() } }.value
  }

  /// An error of a device, with its address and the command that makes a bond if one is missing.
  static func explained(
    _ error: BLEError, of device: DeviceAddress, with bond: Bond?, _ arguments: ParsedArguments
  ) -> ToolError {
    var text = error.description
    if !text.contains(device.octets.description) { text = "\(device): \(text)" }
    if let command = command(for: error, of: device, with: bond, arguments) { text += ". Run: \(command)" }
    return ToolError(description: text, status: BLETool.status(of: error))
  }

  /// The command after which the operation can succeed; nil if pairing does not help.
  ///
  /// - Parameter bond: the bond with the device, which a new one has to equal in strength.
  static func command(
    for error: BLEError, of device: DeviceAddress, with bond: Bond?, _ arguments: ParsedArguments
  ) -> String? {
    let address = device.word
    let pair = arguments.commandLine(["pair", address] + (bond?.isProtected == true ? ["--authenticated"] : []))
    if let loss = error.bondLoss {
      switch loss.cause {
      case .forgottenByPeer, .keysDiffer:
        return "\(arguments.commandLine("bonds", "--remove", address)) && \(pair)"
      case .missingHere: return pair
      case .notEncrypted: return nil
      }
    }
    // The command itself has requested it.
    if arguments.command.name == "pair" { return nil }
    if error.pairingFailure != nil { return pair }
    switch error.kind {
    // The adapter has paired on demand, without a question for the user: the device requires one.
    case .att(.insufficientAuthentication): return arguments.commandLine("pair", address, "--authenticated")
    case .att(.insufficientEncryption), .att(.insufficientEncryptionKeySize): return pair
    default: return nil
    }
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

  /// The characteristic of `device` with the UUID or the name `text`: the one at `handle` if that is given, in the
  /// service `service` if one is given.
  static func characteristic(
    _ text: String, service: String?, handle: UInt16?, of device: RemoteDevice
  ) async throws -> RemoteCharacteristic {
    try choice(text, service: service, handle: handle, in: try await device.services())
  }

  /// The characteristic that the words of a command line name, among those of services.
  static func choice(
    _ text: String, service: String?, handle: UInt16?, in services: [RemoteService]
  ) throws(ToolError) -> RemoteCharacteristic {
    let all = services.filter { found in service.map { UUIDName.matches($0, found.uuid) } ?? true }
      .flatMap { service in service.characteristics.map { (service, $0) } }
    let named = all.filter { UUIDName.matches(text, $0.1.uuid) }
    let place = service.map { " in the service '\($0)'" } ?? ""
    if named.isEmpty {
      let names = all.map { AssignedNames.uuid($0.1.uuid) ?? $0.1.uuid.uuidString }
      throw .notFound(
        "the device has no characteristic '\(text)'\(place). It has: \(names.isEmpty ? "none" : names.joined(separator: ", "))"
      )
    }
    let found = handle.map { handle in named.filter { $0.1.handle.rawValue == handle } } ?? named
    if let first = found.first, found.count == 1 { return first.1 }
    let places = named.map { service, characteristic in
      let properties = InspectCommand.names(of: characteristic.properties).joined(separator: ", ")
      return "\(characteristic.handle) (\(AssignedNames.uuid(service.uuid) ?? service.uuid.uuidString); \(properties))"
    }
    let list = places.joined(separator: ", ")
    if let handle {
      let digits = String(handle, radix: 16, uppercase: true)
      throw .notFound("the device has no characteristic '\(text)'\(place) at handle 0x\(digits), but at: \(list)")
    }
    throw .usage(
      "the device has \(found.count) characteristics '\(text)'\(place). Choose one of them by --handle or --service: \(list)"
    )
  }
}

extension BLEError {
  /// Whether a device has refused the operation because it requires a pairing, or a pairing has failed.
  var isAboutSecurity: Bool {
    switch kind {
    case .security, .att(.insufficientAuthentication), .att(.insufficientEncryption),
      .att(.insufficientEncryptionKeySize):
      true
    default: false
    }
  }
}
