/// The Device Information Service (DIS 1.2). All characteristics are optional, and constant while a client is
/// connected.
///
/// ```swift
/// var information = DeviceInformation()
/// information.manufacturerName = "BluetoothLE for Swift"
/// information.modelNumber = "Chest strap 1"
/// try await adapter.publish([information.localService()])
/// let found = try await device.readDeviceInformation()
/// ```
public struct DeviceInformation: Hashable, Sendable {
  /// The service, 0x180A.
  public static let service: BluetoothUUID = "180A"

  /// System ID, 0x2A23.
  public var systemID: SystemID?
  /// Model Number String, 0x2A24.
  public var modelNumber: String?
  /// Serial Number String, 0x2A25. A serial number can identify the owner: consider requiring encryption.
  public var serialNumber: String?
  /// Firmware Revision String, 0x2A26.
  public var firmwareRevision: String?
  /// Hardware Revision String, 0x2A27.
  public var hardwareRevision: String?
  /// Software Revision String, 0x2A28.
  public var softwareRevision: String?
  /// Manufacturer Name String, 0x2A29.
  public var manufacturerName: String?
  /// IEEE 11073-20601 Regulatory Certification Data List, 0x2A2A: the octets of the list, most significant octet of
  /// each number first.
  public var regulatoryCertification: [UInt8]?
  /// PnP ID, 0x2A50.
  public var pnpID: PnPID?
  /// UDI for Medical Devices, 0x2BFF.
  public var deviceIdentifier: MedicalDeviceIdentifier?

  /// No information.
  public init() {}

  private static let texts: [(BluetoothUUID, any WritableKeyPath<Self, String?> & Sendable)] = [
    ("2A29", \.manufacturerName), ("2A24", \.modelNumber), ("2A25", \.serialNumber), ("2A27", \.hardwareRevision),
    ("2A26", \.firmwareRevision), ("2A28", \.softwareRevision),
  ]

  /// The service with a characteristic for each property that is not nil.
  ///
  /// - Parameter security: the security that the link must have.
  public func localService(security: RequiredSecurity = .none) -> LocalService {
    var values: [(BluetoothUUID, [UInt8]?)] = Self.texts.map { ($0, self[keyPath: $1]?.octets) }
    values += [
      ("2A23", systemID?.octets), ("2A2A", regulatoryCertification), ("2A50", pnpID?.octets),
      ("2BFF", deviceIdentifier?.octets),
    ]
    let characteristics = values.compactMap { uuid, octets in
      octets.map { LocalCharacteristic(uuid).value($0, security: security) }
    }
    return LocalService(Self.service, characteristics)
  }
}

extension RemoteDevice {
  /// Reads the Device Information Service. A characteristic that the device does not have, or that is malformed, is
  /// nil.
  ///
  /// - Throws: ``BLEError/Kind/notFound`` if the device does not have the service.
  public func readDeviceInformation() async throws(BLEError) -> DeviceInformation {
    var information = DeviceInformation()
    for characteristic in try await service(DeviceInformation.service).characteristics {
      information.set(characteristic.uuid, try await read(characteristic))
    }
    return information
  }
}

extension DeviceInformation {
  /// Sets the property of a characteristic from the octets of its value; a string is without the padding of its field
  /// (``DeviceText``).
  public mutating func set(_ characteristic: BluetoothUUID, _ octets: [UInt8]) {
    if let text = Self.texts.first(where: { $0.0 == characteristic }) {
      self[keyPath: text.1] = DeviceText(octets[...]).valid
      return
    }
    switch characteristic {
    case "2A23": systemID = SystemID(octets: octets)
    case "2A2A": regulatoryCertification = octets
    case "2A50": pnpID = PnPID(octets: octets)
    case "2BFF": deviceIdentifier = MedicalDeviceIdentifier(octets: octets)
    default: break
    }
  }
}
