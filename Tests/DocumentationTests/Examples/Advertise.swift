import BLEGAP
import BLEWire

/// The advertising data of a thermometer, as octets for the controller.
func thermometer() throws(AdvertisingDataError) -> AdvertisingPayload {
  let advertisement = Advertisement(
    localName: "Thermometer", serviceUUIDs: ["181A"],
    elements: [.manufacturerData(ManufacturerData(company: .internalUse, data: [0x98, 0x08]))])
  return try advertisement.payload(under: .full)
}

/// What a scanner shows of a received advertisement.
func summary(of advertisingData: Bytes, scanResponse: Bytes) -> String {
  let data = AdvertisedData(advertisingData: advertisingData, scanResponse: scanResponse)
  let name = data.localName?.displayText ?? "no name"
  let services = data.serviceUUIDs.map(\.uuidString).joined(separator: ", ")
  return "\(name), services \(services)"
}
