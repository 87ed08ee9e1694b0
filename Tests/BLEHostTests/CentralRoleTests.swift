import BLEHCI
import BLEHost
import BLEWire
import Testing

@Suite("Scanning and connecting as declared intents")
struct CentralRoleTests {
  private func sent(_ bench: Bench, after count: Int) -> [HCIOpcode] {
    bench.controller.commands.dropFirst(count).map(\.opcode)
  }
  private func address(_ last: UInt8) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(last)), kind: .random)
  }

  @Test func scanningIsConfiguredThenEnabled() {
    var bench = Bench()
    let before = bench.controller.commands.count
    bench.perform(.scanning(.start(ScanParameters())))
    #expect(sent(bench, after: before) == [.leSetScanParameters, .leSetScanEnable])
    #expect(bench.controller.commands.last?.parameters == [1, 1])
    bench.perform(.scanning(.stop))
    #expect(bench.controller.commands.last?.parameters.first == 0)
  }

  @Test func otherParametersTakeTheScannerOffAndOnAgain() {
    var bench = Bench()
    bench.perform(.scanning(.start(ScanParameters())))
    let before = bench.controller.commands.count
    var wanted = ScanParameters()
    wanted.allowsDuplicates = true
    bench.perform(.scanning(.start(wanted)))
    #expect(sent(bench, after: before) == [.leSetScanEnable, .leSetScanParameters, .leSetScanEnable])
    #expect(bench.controller.commands.last?.parameters == [1, 0])
  }

  @Test func theSameParametersChangeNothing() {
    var bench = Bench()
    bench.perform(.scanning(.start(ScanParameters())))
    let before = bench.controller.commands.count
    bench.perform(.scanning(.start(ScanParameters())))
    #expect(sent(bench, after: before).isEmpty)
  }

  @Test func everyReportOfAnEventIsHeard() {
    var bench = Bench()
    var event: [UInt8] = []
    event.append(
      hci: HCI.LEAdvertisingReport {
        $0.reports = [
          HCI.AdvertisingReport {
            $0.address = address(1)
            $0.data = [2, 1, 6]
            $0.rssi = -40
          },
          HCI.AdvertisingReport {
            $0.eventType = .scanResponse
            $0.address = address(2)
            $0.rssi = -50
          },
        ]
      })
    bench.perform(.scanning(.start(ScanParameters())))
    _ = bench.takeEvents()
    bench.receive(event)
    let heard = bench.events.flatMap { event -> [ScanReport] in
      if case .scanning(.discovered(let found)) = event { found } else { [] }
    }
    #expect(heard.map(\.address) == [address(1), address(2)])
    #expect(heard.map(\.isConnectable) == [true, false])
    #expect(heard.map(\.isScanResponse) == [false, true])
    #expect(heard.map(\.rssi) == [-40, -50])
  }

  @Test func scanningComesBackAfterAReset() {
    var bench = Bench()
    bench.perform(.scanning(.start(ScanParameters())))
    bench.receive([0x04, 0x10, 0x01, 0x00])
    #expect(bench.controller.commands.last?.opcode == .leSetScanEnable)
  }

  private func connected(_ handle: UInt16, _ address: DeviceAddress) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(
      hci: HCI.LEConnectionComplete {
        $0.connectionHandle = ConnectionHandle(rawValue: handle)
        $0.role = .central
        $0.peerAddress = address
        $0.connectionInterval = 24
        $0.supervisionTimeout = 500
      })
    return packet
  }

  @Test func aConnectionFulfilsItsWishAndRaisesTheMTU() {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 3), address(1), ConnectionParameters())))
    #expect(bench.controller.commands.last?.opcode == .leCreateConnection)
    bench.receive(connected(0x40, address(1)))
    let link = bench.events.compactMap { event -> ConnectedLink? in
      if case .connected(let connection) = event { connection } else { nil }
    }
    #expect(link.first?.role == .central)
    #expect(link.first?.request == ConnectID(rawValue: 3))
    #expect(bench.attPayloads(from: 0) == [[0x02, 0x05, 0x02]])
    _ = bench.att(0x40, [0x03, 0xB9, 0x00])
    guard case .link(_, .mtu(185)) = bench.events.last else { Issue.record("no MTU"); return }
  }

  @Test func aCancelledWishCancelsTheController() {
    var bench = Bench()
    let id = ConnectID(rawValue: 3)
    bench.perform(.initiating(.connect(id, address(1), ConnectionParameters())))
    bench.perform(.initiating(.cancel(id)))
    guard case .connectionFailed(id, .cancelled) = bench.events.last else { Issue.record("not told"); return }
    #expect(bench.controller.commands.last?.opcode == .leCreateConnectionCancel)
    var event: [UInt8] = []
    event.append(hci: HCI.LEConnectionComplete { $0.status = .unknownConnectionIdentifier })
    bench.receive(event)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 4), address(2), ConnectionParameters())))
    #expect(bench.controller.commands.last?.opcode == .leCreateConnection)
  }

  @Test func severalWishesGoThroughTheAcceptListSoThatAnAbsentDeviceHoldsNobodyUp() {
    var controller = ScriptedController()
    controller.supported.insert(.leReadFilterAcceptListSize)
    var bench = Bench(controller)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())))
    let before = bench.controller.commands.count
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), address(2), ConnectionParameters())))
    #expect(sent(bench, after: before) == [.leCreateConnectionCancel])
    var cancelled: [UInt8] = []
    cancelled.append(hci: HCI.LEConnectionComplete { $0.status = .unknownConnectionIdentifier })
    bench.receive(cancelled)
    #expect(
      sent(bench, after: before + 1) == [
        .leClearFilterAcceptList, .leAddDeviceToFilterAcceptList, .leAddDeviceToFilterAcceptList, .leCreateConnection,
      ])
    bench.receive(connected(0x40, address(2)))
    let fulfilled = bench.events.compactMap { event -> ConnectID? in
      if case .connected(let connection) = event { connection.request } else { nil }
    }
    #expect(fulfilled == [ConnectID(rawValue: 2)])
    // The other one is still wanted.
    #expect(bench.controller.commands.last?.opcode == .leCreateConnection)
  }

  @Test func aRefusedCommandFailsTheWish() {
    var bench = Bench()
    bench.controller.refusals[.leCreateConnection] = .invalidCommandParameters
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())))
    guard
      case .connectionFailed(ConnectID(rawValue: 1), .controller(.leCreateConnection, .invalidCommandParameters)) =
        bench.events.last
    else { Issue.record("not told"); return }
  }

  @Test func theSameDeviceIsNotWantedTwice() {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())))
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), address(1), ConnectionParameters())))
    guard case .connectionFailed(ConnectID(rawValue: 2), .invalidParameters) = bench.events.last else {
      Issue.record("not refused"); return
    }
  }

  @Test func belowPoweredOnNothingIsDone() {
    var controller = ScriptedController()
    controller.refusals[.reset] = .hardwareFailure
    var bench = Bench(controller)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())))
    guard case .connectionFailed(_, .notPoweredOn) = bench.events.last else { Issue.record("not refused"); return }
    bench.perform(.scanning(.start(ScanParameters())))
    guard case .scanning(.stopped(.notPoweredOn)) = bench.events.last else { Issue.record("not refused"); return }
  }

  @Test func aPeripheralsWishForOtherParametersIsTaken() {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())))
    bench.receive(connected(0x40, address(1)))
    let before = bench.data.count
    bench.receive(
      ScriptedController.frame(0x40, cid: 5, [0x12, 0x07, 0x08, 0x00, 24, 0, 40, 0, 0, 0, 0xF4, 0x01]))
    #expect(bench.attPayloads(from: before) == [[0x13, 0x07, 0x02, 0x00, 0x00, 0x00]])
    #expect(bench.controller.commands.last?.opcode == .leConnectionUpdate)
  }

  /// A controller refuses a second link to a device (Vol 4, Part E, 7.8.12), so the request waits for the end of the
  /// first one; requests for other devices do not.
  @Test func aRequestForADeviceWhoseLinkIsEndingWaitsForTheEnd() throws {
    var controller = ScriptedController()
    controller.supported.insert(.leReadFilterAcceptListSize)
    var bench = Bench(controller)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), address(1), ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: address(1)))
    bench.perform(.link(LinkID(rawValue: 1), .disconnect(.remoteUserTerminatedConnection)))
    var before = bench.controller.commands.count
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), address(1), ConnectionParameters())))
    #expect(sent(bench, after: before).isEmpty)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 3), address(2), ConnectionParameters())))
    #expect(sent(bench, after: before) == [.leCreateConnection])
    bench.perform(.initiating(.cancel(ConnectID(rawValue: 3))))
    var cancelled: [UInt8] = []
    cancelled.append(hci: HCI.LEConnectionComplete { $0.status = .unknownConnectionIdentifier })
    bench.receive(cancelled)
    before = bench.controller.commands.count
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(sent(bench, after: before) == [.leCreateConnection])
    bench.receive(ScriptedController.connectedAsCentral(0x41, to: address(1)))
    let links = bench.events.compactMap { if case .connected(let link) = $0 { link.request?.rawValue } else { nil } }
    #expect(links == [1, 2])
    let failures = bench.events.compactMap { if case .connectionFailed(let id, _) = $0 { id.rawValue } else { nil } }
    #expect(failures == [3])
  }
}
