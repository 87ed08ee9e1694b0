import BLEAdapter
import BLEAssignedNumbers
import BLEGAP
import BLEKit
import BLELinux
import BLETrace
import BLETwin
import BLEWire
import Synchronization
import ToolCore

/// `ble serve`: a peripheral from a description in a file.
enum ServeCommand {
  static let declaration = CommandDeclaration(
    name: "serve", summary: "runs a peripheral that a file describes",
    details: [
      "FILE is JSON: the name, and services with characteristics and values. Values that clients write are kept "
        + "until the end and sent to "
        + "subscribers. When FILE changes, new values are sent to subscribers; other changes publish the services anew.",
      "Bonds are kept for the adapter. On a simulated radio, where several devices have one transport, they are "
        + "kept for the path of FILE, "
        + "whatever its content.",
      "A characteristic with \"security\": \"authenticated\" needs a passkey, or a comparison of numbers, which "
        + "the terminal displays and asks "
        + "for. Without a terminal the passkey is printed. \"passkey\": \"123456\" in the file is used in every pairing "
        + "instead; anyone who has seen it can pair, and a file that other users can read is refused. A FILE without a "
        + "folder is looked up in CREDENTIALS_DIRECTORY (systemd).",
    ],
    operands: [.init(name: "FILE", help: "the description", isRequired: false, isFile: true)],
    options: CommandDeclaration.Option.adapter + [.flag("example", "prints an example of a description")],
    examples: [
      .init(commandLine: "ble serve --example > thermometer.json", effect: "writes an example"),
      .init(commandLine: "ble serve thermometer.json", effect: "serves it until Control-C"),
    ],
    run: run)

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    if arguments.has("example") { return Output.line(ServiceDescription.example) }
    guard let file = arguments.operand(0).map(SecretFile.path) else {
      throw ToolError.usage("FILE is missing", of: declaration)
    }
    var description = try ServiceDescription(file: file)
    while true {
      var options = try arguments.adapterOptions(
        deviceName: description.name, appearance: description.appearance)
      let transport = try arguments.canonicalTransport()
      options.pairing.storage = Self.storage(of: file, transport)
      if description.needsAuthentication {
        options.pairing.capability = PairingQuestions.isInteractive ? .keyboardDisplay : .displayOnly
      }
      // The kernel chooses the address of its adapter.
      let isKernel = transport.hasPrefix("linux")
      description.apply(to: &options, identity: isKernel ? nil : Self.identity(of: file))
      if isKernel, description.address != nil, description.address != .publicAddress {
        Output.error("ble: the kernel chooses the address of \(transport): the one of \(file) is not used")
      }
      let values = ServedValues(description, environment)
      let next = Mutex<ServiceDescription?>(nil)
      try await AdapterUse.withAdapter(options, closes: true) { adapter in
        let found = try await serve(description, values, file, adapter)
        next.withLock { $0 = found }
      }
      guard let found = next.withLock({ $0 }) else { return }
      description = found
    }
  }

  /// What clients do is printed, and commands have their values.
  private static var environment: ServedValues.Environment {
    var environment = ServedValues.Environment()
    environment.report = { Output.event($0) }
    environment.produce = { produced(by: $0, $1, $2) }
    return environment
  }

  /// A characteristic whose value a command prints: for each read, at most once a second, and in each period while
  /// clients are subscribed.
  @Sendable private static func produced(
    by command: String, _ description: ServiceDescription.Characteristic, _ characteristic: LocalCharacteristic
  ) -> LocalCharacteristic {
    let source = CommandValue(command, of: description.uuid) { Output.error("ble: \($0)") }
    let (uuid, security) = (description.uuid, description.security.required)
    let period = Duration.seconds(Int64(description.period))
    var result = characteristic
    if description.properties.contains(.read) {
      result = result.read(security: security) { _ in try await source.octets(notOlderThan: .seconds(1)) }
    }
    let subscribed: @Sendable (Subscriber) async throws -> Void = { subscriber in
      Output.event("\(subscriber.device.address) subscribed to \(uuid.uuidString)")
      var last: [UInt8]?
      while !Task.isCancelled {
        // Half a period: another client may have the value of this period already.
        if let octets = try? await source.octets(notOlderThan: period / 2), octets != last {
          try await subscriber.send(octets)
          last = octets
        }
        try await Task.sleep(for: period)
      }
    }
    if description.properties.contains(.notify) { result = result.notify(security: security, subscribed) }
    if description.properties.contains(.indicate) { result = result.indicate(security: security, subscribed) }
    return result
  }

  /// The place of the bonds. On a radio, the programs of one transport are devices that pair with each other, so a
  /// peripheral has its own bonds there. It is the same peripheral as long as its description has the same path:
  /// everything in the file may change.
  private static func storage(of file: String, _ transport: String) -> PairingOptions.Storage {
    let isRadio = transport.hasPrefix("tcp-client:") || transport.hasPrefix("unix-client:")
    guard isRadio else { return .standard }
    return PairingOptions.Storage.standard.path(transport: transport, program: program(for: file)).map { .file($0) }
      ?? .standard
  }

  /// The name of a description in the names of files: that of the file, and a hash of its path.
  static func program(for file: String) -> String {
    let (name, hash) = named(file)
    return "ble-serve-\(name.prefix(64))-\(String(hash, radix: 16))"
  }

  /// A number that stands for the path of a description.
  static func identity(of file: String) -> UInt64 { named(file).hash }

  private static func named(_ file: String) -> (name: String, hash: UInt64) {
    let name = file.split(separator: "/").last.map(String.init) ?? "description"
    let folder = file.hasPrefix("/") ? String(file.dropLast(name.count)) : "./\(file.dropLast(name.count))"
    let path = (Files.realPath(of: folder) ?? folder) + "/" + name
    return (name, ServiceDescription.identity(of: path))
  }

  /// Serves until the structure of the description changes.
  ///
  /// - Returns: the new description; nil when the reader of the output has closed it.
  private static func serve(
    _ description: ServiceDescription, _ values: ServedValues, _ file: String, _ adapter: Adapter
  ) async throws -> ServiceDescription? {
    do throws(BLEError) { try await values.publish(on: adapter) } catch {
      guard error.kind == .invalidArgument else { throw error }
      throw ToolError.data("\(file): \(error)")
    }
    if description.advertising == nil, let notice = Self.notice(description.advertisement) {
      Output.error("ble: \(notice)")
    }
    let requests = adapter.pairingRequests
    return try await withThrowingTaskGroup(of: ServiceDescription?.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        try await description.advertise(on: adapter)
        return nil
      }
      if description.periodic != nil {
        group.addTask {
          try await description.advertisePeriodically(on: adapter)
          return nil
        }
      }
      group.addTask {
        for await device in adapter.connections {
          Output.event("connected \(device.address)")
          Task { await values.serve(device) }
          Task {
            if let reason = try? await device.waitUntilDisconnected() {
              Output.event("disconnected \(device.address): \(reason)")
            }
          }
        }
        return nil
      }
      group.addTask {
        for await change in adapter.advertisingChanges { Output.event(Self.text(of: change)) }
        return nil
      }
      group.addTask { try await change(of: file, description, values) }
      let questions = Task { await PairingQuestions.answer(requests, showsPasskeys: description.passkey == nil) }
      defer { questions.cancel() }
      let address = adapter.address.map { " as \($0)" } ?? ""
      Output.event("READY \"\(String(printable: description.name))\"\(address)")
      return try await group.next() ?? nil
    }
  }

  private static func text(of change: AdvertisingChange) -> String {
    switch change {
    case .paused(nil): "advertising is paused while the link is up"
    case .paused(let reason?): "advertising is paused by the controller (\(reason)), and tried again"
    case .resumed: "advertising again"
    }
  }

  /// The part of an advertisement that does not fit into its 31 octets and those of the scan response; nil if all of it
  /// fits.
  static func notice(_ advertisement: Advertisement) -> String? {
    advertisement.omission(place: "in \"advertise\"") { AssignedNames.uuid($0) ?? $0.uuidString }
  }

  /// Waits for a change of the file; new values are sent, and a new structure is returned.
  private static func change(
    of file: String, _ served: ServiceDescription, _ values: ServedValues
  ) async throws -> ServiceDescription? {
    var last = Files.modificationTime(of: file)
    while !Output.isClosed {
      try await Task.sleep(for: .milliseconds(500))
      let now = Files.modificationTime(of: file)
      guard let now, now != last else { continue }
      last = now
      do {
        let description = try ServiceDescription(file: file)
        guard description.hasStructure(of: served) else {
          Output.event("\(file) has changed: the services are published anew")
          return description
        }
        for change in await values.update(to: description) { Output.event(change) }
      } catch {
        Output.error("ble: \(error.description); the services stay as they are")
      }
    }
    return nil
  }
}
