import BluetoothLE

/// A peripheral manager that lines direct: one service with one characteristic, which answers reads with a text.
@MainActor final class PeripheralDriver: NSObject, @MainActor PeripheralManagerDelegate {
  private let name: String
  private let manager: PeripheralManager
  private var waiting: [[String]] = []
  private var characteristic: MutableCharacteristic?
  private var text = ""

  init(_ name: String, on options: AdapterOptions, restores: Bool) {
    self.name = name
    manager = PeripheralManager(delegate: nil, queue: .main, adapter: options, restoreIdentifier: restores ? name : nil)
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
    case ("publish", 4): publish(CBUUID(string: words[1]), CBUUID(string: words[2]), words[3])
    case ("advertise", 3):
      manager.startAdvertising([
        CBAdvertisementDataLocalNameKey: words[1],
        CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: words[2])],
      ])
    case ("stop", 1):
      manager.stopAdvertising()
      say("\(name) stopped")
    case ("notify", 2):
      guard let characteristic else { return false }
      let isSent = manager.updateValue(Data(words[1].utf8), for: characteristic, onSubscribedCentrals: nil)
      say("\(name) \(isSent ? "notified" : "queue full") \(words[1])")
    case ("state", 1): say("\(name) \(manager.state), \(manager.isAdvertising ? "advertises" : "silent")")
    case ("remove", 1):
      manager.removeAllServices()
      say("\(name) removed")
    default: return false
    }
    return true
  }

  private func publish(_ service: CBUUID, _ uuid: CBUUID, _ text: String) {
    self.text = text
    let characteristic = MutableCharacteristic(
      type: uuid, properties: [.read, .write, .notify], value: nil, permissions: [.readable, .writeable])
    let published = MutableService(type: service, primary: true)
    published.characteristics = [characteristic]
    self.characteristic = characteristic
    manager.add(published)
  }

  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
    say("\(name) \(peripheral.state)")
    guard peripheral.state == .poweredOn else { return }
    let commands = waiting
    waiting = []
    for command in commands { _ = perform(command) }
  }

  func peripheralManager(_ peripheral: PeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [MutableService] ?? []
    let advertisement = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any] ?? [:]
    characteristic = services.first?.characteristics?.first as? MutableCharacteristic
    text = "restored"
    let found = services.map { "\($0.uuid)" } + [advertisement[CBAdvertisementDataLocalNameKey] as? String ?? "silent"]
    say("\(name) restored \(found.joined(separator: " "))")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?) {
    say("\(name) published \(service.uuid)\(error.map { ": \($0)" } ?? "")")
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
    say("\(name) advertises\(error.map { ": \($0)" } ?? "")")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central) {
    say("\(name) connected \(central.identifier)")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason) {
    say("\(name) disconnected \(central.identifier): \(reason)")
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
  ) {
    say("\(name) subscribed \(characteristic.uuid)")
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic
  ) {
    say("\(name) unsubscribed \(characteristic.uuid)")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
    say("\(name) read \(request.characteristic.uuid)")
    let value = Data(text.utf8)
    guard request.offset <= value.count else {
      peripheral.respond(to: request, withResult: .invalidOffset)
      return
    }
    request.value = value.dropFirst(request.offset)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
    for request in requests {
      text = String(decoding: request.value ?? Data(), as: UTF8.self)
      say("\(name) written \(request.characteristic.uuid) \(text)")
    }
    if let first = requests.first { peripheral.respond(to: first, withResult: .success) }
  }
}
