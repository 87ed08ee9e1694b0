import BLEAdapter
import BLEKit
import BLEWire
import ToolCore

/// `ble pair` and `ble bonds`: pairing, and the bonds of this user.
enum PairCommand {
  static let authenticated = CommandDeclaration.Option.flag(
    "authenticated", "fails where the key is not protected against a man in the middle")

  static let pair = CommandDeclaration(
    name: "pair", summary: "pairs with a device and bonds",
    details: [
      "Passkeys and numbers are asked on the terminal; without a terminal the adapter has no input and no output (Just Works)."
    ],
    operands: [.device],
    options: CommandDeclaration.Option.adapter + [
      CommandDeclaration.Option.timeout,
      authenticated,
      .flag("legacy", "pairs as devices before Bluetooth 4.2 do, without LE Secure Connections"),
    ],
    examples: [.init(commandLine: "ble pair Keyboard", effect: "pairs, and prints the security of the link")],
    run: run)

  static let bonds = CommandDeclaration(
    name: "bonds", summary: "lists bonds and remembered devices, or removes one",
    details: [
      "The bonds are those of this user on the adapter (BLE_BONDS, else a file in the folder of the user's data). They are listed without "
        + "the adapter; it is needed to remove one. A name is the one that the device had when the bond was last used.",
      "Programs with CoreBluetooth's API remember the devices that they have connected to, in a file beside their bonds: BLE_BONDS names the bonds of the program.",
    ],
    options: CommandDeclaration.Option.adapter + [
      .json,
      .value(
        "remove", "DEVICE",
        "removes the bond with the device of this address or name, and the device from those that are remembered; the "
          + "device has to remove its own bond, too. End programs that run with these bonds first"
      ),
    ],
    run: showBonds)

  private struct Line: Encodable {
    var address: String
    var addressType: String
    var name: String?
    var authenticated: Bool
    var secureConnections: Bool
    var keySize: Int
  }

  private struct RememberedLine: Encodable {
    var address: String
    var addressType: String
    var name: String?
    var bonded = false
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let timeout = try arguments.seconds("timeout") ?? .seconds(30)
    var options = try arguments.adapterOptions()
    options.pairing.capability = PairingQuestions.isInteractive ? .keyboardDisplay : .none
    options.pairing.allowsSecureConnections = !arguments.has("legacy")
    let level: PeerSecurity.Level = arguments.has("authenticated") ? .authenticated : .encrypted
    let target = arguments.operand(0) ?? ""
    try DeviceSearch.check(target, of: pair)
    try await AdapterUse.withAdapter(options) { adapter in
      let requests = adapter.pairingRequests
      let questions = Task { await PairingQuestions.answer(requests) }
      defer { questions.cancel() }
      try await AdapterUse.withDevice(target, of: adapter, arguments, timeout: timeout) { device in
        try await device.pair(level: level)
        Output.line(result(of: device))
      }
    }
  }

  /// The line after a pairing.
  static func result(of device: RemoteDevice) -> String {
    "\(device.address): \(device.security.isBonded ? "bonded" : "paired without a bond"), \(text(device.security))"
  }

  /// The security of a link in plain words.
  static func text(_ security: PeerSecurity) -> String {
    security.level == .none
      ? text(security.level) : "\(text(security.level)), key of \(security.keySize) octets"
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
    if let text = arguments.value("remove") { return try await remove(text, arguments) }
    let bonds = try stored(arguments)
    for bond in bonds {
      if arguments.has("json") {
        Output.json(
          Line(
            address: bond.address, addressType: kind(bond.identity), name: bond.name, authenticated: bond.isProtected,
            secureConnections: bond.usesSecureConnections,
            keySize: bond.keySize))
      } else {
        let kind = bond.usesSecureConnections ? "LE Secure Connections" : "legacy pairing"
        let strength = bond.isProtected ? "authenticated" : "not authenticated"
        Output.line(
          "\(bond.identity.word)  \(shown(bond.name))\(kind), \(strength), key of \(bond.keySize) octets", indent: 4)
      }
    }
    let bonded = Set(bonds.map(\.identity))
    let file = try deviceFile(arguments)
    let remembered = (file?.all ?? []).filter { !bonded.contains($0) }
    let names = remembered.isEmpty ? [:] : file?.allNames ?? [:]
    if bonds.isEmpty, remembered.isEmpty {
      Output.error("ble: no bonds and no remembered devices. Run: \(arguments.commandLine("pair", "DEVICE"))")
    }
    for device in remembered {
      if arguments.has("json") {
        Output.json(
          RememberedLine(address: device.octets.description, addressType: kind(device), name: names[device]))
      } else {
        Output.line("\(device.word)  \(shown(names[device]))remembered, without a bond", indent: 4)
      }
    }
  }

