import BluetoothLE

/// A central manager that lines direct. It names devices as they advertise.
@MainActor final class CentralDriver: NSObject, @MainActor CentralManagerDelegate, @MainActor PeripheralDelegate {
  private let name: String
  private let manager: CentralManager
  private var waiting: [[String]] = []
  private var devices: [String: Peripheral] = [:]
  /// The services whose characteristics are not there yet, by the device.
  private var undiscovered: [UUID: Int] = [:]

  init(_ name: String, on options: AdapterOptions, restores: Bool) {
    self.name = name
    manager = CentralManager(delegate: nil, queue: .main, adapter: options, restoreIdentifier: restores ? name : nil)
    super.init()
    manager.delegate = self
  }

  /// Performs a command, or keeps it until the adapter is on.
  func perform(_ words: [String]) -> Bool {
    guard manager.state == .poweredOn else {
      waiting.append(words)
      return true
    }
    switch (words.first, words.count) {
    case ("scan", 2):
      manager.scanForPeripherals(withServices: [CBUUID(string: words[1])])
      say("\(name) scans")
    case ("stop", 1):
      manager.stopScan()
      say("\(name) stopped")
    case ("retrieve", 2):
      let found = manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: words[1])])
      for device in found { devices[device.name ?? "nameless"] = device }
      say("\(name) retrieved \(found.count): \(found.map { $0.name ?? "nameless" }.sorted().joined(separator: " "))")
    default: return words.count >= 2 && perform(words, on: words[1])
    }
    return true
  }

  private func perform(_ words: [String], on device: String) -> Bool {
    guard let peripheral = devices[device] else {
      say("\(name) has no \(device)")
      return true
    }
    switch (words.first, words.count) {
    case ("connect", 2): manager.connect(peripheral)
    case ("disconnect", 2): manager.cancelPeripheralConnection(peripheral)
    case ("state", 2): say("\(name) state \(device) \(peripheral.state)")
    case ("discover", 2):
      peripheral.delegate = self
      peripheral.discoverServices(nil)
    case ("includes", 2):
      for service in peripheral.services ?? [] { peripheral.discoverIncludedServices(nil, for: service) }
      say("\(name) asked \(peripheral.services?.count ?? 0)")
    case ("read", 3):
      guard let characteristic = characteristic(words[2], of: peripheral) else { return false }
      peripheral.readValue(for: characteristic)
    case ("subscribe", 3), ("unsubscribe", 3):
      guard let characteristic = characteristic(words[2], of: peripheral) else { return false }
      peripheral.setNotifyValue(words[0] == "subscribe", for: characteristic)
    default: return false
    }
    return true
  }

  private func characteristic(_ uuid: String, of peripheral: Peripheral) -> Characteristic? {
    let all = (peripheral.services ?? []).flatMap { $0.characteristics ?? [] }
    return all.first { $0.uuid == CBUUID(string: uuid) }
  }

  private func known(_ peripheral: Peripheral) -> String {
    devices.first { $0.value === peripheral }?.key ?? "\(peripheral.identifier)"
  }

  func centralManagerDidUpdateState(_ central: CentralManager) {
    say("\(name) \(central.state)")
    guard central.state == .poweredOn else { return }
    let commands = waiting
    waiting = []
    for command in commands { _ = perform(command) }
  }

  func centralManager(_ central: CentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [Peripheral] ?? []
    for peripheral in peripherals { devices[peripheral.name ?? "nameless"] = peripheral }
    let scan = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] ?? []
    let found = peripherals.map { "\($0.name ?? "nameless") \($0.state)" } + scan.map { "scan \($0)" }
    say("\(name) restored \(found.joined(separator: ", "))")
  }

  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    let advertised = advertisementData[CBAdvertisementDataLocalNameKey] as? String
    guard let device = advertised ?? peripheral.name else { return }
    devices[device] = peripheral
    say("\(name) discovered \(device)")
  }

  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) {
    say("\(name) connected \(known(peripheral))")
  }

  func centralManager(_ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?) {
    say("\(name) failed \(known(peripheral)): \(error.map { "\($0)" } ?? "no error")")
  }

  func centralManager(
    _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?
  ) {
    say("\(name) disconnected \(known(peripheral))\(error.map { ": \($0)" } ?? "")")
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?) {
    let services = peripheral.services ?? []
    undiscovered[peripheral.identifier] = services.count
    if let error { say("\(name) found nothing on \(known(peripheral)): \(error)") }
    for service in services { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?) {
    let rest = (undiscovered[peripheral.identifier] ?? 0) - 1
    undiscovered[peripheral.identifier] = rest
    guard rest == 0 else { return }
    let found = (peripheral.services ?? []).map { "\($0.uuid)" }.sorted()
    say("\(name) found on \(known(peripheral)): \(found.joined(separator: " "))")
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverIncludedServicesFor service: Service, error: (any Error)?) {
    let found = (service.includedServices ?? []).map { "\($0.uuid)" }
    say("\(name) includes \(service.uuid): \(error.map { "\($0)" } ?? found.joined(separator: ", "))")
  }

  func peripheral(_ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?) {
    let text = String(decoding: characteristic.value ?? Data(), as: UTF8.self)
    say("\(name) value \(known(peripheral)) \(characteristic.uuid) \(error.map { "\($0)" } ?? text)")
  }

  func peripheral(
    _ peripheral: Peripheral, didUpdateNotificationStateFor characteristic: Characteristic, error: (any Error)?
  ) {
    let state = characteristic.isNotifying ? "notifies" : "silent"
    say("\(name) \(state) \(known(peripheral)) \(characteristic.uuid)\(error.map { ": \($0)" } ?? "")")
  }
}
