import BLEAdapter
import BLEKit
import BLEOptions
import BLEStorage
import BLEWire
import ToolCore

/// `ble pair` and `ble bonds`: pairing, and the bonds of this user.
enum PairCommand {
  static let pair = CommandDeclaration(
    name: "pair", summary: "pairs with a device and bonds",
    details: [
      "Passkeys and numbers are asked on the terminal; without a terminal the adapter has no input and no output (Just Works)."
    ],
    operands: [.init(name: "DEVICE", help: "the address or the name of the device")],
    options: CommandDeclaration.Option.adapter + [
      CommandDeclaration.Option.timeout,
      .flag("authenticated", "fails where the key is not protected against a man in the middle"),
      .flag("legacy", "pairs as devices before Bluetooth 4.2 do, without LE Secure Connections"),
    ],
    examples: [.init(commandLine: "ble pair Keyboard", effect: "pairs, and prints the security of the link")],
    run: run)

  static let bonds = CommandDeclaration(
    name: "bonds", summary: "lists bonds and remembered devices, or removes one",
    details: [
      "The bonds are those of this user on the adapter (BLE_BONDS, else a file in the folder of the user's data). They are listed without "
        + "the adapter; it is needed to remove one.",
      "Programs with CoreBluetooth's API remember the devices that they have connected to, in a file beside their bonds: BLE_BONDS names the bonds of the program.",
    ],
    options: CommandDeclaration.Option.adapter + [
      .json,
      .value(
        "remove", "ADDRESS",
        "removes the bond with this device, and the device from those that are remembered; the device has to remove its own bond, too"
      ),
    ],
    run: showBonds)

  private struct Line: Encodable {
    var address: String
    var authenticated: Bool
    var secureConnections: Bool
    var keySize: Int
  }

  private struct RememberedLine: Encodable {
    var address: String
    var bonded = false
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let timeout = try arguments.seconds("timeout") ?? .seconds(30)
    var options = try arguments.adapterOptions()
    options.pairing.capability = PairingQuestions.isInteractive ? .keyboardDisplay : .none
    options.pairing.allowsSecureConnections = !arguments.has("legacy")
    let level: PeerSecurity.Level = arguments.has("authenticated") ? .authenticated : .encrypted
    let target = arguments.operand(0) ?? ""
    try await AdapterUse.withAdapter(options) { adapter in
      let requests = adapter.pairingRequests
      let questions = Task { await PairingQuestions.answer(requests) }
      defer { questions.cancel() }
      try await AdapterUse.withDevice(target, of: adapter, arguments, timeout: timeout) { device in
        try await device.pair(level: level)
        let security = device.security
        Output.line(
          "\(device.address): \(security.isBonded ? "bonded" : "paired without a bond"), "
            + "\(text(security.level)), key of \(security.keySize) octets")
      }
    }
  }

  private static func text(_ level: PeerSecurity.Level) -> String {
    switch level {
    case .none: "not encrypted"
    case .encrypted: "encrypted, not authenticated"
    case .authenticated: "authenticated"
    case .secureConnections: "authenticated, LE Secure Connections"
    }
  }

  @Sendable private static func showBonds(_ arguments: ParsedArguments) async throws {
    let removed = arguments.value("remove")?.uppercased()
    if let removed {
      return try await AdapterUse.withAdapter(arguments) { adapter in
        let bond = adapter.bonds.first { $0.address.uppercased() == removed }
        if let bond { adapter.remove(bond) }
        let remembered = adapter.rememberedDevices.filter { $0.octets.description == removed }
        guard bond != nil || !remembered.isEmpty else {
          throw ToolError.notFound(
            "no bond with \(removed), and no remembered device. Run: \(arguments.commandLine("bonds"))")
        }
        for device in remembered { _ = adapter.forget(device) }
        Output.line("\(removed): removed")
      }
    }
    let bonds = try stored(arguments)
    for bond in bonds {
      if arguments.has("json") {
        Output.json(
          Line(
            address: bond.address, authenticated: bond.isProtected, secureConnections: bond.usesSecureConnections,
            keySize: bond.keySize))
      } else {
        let kind = bond.usesSecureConnections ? "LE Secure Connections" : "legacy pairing"
        let strength = bond.isProtected ? "authenticated" : "not authenticated"
        Output.line("\(bond.address)  \(kind), \(strength), key of \(bond.keySize) octets")
      }
    }
    let bonded = Set(bonds.map(\.identity))
    let remembered = try remembered(arguments).filter { !bonded.contains($0) }
    if bonds.isEmpty, remembered.isEmpty {
      Output.error("ble: no bonds and no remembered devices. Run: \(arguments.commandLine("pair", "DEVICE"))")
    }
    for device in remembered {
      if arguments.has("json") {
        Output.json(RememberedLine(address: device.octets.description))
      } else {
        Output.line("\(device.octets)  remembered, without a bond")
      }
    }
  }

  /// The bonds in the file of the adapter that the command line names, which may be missing.
  private static func stored(_ arguments: ParsedArguments) throws -> [Bond] {
    guard let path = PairingOptions.Storage.standard.path(transport: try arguments.canonicalTransport()) else {
      return []
    }
    do { return try FileBondStore(path: path).load()?.bonds ?? [] } catch { throw ToolError.input("\(error)") }
  }

  /// The devices in the file beside the bonds.
  private static func remembered(_ arguments: ParsedArguments) throws -> [DeviceAddress] {
    let bonds = PairingOptions.Storage.standard.path(transport: try arguments.canonicalTransport())
    return AdapterOptions.DeviceStorage.standard.path(beside: bonds).map { RememberedDevices(path: $0).all } ?? []
  }
}
