import BLEAssignedNumbers
import BLEKit
import BLEWire
import Synchronization

/// The adapter of a command, and the search for a device.
enum AdapterUse {
  /// Opens the adapter of `--transport` and runs `body`.
  static func withAdapter(_ arguments: ParsedArguments, _ body: (Adapter) async throws -> Void) async throws {
    try await withAdapter(arguments.adapterOptions(), body)
  }

  /// Opens an adapter and runs `body`.
  ///
  /// - Parameter closes: whether the adapter is closed then. Otherwise it is kept until the tool ends with `Adapter.shutDownAll()`, which
  ///   waits until links are ended and bonds are stored.
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
  /// - Throws: `AdapterError`, which has the remedy and the exit status; `BLEError` where the adapter has no error but does not become
  ///   ready.
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

  /// Connects to the device with the address or name `target`, runs `body` and ends the link.
  ///
  /// - Throws: ``ToolError`` where the bond of the device is lost, with the commands that make another one.
  static func withDevice(
    _ target: String, of adapter: Adapter, _ arguments: ParsedArguments, timeout: Duration,
    _ body: @escaping @Sendable (RemoteDevice) async throws -> Void
  ) async throws {
    let address = try await find(target, with: adapter, timeout: timeout, scan: arguments.commandLine("scan"))
    do {
      try await adapter.withConnection(to: address, timeout: timeout) { device in try await body(device) }
    } catch let error as BLEError {
      guard let loss = error.bondLoss else { throw error }
      throw lost(loss, adapter.bonds.map(\.identity).first { $0 == address } ?? address, arguments)
    }
  }

  /// The error with the commands that pair anew.
  private static func lost(_ loss: BondLostError, _ device: DeviceAddress, _ arguments: ParsedArguments) -> ToolError {
    let address = device.octets.description
    let pair = arguments.commandLine("pair", address)
    switch loss.cause {
    case .forgottenByPeer, .keysDiffer:
      let remove = arguments.commandLine("bonds", "--remove", address)
      return .device("\(device): \(loss.description). Run: \(remove) && \(pair)")
    case .missingHere: return .device("\(device): \(loss.description). Then run: \(pair)")
    case .notEncrypted: return .device("\(device): \(loss.description)")
    }
  }

  /// Scans until a device is the `target`, as ``DeviceSearch`` says.
  ///
  /// - Parameter scan: the command line that shows the devices in range, for the error.
  static func find(
    _ target: String, with adapter: Adapter, timeout: Duration, scan: String = "ble scan"
  ) async throws -> DeviceAddress {
    let search = Mutex(DeviceSearch(target, bonds: adapter.bonds.map(\.identity)))
    let found = try await first(within: timeout) { () async throws -> DeviceAddress? in
      var options = ScanOptions()
      // The name can be in the scan response.
      options.waitsForScanResponse = search.withLock { $0.address == nil }
      for try await result in adapter.scan(options) {
        if search.withLock({ $0.add(result.address, result.contents) }) { return result.address }
      }
      return nil
    }
    guard let found else { throw search.withLock { $0.notFound(after: timeout, scan: scan) } }
    return found
  }

  /// The result of `body`; nil where it takes longer than `limit`.
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

  /// The characteristic of `device` with the UUID or the assigned name `text`, in the service `service` where one is given.
  static func characteristic(
    _ text: String, service: String?, of device: RemoteDevice
  ) async throws -> RemoteCharacteristic {
    let services = try await device.services().filter { found in service.map { matches($0, found.uuid) } ?? true }
    let found = services.flatMap(\.characteristics).filter { matches(text, $0.uuid) }
    if let first = found.first, found.count == 1 { return first }
    if found.isEmpty {
      let names = services.flatMap(\.characteristics).map { AssignedNames.uuid($0.uuid) ?? $0.uuid.uuidString }
      throw ToolError.notFound(
        "the device has no characteristic '\(text)'\(service.map { " in the service '\($0)'" } ?? ""). It has: "
          + (names.isEmpty ? "none" : names.joined(separator: ", ")))
    }
    throw ToolError.usage(
      "the device has \(found.count) characteristics '\(text)'. Name the service: --service UUID")
  }

  /// Whether `text` is the UUID or its assigned name.
  private static func matches(_ text: String, _ uuid: BluetoothUUID) -> Bool {
    BluetoothUUID(text) == uuid || AssignedNames.uuid(uuid)?.lowercased() == text.lowercased()
  }
}
