import BLEKit
import BLELinux
import BLEProxy
import BLEWire
import ESPHomeAPI
import ESPHomeProxy
import Glibc
import ToolCore

/// `ble proxy`: a Bluetooth proxy for Home Assistant, by ESPHome's native API.
enum ProxyCommand {
  static let declaration = CommandDeclaration(
    name: "proxy", summary: "runs a Bluetooth proxy for Home Assistant (ESPHome's native API)",
    details: [
      "Home Assistant's ESPHome integration, or any client of ESPHome's native API, scans and connects with the "
        + "adapters of this machine. Several clients can be connected at once. The connections of a "
        + "client end with it.",
      "The connection is encrypted with the key in --key-file, 44 characters of Base64, which is also given to Home "
        + "Assistant. Make one with: openssl rand -base64 32. No other user may be able to read the file. A FILE "
        + "without a folder is looked up in CREDENTIALS_DIRECTORY (systemd).",
      "--pairing says who answers when a device demands a passkey: just-works declines (the default), compare accepts "
        + "every numeric comparison, ask asks on the terminal, off rejects each pairing. --passkeys names a file with "
        + "passkeys, one on a line: six digits are the passkey of all devices, ADDRESS=DIGITS that of one. No other user "
        + "may be able to read it.",
      "With --answers, a person answers the questions that --pairing and --passkeys do not answer, while ble answer "
        + "runs, and with --pairing ask always. A SOCKET without a folder is made in RUNTIME_DIRECTORY (systemd). Only the user of "
        + "the proxy and root can connect to it.",
      "It prints READY with its address, and ends with Control-C.",
    ],
    options: [
      .value(
        "transport", "SPEC",
        "the controller, for example linux:hci1 or tcp-client:127.0.0.1:6402 (BLE_TRANSPORT, else linux); several are "
          + "one proxy",
        isRepeatable: true),
      .value("listen", "[HOST:]PORT", "the address of the server (_:6053, which is every IPv4 address)"),
      .value("key-file", "FILE", "a file with the key of the encryption", isFile: true),
      .flag(
        "plain-text", "no encryption: anyone who reaches the address can use the adapter; private addresses only"),
      .value("name", "NAME", "the name on the network: up to 31 letters, digits and hyphens (ble-proxy)"),
      .value(
        "announce", "FILE",
        "makes a service file for Avahi, such as /etc/avahi/services/ble-proxy.service, and removes it at the end",
        isFile: true),
      .value("connections", "N", "connections of each adapter at once, 1 to 1000 (32)"),
      .value("pairing", "POLICY", "just-works, off, ask or compare (just-works)", isRepeatable: true),
      .value("passkeys", "FILE", "a file with the passkeys of devices", isFile: true),
      .value("answers", "SOCKET", "makes a Unix socket, by which ble answer answers pairings", isFile: true),
      .flag("passive", "sends scan requests only while a client wants them"),
      CommandDeclaration.Option.snoop, CommandDeclaration.Option.address,
    ],
    examples: [
      .init(
        commandLine: "ble proxy --key-file proxy.key", effect: "serves Home Assistant with the first adapter"),
      .init(
        commandLine: "ble proxy --transport linux:hci0 --transport linux:hci1 --key-file proxy.key --passkeys passkeys",
        effect: "serves it with two adapters, and enters the passkeys of the file"),
    ],
    run: run)

  static let defaultPort: UInt16 = 6053

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let text = arguments.value("listen") ?? "\(defaultPort)"
    guard let endpoint = ListenAddress(text, defaultHost: "_") else {
      throw ToolError.usage(
        "--listen takes PORT or HOST:PORT, such as 192.168.1.2:6053, not '\(text)'", of: declaration)
    }
    let key = try key(arguments, endpoint)
    let name = try name(arguments)
    let pairing = try ProxyPairing(arguments)
    let log: @Sendable (String) -> Void = { Output.error("ble: \(String(printable: $0))") }
    let (failures, failure) = AsyncStream.makeStream(of: ToolError.self)
    let (adapters, options) = try await adapters(arguments, pairing)
    let answers = try arguments.value("answers").map { path throws(ToolError) in
      try answerServer(at: path, name, log) { error in
        failure.yield(
          ToolError(description: "pairings can no longer be answered: \(error). Start it again", status: 71))
      } isAttended: { isAttended in
        for (adapter, var options) in zip(adapters, options) {
          if isAttended { options.capability = .keyboardDisplay }
          adapter.setPairing(options)
        }
      }
    }

