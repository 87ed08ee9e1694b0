// A program's own type hides the alias of the same name.
import BluetoothLE

struct Peripheral {
  var found: CBPeripheral?
  var manager = CentralManager(delegate: nil, queue: nil)
}

enum Service { case repair }

func own(_ found: CBPeripheral, _ service: CBService) -> (Peripheral, Service) { (Peripheral(found: found), .repair) }
