import AdapterFixtures
import BLEHCI
import BLEHost
import BLELinux
import BLEWire
import BluetoothLE
import Synchronization

@testable import BLEAdapter
@testable import BLEGATT
@testable import CoreBluetoothTypes

/// A peripheral manager.
final class PeripheralFixture: ManagerFixture {
  let host: ScriptedHost
  let queue = DispatchQueue(label: "delegate")
  let recorder: Recorder
  let held: HeldManager<PeripheralManager>

  init(
    _ state: AdapterState = .poweredOn, host: ScriptedHost = ScriptedHost(),
    limits: PeripheralLimits = PeripheralLimits(), restoration: RestorationStore? = nil
  ) {
    self.host = host
    let link = host.link()
    recorder = Recorder()
    let manager = PeripheralManager(
      delegate: recorder, queue: queue, link: link, limits: limits, restoration: restoration,
      log: { [host] in host.log.append($0.text) })
    held = HeldManager(manager, over: link)
    begin(state)
  }

  func say(_ event: HostEvent) {
    host.say(event)
    settle()
  }

  /// A central connects; its address ends in its number.
  @discardableResult
  func connect(_ number: UInt32, mtu: Int? = nil) -> Central {
    let peer = LinkID(rawValue: number)
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(number)), kind: .random)
    say(.connected(ConnectedLink(peer: peer, address: address, role: .peripheral, timing: timing)))
    if let mtu { say(.link(peer, .mtu(mtu))) }
    guard let central = manager.connectedCentrals.first(where: { $0.peer == peer }) else {
      preconditionFailure("the central is not connected")
    }
    return central
  }

  /// Publishes a service with these characteristics and forgets what was said about it.
  @discardableResult
  func publish(_ characteristics: MutableCharacteristic..., as uuid: CBUUID = "180D") -> MutableService {
    let service = MutableService(type: uuid, primary: true)
    service.characteristics = characteristics
    manager.add(service)
    _ = takeCalls()
    _ = host.takeCommands()
    return service
  }

  /// The host's name of a published characteristic.
  func attribute(_ characteristic: Attribute) -> AttributeID {
    manager.run { state, _ in state.attributeIDs[ObjectIdentifier(characteristic)] } ?? AttributeID(rawValue: 0)
  }

  /// A central's configuration of a characteristic changes.
  func subscribe(_ central: Central, _ characteristic: Characteristic, _ subscription: Subscription = .notify) {
    say(.server(central.peer, .subscription(attribute(characteristic), subscription)))
  }

  /// A central reads; the request is in ``Recorder/requests`` then.
  @discardableResult
  func read(_ central: Central, _ characteristic: Characteristic, offset: Int = 0) -> RequestToken {
    let token = host.token()
    say(.server(central.peer, .read(token, attribute(characteristic), offset: offset)))
    return token
  }

  /// A central writes with a Write Request, or with queued writes.
  @discardableResult
  func write(_ central: Central, _ parts: (Characteristic, Int, [UInt8])...) -> RequestToken {
    let token = host.token()
    let written = parts.map { WritePart(attribute: attribute($0.0), offset: $0.1, value: $0.2) }
    say(.server(central.peer, .write(token, written)))
    return token
  }

  /// A central writes with a Write Command.
  func command(_ central: Central, _ characteristic: Characteristic, _ value: [UInt8]) {
    say(.server(central.peer, .command(attribute(characteristic), value)))
  }
}

/// A delegate that implements everything and writes it down in words.
final class Recorder: NSObject, PeripheralManagerDelegate, CallRecorder, Sendable {
  private let state = Mutex(State())
  let channels = HeldChannels()

  private struct State {
    var lines: [String] = []
    var requests: [ATTRequest] = []
    var errors: [any Error] = []
    var services: [Service] = []
    var reactions: [@Sendable (PeripheralManager, String) -> Void] = []
    var answers: ATTError.Code? = .success
  }

  func take() -> [String] {
    state.withLock { state in
      defer { state.lines = [] }
      return state.lines
    }
  }

  var requests: [ATTRequest] { state.withLock { $0.requests } }
  var services: [Service] { state.withLock { $0.services } }
  var lastError: (any Error)? { state.withLock { $0.errors.last } }
  var lastText: String { lastError?.localizedDescription ?? "no error" }

  /// Holds no object of an earlier call any more.
  func letGo() { state.withLock { ($0.services, $0.requests) = ([], []) } }

  /// How requests are answered at once; nil leaves them to the test.
  func answer(_ code: ATTError.Code?) { state.withLock { $0.answers = code } }

  /// Does something inside every call.
  func react(_ reaction: @escaping @Sendable (PeripheralManager, String) -> Void) {
    state.withLock { $0.reactions.append(reaction) }
  }