    var configuration = ProxyConfiguration()
    configuration.connectionLimit = try arguments.number("connections", in: 1...1000) ?? configuration.connectionLimit
    configuration.scansActively = !arguments.has("passive")
    configuration.pairing = pairing.policy(answers)
    configuration.log = log
    let proxy = Proxy(adapters, configuration)
    let identity = ProxySession.Identity(
      name: name, address: adapters.first?.address?.octets ?? BD_ADDR(), version: ProgramVersion.text,
      isEncrypted: key != nil)
    var settings = ProxyServer.Settings(identity: identity, key: key)
    settings.log = log
    settings.failed = { error in
      failure.yield(ToolError(description: "the server has ended: \(error). Start it again", status: 71))
    }
    let (server, port) = try listen(proxy, settings, endpoint)
    let announcement = try arguments.value("announce").map { file in
      try Announcement(file, identity, port: port)
    }
    Output.event("READY \(endpoint.host == nil ? "0.0.0.0" : endpoint.hostText):\(port) as \(name)")
    let running = Task { await proxy.run() }
    // A service without its server is of no use: systemd starts it again.
    let end = await failures.first { _ in true }
    announcement?.remove()
    // Clients are informed first; then their connections end.
    server.end()
    running.cancel()
    await running.value
    answers?.end()
    if let end { throw end }
  }

  private static func adapters(
    _ arguments: ParsedArguments, _ pairing: ProxyPairing
  ) async throws -> ([Adapter], [PairingOptions]) {
    let transports: [String?] = arguments.allValues("transport")
    if transports.count > 1, let option = ["snoop", "address"].first(where: { arguments.value($0) != nil }) {
      throw ToolError.usage("--\(option) is for one adapter: give one --transport", of: declaration)
    }
    // All users of a transport in a process share one adapter.
    guard Set(transports).count == transports.count else {
      throw ToolError.usage("--transport: the same controller is given twice", of: declaration)
    }
    var adapters: [Adapter] = []
    var pairings: [PairingOptions] = []
    for transport in transports.isEmpty ? [nil] : transports {
      var options = try arguments.adapterOptions()
      options.transport = transport
      pairing.apply(to: &options.pairing)
      adapters.append(try await AdapterUse.opened(options))
      pairings.append(options.pairing)
    }
    return (adapters, pairings)
  }

  private static func answerServer(
    at path: String, _ name: String, _ log: @escaping @Sendable (String) -> Void,
    failed: @escaping @Sendable (SystemError) -> Void, isAttended: @escaping @Sendable (Bool) -> Void
  ) throws(ToolError) -> AnswerServer {
    var path = path
    // systemd names several folders with colons between them.
    if !path.contains("/"), let folder = Environment.value("RUNTIME_DIRECTORY")?.split(separator: ":").first {
      path = "\(folder)/\(path)"
    }
    let listener: Listener
    do throws(TransportError) { listener = try Listener(unixPath: path, isPrivate: true) } catch {
      throw ToolError(description: "--answers: \(error.what). \(error.remedy)", status: error.exitCode)
    }
    do throws(SystemError) {
      return try AnswerServer(listener, proxy: name, log: log, failed: failed, isAttended: isAttended)
    } catch { throw ToolError(description: "--answers: \(error)", status: 71) }
  }

  private static func listen(
    _ proxy: Proxy, _ settings: ProxyServer.Settings, _ endpoint: ListenAddress
  ) throws(ToolError) -> (ProxyServer, UInt16) {
    let listener: Listener
    do throws(TransportError) { listener = try Listener(tcpHost: endpoint.host, port: endpoint.port) } catch {
      let remedy =
        switch error.kind {
        case .busy: "Another proxy runs, or give a free port: --listen \(endpoint.hostText):0"
        case .noPermission: "Give a port above 1023: --listen \(endpoint.hostText):\(defaultPort)"
        default: "To listen on every address: --listen _:\(endpoint.port)"  // The address is at fault.
        }
      let cause = error.cause.map { " (\($0))" } ?? ""
      throw ToolError(
        description: "\(endpoint.hostText):\(endpoint.port): \(error.what)\(cause). \(remedy)",
        status: AdapterError(error).exitStatus)
    }
    let port = listener.port ?? endpoint.port
    do throws(SystemError) { return (try ProxyServer(proxy, settings, listener: listener), port) } catch {
      throw ToolError(description: "the server cannot be started: \(error)", status: 71)
    }
  }

  private static func name(_ arguments: ParsedArguments) throws(ToolError) -> String {
    let name = arguments.value("name") ?? "ble-proxy"
    let isValid = name.utf8.allSatisfy { octet in
      switch octet {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: false
      }
    }
    guard isValid, (1...APIConnection.Limits.nameSize).contains(name.utf8.count) else {
      throw .usage("--name takes 1 to 31 letters, digits and hyphens, not '\(name)'", of: declaration)
    }
    return name
  }

  /// The key; nil for plain text, where that is allowed.
  private static func key(
    _ arguments: ParsedArguments, _ endpoint: ListenAddress
  ) throws(ToolError) -> NoiseKey? {
    guard arguments.has("plain-text") else {
      guard let file = arguments.value("key-file") else {
        throw .usage(
          "a key is missing: --key-file FILE, made with: (umask 077; openssl rand -base64 32 > proxy.key)",
          of: declaration)
      }
      return try ProxyKeyFile.read(file)
    }
    if arguments.value("key-file") != nil {
      throw .usage("--key-file and --plain-text exclude each other: leave out --plain-text", of: declaration)
    }
    let host = endpoint.host
    guard host == "localhost" || host.flatMap(HostAddress.init)?.isPrivate == true else {
      throw .usage(
        "--plain-text is for a private address: give --listen 127.0.0.1:\(endpoint.port) or that of this machine in "
          + "its network, not '\(endpoint.hostText)'. Everywhere else use --key-file", of: declaration)
    }
    return nil
  }
}

