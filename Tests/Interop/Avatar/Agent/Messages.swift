import BluetoothLE

/// A line of standard input: one call of the Pandora server.
struct Command: Decodable, Sendable {
  enum Operation: String, Decodable, Sendable {
    case scan, stopScan, connect, disconnect, advertise, stopAdvertising, pair, answer
  }

  /// The answer has the same number.
  var id: Int
  var operation: Operation
  /// The identifier of a peer, from a sighting or a link.
  var peer: UUID?
  var phys: [Int]?
  var isPassive: Bool?
  /// The content of manufacturer data with its company, in hexadecimal digits.
  var manufacturerData: String?
  var isConnectable: Bool?
  /// 2 to 4, of LE security mode 1.
  var level: Int?
  /// The number of a pairing question, and its answer: digits, or yes and no.
  var question: Int?
  var passkey: UInt32?
  var isAccepted: Bool?
}

/// A line of standard output.
struct Message: Encodable, Sendable {
  enum Kind: String, Encodable, Sendable {
    /// The answer to a command; `error` says that it failed.
    case answer
    case ready, sighting, connected, disconnected, question, paired, pairingFailed, security
  }

  var kind: Kind
  var id: Int?
  var error: String?
  var peer: UUID?
  var address: String?
  var isCentral: Bool?
  var sighting: Sighting?
  var question: Question?
  var level: Int?
}

struct Question: Encodable, Sendable {
  enum Kind: String, Encodable, Sendable { case justWorks, comparison, displayedPasskey, enteredPasskey }
  var kind: Kind
  var id: Int
  /// Six digits.
  var number: String?
}

/// A report of an advertisement, as the public API has it.
struct Sighting: Encodable, Sendable {
  var address: String
  /// The number of the address type in the report: public, random, and the same as identities.
  var addressKind: UInt8
  var isLegacy: Bool
  var isConnectable: Bool
  var isScannable: Bool
  var isTruncated: Bool
  var primaryPHY: Int
  var rssi: Int
  var data: Content

  init(_ device: DiscoveredDevice) {
    let report = device.report
    address = "\(report.address.octets)"
    addressKind = report.reportedAddress.kind.rawValue
    (isLegacy, isConnectable) = (report.isLegacy, report.isConnectable)
    (isScannable, isTruncated) = (report.isScannable, report.isTruncated)
    primaryPHY = report.primaryPHY == .leCoded ? 3 : 1
    rssi = device.rssi
    data = Content(device.data)
  }

  /// The decoded advertising data under the names of Pandora's DataTypes. UUIDs are in the form of their own length.
  struct Content: Encodable, Sendable {
    var uuids: [List] = []
    var solicitedUUIDs: [List] = []
    var serviceData: [String: String] = [:]
    var shortenedName: String?
    var completeName: String?
    var txPower: Int8?
    var classOfDevice: UInt32?
    var connectionInterval: [UInt16]?
    var appearance: UInt16?
    var advertisingInterval: UInt32?
    var uri: String?
    var supportedFeatures: String?
    var manufacturerData: String?

    struct List: Encodable, Sendable {
      var octets: Int
      var isComplete: Bool
      var uuids: [String]
    }

    init(_ data: AdvertisedData) {
      uuids = data.serviceUUIDLists.map {
        List(octets: $0.size.rawValue, isComplete: $0.isComplete, uuids: $0.uuids.map(\.uuidString))
      }
      solicitedUUIDs = data.solicitedServiceUUIDs.map {
        List(octets: $0.size.rawValue, isComplete: true, uuids: [$0.uuidString])
      }
      for service in data.serviceData { serviceData[service.uuid.uuidString] = service.data.hexadecimal }
      if let name = data.localName {
        if name.isComplete { completeName = name.displayText } else { shortenedName = name.displayText }
      }
      (txPower, classOfDevice) = (data.txPowerLevel, data.classOfDevice)
      connectionInterval = data.connectionIntervalRange.map { [$0.minimum, $0.maximum] }
      (appearance, advertisingInterval) = (data.appearance?.rawValue, data.advertisingInterval)
      // The other device sends the text of a URI without the code point of a scheme (Core Specification Supplement,
      // Part A, 1.18).
      uri = data.uri.map { $0.text ?? String(decoding: $0.octets, as: UTF8.self) }
      supportedFeatures = data.leSupportedFeatures?.hexadecimal
      manufacturerData = data.manufacturerData.first.map {
        [UInt8($0.company.rawValue & 0xFF), UInt8($0.company.rawValue >> 8)].hexadecimal + $0.data.hexadecimal
      }
    }
  }
}

extension Sequence where Element == UInt8 {
  var hexadecimal: String { map { String(format: "%02x", $0) }.joined() }
}
