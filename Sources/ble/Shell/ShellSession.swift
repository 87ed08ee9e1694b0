import BLEAssignedNumbers
import BLEKit
import BLETwin
import BLEWire
import ToolCore

/// `ble shell`: one link, and many commands from a terminal or from a script.
actor ShellSession {
  static let declaration = CommandDeclaration(
    name: "shell", summary: "runs many commands on one link, from a terminal or a script",
    details: [
      "Each line of standard input is a command: "
        + "\(ShellCommand.all.map(\.declaration.name).joined(separator: ", ")). 'help COMMAND' "
        + "explains one. Words with spaces are in quotation marks; # begins a comment.",
      "On a terminal an error does not end the shell. In a script, which standard input is otherwise, the first "
        + "command that fails ends "
        + "it with 'line N: …' and the status of the error. The end of the input ends the link and the subscriptions.",
      "On a terminal, Control-C ends the command that runs, rejects the question of a pairing, or clears the line; "
        + "Control-D ends the shell. In a script, Control-C ends the shell.",
    ],
    operands: [.device],
    options: CommandDeclaration.Option.adapter + [
      CommandDeclaration.Option.timeout, .json, .flag("hex", "prints the octets of values only"),
    ],
    examples: [
      .init(commandLine: "ble shell Thermometer", effect: "connects, and asks for commands"),
      .init(commandLine: "ble shell Lamp < scene.txt", effect: "runs the commands of a file"),
    ],
    run: start)

  private let target: String
  private let adapter: Adapter
  /// Those of `ble shell`.
  private let arguments: ParsedArguments
  private let timeout: Duration
  private let prompt: ShellPrompt
  private let interruption: ShellInterruption
  private var device: RemoteDevice?
  /// Why the last link has ended, if no command has ended it.
  private var lastEnd: String?
  private var subscriptions: [RemoteCharacteristic: ShellSubscription] = [:]
  private var hasExited = false
  /// The address of the device on the last link.
  private var lastAddress: DeviceAddress?

  private init(_ target: String, _ adapter: Adapter, _ arguments: ParsedArguments, timeout: Duration) {
    (self.target, self.adapter, self.arguments, self.timeout) = (target, adapter, arguments, timeout)
    prompt = ShellPrompt(target)
    interruption = ShellInterruption(rejectQuestions: PairingQuestions.rejectAll) { [prompt] in prompt.clear() }
  }

  @Sendable private static func start(_ arguments: ParsedArguments) async throws {
    let target = arguments.operand(0) ?? ""
    try DeviceSearch.check(target, of: arguments.command)
    let timeout = try arguments.seconds("timeout") ?? .seconds(30)
    var options = try arguments.adapterOptions()
    options.pairing.capability = PairingQuestions.isInteractive ? .keyboardDisplay : .none
    StandardInput.keepLines()
    try await AdapterUse.withAdapter(options) { adapter in
      // The lines of a script are not answers.
      let requests = PairingQuestions.isInteractive ? adapter.pairingRequests : nil
      let questions = requests.map { requests in Task { await PairingQuestions.answer(requests) } }
      defer { questions?.cancel() }
      let session = ShellSession(target, adapter, arguments, timeout: timeout)
      let result: Result<Void, any Error>
      do {
        try await session.connect(within: timeout)
        try await session.runLines()
        result = .success(())
      } catch { result = .failure(error) }
      await session.disconnect()
      try result.get()
    }
  }

  /// Runs the lines of standard input until its end, until `exit`, or until a line of a script fails.
  private func runLines() async throws {
    if ShellPrompt.isTerminal {
      BLETool.signals.setInterruption { [interruption] in interruption.interrupt() }
    }
    defer { BLETool.signals.setInterruption(nil) }
    var number = 0
    while !hasExited, !Output.isClosed, !Task.isCancelled {
      prompt.open()
      let line = await StandardInput.nextLine()
      prompt.close(atEnd: line == nil)
      guard let line else { return }
      number += 1
      do { try await interruption.run { try await self.run(line) } } catch let error as ToolError {
        guard ShellPrompt.isTerminal else {
          throw ToolError(description: "line \(number): \(error.description)", status: error.status)
        }
        Output.error("ble: \(error.description)")
      }
    }
  }

  /// Runs a line.
  ///
  /// - Throws: ``ToolError``; `BLEError` if the task was cancelled.
  private func run(_ line: String) async throws {
    let words = try ShellLine.words(line)
    guard let name = words.first else { return }
    let command = try ShellCommand.named(name)
    let arguments = try ParsedArguments(command.declaration, words.dropFirst())
    if arguments.wantsHelp { return Output.line(HelpText.text(of: command.declaration)) }
    let address = device?.address
    do {
      try await PairingFailures.ofTool.during { try await command.run(self, arguments) }
    } catch let error as BLEError where error.kind != .cancelled {
      guard let address else { throw ToolError(description: error.description, status: BLETool.status(of: error)) }
      throw AdapterUse.explained(
        error, of: address, with: adapter.bond(with: address), self.arguments, inShell: name)
    }
  }

  // MARK: - The link

  func connect(_ command: ParsedArguments) async throws {
    try await connect(within: try command.seconds("timeout") ?? timeout, inShell: command.command.name)
  }

  /// Connects, unless the link is up.
  ///
  /// - Parameter command: the command of the shell that connects; nil at its start.
  private func connect(within timeout: Duration, inShell command: String? = nil) async throws {
    guard device?.isConnected != true else { return }
    let device = try await AdapterUse.connect(to: target, of: adapter, arguments, timeout: timeout, inShell: command)
    (self.device, lastEnd, lastAddress) = (device, nil, device.address)
    if ShellPrompt.isTerminal { Output.error("connected to \(device.address)") }
    Task { [weak self] in
      if let reason = try? await device.waitUntilDisconnected() { await self?.ended(device, reason) }
    }
  }

  /// A link has ended.
  private func ended(_ device: RemoteDevice, _ reason: BLEError) {
    // A command that ends the link leaves it before.
    guard device == self.device else { return }
    let text = reason.description
    (self.device, lastEnd) = (nil, text)
    endSubscriptions()
    let advice = Self.advice(after: reason, with: adapter.bond(with: device.address))
    prompt.above { Output.error("ble: \(text)\(advice)") }
  }

  /// What to do about the end of a link that a bond with another key explains. No command need have been running, so
  /// that none has reported it.
  static func advice(after end: BLEError, with bond: Bond?) -> String {
    guard let bond, end.disconnectReason.map(keyReasons.contains) == true else {
      return ""
    }
    let remedy = AdapterUse.shellCommands(.init(removesBond: true, isAuthenticated: bond.isProtected))
    return ". If the link ends so again after connect, the two devices have different keys: remove the bond there, "
      + "too, and run \(remedy)"
  }

  /// Connection Terminated due to MIC Failure, Authentication Failure, PIN or Key Missing (Vol 1, Part F, 2).
  private static let keyReasons: Set<DisconnectReason> = [
    .terminatedDueToMICFailure, DisconnectReason(rawValue: 0x05), DisconnectReason(rawValue: 0x06),
  ]

  /// Removes the bond with the device.
  func forget(_ command: ParsedArguments) throws(ToolError) {
    guard let address = device?.address ?? lastAddress, let bond = adapter.bond(with: address) else {
      throw .notFound("there is no bond with \(String(printable: target))")
    }
    adapter.remove(bond)
    Output.line("\(bond.identity.word): removed")
  }

  func disconnect() async {
    guard let device else { return }
    self.device = nil
    endSubscriptions()
    await AdapterUse.end(device)
  }

  func exit() { hasExited = true }

  private func endSubscriptions() {
    for subscription in subscriptions.values { subscription.cancel() }
    subscriptions = [:]
  }

  private func connected() throws(ToolError) -> RemoteDevice {
    if let device, device.isConnected { return device }
    throw .device("there is no link\(lastEnd.map { " (\($0))" } ?? ""). Run: connect")
  }

  func pair(_ command: ParsedArguments) async throws {
    let device = try connected()
    try await device.pair(level: command.has(PairCommand.authenticated.name) ? .authenticated : .encrypted)
    Output.line(PairCommand.result(of: device))
  }

  func showLink() async throws {
    let device = try connected()
    let strength = try? await device.readRSSI()
    Output.line("address: \(device.address)")
    Output.line("ATT_MTU: \(device.mtu)")
    Output.line("security: \(PairCommand.text(device.security))\(device.security.isBonded ? ", bonded" : "")")
    if let timing = device.timing {
      let interval = timing.interval / .milliseconds(1)
      let timeout = timing.supervisionTimeout / .milliseconds(1)
      Output.line("interval: \(interval) ms, latency \(timing.latency), supervision timeout \(timeout) ms")
    }
    if let strength { Output.line("RSSI: \(strength) dBm") }
    let names = subscriptions.keys.map { Self.name(of: $0) }.sorted()
    Output.line("subscriptions: \(names.isEmpty ? "none" : names.joined(separator: ", "))")
  }

  func showServices(_ command: ParsedArguments) async throws {
    let device = try connected()
    let (found, _) = try await InspectCommand.inspect(device, readsValues: !command.has("no-values"))
    InspectCommand.show(found, of: device, isJSON: arguments.has("json"))
  }

  // MARK: - Values

  private func characteristic(_ command: ParsedArguments) async throws -> (RemoteDevice, RemoteCharacteristic) {
    let device = try connected()
    return (device, try await ValueCommands.find(command.operand(0) ?? "", of: device, command))
  }

  func read(_ command: ParsedArguments) async throws {
    let (device, characteristic) = try await characteristic(command)
    ValueCommands.show(try await device.read(characteristic), of: characteristic, arguments)
  }

  func write(_ command: ParsedArguments) async throws {
    let (device, characteristic) = try await characteristic(command)
    let value = try TypedValue.octets(command.operand(1) ?? "", of: characteristic.uuid)
    try await ValueCommands.send(value, to: characteristic, of: device, command)
  }

  func subscribe(_ command: ParsedArguments) async throws {
    let (device, characteristic) = try await characteristic(command)
    guard subscriptions[characteristic] == nil else { return }
    let (arguments, prompt) = (arguments, prompt)
    let label = "\(Self.name(of: characteristic)): "
    subscriptions[characteristic] = try await subscription(to: characteristic, of: device) { value in
      prompt.above { ValueCommands.show(value, of: characteristic, arguments, label: label) }
    }
  }

  private func subscription(
    to characteristic: RemoteCharacteristic, of device: RemoteDevice, show: @escaping @Sendable ([UInt8]) -> Void
  ) async throws -> ShellSubscription {
    let subscription = ShellSubscription()
    let values = try await device.values(of: characteristic).subscribed()
    subscription.start(
      values, show: show, failed: { [prompt] error in prompt.above { Output.error("ble: \(error.description)") } })
    return subscription
  }

  func unsubscribe(_ command: ParsedArguments) async throws {
    let (_, characteristic) = try await characteristic(command)
    guard let subscription = subscriptions.removeValue(forKey: characteristic) else {
      throw ToolError.usage("there is no subscription to \(Self.name(of: characteristic))", of: command.command)
    }
    subscription.cancel()
  }

  func wait(_ command: ParsedArguments) async throws {
    let timeout = try command.seconds("timeout") ?? .seconds(30)
    let (device, characteristic) = try await characteristic(command)
    let wanted = try command.operand(1).map { text throws(ToolError) in
      try TypedValue.octets(text, of: characteristic.uuid)
    }
    let known = subscriptions[characteristic]
    let subscription: ShellSubscription
    if let known {
      subscription = known
    } else {
      subscription = try await self.subscription(to: characteristic, of: device) { _ in }
    }
    defer { if known == nil { subscription.cancel() } }
    PairingFailures.ofTool.operationWaits()
    let value = try await AdapterUse.first(within: timeout) {
      while let value = await subscription.next() {
        if wanted == nil || value == wanted { return value }
      }
      try Task.checkCancellation()
      if device.isConnected { throw ToolError.device("the subscription has ended before the value") }
      throw try await device.waitUntilDisconnected()
    }
    guard let value else {
      // The words of the line, and not what they stand for.
      let place = AssignedNames.uuid(characteristic.uuid) ?? String(printable: command.operand(0) ?? "")
      let typed = String(printable: command.operand(1) ?? "")
      let what = wanted == nil ? "\(place) has had no value" : "\(place) has not had the value \(typed)"
      throw ToolError.notFound("\(what) in \(timeout.formattedSeconds)")
    }
    // A subscription has printed it already.
    if known == nil { ValueCommands.show(value, of: characteristic, arguments) }
  }

  private static func name(of characteristic: RemoteCharacteristic) -> String {
    AssignedNames.uuid(characteristic.uuid) ?? characteristic.uuid.uuidString
  }
}
