public import BLEGAP

/// A frame of an Eddystone beacon, in the service data of 0xFEAA (Eddystone Protocol Specification).
///
/// Numbers are sent most significant octet first. The power is the signal strength at a distance of 0 m, in dBm. If it
/// was measured at one metre, add 41.
///
/// ```swift
/// let beacon = EddystoneFrame.url(power: -18, "https://swift.org/")
/// try await adapter.advertise(try beacon.advertisement())
/// for try await result in adapter.scan(ScanOptions(services: [EddystoneFrame.service])) {
///   for frame in EddystoneFrame.frames(in: result.contents) { print(frame) }
/// }
/// ```
public enum EddystoneFrame: Hashable, Sendable {
  /// UID (0x00): a namespace of ten octets and an instance of six.
  case uid(power: Int8, namespace: [UInt8], instance: [UInt8])
  /// URL (0x10): a web address that begins with `http://` or `https://`, at most 17 octets after its scheme when it is
  /// encoded.
  case url(power: Int8, String)
  /// TLM (0x20), version 0: the state of the beacon.
  case telemetry(Telemetry)
  /// TLM (0x20), version 1: the state encrypted in twelve octets, with a salt and a message integrity check.
  case encryptedTelemetry([UInt8], salt: UInt16, integrityCheck: UInt16)
  /// EID (0x30): an identifier of eight octets that changes.
  case ephemeralIdentifier(power: Int8, [UInt8])

  /// The service of the frames, 0xFEAA.
  public static let service: BluetoothUUID = "FEAA"

  /// The state of a beacon.
  public struct Telemetry: Hashable, Sendable {
    /// The voltage of the battery in millivolts; nil if the beacon does not report it (0).
    public var batteryMillivolts: UInt16?
    /// The temperature in units of 1/256 °C; nil if it is not measured (0x8000).
    public var temperature256: Int16?
    /// The number of advertisements since the start.
    public var advertisements: UInt32
    /// The time since the start in units of 0.1 s.
    public var tenthsOfSeconds: UInt32

    /// A state.
    public init(
      batteryMillivolts: UInt16? = nil, temperature256: Int16? = nil, advertisements: UInt32, tenthsOfSeconds: UInt32
    ) {
      (self.batteryMillivolts, self.temperature256) = (batteryMillivolts, temperature256)
      (self.advertisements, self.tenthsOfSeconds) = (advertisements, tenthsOfSeconds)
    }

    /// The temperature in °C.
    public var celsius: Double? { temperature256.map { Double($0) / 256 } }
  }

  private static let schemes = ["http://www.", "https://www.", "http://", "https://"]
  private static let expansions: [String] = {
    let ends = [".com", ".org", ".edu", ".net", ".info", ".biz", ".gov"]
    return ends.map { $0 + "/" } + ends
  }()
  /// The maximum number of octets of an encoded address after its scheme.
  private static let addressLimit = 17

  /// Decodes the service data of 0xFEAA.
  ///
  /// - Throws: `CodecError` if the octets are not a frame of a known type.
  public init(decoding octets: Bytes) throws(CodecError) {
    let octets = Array(octets)
    guard let type = octets.first else { throw .truncated(field: "Frame Type") }
    switch type {
    case 0x00:
      // Frames of early beacons lack the two reserved octets at the end.
      try Self.check(octets, 18, orWith: 20)
      self = .uid(
        power: Int8(bitPattern: octets[1]), namespace: Array(octets[2..<12]), instance: Array(octets[12..<18]))
    case 0x10:
      guard octets.count >= 3 else { throw .truncated(field: "URL Scheme") }
      self = .url(power: Int8(bitPattern: octets[1]), try Self.address(octets[2...]))
    case 0x20:
      guard octets.count >= 2 else { throw .truncated(field: "TLM version") }
      switch octets[1] {
      case 0x00:
        try Self.check(octets, 14)
        let (battery, temperature): (UInt16, Int16) = (bigEndian(octets[2..<4]), bigEndian(octets[4..<6]))
        self = .telemetry(
          Telemetry(
            batteryMillivolts: battery == 0 ? nil : battery, temperature256: temperature == .min ? nil : temperature,
            advertisements: bigEndian(octets[6..<10]), tenthsOfSeconds: bigEndian(octets[10..<14])))
      case 0x01:
        try Self.check(octets, 18)
        self = .encryptedTelemetry(
          Array(octets[2..<14]), salt: bigEndian(octets[14..<16]), integrityCheck: bigEndian(octets[16..<18]))
      default: throw .invalid(field: "TLM version")
      }
    case 0x30:
      try Self.check(octets, 10)
      self = .ephemeralIdentifier(power: Int8(bitPattern: octets[1]), Array(octets[2..<10]))
    default: throw .invalid(field: "Frame Type")
    }
  }

