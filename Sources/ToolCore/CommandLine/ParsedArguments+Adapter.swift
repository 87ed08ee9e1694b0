public import BLEAdapter
import BLELinux
import BLERuntime
import BLEWire

/// The options of the adapter, which the programs share.
extension ParsedArguments {
  /// The transport of the adapter: `--transport`, otherwise `BLE_TRANSPORT`, otherwise that of the machine.
  public var transport: String { namedTransport(Environment.value) ?? "linux" }

  private func namedTransport(_ environment: (String) -> String?) -> String? {
    value("transport") ?? environment("BLE_TRANSPORT")
  }

  /// The transport in the form that the names of files have.
  ///
  /// - Throws: ``ToolError`` if it is malformed.
  package func canonicalTransport() throws(ToolError) -> String {
    do throws(TransportError) { return "\(try TransportSpec(parsing: transport))" } catch {
      throw ToolError(description: "\(error)", status: AdapterError(error).exitStatus)
    }
  }

  /// The options of the adapter that the command line names.
  public func adapterOptions(deviceName: String? = nil, appearance: UInt16? = nil) throws(ToolError) -> AdapterOptions {
    var options = AdapterOptions(
      transport: value("transport"), snoop: value("snoop"), deviceName: deviceName, appearance: appearance)
    guard let text = value("address") else { return options }
    guard let address = DeviceAddress(text, kind: .random), address.isIdentityAddress else {
      throw .usage(
        "--address takes a static random address, such as C0:11:22:33:44:55, not '\(text)'", of: command)
    }
    options.address = .staticRandom(address.octets.value)
    return options
  }

  /// A command line for the adapter and the bonds of this one: `ble pair Lamp --transport linux:hci1`.
  public func commandLine(_ words: String...) -> String { commandLine(words) }

  /// A command line for the adapter and the bonds of this one, of these words. It is right in any shell: what this
  /// command takes from its environment is in it.
  package func commandLine(_ words: [String], environment: (String) -> String? = Environment.value) -> String {
    let bonds = environment("BLE_BONDS").map { ["BLE_BONDS=\(Self.quoted($0))"] } ?? []
    let adapter = [("transport", namedTransport(environment)), ("address", value("address"))]
    let options = adapter.flatMap { name, value in value.map { ["--\(name)", $0] } ?? [] }
    return (bonds + (["ble"] + words + options).map(Self.quoted)).joined(separator: " ")
  }

  /// A word in the form that a shell accepts.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { octet in
      switch octet {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: "-_.,:/@%+=".utf8.contains(octet)
      }
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }
}

extension CommandDeclaration.Option {
  public static let json = flag("json", "prints JSON, one object per line")
  public static let transport = value(
    "transport", "SPEC",
    "the controller, for example linux:hci1 or tcp-client:127.0.0.1:6402 (BLE_TRANSPORT, else linux)")
  public static let snoop = value(
    "snoop", "FILE", "writes the HCI packets to FILE in the btsnoop format (BLE_SNOOP, else none)", isFile: true)
  public static let address = value(
    "address", "ADDRESS",
    "the static random address of this host, such as C0:11:22:33:44:55, instead of the address of the controller")
  public static let timeout = value(
    "timeout", "SECONDS", "seconds until a device is found and connected, with all attempts (30)")

  /// The options of every command that uses an adapter.
  public static let adapter = [transport, snoop, address]
}
