import BluetoothLE

/// What the peripheral is to be, as a file says it.
struct Description: Decodable {
  var name: String
  var appearance: UInt16?
  var advertising: Advertising?
  var maximumMTU: Int?
  var advertisesWhileConnected: Bool?
  var services: [Service]
  var pairing: Pairing?
  /// Hides behind private addresses, each used for so many seconds.
  var privacy: Int?
  /// Offers enhanced ATT bearers.
  var enhancedBearers: Int?
  /// Gives its identity to devices that pair without authentication, too.
  var distributesIdentity: Bool?

  /// How it pairs; what is not said is as in ``PairingOptions``.
  struct Pairing: Decodable {
    var io: Capability?
    var passkey: UInt32?
    var secureConnections: Bool?
    var legacy: Bool?
    var bonding: Bool?
    /// Whether data for pairing out of band is printed, and the key for legacy pairing, least significant octet first.
    var outOfBand: Bool?
    var outOfBandLegacyKey: String?

    enum CodingKeys: String, CodingKey {
      case io, passkey, legacy, bonding
      case secureConnections = "sc"
      case outOfBand = "oob"
      case outOfBandLegacyKey = "oob_tk"
    }

    enum Capability: String, Decodable {
      case none, display, keyboard
      case displayYesNo = "display_yes_no"
      case keyboardDisplay = "keyboard_display"
    }
  }

  struct Advertising: Decodable {
    var flags: UInt8?
    var completeUUIDs: [String]?
    var incompleteUUIDs: [String]?

    enum CodingKeys: String, CodingKey {
      case flags
      case completeUUIDs = "uuids_complete"
      case incompleteUUIDs = "uuids_incomplete"
    }
  }

  struct Service: Decodable {
    var uuid: String
    var primary: Bool?
    var includes: [String]?
    var characteristics: [Characteristic]?
  }

  struct Characteristic: Decodable {
    var uuid: String
    var properties: [Property]
    var value: String?
    var maximumLength: Int?
    var permissions: Permissions?
    var descriptors: [Descriptor]?
    var roles: [String]?

    enum CodingKeys: String, CodingKey {
      case uuid, properties, value, permissions, descriptors, roles
      case maximumLength = "max_length"
    }
  }

  enum Property: String, Decodable {
    case broadcast, read, write, notify, indicate, extended
    case writeWithoutResponse = "write_without_response"
    case signedWrite = "signed_write"
  }

  struct Permissions: Decodable {
    var read: Level?
    var write: Level?
  }

  enum Level: String, Decodable { case open, encrypted, authenticated }

  struct Descriptor: Decodable {
    var uuid: String
    var value: String?
  }

  enum CodingKeys: String, CodingKey {
    case name, appearance, advertising, services, pairing, privacy
    case maximumMTU = "max_mtu"
    case enhancedBearers = "enhanced_bearers"
    case distributesIdentity = "distributes_identity"
    case advertisesWhileConnected = "advertises_while_connected"
  }
}

extension Description {
  init(file: String) throws(Failure) {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw .input("\(file) cannot be read: name a file with --desc")
    }
    try self.init(decoding: data, of: file)
  }

  /// The description in the octets of a file.
  init(decoding data: Data, of file: String) throws(Failure) {
    do {
      self = try JSONDecoder().decode(Self.self, from: data)
    } catch {
      throw .data("\(file) is no description: \(Self.explain(error))")
    }
  }

  /// Where in the file, and what.
  private static func explain(_ error: any Error) -> String {
    func place(_ context: DecodingError.Context) -> String {
      let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
      return path.isEmpty ? "the top" : path
    }
    return switch error {
    case DecodingError.keyNotFound(let key, let context): "\(place(context)) lacks \"\(key.stringValue)\""
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      "\(place(context)): \(context.debugDescription)"
    default: "\(error)"
    }
  }

  /// How it pairs.
  func pairingOptions() throws(Failure) -> PairingOptions {
    var options = PairingOptions()
    guard let pairing else { return options }
    options.capability =
      switch pairing.io ?? .none {
      case .none: .none
      case .display: .displayOnly
      case .displayYesNo: .displayYesNo
      case .keyboard: .keyboardOnly
      case .keyboardDisplay: .keyboardDisplay
      }
    options.fixedPasskey = pairing.passkey
    options.allowsSecureConnections = pairing.secureConnections ?? true
    options.allowsLegacy = pairing.legacy ?? true
    options.isBonding = pairing.bonding ?? true
    if pairing.outOfBand == true || pairing.outOfBandLegacyKey != nil {
      do { options.outOfBand = try OutOfBandPairing() } catch {
        throw .software("no data for pairing out of band: \(error)")
      }
      options.outOfBand?.legacyKey = [UInt8](try Self.octets(pairing.outOfBandLegacyKey))
    }
    return options
  }

  static func uuid(_ text: String) throws(Failure) -> BluetoothUUID {
    guard let uuid = BluetoothUUID(text) else { throw .data("\"\(text)\" is no UUID") }
    return uuid
  }

  /// Octets as a description writes them: `text:…` is UTF-8, `pattern:N` is N octets 7i & 0xFF, anything else is
  /// hexadecimal.
  static func octets(_ text: String?) throws(Failure) -> Data {
    guard let text, !text.isEmpty else { return Data() }
    if text.hasPrefix("text:") { return Data(text.dropFirst(5).utf8) }
    if text.hasPrefix("pattern:") {
      guard let count = Int(text.dropFirst(8)), (0...512).contains(count) else {
        throw .data("\"\(text)\" is no pattern of 0 to 512 octets")
      }
      return Data((0..<count).map { UInt8(truncatingIfNeeded: 7 * $0) })
    }
    let digits = Array(text)
    let octets = stride(from: 0, to: digits.count, by: 2).map {
      UInt8(String(digits[$0..<min($0 + 2, digits.count)]), radix: 16)
    }
    guard digits.count.isMultiple(of: 2), !octets.contains(nil) else {
      throw .data("\"\(text)\" is neither text:…, pattern:N nor pairs of hexadecimal digits")
    }
    return Data(octets.compactMap { $0 })
  }
}
