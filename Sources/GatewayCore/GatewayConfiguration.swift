public import BLEWire
import ToolCore

/// The configuration of a gateway: a JSON file, or the options of the command line.
public struct GatewayConfiguration: Equatable, Sendable {
  /// The address of the broker, and how the gateway logs in.
  public struct Broker: Equatable, Sendable {
    public var host = "localhost"
    /// 1883, or 8883 with TLS, if it is nil.
    public var port: UInt16?
    public var username: String?
    /// A file with the password in its first line. The password itself is not a part of the configuration.
    public var passwordFile: String?
    /// A file with the certificates of the authorities that may have signed the broker's; it enables TLS.
    public var certificateAuthorities: String?

    public init() {}

    init(_ value: ConfigurationValue) throws(ConfigurationFault) {
      let fields = try value.fields(["host", "port", "username", "passwordFile", "certificateAuthorities"])
      host = try fields["host"]?.text() ?? host
      port = try fields["port"]?.number(in: 1...UInt16.max)
      username = try fields["username"]?.text()
      passwordFile = try fields["passwordFile"]?.text()
      certificateAuthorities = try fields["certificateAuthorities"]?.text()
    }

    /// Whether others in the network can read the password.
    public var sendsPasswordInClear: Bool {
      guard username != nil, passwordFile != nil, certificateAuthorities == nil else { return false }
      return !(host == "localhost" || host.hasPrefix("127.") || host == "::1")
    }

    /// The port that is used.
    public var effectivePort: UInt16 { port ?? (certificateAuthorities == nil ? 1883 : 8883) }
  }

  /// A characteristic whose values are published: `181A/2A6E`.
  public struct Subscription: Hashable, Sendable, CustomStringConvertible {
    public var service: BluetoothUUID
    public var characteristic: BluetoothUUID

    /// Why a text is no subscription.
    public struct Failure: Error, CustomStringConvertible { public let description: String }

    /// Reads `SERVICE/CHARACTERISTIC`: two UUIDs, or the names that the Bluetooth SIG has given them.
    ///
    /// - Throws: ``Failure`` with the part at fault.
    public init(_ text: String) throws(Failure) {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else {
        throw Failure(
          description: "'\(String(printable: text.prefix(80)))' is not SERVICE/CHARACTERISTIC, such as 181A/2A6E or "
            + "'Environmental Sensing/Temperature'")
      }
      do throws(UUIDName.Failure) {
        service = try UUIDName.uuid(parts[0], of: .service)
        characteristic = try UUIDName.uuid(parts[1], of: .characteristic)
      } catch { throw Failure(description: error.description) }
    }

    init(_ value: ConfigurationValue) throws(ConfigurationFault) {
      let text = try value.text()
      do throws(Failure) { self = try Self(text) } catch { throw value.fault(error.description) }
    }

    public var description: String { "\(service.uuidString)/\(characteristic.uuidString)" }
  }

  /// Devices to which the gateway connects, and the values that it subscribes to there.
  public struct Device: Equatable, Sendable {
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

    init(_ value: ConfigurationValue) throws(ConfigurationFault) {
      let fields = try value.fields(["address", "name", "subscribe"])
      address = try fields["address"].map(Self.address)
      name = try fields["name"]?.text()
      let list = try fields.required("subscribe")
      subscribe = try list.list { value throws(ConfigurationFault) in try Subscription(value) }
      if subscribe.isEmpty { throw list.fault("it is empty; name characteristics as 181A/2A6E") }
    }

    private static func address(_ value: ConfigurationValue) throws(ConfigurationFault) -> String {
      let text = try value.text()
      guard DeviceAddress(topicLevel: text) != nil else {
        throw value.fault(
          "'\(String(printable: text.prefix(40)))' is not an address such as F0:F1:F2:F3:F4:F5 (public) or F0:F1:F2:F3:F4:F5-random"
        )
      }
      return text
    }
  }

  /// The name of this gateway, in topics and client identifier; each gateway of a broker has its own.
  public var identifier = ""
  public var broker = Broker()
  /// The first part of each topic.
  public var prefix = "ble"
  /// The prefix of Home Assistant's discovery topics; nil for no such topics.
  public var homeAssistant: String? = "homeassistant"
  /// The seconds after which Home Assistant shows a sensor without a new value as unavailable; nil for never.
  public var expireAfter: Int?
  /// Whether advertisements are published.
  public var advertisements = true
  /// Seconds between two publications of the advertisement of one device.
  public var advertisementInterval = 10
  public var devices: [Device] = []
  /// Subscribed values that are kept while the broker is unavailable. One takes 200 to 1,800 octets.
  public var keptValues = 10_000

