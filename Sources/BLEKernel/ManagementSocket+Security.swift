internal import BLELinux
internal import BLESMP
internal import BLEWire

/// What the management protocol says of pairing, keys and bonds.
///
/// Octet orders are the kernel's: numbers little-endian, keys and addresses least significant octet first. Address types
/// are 1 public and 2 random.
extension ManagementSocket {
  /// The commands that make up a directive; those about a single link are no business of the management protocol.
  static func messages(for directive: SecurityDirective) -> [(command: Command, parameters: [UInt8])] {
    switch directive {
    case .setPolicy(nil): return [(.setBondable, [0])]
    case .setPolicy(let settings?):
      let secureConnections: UInt8 = settings.allowsSecureConnections ? (settings.allowsLegacy ? 1 : 2) : 0
      return [
        (.setSecureConnections, [secureConnections]), (.setIOCapability, [settings.ioCapability.rawValue]),
        (.setBondable, [settings.isBonding ? 1 : 0]),
      ]
    case .loadKeys(let keys): return [longTermKeys(of: keys), resolvingKeys(of: keys)]
    case .forget(let device): return [(.unpairDevice, octets(of: device) + [0])]
    case .answer(let device, let question, let answer):
      return [self.answer(device, question, answer)].compactMap(\.self)
    case .secure: return []
    }
  }

  private static func answer(
    _ device: DeviceAddress, _ question: PairingQuestion, _ answer: PairingAnswer
  ) -> (command: Command, parameters: [UInt8])? {
    let address = octets(of: device)
    switch (question, answer) {
    case (.consent, .accept), (.replaceBond, .accept), (.compare, .accept): return (.userConfirmationReply, address)
    case (.consent, _), (.replaceBond, _), (.compare, _): return (.userConfirmationNegativeReply, address)
    case (.enterPasskey, .passkey(let passkey)):
      var parameters = address
      parameters.append(littleEndian: passkey.value)
      return (.userPasskeyReply, parameters)
    case (.enterPasskey, _): return (.userPasskeyNegativeReply, address)
    // Nothing takes back what is shown but the end of the link.
    case (.display, .reject): return (.disconnect, address)
    case (.display, _): return nil
    }
  }

  /// Load Long Term Keys: the number of keys, then for each address, type, whether it is the central's own, size, EDIV,
  /// Rand and value.
  private static func longTermKeys(of all: [SystemKeys]) -> (command: Command, parameters: [UInt8]) {
    var entries: [[UInt8]] = []
    for keys in all {
      // A key of Secure Connections is one for both roles.
      if let key = keys.peripheralKey { entries.append(entry(keys.identity, key, isCentrals: false)) }
      if let key = keys.centralKey, !(key.strength.isSecureConnections && key == keys.peripheralKey) {
        entries.append(entry(keys.identity, key, isCentrals: !key.strength.isSecureConnections))
      }
    }
    return (.loadLongTermKeys, counted(entries))
  }

  private static func entry(_ device: DeviceAddress, _ key: LongTermKey, isCentrals: Bool) -> [UInt8] {
    let kind: UInt8 = (key.strength.isSecureConnections ? 2 : 0) + (key.strength.isAuthenticated ? 1 : 0)
    var entry = octets(of: device) + [kind, isCentrals ? 1 : 0, key.strength.size]
    entry.append(littleEndian: key.ediv)
    entry.append(littleEndian: key.rand)
    entry.append(littleEndian: key.value.value)
    return entry
  }

  /// Load Identity Resolving Keys: the number of keys, then for each address and value.
  private static func resolvingKeys(of all: [SystemKeys]) -> (command: Command, parameters: [UInt8]) {
    let entries = all.compactMap { keys in
      keys.identityResolvingKey.map { key in
        var entry = octets(of: keys.identity)
        entry.append(littleEndian: key.value)
        return entry
      }
    }
    return (.loadIdentityResolvingKeys, counted(entries))
  }

  private static func counted(_ entries: [[UInt8]]) -> [UInt8] {
    var parameters: [UInt8] = []
    parameters.append(littleEndian: UInt16(clamping: entries.count))
    return parameters + entries.joined()
  }

  private static func octets(of device: DeviceAddress) -> [UInt8] {
    device.octets.littleEndian + [device.kind == .random ? 2 : 1]
  }

  /// What an event tells of security; nil for other events, and for those that are too short.
  static func report(_ event: UInt16, _ parameters: Bytes) -> SecurityReport? {
    var reader = Reader(parameters)
    switch event {
    // New Long Term Key: store hint, address, type, central's, size, EDIV, Rand, value.
    case 0x000A:
      guard let hint = reader.octet, let device = reader.address, let kind = reader.octet,
        let isCentrals = reader.octet,
        let size = reader.octet, let ediv = reader.number(2), let rand = reader.number(8),
        let value = reader.number(16),
        (7...16).contains(size)
      else { return nil }
      let strength = KeyStrength(size: size, isAuthenticated: kind == 1 || kind == 3, isSecureConnections: kind >= 2)
      let key = LongTermKey(value: SecretKey(value), ediv: UInt16(ediv), rand: UInt64(rand), strength: strength)
      let use: SecurityReport.KeyUse = kind >= 2 ? .both : isCentrals == 1 ? .central : .peripheral
      // 4: made with the debug key that everybody knows.
      return .longTermKey(device, key, use, isToBeKept: hint == 1 && kind < 4)
    // User Confirmation Request: address, confirm hint, number.
    case 0x000F:
      guard let device = reader.address, let hint = reader.octet, let number = reader.number(4) else { return nil }
      return .asked(device, hint == 1 ? .consent : .compare(Passkey(lowestDigitsOf: UInt32(number))))
    // User Passkey Request: address.
    case 0x0010: return reader.address.map { .asked($0, .enterPasskey) }
    // Authentication Failed: address, status.
    case 0x0011: return reader.address.map { .failed($0) }
    // Passkey Notify: address, passkey, digits entered.
    case 0x0017:
      guard let device = reader.address, let number = reader.number(4), let passkey = Passkey(UInt32(number)) else {
        return nil
      }
      return .asked(device, .display(passkey))
    // New Identity Resolving Key: store hint, private address, identity, value.
    case 0x0018:
      guard reader.octet != nil, let used = reader.number(6), let device = reader.address, let value = reader.number(16)
      else { return nil }
      let privateAddress = DeviceAddress(octets: BD_ADDR(UInt64(used)), kind: .random)
      return .identity(device, usedAs: used == 0 ? device : privateAddress, SecretKey(value))
    // New Signature Resolving Key: store hint, address, type, value.
    case 0x0019:
      guard reader.octet != nil, let device = reader.address, let kind = reader.octet, let value = reader.number(16)
      else { return nil }
      return .signatureKey(device, SecretKey(value), isOurs: kind == 0 || kind == 2)
    default: return nil
    }
  }

  /// Takes the parameters of an event from the front.
  private struct Reader {
    private var rest: Bytes

    init(_ octets: Bytes) { rest = octets }

    var octet: UInt8? { mutating get { rest.popFirst() } }

    /// An address of LE; BR/EDR's devices do not pair with us.
    var address: DeviceAddress? {
      mutating get {
        guard let value = number(6), let kind = octet, kind == 1 || kind == 2 else { return nil }
        return DeviceAddress(octets: BD_ADDR(UInt64(value)), kind: kind == 2 ? .random : .public)
      }
    }

    mutating func number(_ count: Int) -> UInt128? {
      guard rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }
  }
}
