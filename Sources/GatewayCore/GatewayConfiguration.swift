public import BLEWire
import Foundation

/// The configuration of a gateway: a JSON file, or the options of the command line.
public struct GatewayConfiguration: Codable, Equatable, Sendable {
  /// Where the broker is, and how the gateway logs in.
  public struct Broker: Codable, Equatable, Sendable {
    public var host = "localhost"
    /// 1883, or 8883 with TLS, where it is nil.
    public var port: UInt16?
    public var username: String?
    /// A file with the password in its first line. The password itself is not a part of the configuration.
    public var passwordFile: String?
    /// A file with the certificates of the authorities that may have signed the broker's; it turns TLS on.
    public var certificateAuthorities: String?

    public init() {}

    enum CodingKeys: String, CodingKey, CaseIterable { case host, port, username, passwordFile, certificateAuthorities }

    public init(from decoder: any Decoder) throws {
      try rejectUnknownKeys(of: decoder, known: CodingKeys.self)
      let values = try decoder.container(keyedBy: CodingKeys.self)
      host = try values.decodeIfPresent(String.self, forKey: .host) ?? host
      port = try values.decodeIfPresent(UInt16.self, forKey: .port)
      username = try values.decodeIfPresent(String.self, forKey: .username)
      passwordFile = try values.decodeIfPresent(String.self, forKey: .passwordFile)
      certificateAuthorities = try values.decodeIfPresent(String.self, forKey: .certificateAuthorities)
    }

    /// The port that is used.
    public var effectivePort: UInt16 { port ?? (certificateAuthorities == nil ? 1883 : 8883) }
  }

  /// A characteristic whose values are published: `181A/2A6E`.
  public struct Subscription: Codable, Hashable, Sendable, CustomStringConvertible {
    public var service: BluetoothUUID
    public var characteristic: BluetoothUUID

    /// Reads `SERVICE/CHARACTERISTIC`, two UUIDs.
    public init?(_ text: some StringProtocol) {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, let service = BluetoothUUID(parts[0]), let characteristic = BluetoothUUID(parts[1]) else {
        return nil
      }
      self.service = service
      self.characteristic = characteristic
    }

    public init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      let text = try value.decode(String.self)
      guard let subscription = Self(text) else {
        throw DecodingError.dataCorruptedError(
          in: value, debugDescription: "'\(text)' is not SERVICE/CHARACTERISTIC, such as 181A/2A6E")
      }
      self = subscription
    }

