// The names of another library mean what they mean there.
import CoreBluetooth
import Gadgets

func both(_ central: CBCentral, _ peripheral: CBPeripheral) {
  let _: Int = Peripheral().wheels
  let _: Central = Central()
  let _: Service = .repair
  let _: [CBPeer] = [central, peripheral]
}
