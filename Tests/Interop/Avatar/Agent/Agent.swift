import BluetoothLE

/// A central manager and a peripheral manager on one adapter, which Pandora's calls direct.
@MainActor final class Agent: NSObject {
  private let central: CentralManager
  private let server: PeripheralManager
  private var isReady = false
  private var peripherals: [UUID: Peripheral] = [:]
  private var centrals: [UUID: Central] = [:]
  private var connects: [UUID: Int] = [:]
  private var disconnects: [UUID: Int] = [:]
  private var questions: [Int: PairingReply] = [:]
  private var questionCount = 0

  init(_ options: AdapterOptions) {
    central = CentralManager(delegate: nil, queue: .main, adapter: options)
    server = PeripheralManager(delegate: nil, queue: .main, adapter: options)
    super.init()
    (central.delegate, server.delegate) = (self, self)
    (central.pairingDelegate, server.pairingDelegate) = (self, self)
    reportReady()
  }

  func perform(_ command: Command) {
    switch command.operation {
    case .scan: scan(command)
    case .stopScan:
      central.stopScan()
      answer(command.id)
    case .connect: connect(command)
    case .disconnect: disconnect(command)
    case .advertise: advertise(command)
    case .stopAdvertising:
      server.stopAdvertising()
      answer(command.id)
    case .pair: pair(command)
    case .answer: answerQuestion(command)
    }
  }

  private func answer(_ id: Int, peer: UUID? = nil, error: String? = nil) {
    say(Message(kind: .answer, id: id, error: error, peer: peer))
  }

  private func reportReady() {
    guard !isReady, central.state == .poweredOn, server.state == .poweredOn else { return }
    isReady = true
    say(Message(kind: .ready, address: central.address.map { "\($0.octets)" }))
  }

  private func scan(_ command: Command) {
    let phys = (command.phys ?? [1]).map { $0 == 3 ? LEPHY.leCoded : .le1M }
    central.scanForPeripherals(
      withServices: nil,
      options: [
        CBCentralManagerScanOptionAllowDuplicatesKey: true,
        CBCentralManagerScanOptionPHYsKey: phys,
        CBCentralManagerScanOptionPassiveKey: command.isPassive ?? false,
        CBCentralManagerScanOptionWaitsForScanResponseKey: command.isPassive != true,
      ])
    answer(command.id)
  }

  private func connect(_ command: Command) {
    guard let peer = command.peer, let peripheral = peripherals[peer] else {
      return answer(command.id, error: "not found")
    }
    guard peripheral.state == .disconnected else { return answer(command.id, error: "already connected") }
    connects[peer] = command.id
    central.connect(peripheral)
  }

  private func disconnect(_ command: Command) {
    guard let peer = command.peer else { return answer(command.id, error: "not connected") }
    if let peripheral = peripherals[peer], peripheral.state != .disconnected {
      disconnects[peer] = command.id
      central.cancelPeripheralConnection(peripheral)
    } else if let central = centrals[peer] {
      disconnects[peer] = command.id
      server.cancelConnection(of: central)
    } else {
      answer(command.id, error: "not connected")
    }
  }

  private func advertise(_ command: Command) {
    let octets = octets(command.manufacturerData ?? "")
    var elements: [ADElement] = []
    if octets.count >= 2 {
      let company = CompanyIdentifier(rawValue: UInt16(octets[0]) | UInt16(octets[1]) << 8)
      elements = [.manufacturerData(ManufacturerData(company: company, data: octets[2...]))]
    }
    var options = AdvertisingOptions(interval: .milliseconds(30)...Duration.milliseconds(50))
    options.isConnectable = command.isConnectable ?? true
    (options.continuesWhileConnected, options.resumesAfterDisconnection) = (false, false)
    if server.isAdvertising { server.stopAdvertising() }
    do {
      try server.startAdvertising(Advertisement(elements: elements), options: options)
      answer(command.id)
    } catch {
      answer(command.id, error: "\(error)")
    }
  }

