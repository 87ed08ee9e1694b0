import BLEKit
import BLEWire
import Foundation

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
      "The bonds are those of this user (BLE_BONDS, else the folder of the user's data).",
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
      let questions = Task { await PairingQuestions.answer(adapter) }
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
    try await AdapterUse.withAdapter(arguments) { adapter in
      if let removed {
        let bond = adapter.bonds.first { $0.address.uppercased() == removed }
        if let bond { adapter.remove(bond) }
        let remembered = adapter.rememberedDevices.filter { $0.octets.description == removed }
        guard bond != nil || !remembered.isEmpty else {
          throw ToolError.notFound("no bond with \(removed), and no remembered device. Run: ble bonds")
        }
        for device in remembered { _ = adapter.forget(device) }
        return Output.line("\(removed): removed")
      }
      for bond in adapter.bonds {
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
      let bonded = Set(adapter.bonds.map(\.identity))
      for device in adapter.rememberedDevices where !bonded.contains(device) {
        if arguments.has("json") {
          Output.json(RememberedLine(address: device.octets.description))
        } else {
          Output.line("\(device.octets)  remembered, without a bond")
        }
      }
    }
  }
}
