import BLELinux
import FoundationEssentials
import GatewayCore
import ToolCore

extension GatewayConfiguration {
  /// The configuration of a command line: that of its file, with what the options replace.
  ///
  /// - Throws: ``ToolError`` that names the option, ``GatewayError`` that names the field of the file.
  init(_ arguments: ParsedArguments) throws {
    if let file = arguments.value("config") { try self.init(file: file) } else { self.init() }
    if let text = arguments.value("broker") { try setBroker(text, arguments) }
    identifier = arguments.value("id") ?? identifier
    prefix = arguments.value("prefix") ?? prefix
    broker.username = arguments.value("username") ?? broker.username
    broker.passwordFile = arguments.value("password-file") ?? broker.passwordFile
    broker.certificateAuthorities = arguments.value("ca-file") ?? broker.certificateAuthorities
    keptValues = try arguments.number("kept-values", in: Self.keptValuesRange) ?? keptValues
    expireAfter = try arguments.number("expire-after", in: Self.expireAfterRange) ?? expireAfter
    if arguments.has("no-advertisements") { advertisements = false }
    if arguments.has("no-home-assistant") { homeAssistant = nil }
    var subscriptions: [Subscription] = []
    for text in arguments.allValues("subscribe") {
      do throws(Subscription.Failure) { subscriptions.append(try Subscription(text)) } catch {
        throw ToolError.usage("--subscribe: \(error)", of: arguments.command)
      }
    }
    if !subscriptions.isEmpty { devices.append(.init(subscribe: subscriptions)) }
    if identifier.isEmpty {
      identifier = Self.identifier(host: ProcessInfo.processInfo.hostName, identity: Self.machineIdentity)
    }
    try check()
  }

  /// `HOST`, `HOST:PORT` or `[IPv6]:PORT`.
  private mutating func setBroker(_ text: String, _ arguments: ParsedArguments) throws(ToolError) {
    var host = text[...]
    if let colon = text.lastIndex(of: ":"), text.last != "]",
      text[..<colon].last == "]" || !text[..<colon].contains(":")
    {
      guard let port = UInt16(text[text.index(after: colon)...]), port != 0 else {
        throw .usage("--broker: '\(text)' has no port from 1 to 65535 after the colon", of: arguments.command)
      }
      broker.port = port
      host = text[..<colon]
    }
    if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
    broker.host = String(host)
  }

  /// The identity of the installation, and the serial number of a Raspberry Pi: copies of a card have the former in
  /// common.
  private static var machineIdentity: [UInt8] {
    ["/etc/machine-id", "/sys/firmware/devicetree/base/serial-number"].flatMap {
      (try? Files.octets(of: $0, atMost: 256)) ?? []
    }
  }
}