  /// A name that a device has chosen, before what is known of the device; empty for none.
  private static func shown(_ name: String?) -> String { name.map { "'\(String(printable: $0))', " } ?? "" }

  private static func kind(_ address: DeviceAddress) -> String { address.isRandom ? "random" : "public" }

  private static func remove(_ text: String, _ arguments: ParsedArguments) async throws {
    let word: AddressWord
    if let address = AddressWord(text) {
      word = address
    } else {
      let bonds = try stored(arguments)
      var names = try deviceFile(arguments)?.allNames ?? [:]
      for bond in bonds { names[bond.identity] = bond.name ?? names[bond.identity] }
      word = try named(text, names, of: bonds.map(\.identity))
    }
    try await AdapterUse.withAdapter(arguments) { adapter in
      let found = adapter.bonds.filter { word.names($0.identity) }
      let remembered = adapter.rememberedDevices.filter { word.names($0) }
      let devices = Set(found.map(\.identity) + remembered.map(\.identity))
      guard let device = devices.first else {
        throw ToolError.notFound(
          "no bond with \(text), and no remembered device. Run: \(arguments.commandLine("bonds"))")
      }
      guard devices.count == 1 else {
        let words = devices.map(\.word).sorted().joined(separator: " and ")
        throw ToolError.usage("\(words) are two devices: add the kind of the address", of: bonds)
      }
      for bond in found { adapter.remove(bond) }
      for device in remembered { _ = adapter.forget(device) }
      Output.line("\(device.word): removed")
      if !found.isEmpty, let file = try file(arguments) {
        Output.error(
          "ble: a program that runs with the bonds in \(file) uses this one until it ends, and can store it again. If "
            + "one runs, end it and run the command again")
      }
    }
  }

  /// The address of the device with a name, as it is or as it is printed.
  ///
  /// - Parameters:
  ///   - names: those of bonded and of remembered devices.
  ///   - bonded: the bonded devices, also those without a name.
  static func named(
    _ text: String, _ names: [DeviceAddress: String], of bonded: [DeviceAddress]
  ) throws(ToolError) -> AddressWord {
    let found = names.filter { $0.value == text || String(printable: $0.value) == text }.map(\.key.word).sorted()
    if let word = found.first.flatMap({ AddressWord($0) }), found.count == 1 { return word }
    let shown = String(printable: text.prefix(64))
    guard found.isEmpty else {
      throw ToolError(
        description: "\(found.count) devices have the name '\(shown)'. Remove one by its address: "
          + found.joined(separator: ", "),
        status: 64)
    }
    if let reason = AddressWord.misspelling(in: text) { throw .usage(reason, of: bonds) }
    let known = Set(bonded).union(names.keys).map {
      "\($0.word)\(names[$0].map { " '\(String(printable: $0))'" } ?? "")"
    }
    let list = known.isEmpty ? "there are none" : "they are with: \(known.sorted().joined(separator: ", "))"
    throw .notFound("no bond and no remembered device has the name '\(shown)'; \(list)")
  }

  /// The file of the bonds of the adapter that the command line names; nil if they are in memory.
  private static func file(_ arguments: ParsedArguments) throws -> String? {
    PairingOptions.Storage.standard.path(transport: try arguments.canonicalTransport())
  }

  /// The bonds in the file of the adapter that the command line names, which may be missing.
  private static func stored(_ arguments: ParsedArguments) throws -> [Bond] {
    guard let path = try file(arguments) else { return [] }
    do { return try FileBondStore(path: path).contents()?.bonds ?? [] } catch { throw ToolError.input("\(error)") }
  }

  /// The file of devices beside the bonds; nil if there is none.
  private static func deviceFile(_ arguments: ParsedArguments) throws -> DeviceFile? {
    AdapterOptions.DeviceStorage.standard.path(beside: try file(arguments)).map { DeviceFile(path: $0) }
  }
}
