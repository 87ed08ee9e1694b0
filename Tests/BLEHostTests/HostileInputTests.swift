import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

@Suite("Whatever octets arrive")
struct HostileInputTests {
  /// A host with a link, a subscription and a stored value, so that random octets reach more than the first check.
  private func serving() -> Bench {
    var bench = Bench()
    bench.perform(
      .services(
        .add(
          ServiceDefinition(
            id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0),
            characteristics: [
              CharacteristicDefinition(
                id: AttributeID(rawValue: 1), uuid: BluetoothUUID(0xFFF1), properties: [.read, .write, .notify],
                permissions: .readableAndWritable, value: .stored([1, 2, 3], length: 0...512)),
              CharacteristicDefinition(
                id: AttributeID(rawValue: 2), uuid: BluetoothUUID(0xFFF2), properties: [.read, .write, .indicate],
                permissions: .readableAndWritable, value: .dynamic),
            ]))))
    bench.receive(ScriptedController.connected(0x40))
    return bench
  }

  @Test(arguments: 0..<8)
  func randomPacketsNeverStopTheHost(seed: UInt64) {
    var random = RandomSource.seeded(seed)
    var bench = serving()
    for _ in 0..<3000 {
      bench.receive(packet(&random))
      if bench.core.linkCount == 0 { bench.receive(ScriptedController.connected(0x40)) }
    }
    // Whatever happened, a new link is served.
    bench.receive(ScriptedController.disconnected(0x41))
    bench.receive(ScriptedController.connected(0x41, from: "C0:00:00:00:00:09"))
    #expect(bench.att(0x41, [0x02, 0x17, 0x00]) == [[0x03, 0x05, 0x02]])
  }

  @Test(arguments: 0..<4)
  func aHostileLinkLeavesTheOthersAlone(seed: UInt64) {
    var random = RandomSource.seeded(100 + seed)
    var bench = serving()
    bench.receive(ScriptedController.connected(0x41, from: "C0:00:00:00:00:09"))
    for _ in 0..<500 {
      let pdu = random.octets(Int.random(in: 0...60, using: &random))
      let channel: UInt16 = [4, 5, 6, 4, 4].randomElement(using: &random) ?? 4
      bench.receive(ScriptedController.frame(0x40, cid: channel, pdu))
      #expect(bench.att(0x41, [0x08, 1, 0, 0xFF, 0xFF, 0x00, 0x2A]).first?.first == 0x09)
    }
  }

  /// Octets that look like packets: mostly right in their headers, anything behind them.
  private func packet(_ random: inout RandomSource) -> [UInt8] {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return random.octets(Int.random(in: 0...40, using: &random))
    case 1:  // an event with a code that exists
      let codes: [UInt8] = [0x05, 0x08, 0x0C, 0x0E, 0x0F, 0x13, 0x1A, 0x30, 0x57, 0x59, 0x3E]
      let parameters = random.octets(Int.random(in: 0...30, using: &random))
      return [0x04, codes.randomElement(using: &random) ?? 0x3E, UInt8(parameters.count)] + parameters
    case 2:  // an LE event with a subevent that exists
      let parameters =
        [UInt8.random(in: 1...0x29, using: &random)] + random.octets(Int.random(in: 0...40, using: &random))
      return [0x04, 0x3E, UInt8(parameters.count)] + parameters
    case 3:  // an ATT PDU with an opcode that exists
      let opcodes: [UInt8] = [2, 4, 6, 8, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x1E, 0x20, 0x52, 0xD2]
      let pdu = [opcodes.randomElement(using: &random) ?? 2] + random.octets(Int.random(in: 0...40, using: &random))
      return ScriptedController.frame(0x40, cid: 4, pdu)
    case 4: return ScriptedController.frame(0x40, cid: 5, random.octets(Int.random(in: 0...30, using: &random)))
    default:  // a fragment with any boundary flag
      let data = random.octets(Int.random(in: 0...27, using: &random))
      return [0x02, 0x40, UInt8.random(in: 0...3, using: &random) << 4, UInt8(data.count), 0] + data
    }
  }
}

@Suite("Whatever the application asks")
struct ApplicationMisuseTests {
  @Test func namesOfLinksThatAreNotThere() {
    var bench = Bench()
    let nobody = LinkID(rawValue: 99)
    bench.perform(.link(nobody, .disconnect(.remoteUserTerminatedConnection)))
    bench.perform(.link(nobody, .updateConnection(ConnectionParameters())))
    bench.perform(.link(nobody, .requestSecurity))
    bench.perform(.link(nobody, .readRSSI))
    bench.perform(
      .link(nobody, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: 1), .discoverPrimaryServices))))
    let told = bench.events.filter {
      switch $0 {
      case .refused(.notConnected), .link(_, .rssi(.failure(.notConnected))),
        .client(_, .finished(_, .failure(.linkEnded))):
        true
      default: false
      }
    }
    #expect(told.count == 5)
  }

  @Test func aServiceTwiceAndAValueTooLong() {
    var bench = Bench()
    let service = ServiceDefinition(id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0))
    bench.perform(.services(.add(service)))
    bench.perform(.services(.add(service)))
    bench.perform(
      .services(
        .add(
          ServiceDefinition(
            id: ServiceID(rawValue: 2), uuid: BluetoothUUID(0xFFF0),
            characteristics: [
              CharacteristicDefinition(
                id: AttributeID(rawValue: 1), uuid: BluetoothUUID(0xFFF1), properties: .read, permissions: .readable,
                value: .fixed([UInt8](repeating: 0, count: 513)))
            ]))))
    bench.perform(.services(.remove(ServiceID(rawValue: 3))))
    let failures = bench.events.compactMap { event -> DatabaseError? in
      switch event {
      case .services(.added(_, .failure(let error))), .services(.removed(_, .failure(let error))): error
      default: nil
      }
    }
    #expect(
      failures == [
        .duplicateService(ServiceID(rawValue: 1)), .valueTooLong(AttributeID(rawValue: 1), octets: 513),
        .unknownService(ServiceID(rawValue: 3)),
      ])
  }

  @Test func aServiceThatComesOrGoesIsIndicatedToWhoAskedForIt() {
    var bench = Bench()
    bench.receive(ScriptedController.connected(0x40))
    // Service Changed has the type 0x2A05; its CCCD follows its value.
    let found = (1...2).flatMap { half in bench.att(0x40, [0x08, half == 1 ? 1 : 8, 0, 0xFF, 0xFF, 0x03, 0x28]) }
    let declarations = found.flatMap { $0.dropFirst(2) }
    var value: UInt8?
    for start in stride(from: 0, to: declarations.count - 6, by: 7) where declarations[start + 5] == 0x05 {
      value = declarations[start + 3]
    }
    guard let value else { Issue.record("no Service Changed among \(found)"); return }
    #expect(bench.att(0x40, [0x12, value + 1, 0, 2, 0]) == [[0x13]])
    let before = bench.data.count
    bench.perform(.services(.add(ServiceDefinition(id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0xFFF0)))))
    let indication = bench.attPayloads(from: before).first
    #expect(indication?.prefix(3) == [0x1D, value, 0])
    #expect(indication?.count == 7)
  }
}
