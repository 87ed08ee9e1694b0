// Where another library has a name, the module or the prefix says which is meant.
import BluetoothLE
import Gadgets

func library(_ peripheral: CBPeripheral) {
  let _: Int = Gadgets.Peripheral().wheels
  let _: BluetoothLE.Peripheral = peripheral
  let _: CentralManager.Type = CBCentralManager.self
}
