// Both modules in one file: a type has two names.
import BluetoothLE
import CoreBluetooth

func names(_ peripheral: CBPeripheral, _ time: CFAbsoluteTime) -> Peripheral {
  let _: CentralManager.Type = CBCentralManager.self
  let _: BluetoothError.Code = CBError.Code.unknown
  let _: [String] = [AdvertisementDataLocalNameKey, CBAdvertisementDataLocalNameKey]
  return peripheral
}