  /// The numbers of values that can be kept.
  public static let keptValuesRange = 1...1_000_000
  /// The seconds after which a sensor can expire.
  public static let expireAfterRange = 1...31_536_000
  /// The seconds that can be between two publications.
  static let advertisementIntervalRange = 1...3_600

  public init() {}

  /// Reads a file.
  ///
  /// - Throws: ``GatewayError`` with the file, the line, the field at fault and what it takes.
  public init(file: String) throws(GatewayError) {
    do throws(ConfigurationError) {
      self = try ConfigurationValue.read(file: file) { value throws(ConfigurationFault) in try Self(value) }
    } catch { throw GatewayError(error.kind == .unreadable ? .input : .configuration, error.description) }
  }

  /// Reads the content of a file.
  ///
  /// - Throws: ``GatewayError`` with the file, the line, the field at fault and what it takes.
  public init(_ octets: [UInt8], of file: String) throws(GatewayError) {
    do throws(ConfigurationError) {
      self = try ConfigurationValue.read(octets, of: file) { value throws(ConfigurationFault) in try Self(value) }
    } catch { throw GatewayError(.configuration, error.description) }
  }

  private init(_ value: ConfigurationValue) throws(ConfigurationFault) {
    let fields = try value.fields([
      "identifier", "broker", "prefix", "homeAssistant", "expireAfter", "advertisements", "advertisementInterval",
      "devices",
      "keptValues",
    ])
    identifier = try fields["identifier"]?.text() ?? identifier
    broker = try fields["broker"].map { value throws(ConfigurationFault) in try Broker(value) } ?? broker
    prefix = try fields["prefix"]?.text() ?? prefix
    // Null is none.
    if fields.has("homeAssistant") { homeAssistant = try fields["homeAssistant"]?.text() }
    expireAfter = try fields["expireAfter"]?.number(in: Self.expireAfterRange)
    advertisements = try fields["advertisements"]?.flag() ?? advertisements
    advertisementInterval =
      try fields["advertisementInterval"]?.number(in: Self.advertisementIntervalRange) ?? advertisementInterval
    devices = try fields["devices"]?.list { value throws(ConfigurationFault) in try Device(value) } ?? devices
    keptValues = try fields["keptValues"]?.number(in: Self.keptValuesRange) ?? keptValues
    for (name, text) in names where !text.isEmpty || name != "identifier" {
      if let problem = Self.problem(with: text, as: name) { throw fields[name]?.fault(problem) ?? value.fault(problem) }
    }
    if broker.host.isEmpty { throw value.fault("broker.host is empty") }
  }

  /// The fields that are parts of topics.
  private var names: [(name: String, text: String)] {
    [("identifier", identifier), ("prefix", prefix)] + (homeAssistant.map { [("homeAssistant", $0)] } ?? [])
  }

  /// Why a text cannot be a part of topics; nil if it can.
  private static func problem(with text: String, as name: String) -> String? {
    let isIdentifier = name == "identifier"
    if isIdentifier ? Topics.isLevel(text) : Topics.isPrefix(text) { return nil }
    let shown = String(printable: text)
    return isIdentifier
      ? "'\(shown)' must be a name without '/', '+' and '#'. Set one with --id NAME"
      : "'\(shown)' is empty or has '+', '#' or an empty part"
  }

  /// Checks the values that the types do not restrict.
  ///
  /// - Throws: ``GatewayError`` that names the field and what it takes.
  public func check() throws(GatewayError) {
    func reject(_ text: String) throws(GatewayError) { throw GatewayError(.configuration, text) }
    for (name, text) in names {
      if let problem = Self.problem(with: text, as: name) { try reject("\(name): \(problem)") }
    }
    if broker.host.isEmpty { try reject("broker.host is empty") }
    if broker.passwordFile != nil, broker.username == nil {
      try reject("broker.passwordFile: a password needs a user name. Give it with --username NAME")
    }
    if !(Self.advertisementIntervalRange ~= advertisementInterval) {
      try reject("advertisementInterval: \(advertisementInterval) is not 1 to 3600 seconds")
    }
    if !(Self.keptValuesRange ~= keptValues) { try reject("keptValues: \(keptValues) is not 1 to 1000000") }
    for (index, device) in devices.enumerated() where device.subscribe.isEmpty {
      try reject("devices[\(index)].subscribe: it is empty; name characteristics as 181A/2A6E")
    }
  }

  /// The subscriptions on a device; empty if the gateway does not connect to it on its own.
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
