// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth

/// A reader in the style of the tutorials on the central role: it uses everything of the sensor, disconnects, connects
/// again by identifier, and ends. The identifier stays in the user defaults, for the next run.
class RoomReader: NSObject {
  static let roomService = CBUUID(string: "181A")
  static let identifierKey = "sensor"

  enum Round { case first, second }

  var centralManager: CBCentralManager!
  var sensor: CBPeripheral?
  var round = Round.first
  var characteristics: [CBUUID: CBCharacteristic] = [:]
  var received = Data()
  var commandsToSend: [Data] = []
  let longLabel = Data(String(repeating: "A room with a long name. ", count: 20).utf8)
  let defaults = UserDefaults.standard

  override init() {
    super.init()
    centralManager = CBCentralManager(delegate: self, queue: DispatchQueue.main)
  }

  func connect(to peripheral: CBPeripheral) {
    sensor = peripheral
    peripheral.delegate = self
    centralManager.connect(peripheral, options: [CBConnectPeripheralOptionNotifyOnDisconnectionKey: true])
  }

  /// Without a scan, to the sensor of the first round or of the last run.
  func connectAgain() {
    guard let text = defaults.string(forKey: RoomReader.identifierKey), let identifier = UUID(uuidString: text),
      let known = centralManager.retrievePeripherals(withIdentifiers: [identifier]).first
    else {
      print("retrievePeripherals found nothing")
      exit(1)
    }
    print("retrievePeripherals \(known.identifier == identifier) \(known.state == .disconnected)")
    round = .second
    connect(to: known)
  }
}

extension RoomReader: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn:
      print("centralManagerDidUpdateState poweredOn")
      if CommandLine.arguments.contains("again") {
        connectAgain()
      } else {
        central.scanForPeripherals(
          withServices: [RoomReader.roomService], options: [CBCentralManagerScanOptionAllowDuplicatesKey: false])
      }
    case .poweredOff: print("Please switch Bluetooth on")
    case .unauthorized: print("Please allow Bluetooth")
    case .unsupported: print("This device has no Bluetooth")
    case .resetting: print("Bluetooth resets")
    case .unknown: print("The state is unknown")
    @unknown default: fatalError()
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard sensor == nil else { return }
    let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? "unnamed"
    let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
    let isConnectable = (advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue ?? false
    print("didDiscover \(name) \(services.map(\.uuidString)) \(isConnectable) \((-127...127).contains(RSSI.intValue))")
    central.stopScan()
    defaults.set(peripheral.identifier.uuidString, forKey: RoomReader.identifierKey)
    defaults.synchronize()
    connect(to: peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    print("didConnect \(peripheral.name ?? "unnamed") \(peripheral.services == nil)")
    peripheral.discoverServices([RoomReader.roomService])
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    print("didFailToConnect \(error?.localizedDescription ?? "")")
    exit(1)
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    if let error = error as? CBError {
      print("didDisconnectPeripheral \(error.code)")
      exit(1)
    }
    print("didDisconnectPeripheral")
    characteristics.removeAll()
    sensor = nil
    if round == .first {
      connectAgain()
    } else {
      exit(0)
    }
  }
}