/// The file with the key of a proxy.
enum ProxyKeyFile {
  /// Reads a key.
  ///
  /// - Throws: an error with the file, what is wrong, and the command that repairs it.
  static func read(_ path: String) throws(ToolError) -> NoiseKey {
    let octets = try SecretFile.read(
      path, "key file", remedy: "Make one with: (umask 077; openssl rand -base64 32 > '\(path)')")
    guard let key = NoiseKey(base64: String(decoding: octets, as: UTF8.self)) else {
      throw ToolError.data(
        "the key in \(path) is not 44 characters of Base64. Make one with: openssl rand -base64 32")
    }
    return key
  }
}

/// The service file of a proxy for Avahi, which announces it in the network.
struct Announcement: Sendable {
  private let file: String
  private let identity: FileIdentity?

  /// A line of each service file of a proxy. One that a killed proxy has left is replaced, no other file is.
  private static let mark = "<!-- Made by ble proxy, which replaces and removes it. -->"

  init(_ file: String, _ identity: ProxySession.Identity, port: UInt16) throws(ToolError) {
    let text = Self.text(identity, port: port)
    do throws(SystemError) {
      try Files.create(text.utf8, at: file) { String(decoding: $0, as: UTF8.self).contains(Self.mark) }
    } catch {
      let remedy =
        error.number == EEXIST
        ? "It is not one of ble proxy, which replaces no other file. Give another name, or remove it"
        : "Run as a user who may, or copy the file of the package"
      throw ToolError.output("the service file \(file) cannot be made: \(error). \(remedy)")
    }
    (self.file, self.identity) = (file, FileIdentity(at: file))
  }

  func remove() {
    if let identity, FileIdentity(at: file) == identity { unlink(file) }
  }

