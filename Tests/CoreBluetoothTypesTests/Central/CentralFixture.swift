import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLELinux
import BLEWire
import BluetoothLE
import Synchronization

@testable import CoreBluetoothTypes

/// A central manager.
final class CentralFixture: ManagerFixture {
  let host: ScriptedHost
  let queue = DispatchQueue(label: "central delegate")
  let recorder = CentralRecorder()
  let held: HeldManager<CentralManager>
  private let seen = Mutex(0)

  init(
    _ state: AdapterState = .poweredOn, host: ScriptedHost = ScriptedHost(), limits: CentralLimits = CentralLimits(),
    restoration: RestorationStore? = nil
  ) {
    self.host = host
    let link = host.link()
    let manager = CentralManager(
      delegate: recorder, queue: queue, link: link, limits: limits, restoration: restoration,
      log: { [host] in host.log.append($0.text) })
    held = HeldManager(manager, over: link)
    begin(state)
  }

  func say(_ events: HostEvent...) {
    host.say(events)
    settle()
  }

  /// The commands posted since the last call.
  func commands() -> [HostCommand] {
    settle()
    let all = host.commands
    let count = seen.withLock { seen in
      defer { seen = all.count }
      return seen
    }
    return Array(all.dropFirst(count))
  }

  /// The commands posted since the last call, in words.
  func posted() -> [String] { commands().map(Self.describe) }

  static func describe(_ command: HostCommand) -> String {
    switch command {
    case .scanning(.start(let parameters)):
      "scan\(parameters.allowsDuplicates ? " all" : parameters.reportsChanges ? "" : " once each")"
    case .scanning(.stop): "stop scanning"
    case .initiating(.connect(_, let address, _, _)): "connect \(address.octets.value & 0xFF)"
    case .initiating(.cancel): "cancel connect"
    case .link(let peer, .release): "release \(peer.rawValue)"
    case .link(let peer, .disconnect(let reason)): "disconnect \(peer.rawValue) 0x\(String(reason.rawValue, radix: 16))"
    case .link(let peer, .readRSSI): "rssi \(peer.rawValue)"
    case .link(let peer, .client(let operation)), .link(let peer, .inspect(let operation)):
      "\(peer.rawValue) \(operation.kind)"
    default: ScriptedHost.describe(command)
    }
  }

  /// The address of a device; it ends in its number.
  static func address(_ number: UInt8) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(number)), kind: .random)
  }

  /// A device is heard.
  func advertise(
    _ number: UInt8, _ data: String = "", isScanResponse: Bool = false, isConnectable: Bool = true,
    isTruncated: Bool = false, rssi: Int8 = -40
  ) {
    say(
      .scanning(
        .discovered([
          ScanReport(
            address: Self.address(number), isConnectable: isConnectable, isScanResponse: isScanResponse,
            data: [UInt8](hexadecimal: data) ?? [], isTruncated: isTruncated, rssi: rssi)
        ])))
  }

  /// A device that was heard, as an object that the test holds.
  func find(_ number: UInt8, _ data: String = "") throws -> Peripheral {
    manager.scanForPeripherals(withServices: nil)
    advertise(number, data)
    manager.stopScan()
    _ = posted()
    _ = takeCalls()
    guard let peripheral = recorder.takeFound() else { throw NothingFound() }
    peripheral.delegate = recorder
    return peripheral
  }

  struct NothingFound: Error {}

  /// The connection request that was posted last.
  func lastConnectRequest() -> ConnectID? {
    host.commands.reversed().lazy.compactMap { if case .initiating(.connect(let id, _, _, _)) = $0 { id } else { nil } }
      .first
  }

  /// The link of the connection request posted last comes up.
  func linkUp(_ number: UInt8, peer: UInt32 = 1, mtu: Int? = nil) {
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    say(
      .connected(
        ConnectedLink(
          peer: LinkID(rawValue: peer), address: Self.address(number), role: .central, timing: timing,
          request: lastConnectRequest())))
    if let mtu { say(.link(LinkID(rawValue: peer), .mtu(mtu))) }
  }

  /// A connected device; what led there is forgotten.
  func connect(_ number: UInt8, peer: UInt32 = 1, mtu: Int? = nil, options: [String: Any]? = nil) throws -> Peripheral {
    let peripheral = try find(number)
    manager.connect(peripheral, options: options)
    linkUp(number, peer: peer, mtu: mtu)
    _ = posted()
    _ = takeCalls()
    return peripheral
  }

  /// Answers the operations posted since the last call; the subscription to Service Changed is not answered.
  func answer(_ results: Result<GATTClient.Outcome, GATTClientError>..., peer: UInt32 = 1) {
    var results = results[...]
    for case .link(let peer, .client(let operation)) in commands() {
      if case .subscribeToServiceChanged = operation.kind { continue }
      guard let result = results.popFirst() else { return }
      say(.client(peer, .finished(operation.id, result)))
    }
  }

  /// Finds these services and characteristics of a peripheral: `180D` from handle 1 on, each characteristic in three
  /// handles (declaration, value, one descriptor).
  func discover(
    _ peripheral: Peripheral, _ uuids: [(BluetoothUUID, CharacteristicProperties)]
  ) throws -> [Characteristic] {
    let end = AttributeHandle(UInt16(1 + 3 * uuids.count))
    peripheral.discoverServices(nil)
    answer(.success(.services([DiscoveredService(handles: 1...end, uuid: "180D")])))
    guard let service = peripheral.services?.first else { throw NothingFound() }
    peripheral.discoverCharacteristics(nil, for: service)
    answer(
      .success(
        .characteristics(
          uuids.enumerated().map { index, characteristic in
            let declaration = UInt16(2 + 3 * index)
            return DiscoveredCharacteristic(
              declaration: AttributeHandle(declaration),
              properties: .init(rawValue: UInt8(truncatingIfNeeded: characteristic.1.rawValue)),
              valueHandle: AttributeHandle(declaration + 1), uuid: characteristic.0)
          })))
    _ = takeCalls()
    return service.characteristics ?? []
  }
}

