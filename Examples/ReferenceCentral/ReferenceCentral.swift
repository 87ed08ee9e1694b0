import BluetoothLE
import ProgramOutput

/// Performs commands, one connection at a time.
@MainActor final class ReferenceCentral: NSObject {
  private var manager: CentralManager?
  /// The name of the peripheral to connect to.
  private var wanted: String?
  private var peripheral: Peripheral?
  /// The services whose characteristics are not discovered yet.
  private var undiscovered = 0
  private var question: PairingReply?

  init(on adapter: AdapterOptions) {
    super.init()
    manager = CentralManager(delegate: self, queue: .main, adapter: adapter)
    manager?.pairingDelegate = self
  }

  /// Performs one line of standard input.
  func perform(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    guard let command = words.first else { return }
    switch (command, words.dropFirst().first) {
    case ("connect", _):
      wanted = words.dropFirst().joined(separator: " ")
      manager?.scanForPeripherals(withServices: nil)
    case ("disconnect", _): peripheral.map { manager?.cancelPeripheralConnection($0) }
    case ("discover", _): peripheral?.discoverServices(nil)
    case ("pair", _): peripheral.map { manager?.pair(with: $0) }
    case ("consent", let answer?): answer == "yes" ? question?.accept() : question?.reject()
    case ("passkey", let digits?): UInt32(digits).map { question?.enter(passkey: $0) }
    case (_, let uuid?): performOnValue(command, uuid, Data(hexadecimal: words.last ?? ""))
    default: say("unknown command \(line)")
    }
  }

  private func performOnValue(_ command: String, _ uuid: String, _ value: Data?) {
    guard let characteristic = characteristic(uuid) else { return say("unknown characteristic \(uuid)") }
    switch (command, value) {
    case ("read", _): peripheral?.readValue(for: characteristic)
    case ("subscribe", _): peripheral?.setNotifyValue(true, for: characteristic)
    case ("unsubscribe", _): peripheral?.setNotifyValue(false, for: characteristic)
    case ("write", let value?): peripheral?.writeValue(value, for: characteristic, type: .withResponse)
    case ("command", let value?): peripheral?.writeValue(value, for: characteristic, type: .withoutResponse)
    default: say("unknown command \(command)")
    }
  }

  private func characteristic(_ uuid: String) -> Characteristic? {
    peripheral?.services?.lazy.compactMap { service in
      service.characteristics?.first { $0.uuid.uuidString == uuid.uppercased() }
    }.first
  }

  fileprivate func say(_ line: String) { Output.write("\(line)\n") }

  /// The result of an operation: `NAME UUID`, then the value or the error with its domain and code.
  fileprivate func say(_ operation: String, _ uuid: String, _ error: (any Error)?, value: Data? = nil) {
    if let error {
      say("\(operation) \(uuid) error \(Self.text(of: error))")
    } else {
      say("\(operation) \(uuid) \(value?.hexadecimal ?? "done")")
    }
  }

  fileprivate static func text(of error: any Error) -> String {
    let known = error as NSError
    return "\(known.domain) \(known.code) \(error.localizedDescription)"
  }
}

extension ReferenceCentral: @MainActor CentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CentralManager) {
    switch central.state {
    case .poweredOn: say("READY")
    default: say("state \(central.state)\(central.stateReason.map { ": \($0)" } ?? "")")
    }
  }

  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard let name = wanted, name == advertisementData[CBAdvertisementDataLocalNameKey] as? String else { return }
    wanted = nil
    central.stopScan()
    self.peripheral = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) { say("connected") }

  func centralManager(_ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?) {
    say("not connected \(error.map(Self.text) ?? "")")
  }

  func centralManager(_ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?) {
    say("disconnected \(error.map(Self.text) ?? "as asked")")
  }
}

extension ReferenceCentral: @MainActor PeripheralDelegate {
  func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?) {
    if let error { return say("discovered error \(Self.text(of: error))") }
    undiscovered = peripheral.services?.count ?? 0
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    if undiscovered == 0 { say("discovered 0") }
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?) {
    if let error { say("characteristics of \(service.uuid.uuidString) error \(Self.text(of: error))") }
    undiscovered -= 1
    guard undiscovered == 0 else { return }
    say("discovered \(peripheral.services?.reduce(0) { $0 + ($1.characteristics?.count ?? 0) } ?? 0)")
  }

  func peripheral(_ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?) {
    say("value", characteristic.uuid.uuidString, error, value: characteristic.value ?? Data())
  }

  func peripheral(_ peripheral: Peripheral, didWriteValueFor characteristic: Characteristic, error: (any Error)?) {
    say("written", characteristic.uuid.uuidString, error)
  }

  func peripheral(
    _ peripheral: Peripheral, didUpdateNotificationStateFor characteristic: Characteristic, error: (any Error)?
  ) {
    say("subscription", characteristic.uuid.uuidString, error)
  }

  func peripheral(_ peripheral: Peripheral, didModifyServices invalidatedServices: [Service]) {
    say("modified \(invalidatedServices.map(\.uuid.uuidString).joined(separator: " "))")
  }
}

/// Each question is a line; a line of standard input answers it.
extension ReferenceCentral: @MainActor PairingDelegate {
  private func ask(_ text: String, _ reply: PairingReply) {
    question = reply
    say("asked \(text)")
  }

  func manager(_ manager: Manager, shouldPairWith peer: Peer, reply: PairingReply) { ask("consent", reply) }
  func manager(_ manager: Manager, shouldReplaceBondOf peer: Peer, reply: PairingReply) { ask("replacement", reply) }
  func manager(_ manager: Manager, display passkey: String, toPairWith peer: Peer) { say("asked display \(passkey)") }
  func manager(_ manager: Manager, enterPasskeyToPairWith peer: Peer, reply: PairingReply) { ask("passkey", reply) }

  func manager(_ manager: Manager, compare number: String, toPairWith peer: Peer, reply: PairingReply) {
    ask("comparison \(number)", reply)
  }

  func manager(_ manager: Manager, didPairWith peer: Peer, bond: Bond?) {
    say("paired \(bond.map { $0.isProtected ? "authenticated" : "unauthenticated" } ?? "not bonded")")
  }

  func manager(_ manager: Manager, didFailToPairWith peer: Peer, error: PairingError) { say("not paired \(error)") }
  func manager(_ manager: Manager, didChangeSecurityOf peer: Peer, to security: PeerSecurity) {
    say("security \(security.level)")
  }
  func manager(_ manager: Manager, didLoseBondOf peer: Peer, error: BondLostError) { say("bond lost \(error)") }
}

extension Data {
  fileprivate var hexadecimal: String { map { String(format: "%02x", $0) }.joined() }

  /// The octets of pairs of hexadecimal digits.
  fileprivate init?(hexadecimal text: String) {
    guard text.count.isMultiple(of: 2) else { return nil }
    var octets = Data()
    var rest = text[...]
    while !rest.isEmpty {
      guard let octet = UInt8(rest.prefix(2), radix: 16) else { return nil }
      octets.append(octet)
      rest = rest.dropFirst(2)
    }
    self = octets
  }
}
