import BLEGAP
public import BLEWire
public import FoundationEssentials
import ToolCore

/// The payloads of the topics: JSON, with the keys in alphabetical order.
public enum Messages {
  /// A value that was received or read.
  ///
  /// `{"hex":"6608","time":"2026-01-31T12:00:00Z","unit":"°C","value":21.5}`
  public static func value(_ octets: [UInt8], of uuid: BluetoothUUID, at time: Date) -> Data {
    struct Value: Encodable {
      var hex: String
      var time: String
      var value: Double?
      var unit: String?
      var text: String?
    }
    let measured = Quantity.measured(octets, of: uuid)
    return encode(
      Value(
        hex: hexadecimal(octets), time: text(of: time), value: measured?.value, unit: measured?.unit,
        text: text(octets, of: uuid)))
  }

  /// An advertisement.
  public static func advertisement(_ entry: AdvertisementTable.Entry, gateway: String, at time: Date) -> Data {
    struct Advertisement: Encodable {
      var address: String
      var addressType: String
      var connectable: Bool
      var gateway: String
      var manufacturerData: [String: String]
      var name: String?
      var rssi: Int?
      var serviceData: [String: String]
      var services: [String]
      var time: String
      var txPower: Int?
    }
    let contents = entry.contents
    let manufacturers = contents.manufacturerData.map { data in
      let company = String(data.company.rawValue, radix: 16)
      return (String(repeating: "0", count: 4 - company.count) + company, hexadecimal(data.data))
    }
    return encode(
      Advertisement(
        address: entry.address.octets.description,
        addressType: entry.address.kind.rawValue & 1 == 1 ? "random" : "public", connectable: entry.isConnectable,
        gateway: gateway, manufacturerData: Dictionary(manufacturers, uniquingKeysWith: { _, last in last }),
        name: entry.displayName, rssi: entry.rssi,
        serviceData: Dictionary(
          contents.serviceData.map { ($0.uuid.uuidString, hexadecimal($0.data)) }, uniquingKeysWith: { _, last in last }
        ),
        services: contents.serviceUUIDs.map(\.uuidString), time: text(of: time),
        txPower: contents.txPowerLevel.map(Int.init)))
  }

  /// Whether a gateway is connected to a device, and the paths of the subscriptions that the device refused.
  public static func connection(
    isConnected: Bool, gateway: String, at time: Date, reason: String? = nil, refused: [String]? = nil
  ) -> Data {
    struct Connection: Encodable {
      var state: String
      var gateway: String
      var time: String
      var reason: String?
      var refused: [String]?
    }
    return encode(
      Connection(
        state: isConnected ? "connected" : "disconnected", gateway: gateway, time: text(of: time), reason: reason,
        refused: refused))
  }

  /// Reads a ``connection(isConnected:gateway:at:reason:refused:)``; nil for any other payload.
  static func readConnection(_ payload: Data) -> (gateway: String, isConnected: Bool)? {
    struct Connection: Decodable {
      var gateway: String
      var state: String?
    }
    guard let found = try? JSONDecoder().decode(Connection.self, from: payload) else { return nil }
    return (found.gateway, found.state == "connected")
  }

  /// The counters of a gateway.
  public struct Counters: Encodable, Equatable, Sendable {
    /// ``GatewayInstance/number`` and ``GatewayInstance/start``.
    public var instance: String
    public var started: String
    public var version: String
    public var adapter: String?
    public var devices = 0
    public var connected = 0
    public var kept = 0
    public var keptLimit = 0
    public var acknowledged = 0
    public var lost = 0
    public var coalescedAdvertisements = 0
    public var rejectedRequests = 0
    /// Subscriptions that the connected devices have refused.
    public var refusedSubscriptions = 0

    public init(version: String, instance: GatewayInstance) {
      (self.version, self.instance, started) = (version, instance.number, instance.start)
    }
  }

  public static func lost(_ loss: ValueQueue.Loss) -> Data {
    struct Lost: Encodable {
      var values: Int
      var first: String
      var last: String
    }
    return encode(Lost(values: loss.values, first: text(of: loss.first), last: text(of: loss.last)))
  }

  /// The answer to a request.
  public static func result(
    of request: Request, _ outcome: Result<[UInt8], GatewayError>, uuid: BluetoothUUID, at time: Date
  ) -> Data {
    struct Failure: Encodable {
      var kind: String
      var text: String
    }
    struct Answer: Encodable {
      var operation: String
      var id: String?
      var time: String
      var hex: String?
      var value: Double?
      var error: Failure?
    }
    var answer = Answer(operation: request.operation, id: request.id, time: text(of: time))
    switch outcome {
    case .success(let octets):
      if case .read = request.kind {
        answer.hex = hexadecimal(octets)
        answer.value = Quantity.measured(octets, of: uuid)?.value
      }
    case .failure(let error): answer.error = Failure(kind: error.kind.rawValue, text: error.text)
    }
    return encode(answer)
  }

  public static func encode(_ value: some Encodable, keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys) -> Data {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = keys
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // The values are strings and finite numbers: encoding does not fail.
    return (try? encoder.encode(value)) ?? Data("{}".utf8)
  }

  /// ISO 8601 with milliseconds, in UTC.
  static func text(of time: Date) -> String {
    time.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
  }

  static func hexadecimal(_ octets: some Sequence<UInt8>) -> String {
    octets.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// The text of a value without its padding: of a text characteristic whatever it is, of another one without a
  /// quantity UTF-8 text without control characters, with nothing but NULs after it. Nil for anything else.
  private static func text(_ octets: [UInt8], of uuid: BluetoothUUID) -> String? {
    let text = DeviceText(octets[...])
    guard !text.isEmpty, Quantity.of(uuid) == nil else { return nil }
    if uuid.isTextType { return String(printable: text.repaired) }
    let rest = octets.dropFirst(DeviceText.untilNUL(octets[...]).count)
    guard let valid = text.valid, rest.allSatisfy({ $0 == 0 }) else { return nil }
    return valid.unicodeScalars.allSatisfy(String.isPrintable) ? valid : nil
  }
}
