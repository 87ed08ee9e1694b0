import BluetoothLE
import ProgramOutput

/// Publishes a description, advertises it and obeys its control point.
@MainActor final class ReferencePeripheral: NSObject, @MainActor PeripheralManagerDelegate {
  private let database: Database
  private let advertisement: Advertisement
  private let advertisingOptions: AdvertisingOptions
  private let name: String
  private let passkey: UInt32?
  private var manager: PeripheralManager?
  private var unanswered = 0
  /// The values that the control point has asked for and that are not sent yet.
  private var streams: [Stream] = []
  /// What was published stays while the adapter is merely off, and is gone after worse.
  private var isPublished = false
  /// The question for a passkey that is open; lines of standard input answer it.
  private var typing: PairingReply?
  private var isReading = false

  init(_ description: Description, on options: AdapterOptions) throws(Failure) {
    name = description.name
    passkey = description.pairing?.passkey
    database = try Database(description)
    advertisement = try Advertisement(description)
    var advertising = AdvertisingOptions(interval: .milliseconds(30)...Duration.milliseconds(60))
    advertising.continuesWhileConnected = description.advertisesWhileConnected ?? true
    advertisingOptions = advertising
    super.init()
    manager = PeripheralManager(delegate: self, queue: .main, adapter: options)
    manager?.pairingDelegate = self
  }

  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
    switch peripheral.state {
    case .poweredOn:
      guard !isPublished else { return warn("the adapter is \(peripheral.state) again") }
      isPublished = true
      unanswered = database.services.count
      for service in database.services { peripheral.add(service) }
      if database.services.isEmpty { advertise(peripheral) }
    case .unsupported, .unauthorized:
      fail((peripheral.stateReason as? AdapterError).map(Failure.adapter) ?? .software("there is no adapter"))
    case .unknown, .resetting, .poweredOff:
      if peripheral.state != .poweredOff { isPublished = false }
      warn("the adapter is \(peripheral.state)\(peripheral.stateReason.map { ": \($0)" } ?? "")")
    }
  }

  func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?) {
    if let error {
      if case BluetoothError.operationCancelled = error { return }
      fail(.data("the service \(service.uuid) cannot be published: \(error.localizedDescription)"))
    }
    unanswered -= 1
    if unanswered == 0 { advertise(peripheral) }
  }

  private func advertise(_ peripheral: PeripheralManager) {
    do {
      try peripheral.startAdvertising(advertisement, options: advertisingOptions)
    } catch {
      fail(.data("the advertisement cannot be made: \(error)"))
    }
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
    if let error {
      if case BluetoothError.operationCancelled = error { return }
      fail(.software("the advertisement was refused: \(error.localizedDescription)"))
    }
    say("READY \(name)")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central) {
    say("connected \(central.identifier)")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason) {
    say("disconnected \(central.identifier): \(reason)")
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, didUpdateConnectionOf central: Central, timing: ConnectionTiming?,
    error: (any Error)?
  ) {
    guard let timing else { return say("timing of \(central.identifier) not changed: \(error.map { "\($0)" } ?? "")") }
    say("timing of \(central.identifier): \(timing.interval), latency \(timing.latency), \(timing.supervisionTimeout)")
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, didReadRSSI rssi: Int?, of central: Central, error: (any Error)?
  ) {
    guard let rssi else { return say("rssi of \(central.identifier) not read: \(error.map { "\($0)" } ?? "")") }
    say("rssi of \(central.identifier): \(rssi) dBm")
  }

  func peripheralManager(_ peripheral: PeripheralManager, central: Central, didStoreValueOf attribute: Attribute) {
    guard let control = database.byRole["control"], attribute === control else { return }
    obey([UInt8](control.value ?? Data()), of: central, on: peripheral)
  }

  private func obey(_ words: [UInt8], of central: Central, on peripheral: PeripheralManager) {
    switch words.first {
    case 0x01: send("stream", words, to: central, on: peripheral)
    case 0x02: send("indicate", words, to: central, on: peripheral)
    case 0x03:
      do { try database.reset(in: peripheral) } catch { warn("the values cannot be reset: \(error)") }
    case 0x04: peripheral.cancelConnection(of: central)
    case 0x05: peripheral.requestSecurity(of: central)
    case 0x06: peripheral.requestConnectionParameters(ConnectionParameterRequest(), for: central)
    case 0x07: peripheral.readRSSI(of: central)
    default: warn("the control point: unsupported command \(words)")
    }
  }

  /// Sends as many values as `words` say: `op count:u16 size:u16`, low octets first.
  private func send(_ role: String, _ words: [UInt8], to central: Central, on peripheral: PeripheralManager) {
    guard words.count >= 5, let characteristic = database.byRole[role] else {
      return warn("the control point: missing count or size, or no characteristic has the role \(role)")
    }
    let count = UInt32(words[1]) | UInt32(words[2]) << 8
    let size = Int(words[3]) | Int(words[4]) << 8
    streams.append(Stream(characteristic: characteristic, central: central, numbers: 0..<count, size: size))
    sendNext(on: peripheral)
  }

  /// Sends a value of each stream in turn, until the manager has no room for another one.
  private func sendNext(on peripheral: PeripheralManager) {
    while var stream = streams.first {
      guard let number = stream.next(), stream.central.isConnected else {
        streams.removeFirst()
        continue
      }
      let value = Self.value(number, size: stream.size)
      guard peripheral.updateValue(value, for: stream.characteristic, onSubscribedCentrals: [stream.central]) else {
        return
      }
      streams.removeFirst()
      streams.append(stream)
    }
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: PeripheralManager) { sendNext(on: peripheral) }

  private struct Stream {
    let characteristic: MutableCharacteristic
    let central: Central
    /// The numbers of the values that are not sent yet.
    var numbers: Range<UInt32>
    let size: Int

    mutating func next() -> UInt32? {
      guard let number = numbers.first else { return nil }
      numbers = numbers.dropFirst()
      return number
    }
  }

  /// The number in four octets, low one first, then octet i is number + i, counted from 0.
  private static func value(_ number: UInt32, size: Int) -> Data {
    var value = Data((0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
    value.append(contentsOf: (0..<max(0, min(size, 512) - 4)).map { UInt8(truncatingIfNeeded: Int(number) + $0) })
    return value
  }
}

/// There is no user: what could be asked is known, or comes as a line of standard input.
extension ReferencePeripheral: @MainActor PairingDelegate {
  func manager(_ manager: Manager, display passkey: String, toPairWith peer: Peer) {
    say("passkey \(passkey)")
  }

  func manager(_ manager: Manager, enterPasskeyToPairWith peer: Peer, reply: PairingReply) {
    if let passkey { return reply.enter(passkey: passkey) }
    say("enter the passkey")
    typing = reply
    guard !isReading else { return }
    isReading = true
    Thread.detachNewThread {
      while let line = nextLine() {
        DispatchQueue.main.async { self.typed(UInt32(line)) }
      }
      DispatchQueue.main.async { self.typed(nil) }
    }
  }

  /// A line answers the question that is open now, never one whose pairing has ended.
  private func typed(_ passkey: UInt32?) {
    if let passkey { typing?.enter(passkey: passkey) } else { typing?.reject() }
    typing = nil
  }

  func manager(_ manager: Manager, didWithdrawQuestion id: PairingReply.ID, of peer: Peer) {
    if typing?.id == id { typing = nil }
  }

  func manager(_ manager: Manager, compare number: String, toPairWith peer: Peer, reply: PairingReply) {
    say("compared \(number)")
    reply.accept()
  }

  func manager(_ manager: Manager, didPairWith peer: Peer, bond: Bond?) {
    say("paired \(peer.identifier)\(bond == nil ? ", not bonded" : "")")
  }

  func manager(_ manager: Manager, didFailToPairWith peer: Peer, error: PairingError) {
    say("not paired \(peer.identifier): \(error)")
  }

  func manager(_ manager: Manager, didLoseBondOf peer: Peer, error: BondLostError) {
    say("bond lost \(peer.identifier): \(error)")
  }
}

extension Advertisement {
  /// The lists of UUIDs under the type the description gives them, then the name, whole, where there is room for it.
  init(_ description: Description) throws(Failure) {
    let advertising = description.advertising
    var elements: [ADElement] = []
    let complete: [ADType] = [.completeServiceUUIDs16, .completeServiceUUIDs32, .completeServiceUUIDs128]
    let incomplete: [ADType] = [.incompleteServiceUUIDs16, .incompleteServiceUUIDs32, .incompleteServiceUUIDs128]
    for (texts, types) in [(advertising?.completeUUIDs, complete), (advertising?.incompleteUUIDs, incomplete)] {
      var uuids: [BluetoothUUID] = []
      for text in texts ?? [] { uuids.append(try Description.uuid(text)) }
      for (size, type) in zip([BluetoothUUID.Size.uuid16, .uuid32, .uuid128], types) {
        let octets = uuids.filter { $0.size == size }.flatMap(\.littleEndian)
        if !octets.isEmpty { elements.append(.opaque(type, octets[...])) }
      }
    }
    self.init(localName: description.name, elements: elements)
    flags = AdvertisingFlags(rawValue: advertising?.flags ?? 0x06)
  }
}
