public import BLEWire

/// A characteristic of a device, as topics name it.
///
/// A device can have several services of one type, and a service several characteristics of one type (Vol 3, Part G,
/// 3). Each has a number among those of its type, in the order of the handles: among the services of the device, and
/// among the characteristics of its service.
public struct AttributeName: Hashable, Sendable {
  public let address: DeviceAddress
  public let service: BluetoothUUID
  /// 1 for the first.
  public let serviceNumber: Int
  public let characteristic: BluetoothUUID
  /// 1 for the first.
  public let characteristicNumber: Int

  public init(
    address: DeviceAddress, service: BluetoothUUID, serviceNumber: Int = 1, characteristic: BluetoothUUID,
    characteristicNumber: Int = 1
  ) {
    (self.address, self.service, self.serviceNumber) = (address, service, serviceNumber)
    (self.characteristic, self.characteristicNumber) = (characteristic, characteristicNumber)
  }

  /// Reads the two levels of ``path``; nil for text in any other form.
  init?(address: DeviceAddress, service: some StringProtocol, characteristic: some StringProtocol) {
    guard let service = Self.read(service), let characteristic = Self.read(characteristic) else { return nil }
    self.init(
      address: address, service: service.uuid, serviceNumber: service.number, characteristic: characteristic.uuid,
      characteristicNumber: characteristic.number)
  }

  /// The levels of the topic: `180F/2A19` for the first characteristic of the first service of these types,
  /// `180F-2/2A19` for that of the second service, `180F/2A19-2` for the second characteristic of the first one.
  public var path: String {
    "\(Self.level(service, serviceNumber))/\(Self.level(characteristic, characteristicNumber))"
  }

  private static func level(_ uuid: BluetoothUUID, _ number: Int) -> String {
    number == 1 ? uuid.uuidString : "\(uuid.uuidString)-\(number)"
  }

  /// Whether a level of a topic is a UUID, with a number or without.
  static func isLevel(_ text: some StringProtocol) -> Bool { read(text) != nil }

  private static func read(_ text: some StringProtocol) -> (uuid: BluetoothUUID, number: Int)? {
    if let uuid = BluetoothUUID(text) { return (uuid, 1) }
    // A UUID of 128 bits has hyphens, too.
    guard let hyphen = text.lastIndex(of: "-"), let uuid = BluetoothUUID(text[..<hyphen]) else { return nil }
    let digits = text[text.index(after: hyphen)...]
    // A number has one form. A device has at most 65,535 attributes.
    guard let number = UInt16(digits), number > 1, digits == "\(number)" else { return nil }
    return (uuid, Int(number))
  }
}

/// A characteristic of a connected device, with what the gateway does with it.
public struct DeviceAttribute: Hashable, Sendable {
  public let name: AttributeName
  /// Whether it has a value that the gateway can obtain.
  public let isReadable: Bool
  /// Whether the device offers writes.
  public let isWritable: Bool
  /// Whether the gateway stays connected to publish its values.
  public let isPublished: Bool
  /// Its user description (Vol 3, Part G, 3.3.3.2), if the device has several characteristics of this type.
  public let userDescription: String?

  public init(
    _ name: AttributeName, isReadable: Bool, isWritable: Bool, isPublished: Bool, userDescription: String? = nil
  ) {
    (self.name, self.isReadable) = (name, isReadable)
    (self.isWritable, self.isPublished) = (isWritable, isPublished)
    self.userDescription = userDescription
  }
}

/// The characteristics of a connected device, in the order of their handles.
public struct DeviceAttributes: Sendable {
  public let names: [AttributeName]

  /// The characteristics of one device whose values are published; further ones are not.
  public static let publishedLimit = 64

  /// - Parameter services: the services in the order of their handles, each with its characteristics in that order.
  public init(
    of address: DeviceAddress, services: [(service: BluetoothUUID, characteristics: [BluetoothUUID])]
  ) {
    var names: [AttributeName] = []
    var serviceNumbers: [BluetoothUUID: Int] = [:]
    for (service, characteristics) in services {
      serviceNumbers[service, default: 0] += 1
      var numbers: [BluetoothUUID: Int] = [:]
      for characteristic in characteristics {
        numbers[characteristic, default: 0] += 1
        names.append(
          AttributeName(
            address: address, service: service, serviceNumber: serviceNumbers[service] ?? 1,
            characteristic: characteristic,
            characteristicNumber: numbers[characteristic] ?? 1))
      }
    }
    self.names = names
  }

  /// The characteristics of types of which the device has several.
  public var ofSharedTypes: [AttributeName] {
    let byType = Dictionary(grouping: names, by: \.characteristic)
    return names.filter { byType[$0.characteristic, default: []].count > 1 }
  }

  /// The user descriptions that no other characteristic of the type has: the others tell nothing apart.
  public static func distinct(_ userDescriptions: [AttributeName: String]) -> [AttributeName: String] {
    userDescriptions.filter { name, text in
      !userDescriptions.contains { $0 != name && $0.characteristic == name.characteristic && $1 == text }
    }
  }

  /// The characteristics of ``published(_:)``.
  public struct Published: Equatable, Sendable {
    /// At most ``DeviceAttributes/publishedLimit``.
    public var names: [AttributeName] = []
    /// The subscriptions of which the device has no characteristic.
    public var missing: [GatewayConfiguration.Subscription] = []
    /// The number of characteristics beyond the limit.
    public var excess = 0
  }

  /// The characteristics that a list of subscriptions names: each one of a type in each service of a type.
  public func published(_ subscriptions: [GatewayConfiguration.Subscription]) -> Published {
    var found = Published()
    for subscription in subscriptions {
      let matching = names.filter {
        $0.service == subscription.service && $0.characteristic == subscription.characteristic
      }
      if matching.isEmpty { found.missing.append(subscription) }
      let room = Self.publishedLimit - found.names.count
      found.names += matching.prefix(room)
      found.excess += max(0, matching.count - room)
    }
    return found
  }
}
