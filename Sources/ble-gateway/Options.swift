import Foundation
import GatewayCore

/// The command line of `ble-gateway`.
struct Options {
  static let help = """
    ble-gateway: publishes advertisements and values of Bluetooth LE devices at an MQTT broker, and reads and writes by topics

      --config FILE          the configuration, a JSON file; the options below replace what it says
      --broker HOST[:PORT]   the broker (localhost:1883)
      --id NAME              the name of this gateway (the name of this machine)
      --prefix PREFIX        the first part of each topic (ble)
      --subscribe S/C        publishes the values of characteristic C in service S of each device that advertises S:
                             181A/2A6E; may be repeated
      --username NAME        the user at the broker
      --password-file FILE   a file with the password in its first line
      --ca-file FILE         certificates of authorities; the connection uses TLS
      --kept-values N        values that are kept while the broker is away (10000)
      --no-advertisements    advertisements are not published
      --no-home-assistant    no discovery topics for Home Assistant
      --transport SPEC       the controller, for example linux:hci1 or tcp-client:127.0.0.1:6402 (BLE_TRANSPORT, else linux)
      --snoop FILE           writes the HCI packets to FILE in the btsnoop format
      --check                checks the configuration and ends
      --version, --help
    """

  var configuration = GatewayConfiguration()
  var transport: String?
  var snoop: String?
  var onlyChecks = false
  var wantsHelp = false
  var wantsVersion = false

  /// - Throws: ``GatewayError`` that names the option.
  init(_ arguments: some Sequence<String>) throws(GatewayError) {
    var words = Array(arguments)[...]
    if let index = words.firstIndex(of: "--config"), index + 1 < words.endIndex {
      configuration = try GatewayConfiguration(file: words[index + 1])
    }
    var subscriptions: [GatewayConfiguration.Subscription] = []
    while let option = words.popFirst() {
      switch option {
      case "--config": _ = try Self.value(of: option, &words)
      case "--broker": try setBroker(Self.value(of: option, &words))
      case "--id": configuration.identifier = try Self.value(of: option, &words)
      case "--prefix": configuration.prefix = try Self.value(of: option, &words)
      case "--subscribe":
        let text = try Self.value(of: option, &words)
        guard let subscription = GatewayConfiguration.Subscription(text) else {
          throw GatewayError(.configuration, "--subscribe: '\(text)' is not SERVICE/CHARACTERISTIC, such as 181A/2A6E")
        }
        subscriptions.append(subscription)
      case "--username": configuration.broker.username = try Self.value(of: option, &words)
      case "--password-file": configuration.broker.passwordFile = try Self.value(of: option, &words)
      case "--ca-file": configuration.broker.certificateAuthorities = try Self.value(of: option, &words)
      case "--kept-values":
        let text = try Self.value(of: option, &words)
        guard let number = Int(text) else {
          throw GatewayError(.configuration, "--kept-values: '\(text)' is not a number")
        }
        configuration.keptValues = number
      case "--no-advertisements": configuration.advertisements = false
      case "--no-home-assistant": configuration.homeAssistant = nil
      case "--transport": transport = try Self.value(of: option, &words)
      case "--snoop": snoop = try Self.value(of: option, &words)
      case "--check": onlyChecks = true
      case "--help", "-h": wantsHelp = true
      case "--version": wantsVersion = true
      default: throw GatewayError(.configuration, "unknown option '\(option)'. See: ble-gateway --help")
      }
    }
    if !subscriptions.isEmpty { configuration.devices.append(.init(subscribe: subscriptions)) }
    if configuration.identifier.isEmpty { configuration.identifier = Self.machineName }
    if !wantsHelp, !wantsVersion { try configuration.check() }
  }

  private static func value(of option: String, _ words: inout ArraySlice<String>) throws(GatewayError) -> String {
    guard let value = words.popFirst(), !value.isEmpty else {
      throw GatewayError(.configuration, "\(option) needs a value. See: ble-gateway --help")
    }
    return value
  }

  /// `HOST`, `HOST:PORT` or `[IPv6]:PORT`.
  private mutating func setBroker(_ text: String) throws(GatewayError) {
    var host = text[...]
    if let colon = text.lastIndex(of: ":"), text.last != "]",
      text[..<colon].last == "]" || !text[..<colon].contains(":")
    {
      guard let port = UInt16(text[text.index(after: colon)...]), port != 0 else {
        throw GatewayError(.configuration, "--broker: '\(text)' has no port from 1 to 65535 after the colon")
      }
      configuration.broker.port = port
      host = text[..<colon]
    }
    if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
    configuration.broker.host = String(host)
  }

  private static var machineName: String {
    let name = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
    return name.isEmpty ? "gateway" : String(name)
  }
}