  /// The records that ESPHome's devices have (DNS-SD, RFC 6763).
  static func text(_ identity: ProxySession.Identity, port: UInt16) -> String {
    let address = identity.address.description.lowercased().filter { $0 != ":" }
    var records = [
      "friendly_name=\(identity.name)", "version=\(ProxySession.esphomeVersion)", "mac=\(address)", "platform=linux",
      "network=ethernet", "project_name=BluetoothLE.ble-proxy", "project_version=\(identity.version)",
    ]
    if identity.isEncrypted { records.append("api_encryption=Noise_NNpsk0_25519_ChaChaPoly_SHA256") }
    let lines = records.map { "    <txt-record>\($0)</txt-record>" }.joined(separator: "\n")
    return """
      <?xml version="1.0" standalone="no"?>
      <!DOCTYPE service-group SYSTEM "avahi-service.dtd">
      \(mark)
      <service-group>
        <name>\(identity.name)</name>
        <service>
          <type>_esphomelib._tcp</type>
          <port>\(port)</port>
      \(lines)
        </service>
      </service-group>

      """
  }
}

/// The policies of `--pairing`, and the passkeys of `--passkeys`.
struct ProxyPairing: Sendable {
  private var isEnabled = true
  private var asks = false
  private var compares = false
  private var passkey: UInt32?
  private var passkeys: [DeviceAddress: UInt32] = [:]

  init(_ arguments: ParsedArguments) throws(ToolError) {
    for text in arguments.allValues("pairing") {
      switch text {
      case "just-works": break
      case "off": isEnabled = false
      case "ask": asks = true
      case "compare": compares = true
      default:
        // Not with its text, which may be a passkey.
        throw .usage(
          "--pairing takes just-works, off, ask or compare. Passkeys belong into a file, because every user can read the "
            + "arguments of a program: --passkeys FILE", of: ProxyCommand.declaration)
      }
    }
    if let file = arguments.value("passkeys") { try addPasskeys(file) }
    if asks, arguments.value("answers") == nil, !PairingQuestions.isInteractive {
      throw .usage(
        "--pairing ask needs a terminal: give --answers SOCKET for ble answer, or a file with the passkeys, "
          + "--passkeys FILE", of: ProxyCommand.declaration)
    }
  }

  private mutating func addPasskeys(_ file: String) throws(ToolError) {
    let octets = try SecretFile.read(
      file, "file of passkeys", remedy: "Make one with: (umask 077; echo DIGITS > '\(file)')")
    let lines = String(decoding: octets, as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) && !line.hasPrefix("#") {
      guard add(line) else {
        throw .data("\(file):\(index + 1): six digits or ADDRESS=DIGITS are expected, such as C0:11:22:33:44:55=001002")
      }
    }
  }

  /// - Returns: whether a line is a passkey, with or without an address.
  private mutating func add(_ line: Substring) -> Bool {
    let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let digits = parts.last, digits.utf8.count == 6, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = UInt32(digits)
    else { return false }
    guard parts.count == 2 else {
      passkey = number
      return true
    }
    guard let address = AddressWord(parts[0]) else { return false }
    for kind in address.kind.map({ [$0] }) ?? [.public, .random] {
      passkeys[DeviceAddress(octets: address.octets, kind: kind)] = number
    }
    return true
  }

  func apply(to options: inout PairingOptions) {
    options.isEnabled = isEnabled
    options.capability =
      if asks || compares { .keyboardDisplay } else if passkey != nil || !passkeys.isEmpty { .keyboardOnly } else {
        .none
      }
  }

  /// - Parameter answers: where a person answers the questions that the options do not answer; nil without it.
  func policy(_ answers: AnswerServer?) -> PairingPolicy {
    let options = PairingPolicy.passkeys(passkeys, other: passkey, acceptsComparison: compares)
    guard let answers else {
      if asks { return PairingPolicy { await PairingQuestions.answer($0) } }
      return passkey == nil && passkeys.isEmpty && !compares ? .decline : options
    }
    return PairingPolicy {
      if isAnswered($0.question, of: $0.device.address) { await options.answer($0) } else { answers.ask($0) }
    } ended: {
      answers.pairingEnded($0, failure: $1?.description)
    }
  }

  /// Whether the options answer a question.
  func isAnswered(_ question: PairingRequest.Question, of device: DeviceAddress) -> Bool {
    switch question {
    case .enterPasskey: passkey != nil || passkeys[device.identity] != nil
    case .compare: compares
    case .display: false
    case .consent, .replaceBond: true
    }
  }
}
