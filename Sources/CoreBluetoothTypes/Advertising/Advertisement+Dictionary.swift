public import BLEGAP
public import BLEWire
public import Foundation

extension Advertisement {
  /// Reads the dictionary of CoreBluetooth's `startAdvertising`.
  ///
  /// - Parameter ignored: called with a line for each key that is not supported.
  /// - Throws: `invalidParameters`, naming the key whose value has the wrong type.
  init(dictionary: [String: Any], ignored: (String) -> Void = { _ in }) throws(CBError) {
    self.init()
    // Sorted, so that the same mistake always gives the same message.
    for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) {
      switch key {
      case CBAdvertisementDataLocalNameKey:
        guard let name = value as? String ?? (value as? NSString).map({ String(describing: $0) }) else {
          throw Self.wrongType(key, "a String", value)
        }
        localName = name
      case CBAdvertisementDataServiceUUIDsKey:
        guard let uuids = BluetoothUUID.list(value) else { throw Self.wrongType(key, "an array of CBUUID", value) }
        serviceUUIDs = uuids
      default:
        ignored(
          "the key \(key) is ignored: only \(CBAdvertisementDataLocalNameKey) and \(CBAdvertisementDataServiceUUIDsKey) are advertised; startAdvertising(_: Advertisement) takes everything else"
        )
      }
    }
  }

  private static func wrongType(_ key: String, _ wanted: String, _ value: Any) -> CBError {
    CBError(.invalidParameters, "the key \(key) takes \(wanted), not \(type(of: value)); nothing is advertised")
  }
}

extension ADElement {
  /// Data in the format of a company.
  ///
  /// - Parameter company: its number (Assigned Numbers, 7.1).
  public static func manufacturerData(company: UInt16, _ data: Data) -> Self {
    .manufacturerData(ManufacturerData(company: CompanyIdentifier(rawValue: company), data: [UInt8](data)[...]))
  }

  /// Data in the format of a service.
  public static func serviceData(_ uuid: BluetoothUUID, _ data: Data) -> Self {
    .serviceData(ServiceData(uuid: uuid, data: [UInt8](data)[...]))
  }
}
