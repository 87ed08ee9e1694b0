import BLECrypto
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// A controller that takes its time, while the application changes its mind and links come and go: nothing is asked for
/// that Vol 4, Part E, 7.8.4 and 7.8.38 disallow, and nothing that is wanted stays off.
@Suite("A still controller, and a slow one") struct SlowControllerTests {
  /// What the application wants and what the controller does.
  private struct Model {
    var bench: Bench
    var random: RandomSource
    var answered = 0
    var (advertises, scans, initiates) = (false, false, false)
    var (wantsAdvertising, wantsScanning, wantsConnection) = (false, false, false)
    var links: [UInt16] = []
    var handle: UInt16 = 0x40
    /// What a controller that is not still may not be asked for.
    var offences: [HCIOpcode] = []

    static let peer = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
    static let stilling: Set<HCIOpcode> = [
      .leSetRandomAddress, .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leSetPrivacyMode,
      .leSetAddressResolutionEnable,
    ]

    init(seed: UInt64) {
      random = .seeded(seed)
      bench = Bench(ResolvingListTests.controller())
      answered = bench.controller.commands.count
    }

    /// The oldest command that waits is answered; false where none does.
    mutating func answer() -> Bool {
      guard answered < bench.controller.commands.count else { return false }
      let command = bench.controller.commands[answered]
      answered += 1
      let isOn = command.parameters.first == 1
      if Self.stilling.contains(command.opcode), advertises || scans || initiates { offences.append(command.opcode) }
      switch command.opcode {
      case .leSetAdvertisingEnable: advertises = isOn
      case .leSetScanEnable: scans = isOn
      case .leCreateConnection: initiates = true
      default: break
      }
      var patient = bench.controller
      patient.silent = []
      // Whoever connected in this moment was faster than the cancellation.
      let isTooLate = command.opcode == .leCreateConnectionCancel && !initiates
      if isTooLate { patient.refusals = [command.opcode: .commandDisallowed] }
      for packet in patient.answer(command) { bench.receive(packet) }
      if command.opcode == .leCreateConnectionCancel, !isTooLate {
        initiates = false
        var ended: [UInt8] = []
        ended.append(hci: HCI.LEConnectionComplete { $0.status = .unknownConnectionIdentifier })
        bench.receive(ended)
      }
      return true
    }

    mutating func connected(_ role: HCI.Role) {
      handle += 1
      links.append(handle)
      if role == .peripheral { advertises = false } else { (initiates, wantsConnection) = (false, false) }
      var packet: [UInt8] = []
      packet.append(
        hci: HCI.LEConnectionComplete {
          $0.connectionHandle = ConnectionHandle(rawValue: handle)
          $0.role = role
          $0.peerAddress =
            role == .central
            ? Self.peer : DeviceAddress(octets: BD_ADDR(0xC000_0001_0000 + UInt64(handle)), kind: .random)
          ($0.connectionInterval, $0.supervisionTimeout) = (24, 500)
        })
      bench.receive(packet)
    }

    mutating func happen() {
      let id = AdvertisingID(rawValue: 1)
      switch random.next() % 14 {
      case 0:
        let before = bench.events.count
        bench.perform(.advertising(.start(id, AdvertisingIntent(data: [2, 1, 6], scanResponse: []))))
        // Refused while it runs, or has yet to stop: then what was wanted is wanted still.
        if case .advertising(id, .started(.failure))? = bench.events.dropFirst(before).first { return }
        wantsAdvertising = true
      case 1:
        wantsAdvertising = false
        bench.perform(.advertising(.stop(id)))
      case 2, 3:
        wantsScanning = random.next() % 3 > 0
        bench.perform(wantsScanning ? .scanning(.start(ScanParameters())) : .scanning(.stop))
      case 4 where !bench.isConnected(to: Self.peer):
        wantsConnection = true
        bench.perform(.initiating(.connect(ConnectID(rawValue: 1), Self.peer, ConnectionParameters())))
      case 5:
        wantsConnection = false
        bench.perform(.initiating(.cancel(ConnectID(rawValue: 1))))
      case 6: bench.perform(.security(.setBonds((0..<random.next() % 3).map { ResolvingListTests.bond($0 + 1) })))
      case 7:
        let key = SecretKey(UInt128(random.next() % 3))
        bench.perform(.privacy(key.value == 0 ? nil : PrivacySettings(identityResolvingKey: key)))
      case 8 where advertises: connected(.peripheral)
      case 9 where initiates: connected(.central)
      case 10 where !links.isEmpty:
        bench.receive(ScriptedController.disconnected(links.remove(at: Int(random.next() % UInt64(links.count)))))
      default: _ = answer()
      }
    }
  }

  @Test(arguments: 0..<200 as Range<UInt64>) func nothingStaysOff(seed: UInt64) {
    var model = Model(seed: seed)
    let commands: [HCIOpcode] = [
      .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
      .leSetScanParameters, .leSetScanEnable, .leCreateConnection, .leCreateConnectionCancel,
    ]
    model.bench.controller.silent = Set(commands).union(Model.stilling)
    for _ in 0..<200 { model.happen() }
    var rounds = 0
    while model.answer(), rounds < 1000 { rounds += 1 }
    #expect(rounds < 1000 && model.offences.isEmpty, "\(model.offences)")
    #expect(model.scans == model.wantsScanning, "scanning")
    #expect(model.initiates == model.wantsConnection, "connecting")
    #expect(model.advertises == model.wantsAdvertising, "advertising")
    for event in model.bench.events {
      if case .diagnostic(let diagnostic) = event { Issue.record("\(diagnostic)") }
      if case .state(let state, _) = event { #expect(state == .poweredOn) }
    }
  }
}

extension Bench {
  /// Whether the host has told of a link to this device and not of its end.
  fileprivate func isConnected(to address: DeviceAddress) -> Bool {
    var peers: Set<LinkID> = []
    for event in events {
      switch event {
      case .connected(let connection) where connection.address == address: peers.insert(connection.peer)
      case .link(let peer, .disconnected(_)): peers.remove(peer)
      default: break
      }
    }
    return !peers.isEmpty
  }
}