/// A delegate of both kinds that writes everything down in words.
final class CentralRecorder: NSObject, CentralManagerDelegate, PeripheralDelegate, CallRecorder, Sendable {
  let channels = HeldChannels()
  private let state = Mutex(State())

  private struct State {
    var lines: [String] = []
    var found: [Peripheral] = []
    var dictionaries: [[String: String]] = []
    var reactions: [@Sendable (String) -> Void] = []
    var writesTexts = false
  }

  func take() -> [String] {
    state.withLock { state in
      defer { state.lines = [] }
      return state.lines
    }
  }

  /// The device found last; no other is held any longer.
  func takeFound() -> Peripheral? {
    state.withLock { state in
      defer { state.found = [] }
      return state.found.last
    }
  }

  var lastDictionary: [String: String] { state.withLock { $0.dictionaries.last ?? [:] } }

  /// Does something inside every call.
  func react(_ reaction: @escaping @Sendable (String) -> Void) { state.withLock { $0.reactions.append(reaction) } }

  /// From now on a line with an error also has its text.
  func writeTexts() { state.withLock { $0.writesTexts = true } }

  private func note(_ line: String, _ error: (any Error)? = nil) {
    var text = line
    let writesTexts = state.withLock { $0.writesTexts }
    if let error = error as? BluetoothError {
      text += " \(error.code)\(writesTexts ? ": \(error.localizedDescription)" : "")"
    }
    if let error = error as? ATTError { text += " ATT 0x\(String(error.errorCode, radix: 16))" }
    let reactions = state.withLock { state in
      state.lines.append(text)
      return state.reactions
    }
    for reaction in reactions { reaction(text) }
  }

  func centralManagerDidUpdateState(_ central: CentralManager) { note("state \(central.state)") }
  func centralManager(_ central: CentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [Peripheral] ?? []
    state.withLock { $0.found = peripherals }
    let services = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    let options = dict[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
    var words = ["willRestore"] + peripherals.map { "\($0.name ?? "-") \($0.state)" }
    if let options { words.append("scan \(services.map { "\($0)" } ?? "all") \(options.keys.sorted())") }
    note(words.joined(separator: " "))
  }
  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    state.withLock { state in
      state.found.append(peripheral)
      state.dictionaries.append(advertisementData.mapValues { "\($0)" })
    }
    note("discovered \(peripheral.name ?? "-") \(rssi)")
  }
  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) { note("connected") }
  func centralManager(_ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?) {
    note("failed", error)
  }
  func centralManager(_ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?) {
    note("disconnected", error)
  }
  func centralManager(
    _ central: CentralManager, connectionEventDidOccur event: ConnectionEvent, for peripheral: Peripheral
  ) {
    note("event \(event)")
  }

  func peripheralDidUpdateName(_ peripheral: Peripheral) { note("name \(peripheral.name ?? "-")") }
  func peripheral(_ peripheral: Peripheral, didModifyServices invalidatedServices: [Service]) {
    note("modified \(invalidatedServices.map(\.uuid.uuidString).joined(separator: " "))")
  }
  func peripheral(_ peripheral: Peripheral, didReadRSSI rssi: NSNumber, error: (any Error)?) {
    note("rssi \(rssi)", error)
  }
  func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?) {
    note("services \((peripheral.services ?? []).map(\.uuid.uuidString).joined(separator: " "))", error)
  }
  func peripheral(_ peripheral: Peripheral, didDiscoverIncludedServicesFor service: Service, error: (any Error)?) {
    note("included \((service.includedServices ?? []).map(\.uuid.uuidString).joined(separator: " "))", error)
  }
  func peripheral(_ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?) {
    note("characteristics \((service.characteristics ?? []).map(\.uuid.uuidString).joined(separator: " "))", error)
  }
  func peripheral(
    _ peripheral: Peripheral, didDiscoverDescriptorsFor characteristic: Characteristic, error: (any Error)?
  ) {
    note("descriptors \((characteristic.descriptors ?? []).map(\.uuid.uuidString).joined(separator: " "))", error)
  }
  func peripheral(_ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?) {
    note("value \(characteristic.uuid) \(characteristic.value.map { "\([UInt8]($0))" } ?? "-")", error)
  }
  func peripheral(_ peripheral: Peripheral, didUpdateValueFor descriptor: Descriptor, error: (any Error)?) {
    note("descriptor \(descriptor.uuid) \(descriptor.value.map { "\($0)" } ?? "-")", error)
  }
  func peripheral(_ peripheral: Peripheral, didWriteValueFor characteristic: Characteristic, error: (any Error)?) {
    note("wrote \(characteristic.uuid)", error)
  }
  func peripheral(_ peripheral: Peripheral, didWriteValueFor descriptor: Descriptor, error: (any Error)?) {
    note("wrote descriptor \(descriptor.uuid)", error)
  }
  func peripheral(
    _ peripheral: Peripheral, didUpdateNotificationStateFor characteristic: Characteristic, error: (any Error)?
  ) {
    note("notifying \(characteristic.uuid) \(characteristic.isNotifying)", error)
  }
  func peripheral(_ peripheral: Peripheral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?) {
    note("phy", error)
  }
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: Peripheral) { note("ready") }
  func peripheral(_ peripheral: Peripheral, didOpen channel: L2CAPChannel?, error: (any Error)?) {
    channels.keep(channel)
    note("opened\(channel.map { " \($0.psm)" } ?? "")", error)
  }
}
