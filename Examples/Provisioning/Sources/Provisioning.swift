import BLEProfiles

/// A device without keys and screen for text is given the name and the password of a network: over a link that is paired with a passkey or
/// by numeric comparison, with its state as notifications.
@main struct Provisioning {
  static let usage = """
    provisioning [--role peripheral|central] [--transport SPEC] [--pairing passkey|comparison] [--passkey DIGITS]
                 [--name NAME] [--password TEXT]

      --role ROLE        one end alone; without it both ends run here, on the simulated radio
      --transport SPEC   the controller of that end, e.g. linux, tcp-client:127.0.0.1:6402
      --pairing MODEL    passkey: the device shows digits that the user types; comparison: the user compares them (passkey)
      --passkey DIGITS   the digits of both ends; the central is asked for them without it, and the device draws them
      --name NAME        central: the name of the network (Home)
      --password TEXT    central: its password, 8 to 63 characters (correct horse)
    """

  static func main() async {
    await Program.run(usage) { program in
      let settings = try Settings(program)
      try await program.runRoles {
        try await ProvisionedDevice(settings).serve(on: $0)
      } central: {
        try await Provisioner(settings).run(with: $0)
      } options: {
        settings.options($0)
      }
    }
  }
}

/// What the command line says.
struct Settings: Sendable {
  let usesComparison: Bool
  let passkey: UInt32?
  let network: NetworkCredentials
  /// Without a role both ends are here, and the second one is given the digits of the first.
  let isAlone: Bool

  init(_ program: Program) throws {
    switch program.value("--pairing") {
    case nil, "passkey": usesComparison = false
    case "comparison": usesComparison = true
    case let other?: throw UsageError("--pairing is passkey or comparison, not \(other)")
    }
    isAlone = program.value("--role") != nil
    let digits = program.value("--passkey") ?? (isAlone ? nil : "483920")
    passkey = try digits.map { digits in
      guard digits.count == 6, let number = UInt32(digits) else { throw UsageError("--passkey has six digits") }
      return number
    }
    guard
      let network = NetworkCredentials(
        name: program.value("--name") ?? "Home", password: program.value("--password") ?? "correct horse")
    else { throw UsageError("a name has 1 to 32 octets, a password 8 to 63") }
    self.network = network
  }

  /// The abilities of the ends: both have a display and keys for yes and no, or one has a display and the other one keys for digits.
  func options(_ role: String) -> AdapterOptions {
    var options = AdapterOptions()
    // Nobody else pairs: the one who sees the display is the user.
    options.pairing.requiresProtection = true
    options.pairing.allowsLegacy = false
    options.pairing.storage = .memory
    options.pairing.capability = usesComparison ? .displayYesNo : role == "central" ? .keyboardOnly : .displayOnly
    if !usesComparison, role != "central" { options.pairing.fixedPasskey = passkey }
    return options
  }
}
