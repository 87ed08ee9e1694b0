import BLEAdapter

/// The command line of the gateway: of the program `ble-gateway`, and of `ble gateway`, which starts it.
public enum GatewayDeclaration {
  /// - Parameter invocation: the words that start it.
  public static func command(
    invocation: String, run: @escaping @Sendable (ParsedArguments) async throws -> Void
  ) -> CommandDeclaration {
    CommandDeclaration(
      name: "gateway", invocation: invocation,
      summary:
        "publishes advertisements and values to an MQTT broker, and performs reads and writes requested by topic",
      details: [
        "The configuration is a JSON file; options replace what it says. Several gateways of one broker divide the devices by signal "
          + "strength. The topics are in Docs/Gateway.md."
      ],
      options: [
        .value("config", "FILE", "the configuration, a JSON file", isFile: true),
        .value("broker", "HOST[:PORT]", "the broker (localhost:1883, with TLS 8883)"),
        .value("id", "NAME", "the name of this gateway, unique at its broker (that of the machine with six digits)"),
        .value("prefix", "PREFIX", "the first part of each topic (ble)"),
        .value(
          "subscribe", "S/C",
          "publishes the values of characteristic C in service S of each device that advertises S: 181A/2A6E, or by "
            + "names: 'Battery/Battery Level'",
          isRepeatable: true),
        .value("username", "NAME", "the user at the broker"),
        .value("password-file", "FILE", "a file with the password in its first line", isFile: true),
        .value("ca-file", "FILE", "the certificates of authorities; the connection then uses TLS", isFile: true),
        .value("kept-values", "N", "values that are kept while the broker is away, 1 to 1000000 (10000)"),
        .flag("no-advertisements", "advertisements are not published"),
        .flag("no-home-assistant", "no discovery topics for Home Assistant"),
        .value(
          "expire-after", "SECONDS",
          "Home Assistant shows a sensor without a new value for that long as unavailable, 1 to 31536000 (never)"),
      ] + CommandDeclaration.Option.adapter + [
        .flag("check", "checks the configuration and ends"),
        .flag("man", "prints the manual page in the format of man"),
        .value("completions", "SHELL", "prints the completions of a shell", values: Completions.shells),
        .flag("version", "prints the version"),
      ],
      examples: [
        .init(
          commandLine: "\(invocation) --broker mqtt.local --subscribe 181A/2A6E",
          effect: "publishes the temperatures of the thermometers in range"),
        .init(commandLine: "\(invocation) --config gateway.json --check", effect: "checks a configuration"),
      ],
      run: run)
  }

  /// The program `ble-gateway`.
  public static func program(
    run: @escaping @Sendable (ParsedArguments) async throws -> Void
  ) -> ProgramDeclaration {
    ProgramDeclaration(
      name: "ble-gateway", summary: "gateway from Bluetooth Low Energy to MQTT",
      details: [
        "ble-gateway publishes the advertisements and values of the devices in range to an MQTT broker, and performs reads and writes requested by topic."
      ],
      form: .command(command(invocation: "ble-gateway", run: run)),
      exitStatus:
        "0 after SIGINT (Control-C) and SIGTERM, else a status of sysexits.h: 64 for a wrong command line, 66 for a file that cannot be "
        + "read or that others can read, 69 without a usable adapter or where the broker rejects the gateway, 75 for an adapter that another program uses, 77 "
        + "without permission, 78 for a wrong configuration, and where another gateway of the same name "
        + "connects to the broker.",
      environment: [
        ("BLE_TRANSPORT", "The controller, without --transport."),
        ("BLE_SNOOP", "The packet trace, without --snoop."), ("BLE_BONDS", "The file of the bonds."),
        ("CREDENTIALS_DIRECTORY", "The folder of a password file that is named without a path (systemd)."),
      ],
      seeAlso: ["ble(1)", "mosquitto(8)"])
  }
}

/// The version of the programs.
public enum ProgramVersion {
  public static let text = PackageVersion.text
}