  private static func check(_ octets: [UInt8], _ count: Int, orWith other: Int? = nil) throws(CodecError) {
    guard octets.count >= count else { throw .truncated(field: "Frame") }
    guard octets.count == count || octets.count == other else { throw .trailing(count: octets.count - count) }
  }

  private static func address(_ octets: ArraySlice<UInt8>) throws(CodecError) -> String {
    guard let scheme = octets.first, Int(scheme) < schemes.count else { throw .invalid(field: "URL Scheme") }
    var text = schemes[Int(scheme)]
    for octet in octets.dropFirst() {
      if Int(octet) < expansions.count {
        text += expansions[Int(octet)]
      } else if 0x21...0x7E ~= octet {
        text.unicodeScalars.append(Unicode.Scalar(octet))
      } else {
        throw .invalid(field: "Encoded URL")
      }
    }
    return text
  }

  /// The frames of an advertisement.
  public static func frames(in contents: AdvertisedData) -> [Self] {
    contents.serviceData.filter { $0.uuid == service }.compactMap { try? Self(decoding: $0.data) }
  }

  /// The octets of the frame.
  ///
  /// - Throws: ``EddystoneError`` for an identifier of the wrong length, or an address that cannot be sent.
  public func encoded() throws(EddystoneError) -> [UInt8] {
    switch self {
    case .uid(let power, let namespace, let instance):
      guard namespace.count == 10, instance.count == 6 else { throw .identifierLength }
      return [0x00, UInt8(bitPattern: power)] + namespace + instance + [0, 0]
    case .url(let power, let address):
      return [0x10, UInt8(bitPattern: power)] + (try Self.encode(address))
    case .telemetry(let state):
      let octets: [UInt8] = (state.batteryMillivolts ?? 0).octets.reversed()
      return [0x20, 0x00] + octets + (state.temperature256 ?? .min).octets.reversed()
        + state.advertisements.octets.reversed() + state.tenthsOfSeconds.octets.reversed()
    case .encryptedTelemetry(let octets, let salt, let check):
      guard octets.count == 12 else { throw .identifierLength }
      return [0x20, 0x01] + octets + salt.octets.reversed() + check.octets.reversed()
    case .ephemeralIdentifier(let power, let identifier):
      guard identifier.count == 8 else { throw .identifierLength }
      return [0x30, UInt8(bitPattern: power)] + identifier
    }
  }

  private static func encode(_ address: String) throws(EddystoneError) -> [UInt8] {
    guard let scheme = schemes.firstIndex(where: { address.hasPrefix($0) }) else { throw .address }
    var rest = address.dropFirst(schemes[scheme].count)
    var octets = [UInt8(truncatingIfNeeded: scheme)]
    while let character = rest.utf8.first {
      if let expansion = expansions.firstIndex(where: { rest.hasPrefix($0) }) {
        octets.append(UInt8(truncatingIfNeeded: expansion))
        rest = rest.dropFirst(expansions[expansion].count)
      } else {
        guard 0x21...0x7E ~= character else { throw .address }
        octets.append(character)
        rest = rest.dropFirst()
      }
    }
    guard octets.count <= addressLimit + 1 else { throw .addressTooLong }
    return octets
  }

  /// An advertisement with the flags, the service and the frame.
  public func advertisement() throws(EddystoneError) -> Advertisement {
    let data = ServiceData(uuid: Self.service, data: try encoded()[...])
    return Advertisement(serviceUUIDs: [Self.service], elements: [.serviceData(data)])
  }
}

/// The reason why an Eddystone frame cannot be sent. The caller must change the frame.
public enum EddystoneError: Error, Hashable, Sendable, CustomStringConvertible {
  /// An identifier has the wrong length; it must be ten and six octets (UID), eight (EID), or twelve (encrypted TLM).
  case identifierLength
  /// The address does not begin with `http://` or `https://`, or has characters that are not printable ASCII.
  case address
  /// The encoded address is longer than 17 octets after its scheme.
  case addressTooLong

  /// What is wrong, and how to change it.
  public var description: String {
    switch self {
    case .identifierLength: "the identifier has a wrong length: 10 and 6 octets (UID), 8 (EID), 12 (encrypted TLM)"
    case .address: "the address is not allowed: begin with http:// or https://, and use printable ASCII"
    case .addressTooLong: "the address is longer than 17 octets when it is encoded: use a shorter one"
    }
  }
}