  private func note(_ manager: PeripheralManager, _ line: String, _ error: (any Error)? = nil) {
    let text = error.map { "\(line) \((($0 as? BluetoothError)?.code).map { "\($0)" } ?? "\($0)")" } ?? line
    let reactions = state.withLock { state in
      state.lines.append(text)
      if let error { state.errors.append(error) }
      return state.reactions
    }
    for reaction in reactions { reaction(manager, text) }
  }

  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
    note(peripheral, "state \(peripheral.state)")
  }
  func peripheralManager(_ peripheral: PeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [MutableService] ?? []
    let advertisement = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
    state.withLock { $0.services += services }
    let name = advertisement.map { $0[CBAdvertisementDataLocalNameKey] as? String ?? "-" }
    note(
      peripheral, (["willRestore"] + services.map { "\($0.uuid)" } + [name].compactMap(\.self)).joined(separator: " "))
  }
  func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
    note(peripheral, "didStart", error)
  }
  func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?) {
    state.withLock { $0.services.append(service) }
    note(peripheral, "didAdd \(service.uuid)", error)
  }
  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
  ) {
    note(peripheral, "didSubscribe \(central.peer.rawValue) \(characteristic.uuid)")
  }
  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic
  ) {
    note(peripheral, "didUnsubscribe \(central.peer.rawValue) \(characteristic.uuid)")
  }
  func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
    let answer = state.withLock { state in
      state.requests.append(request)
      return state.answers
    }
    note(peripheral, "didReceiveRead \(request.characteristic.uuid) \(request.offset)")
    guard let answer else { return }
    request.value = (request.characteristic.value ?? Data()).dropFirst(request.offset)
    peripheral.respond(to: request, withResult: answer)
  }
  func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
    let answer = state.withLock { state in
      state.requests += requests
      return state.answers
    }
    let parts = requests.map { "\($0.characteristic.uuid)@\($0.offset)=\([UInt8]($0.value ?? Data()))" }
    note(peripheral, "didReceiveWrite \(parts.joined(separator: " "))")
    guard let answer, let first = requests.first else { return }
    peripheral.respond(to: first, withResult: answer)
  }
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: PeripheralManager) { note(peripheral, "isReady") }
  func peripheralManager(_ peripheral: PeripheralManager, didPublishL2CAPChannel psm: L2CAPPSM, error: (any Error)?) {
    note(peripheral, "didPublish \(psm)", error)
  }
  func peripheralManager(
    _ peripheral: PeripheralManager, didUnpublishL2CAPChannel psm: L2CAPPSM, error: (any Error)?
  ) {
    note(peripheral, "didUnpublish \(psm)", error)
  }
  func peripheralManager(_ peripheral: PeripheralManager, didOpen channel: L2CAPChannel?, error: (any Error)?) {
    channels.keep(channel)
    note(
      peripheral, "didOpen \(channel.map { "\($0.psm) of \($0.peer is Central ? "a central" : "nobody")" } ?? "nil")",
      error)
  }
  func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central) {
    note(peripheral, "didConnect \(central.peer.rawValue)")
  }
  func peripheralManager(_ peripheral: PeripheralManager, didIdentify central: Central, as identified: Central) {
    note(
      peripheral,
      "didIdentify \(central.peer.rawValue) as \(identified.identifier == central.identifier ? "itself" : "another")")
  }
  func peripheralManager(
    _ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason
  ) {
    note(peripheral, "didDisconnect \(central.peer.rawValue) 0x\(String(reason.rawValue, radix: 16))")
  }
  func peripheralManager(
    _ peripheral: PeripheralManager, didUpdateConnectionOf central: Central, timing: ConnectionTiming?,
    error: (any Error)?
  ) {
    note(peripheral, "timing \(central.peer.rawValue) \(timing.map { "\($0.interval)" } ?? "-")", error)
  }
  func peripheralManager(
    _ peripheral: PeripheralManager, didReadRSSI rssi: Int?, of central: Central, error: (any Error)?
  ) {
    note(peripheral, "rssi \(central.peer.rawValue) \(rssi.map { "\($0)" } ?? "-")", error)
  }
  func peripheralManager(_ peripheral: PeripheralManager, central: Central, didStoreValueOf attribute: Attribute) {
    note(peripheral, "stored \(central.peer.rawValue) \(attribute.uuid)")
  }
  func peripheralManager(_ peripheral: PeripheralManager, didPauseAdvertising reason: DisconnectReason?) {
    note(peripheral, "paused \(reason.map { "0x\(String($0.rawValue, radix: 16))" } ?? "-")")
  }
  func peripheralManagerDidResumeAdvertising(_ peripheral: PeripheralManager) { note(peripheral, "resumed") }
}

/// The channels that a delegate has got. The lock is `lock`.
final class HeldChannels: @unchecked Sendable {
  private let lock = Mutex(())
  private var channels: [L2CAPChannel] = []

  func keep(_ channel: L2CAPChannel?) { lock.withLock { _ in channels += channel.map { [$0] } ?? [] } }
  func release() { lock.withLock { _ in channels = [] } }
  var last: L2CAPChannel? {
    var found: L2CAPChannel?
    lock.withLock { _ in found = channels.last }
    return found
  }
}

/// Characteristics the tests use over and over.
func dynamic(
  _ uuid: CBUUID, _ properties: CharacteristicProperties = [.read, .write, .notify],
  permissions: AttributePermissions = [.readable, .writeable]
) -> MutableCharacteristic {
  MutableCharacteristic(type: uuid, properties: properties, value: nil, permissions: permissions)
}

func constant(_ uuid: CBUUID, _ octets: [UInt8]) -> MutableCharacteristic {
  MutableCharacteristic(type: uuid, properties: [.read], value: Data(octets), permissions: [.readable])
}