    public func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      try value.encode(description)
    }

    public var description: String { "\(service.uuidString)/\(characteristic.uuidString)" }
  }

  /// Devices to which the gateway connects, and the values that it subscribes to there.
  public struct Device: Codable, Equatable, Sendable {
    /// The address with its kind: `F0:F1:F2:F3:F4:F5` is a public address, `F0:F1:F2:F3:F4:F5-random` a random one.
    public var address: String?
    /// The name in the advertisement. Without address and name: every device that advertises a service of `subscribe`.
    public var name: String?
    public var subscribe: [Subscription]

    public init(address: String? = nil, name: String? = nil, subscribe: [Subscription]) {
      self.address = address
      self.name = name
      self.subscribe = subscribe
    }

    enum CodingKeys: String, CodingKey, CaseIterable { case address, name, subscribe }

    public init(from decoder: any Decoder) throws {
      try rejectUnknownKeys(of: decoder, known: CodingKeys.self)
      let values = try decoder.container(keyedBy: CodingKeys.self)
      address = try values.decodeIfPresent(String.self, forKey: .address)
      name = try values.decodeIfPresent(String.self, forKey: .name)
      subscribe = try values.decodeIfPresent([Subscription].self, forKey: .subscribe) ?? []
      if let address, DeviceAddress(topicLevel: address) == nil {
        throw DecodingError.dataCorruptedError(
          forKey: .address, in: values,
          debugDescription:
            "'\(address)' is not an address such as F0:F1:F2:F3:F4:F5 (public) or F0:F1:F2:F3:F4:F5-random")
      }
    }
  }

  /// The name of this gateway, in topics and client identifier; each gateway of a broker has its own.
  public var identifier = ""
  public var broker = Broker()
  /// The first part of each topic.
  public var prefix = "ble"
  /// The prefix of Home Assistant's discovery topics; nil for no such topics.
  public var homeAssistant: String? = "homeassistant"
  /// Whether advertisements are published.
  public var advertisements = true
  /// Seconds between two publications of the advertisement of one device.
  public var advertisementInterval = 10
  public var devices: [Device] = []
  /// Subscribed values that are kept while the broker is away. One takes 200 to 1,800 octets.
  public var keptValues = 10_000

  /// The numbers of values that can be kept.
  public static let keptValuesRange = 1...1_000_000

  public init() {}

  enum CodingKeys: String, CodingKey, CaseIterable {
    case identifier, broker, prefix, homeAssistant, advertisements, advertisementInterval, devices, keptValues
  }

  public init(from decoder: any Decoder) throws {
    try rejectUnknownKeys(of: decoder, known: CodingKeys.self)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    identifier = try values.decodeIfPresent(String.self, forKey: .identifier) ?? identifier
    broker = try values.decodeIfPresent(Broker.self, forKey: .broker) ?? broker
    prefix = try values.decodeIfPresent(String.self, forKey: .prefix) ?? prefix
    if values.contains(.homeAssistant) {
      homeAssistant = try values.decodeIfPresent(String.self, forKey: .homeAssistant)
    }
    advertisements = try values.decodeIfPresent(Bool.self, forKey: .advertisements) ?? advertisements
    advertisementInterval =
      try values.decodeIfPresent(Int.self, forKey: .advertisementInterval) ?? advertisementInterval
    devices = try values.decodeIfPresent([Device].self, forKey: .devices) ?? devices
    keptValues = try values.decodeIfPresent(Int.self, forKey: .keptValues) ?? keptValues
  }

  /// Reads a file.
  ///
  /// - Throws: ``GatewayError`` with the path and the field at fault.
  public init(file: String) throws(GatewayError) {
    do {
      self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    } catch let error as DecodingError {
      throw GatewayError(.configuration, "\(file): \(Self.text(of: error))")
    } catch {
      throw GatewayError(.input, "\(file) cannot be read: \(error.localizedDescription)")
    }
  }

  private static func text(of error: DecodingError) -> String {
    func field(_ context: DecodingError.Context) -> String {
      let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
      return path.isEmpty ? "" : "\(path): "
    }
    switch error {
    case .dataCorrupted(let context): return field(context) + context.debugDescription
    case .keyNotFound(let key, let context): return field(context) + "'\(key.stringValue)' is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context): return field(context) + context.debugDescription
    @unknown default: return "\(error)"
    }
  }

  /// Checks what the types do not say.
  ///
  /// - Throws: ``GatewayError`` that names the field and what it takes.
  public func check() throws(GatewayError) {
    func reject(_ text: String) throws(GatewayError) { throw GatewayError(.configuration, text) }
    if !Topics.isLevel(identifier) {
      try reject("identifier: '\(identifier)' must be a name without '/', '+' and '#'. Set one with --id NAME")
    }
    if !Topics.isPrefix(prefix) { try reject("prefix: '\(prefix)' is empty or has '+', '#' or an empty part") }
    if let homeAssistant, !Topics.isPrefix(homeAssistant) {
      try reject("homeAssistant: '\(homeAssistant)' is empty or has '+', '#' or an empty part")
    }
    if broker.host.isEmpty { try reject("broker.host is empty") }
    if !(1...3600 ~= advertisementInterval) {
      try reject("advertisementInterval: \(advertisementInterval) is not 1 to 3600 seconds")
    }
    if !(Self.keptValuesRange ~= keptValues) { try reject("keptValues: \(keptValues) is not 1 to 1000000") }
    for (index, device) in devices.enumerated() where device.subscribe.isEmpty {
      try reject("devices[\(index)]: 'subscribe' is empty; name characteristics as 181A/2A6E")
    }
  }

  /// What is subscribed to on a device; empty where the gateway does not connect to it on its own.
  public func subscriptions(
    address: DeviceAddress, name: String?, services: [BluetoothUUID]
  ) -> [Subscription] {
    var found: [Subscription] = []
    for device in devices {
      let matches =
        if let wanted = device.address {
          DeviceAddress(topicLevel: wanted) == address
        } else if let wanted = device.name { wanted == name } else {
          device.subscribe.contains { services.contains($0.service) }
        }
      if matches { found += device.subscribe.filter { !found.contains($0) } }
    }
    return found
  }
}

private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

/// A misspelt field would otherwise be ignored.
private func rejectUnknownKeys<Keys: CodingKey & CaseIterable>(of decoder: any Decoder, known: Keys.Type) throws {
  let names = known.allCases.map(\.stringValue)
  let values = try decoder.container(keyedBy: AnyKey.self)
  for key in values.allKeys where !names.contains(key.stringValue) {
    throw DecodingError.dataCorruptedError(
      forKey: key, in: values, debugDescription: "unknown field; the fields are \(names.joined(separator: ", "))")
  }
}
