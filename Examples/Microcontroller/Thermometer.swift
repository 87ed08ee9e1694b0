import BLEPeripheral
import Board
import MbedTLSPrimitives

/// A thermometer that pairs and stores its bonds: one loop, and no operating system.
///
/// The temperature and the interval of its notifications demand encryption; everyone may write the location. The
/// console prints each event, and takes keys: `j` pairs with Just Works, `p` with a passkey that it prints, `e` erases
/// the bonds, `m` prints the use of memory.
@main struct Firmware {
  static func main() {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: memoryOfMbedTLS, alignment: 8)
    primitives_start(memory, memoryOfMbedTLS)
    do throws(DatabaseError) {
      try Thermometer().run()
    } catch { log("the services are not possible") }
  }
}

/// Octets that mbedTLS allocates from. A multiplication on P-256 has 1,312 octets in 33 blocks at most, each of which
/// has a header.
private let memoryOfMbedTLS = 4096

private func log(_ text: String) {
  var line = text + "\n"
  line.withUTF8 { octets in
    if let start = octets.baseAddress { board_log(start, Int32(octets.count)) }
  }
}

/// The state that the functions of the characteristics share with the loop.
private final class Measurement {
  /// In 0.01 °C.
  var temperature: Int16 = 2000
  /// Between two measurements, in milliseconds.
  var interval: UInt16 = 1000
  var intervalHasChanged = false
  /// A text of 20 octets at most.
  var location: [UInt8] = Array("unknown".utf8)
}

/// A class, because a value of its size would be on the stack, and while it is made twice.
private final class Thermometer {
  private var peripheral: Peripheral
  private var store = BondStore()
  private let measurement = Measurement()
  private var nextMeasurement = Instant.start

  private static let temperature = AttributeID(rawValue: 1)
  private static let interval = AttributeID(rawValue: 2)
  private static let location = AttributeID(rawValue: 3)

  init() throws(DatabaseError) {
    var configuration = PeripheralConfiguration(name: "Thermometer")
    configuration.address = BD_ADDR(0xC011_2233_4455)
    configuration.limits.links = 4
    configuration.limits.bonds = BondStore.capacity
    // The values are short, and the loop takes the events of each turn.
    (configuration.limits.mtu, configuration.limits.preparedOctets) = (65, 64)
    (configuration.limits.updates, configuration.limits.events) = (4, 16)
    let bonds = store.bonds
    log("\(bonds.count) bonds")
    peripheral = try Peripheral(
      configuration, services: [Self.service(measurement)], cryptography: MbedTLS(), bonds: bonds)
  }

  private static func service(_ measurement: Measurement) -> PeripheralService {
    PeripheralService(
      uuid: "181A",
      characteristics: [
        PeripheralCharacteristic(
          temperature, uuid: "2A6E", properties: [.read, .notify], access: .encrypted,
          read: { _, value in
            value.append(littleEndian: measurement.temperature)
            return nil
          }),
        PeripheralCharacteristic(
          interval, uuid: "9E3C0001-7B1F-4C52-9D7A-7C2D5F5B0A01", properties: [.read, .write], access: .encrypted,
          read: { _, value in
            value.append(littleEndian: measurement.interval)
            return nil
          },
          write: { _, octets in
            guard octets.count == 2 else { return .invalidAttributeValueLength }
            let interval = UInt16(octets[0]) | UInt16(octets[1]) << 8
            guard interval >= 10 else { return .outOfRange }
            (measurement.interval, measurement.intervalHasChanged) = (interval, true)
            return nil
          }),
        PeripheralCharacteristic(
          location, uuid: "9E3C0002-7B1F-4C52-9D7A-7C2D5F5B0A01", properties: [.read, .write, .writeWithoutResponse],
          read: { _, value in
            value.append(contentsOf: measurement.location)
            return nil
          },
          write: { _, octets in
            guard octets.count <= 20 else { return .invalidAttributeValueLength }
            measurement.location = octets.withUnsafeBufferPointer { Array($0) }
            return nil
          }),
      ])
  }

