import BLEATT
import BLECrypto
import BLEGAP
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Board
import MbedTLSPrimitives

/// A thermometer on the whole host, as a firmware has it: one loop that reads the controller, and no operating system.
///
/// Its temperature demands encryption; it pairs with Just Works, and keeps four bonds until it ends. The log has a line
/// for each event, and the use of memory at the end of each link.
@main struct Program {
  static func main() {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: memoryOfMbedTLS, alignment: 8)
    primitives_start(memory, memoryOfMbedTLS)
    log("host: HostCore has \(MemoryLayout<HostCore>.size) octets")
    var thermometer = Thermometer()
    thermometer.run()
    log("host: the controller is gone")
  }
}

/// Octets that mbedTLS allocates from.
private let memoryOfMbedTLS = 8192

private func log(_ text: String) {
  var line = text + "\n"
  line.withUTF8 { octets in
    if let start = octets.baseAddress { board_log(start, Int32(octets.count)) }
  }
}

private func now() -> Instant { .start + .microseconds(Int64(board_microseconds())) }

private struct Thermometer {
  private var core: HostCore
  private var output = HostOutput()
  private var framer = H4Framer()
  private var reading: UInt8 = 20

  private static let service = ServiceID(rawValue: 1)
  private static let temperature = AttributeID(rawValue: 1)

  init() {
    var configuration = HostConfiguration()
    configuration.deviceName = "Thermometer"
    configuration.staticAddress = BD_ADDR(0xC011_2233_4455)
    configuration.maximumBonds = 4
    configuration.expectedLinks = 4
    configuration.pairing = PairingSettings()
    core = HostCore(configuration: configuration, cryptography: MbedTLS(), random: .system)
  }

  mutating func run() {
    core.start(now: now(), into: &output)
    drain()
    let temperature = CharacteristicDefinition(
      id: Self.temperature, uuid: "2A6E", properties: [.read, .notify],
      permissions: .init(read: .encrypted), value: .dynamic)
    perform(.services(.add(ServiceDefinition(id: Self.service, uuid: "181A", characteristics: [temperature]))))
    var octets = [UInt8](repeating: 0, count: 512)
    while true {
      let count = octets.withUnsafeMutableBufferPointer { buffer in
        buffer.baseAddress.map { board_read($0, Int32(buffer.count), wait) } ?? -1
      }
      guard count >= 0 else { return }
      do throws(H4Error) {
        try framer.receive(octets.span.extracting(0..<Int(count))) { packet in
          core.receive(packet, now: now(), into: &output)
        }
      } catch { return log("host: \(error)") }
      if let deadline = core.deadline, deadline <= now() { core.tick(now: now(), into: &output) }
      drain()
    }
  }

  /// Milliseconds until the host has work, at most a second.
  private var wait: Int32 {
    guard let deadline = core.deadline else { return 1000 }
    return Int32(clamping: max(0, min((deadline - now()).milliseconds + 1, 1000)))
  }

  private mutating func perform(_ command: HostCommand) {
    core.perform(command, from: .process, now: now(), into: &output)
    drain()
  }

  private mutating func drain() {
    while !output.packets.isEmpty || !output.events.isEmpty {
      output.packets.forEach { packet in
        packet.withUnsafeBufferPointer { octets in
          if let start = octets.baseAddress { board_write(start, Int32(octets.count)) }
        }
      }
      let events = output.events
      output.removeAll()
      for event in events { receive(event.event) }
    }
  }

  private mutating func receive(_ event: HostEvent) {
    switch event {
    case .state(.poweredOn, _): advertise()
    case .state(let state, _): log("host: state \(state.rawValue)")
    case .advertising(_, .started(.success)): log("host: advertising")
    case .advertising(_, .started(.failure(let error))): log("host: not advertising: \(error.description)")
    case .connected: log("host: connected")
    case .link(_, .disconnected): log("host: disconnected; heap \(board_heap()), stack \(board_stack())")
    case .pairing(_, .succeeded(let device)): log("host: paired, \(device.isBonded ? "a bond" : "no bond")")
    case .pairing(_, .failed(let failure)): log("host: not paired: \(failure.description)")
    case .link(_, .security(let security)): log("host: level \(security.level.rawValue)")
    case .server(let peer, .read(let token, Self.temperature, _)):
      perform(.respond(peer, token, .success([reading, 0])))
    case .server(let peer, .subscription(Self.temperature, .notify)):
      reading &+= 1
      perform(.update(UpdateToken(rawValue: UInt64(reading)), Self.temperature, [reading, 0], to: [peer]))
    case .diagnostic(let diagnostic): log("host: \(diagnostic.text)")
    default: break
    }
  }

  private mutating func advertise() {
    let advertisement = Advertisement(localName: "Thermometer", serviceUUIDs: ["181A"])
    do throws(AdvertisingDataError) {
      let payload = try advertisement.payload(under: .full)
      let intent = AdvertisingIntent(data: payload.advertisingData, scanResponse: payload.scanResponse)
      perform(.advertising(.start(AdvertisingID(rawValue: 1), intent)))
    } catch { log("host: the advertisement is too long") }
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