  private func octets(_ digits: String) -> [UInt8] {
    let nibbles = digits.compactMap(\.hexDigitValue)
    return stride(from: 0, to: nibbles.count - 1, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) }
  }

  private func pair(_ command: Command) {
    guard let peer = command.peer else { return answer(command.id, error: "not connected") }
    if let peripheral = peripherals[peer], peripheral.state == .connected {
      let level = PeerSecurity.Level(rawValue: command.level ?? 2) ?? .encrypted
      central.pair(with: peripheral, level: level, asksConsent: true)
    } else if let central = centrals[peer] {
      server.requestSecurity(of: central)
    } else {
      return answer(command.id, error: "not connected")
    }
    answer(command.id)
  }

  private func answerQuestion(_ command: Command) {
    guard let question = command.question, let reply = questions.removeValue(forKey: question) else {
      return answer(command.id, error: "no such question")
    }
    if let passkey = command.passkey {
      reply.enter(passkey: passkey)
    } else if command.isAccepted == true {
      reply.accept()
    } else {
      reply.reject()
    }
    answer(command.id)
  }

  private func ended(_ peer: UUID, _ error: String?) {
    say(Message(kind: .disconnected, error: error, peer: peer))
    if let id = disconnects.removeValue(forKey: peer) { answer(id) }
    if let id = connects.removeValue(forKey: peer) { answer(id, error: error ?? "disconnected") }
  }

  private func ask(_ kind: Question.Kind, _ peer: Peer, _ reply: PairingReply? = nil, number: String? = nil) {
    questionCount += 1
    questions[questionCount] = reply
    let question = Question(kind: kind, id: questionCount, number: number)
    say(Message(kind: .question, peer: peer.identifier, question: question))
  }
}

extension Agent: @MainActor CentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CentralManager) { reportReady() }

  func centralManager(_ central: CentralManager, didDiscover peripheral: Peripheral, device: DiscoveredDevice) {
    peripherals[peripheral.identifier] = peripheral
    say(Message(kind: .sighting, peer: peripheral.identifier, sighting: Sighting(device)))
  }

  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) {
    say(Message(kind: .connected, peer: peripheral.identifier, isCentral: false))
    if let id = connects.removeValue(forKey: peripheral.identifier) { answer(id, peer: peripheral.identifier) }
  }

  func centralManager(_ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?) {
    guard let id = connects.removeValue(forKey: peripheral.identifier) else { return }
    answer(id, error: error.map { "\($0)" } ?? "failed")
  }

  func centralManager(
    _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?
  ) {
    ended(peripheral.identifier, error.map { "\($0)" })
  }
}

extension Agent: @MainActor PeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) { reportReady() }

  func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central) {
    centrals[central.identifier] = central
    say(Message(kind: .connected, peer: central.identifier, isCentral: true))
  }

  func peripheralManager(_ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason) {
    centrals[central.identifier] = nil
    ended(central.identifier, "\(reason)")
  }
}

extension Agent: @MainActor PairingDelegate {
  func manager(_ manager: Manager, shouldPairWith peer: Peer, reply: PairingReply) { ask(.justWorks, peer, reply) }

  func manager(_ manager: Manager, display passkey: String, toPairWith peer: Peer) {
    ask(.displayedPasskey, peer, number: passkey)
  }

  func manager(_ manager: Manager, enterPasskeyToPairWith peer: Peer, reply: PairingReply) {
    ask(.enteredPasskey, peer, reply)
  }

  func manager(_ manager: Manager, compare number: String, toPairWith peer: Peer, reply: PairingReply) {
    ask(.comparison, peer, reply, number: number)
  }

  func manager(_ manager: Manager, didPairWith peer: Peer, bond: Bond?) {
    say(Message(kind: .paired, peer: peer.identifier))
  }

  func manager(_ manager: Manager, didFailToPairWith peer: Peer, error: PairingError) {
    say(Message(kind: .pairingFailed, error: "\(error)", peer: peer.identifier))
  }

  func manager(_ manager: Manager, didChangeSecurityOf peer: Peer, to security: PeerSecurity) {
    say(Message(kind: .security, peer: peer.identifier, level: security.level.rawValue))
  }
}