  func run() {
    peripheral.start(now: now)
    do throws(AdvertisingDataError) {
      try peripheral.advertise(Advertisement(localName: "Thermometer", serviceUUIDs: ["181A"]), now: now)
    } catch { return log("the advertisement is too long") }
    nextMeasurement = now
    var octets = [UInt8](repeating: 0, count: 512)
    while true {
      peripheral.transmit { packet in
        packet.withUnsafeBufferPointer { board_write($0.baseAddress, Int32($0.count)) }
      }
      while let event = peripheral.nextEvent() { handle(event) }
      board_wait(deadline)
      let count = board_read(&octets, Int32(octets.count))
      guard count >= 0 else { return log("the controller is gone") }
      do throws(H4Error) {
        try peripheral.receive(octets.span.extracting(0..<Int(count)), now: now)
      } catch {
        log("the controller sends no H4 packets: it is started again")
        peripheral.start(now: now)
      }
      peripheral.tick(now: now)
      measure()
      let key = board_key()
      if key >= 0 { press(UInt8(truncatingIfNeeded: key)) }
    }
  }

  private var now: Instant { Instant(microseconds: Int64(clamping: board_microseconds())) }

  /// When the loop has work, in microseconds since the start.
  private var deadline: UInt64 {
    let next = Instant?.nearer(peripheral.deadline, nextMeasurement) ?? nextMeasurement
    // The next microsecond, so that it is not too early.
    return UInt64(clamping: next.microseconds &+ 1)
  }

  private func measure() {
    if measurement.intervalHasChanged { (measurement.intervalHasChanged, nextMeasurement) = (false, now) }
    guard nextMeasurement <= now else { return }
    nextMeasurement = now + .milliseconds(Int64(measurement.interval))
    measurement.temperature = measurement.temperature < 2500 ? measurement.temperature + 1 : 2000
    let value = UInt16(bitPattern: measurement.temperature)
    let octets: InlineArray<2, UInt8> = [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    // A client that is too slow gets the next value.
    peripheral.update(Self.temperature, octets.span, now: now)
  }

  // Not inlined: the loop would have the copies of events on its stack all the time.
  @inline(never)
  private func handle(_ event: PeripheralEvent) {
    switch event {
    case .ready(let address): log("ready: \(address.octets.description)")
    case .notReady(let reason): log("not ready: \(reason)")
    case .advertising(let isOn): log(isOn ? "advertising" : "not advertising")
    case .advertisingFailed(let reason): log("not advertising: \(reason)")
    case .connected(let peer, let address): log("\(peer.description): connected to \(address.octets.description)")
    case .disconnected(let peer, let reason): log("\(peer.description): disconnected, \(reason.rawValue)")
    case .security(let peer, let security): log("\(peer.description): level \(security.level.rawValue + 1)")
    case .subscription(let peer, _, let subscription):
      log("\(peer.description): subscription \(subscription.rawValue)")
    case .canUpdate: break
    case .question(let peer, let id, let question): answer(peer, id, question)
    case .questionWithdrawn: break
    case .paired(let peer, let isBonded): log("\(peer.description): paired, \(isBonded ? "bonded" : "not bonded")")
    case .pairingFailed(let peer, let reason): log("\(peer.description): pairing failed: \(reason)")
    case .bondChanged(let bond): log(store.store(bond) ? "bond stored: \(bond.address)" : "no room for a bond")
    case .bondRemoved(let identity):
      store.remove(identity)
      log("bond removed: \(identity.octets.description)")
    case .diagnostic(let line): log(line)
    case .eventsDropped(let count): log("\(count) events dropped")
    }
  }

  private func answer(_ peer: Peer, _ id: PairingQuestionID, _ question: PairingQuestion) {
    switch question {
    case .display(let passkey): log("\(peer.description): passkey \(passkey.digits)")
    // With the capabilities of this program there are no others.
    case .consent, .replaceBond, .compare, .enterPasskey: peripheral.answer(id, .reject, of: peer, now: now)
    }
  }

  private func press(_ key: UInt8) {
    switch key {
    case UInt8(ascii: "j"): setPairing(.noInputNoOutput, "Just Works")
    case UInt8(ascii: "p"): setPairing(.displayOnly, "passkey")
    case UInt8(ascii: "e"): for device in store.devices { peripheral.removeBond(of: device, now: now) }
    case UInt8(ascii: "m"): board_log_memory()
    default: break
    }
  }

  private func setPairing(_ capability: IOCapability, _ name: String) {
    var pairing = PeripheralConfiguration.defaultPairing
    pairing.ioCapability = capability
    (pairing.requestsMITM, pairing.requiresMITM) = (capability == .displayOnly, capability == .displayOnly)
    peripheral.setPairing(pairing, now: now)
    log("pairing: \(name)")
  }
}
