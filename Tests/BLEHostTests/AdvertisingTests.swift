import BLEHCI
import BLEHost
import BLEWire
import Testing

@Suite("Advertising as a declared intent")
struct AdvertisingTests {
  let id = AdvertisingID(rawValue: 7)
  let intent = AdvertisingIntent(data: [0x02, 0x01, 0x06], scanResponse: [0x02, 0x09, 0x41])

  private func sent(_ bench: Bench, after count: Int) -> [HCIOpcode] {
    bench.controller.commands.dropFirst(count).map(\.opcode)
  }

  @Test func configuresThenEnables() {
    var bench = Bench()
    let before = bench.controller.commands.count
    bench.perform(.advertising(.start(id, intent)))
    #expect(
      sent(bench, after: before) == [
        .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
      ])
    guard case .advertising(id, .started(.success)) = bench.events.last else { Issue.record("not started"); return }
    // The data field is 32 octets on the wire whatever is in it (Vol 4, Part E, 7.8.7).
    let data = bench.controller.commands.first { $0.opcode == .leSetAdvertisingData }
    #expect(data?.parameters.count == 32)
    #expect(data?.parameters.prefix(4) == [3, 2, 1, 6])
  }

  @Test func beginsAgainWhileACentralIsConnectedAndAfterItLeft() {
    var bench = Bench()
    bench.perform(.advertising(.start(id, intent)))
    var before = bench.controller.commands.count
    bench.receive(ScriptedController.connected(0x40))
    #expect(sent(bench, after: before) == [.leSetAdvertisingEnable])
    before = bench.controller.commands.count
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(sent(bench, after: before).isEmpty)  // it never stopped
  }

  @Test func waitsForALinkToEndWhereTheControllerHasNoRoom() {
    var bench = Bench()
    bench.perform(.advertising(.start(id, intent)))
    bench.controller.refusals[.leSetAdvertisingEnable] = .connectionLimitExceeded
    bench.receive(ScriptedController.connected(0x40))
    guard case .advertising(id, .paused(.connectionLimitExceeded)) = bench.events.last else {
      Issue.record("not paused"); return
    }
    bench.controller.refusals = [:]
    bench.receive(ScriptedController.disconnected(0x40))
    guard case .advertising(id, .resumed) = bench.events.last else { Issue.record("not resumed"); return }
  }

  @Test func restsWhileConnectedWhereTheIntentSaysSo() {
    var bench = Bench()
    var resting = intent
    resting.continuesWhileConnected = false
    bench.perform(.advertising(.start(id, resting)))
    let before = bench.controller.commands.count
    bench.receive(ScriptedController.connected(0x40))
    #expect(sent(bench, after: before).isEmpty)
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(sent(bench, after: before) == [.leSetAdvertisingEnable])
  }

  @Test func endsWithTheFirstLinkWhereTheIntentSaysSo() {
    var bench = Bench()
    var once = intent
    once.continuesWhileConnected = false
    once.resumesAfterDisconnection = false
    bench.perform(.advertising(.start(id, once)))
    let before = bench.controller.commands.count
    bench.receive(ScriptedController.connected(0x40))
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(sent(bench, after: before).isEmpty)
    bench.perform(.advertising(.start(id, once)))
    guard case .advertising(id, .started(.success)) = bench.events.last else { Issue.record("not started"); return }
  }

  @Test func comesBackAfterAReset() {
    var bench = Bench()
    bench.perform(.advertising(.start(id, intent)))
    bench.receive([0x04, 0x10, 0x01, 0x00])
    #expect(bench.controller.commands.last?.opcode == .leSetAdvertisingEnable)
    guard case .advertising(id, .resumed) = bench.events.last else { Issue.record("not resumed"); return }
  }

  @Test func stopsAndIsForgotten() {
    var bench = Bench()
    bench.perform(.advertising(.start(id, intent)))
    bench.perform(.advertising(.stop(id)))
    #expect(bench.controller.commands.last?.parameters == [0])
    bench.receive([0x04, 0x10, 0x01, 0x00])
    #expect(bench.controller.commands.last?.opcode == .leSetEventMask)
  }

  @Test func aRefusalIsTheAnswerToTheStart() {
    var bench = Bench()
    bench.controller.refusals[.leSetAdvertisingParameters] = .invalidCommandParameters
    bench.perform(.advertising(.start(id, intent)))
    guard case .advertising(id, .started(.failure(let error))) = bench.events.last else {
      Issue.record("no answer"); return
    }
    #expect(error == .controller(.leSetAdvertisingParameters, .invalidCommandParameters))
  }

  @Test func whatCannotBeAdvertisedIsRefusedBeforeTheController() {
    var bench = Bench()
    let before = bench.controller.commands.count
    bench.perform(.advertising(.start(id, AdvertisingIntent(data: [UInt8](repeating: 0, count: 32), scanResponse: []))))
    bench.perform(.advertising(.start(id, AdvertisingIntent(data: [], scanResponse: [UInt8](repeating: 0, count: 32)))))
    var wrong = intent
    wrong.interval = 0x10...0x20
    bench.perform(.advertising(.start(id, wrong)))
    wrong = intent
    wrong.usesExtendedPDUs = true
    bench.perform(.advertising(.start(id, wrong)))
    let refused = bench.events.filter { if case .advertising(id, .started(.failure)) = $0 { true } else { false } }
    #expect(refused.count == 4)
    #expect(bench.controller.commands.count == before)
  }

  @Test func aLegacyControllerHasOneAdvertisement() {
    var bench = Bench()
    bench.perform(.advertising(.start(id, intent)))
    bench.perform(.advertising(.start(AdvertisingID(rawValue: 8), intent)))
    guard case .advertising(AdvertisingID(rawValue: 8), .started(.failure(.tooMany(_, limit: 1)))) = bench.events.last
    else { Issue.record("not refused"); return }
  }

  @Test func anExtendedControllerKeepsOneSetForEach() {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .extendedAdvertising]
    for opcode in [
      HCIOpcode.leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
      .leSetExtendedAdvertisingEnable,
    ] { controller.supported.insert(opcode) }
    var bench = Bench(controller)
    let before = bench.controller.commands.count
    bench.perform(.advertising(.start(id, intent)))
    #expect(
      sent(bench, after: before) == [
        .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
        .leSetExtendedAdvertisingEnable,
      ])
    var terminated: [UInt8] = []
    terminated.append(hci: HCI.LEAdvertisingSetTerminated { $0.connectionHandle = ConnectionHandle(rawValue: 0x40) })
    bench.receive(ScriptedController.connected(0x40))
    bench.receive(terminated)
    #expect(sent(bench, after: before).filter { $0 == .leSetExtendedAdvertisingEnable }.count == 2)
    bench.perform(.advertising(.stop(id)))
    #expect(bench.controller.commands.last?.opcode == .leRemoveAdvertisingSet)
  }

  @Test func shutdownTakesItOffTheAir() {
    var bench = Bench()
    bench.perform(.advertising(.start(id, intent)))
    bench.receive(ScriptedController.connected(0x40))
    bench.shutdown()
    let last = bench.controller.commands.suffix(2).map(\.opcode)
    #expect(last == [.leSetAdvertisingEnable, .disconnect])
    #expect(!bench.core.isShutDown)
    bench.receive(ScriptedController.disconnected(0x40, .terminatedByLocalHost))
    #expect(bench.core.isShutDown)
  }

  /// A link can come up before the controller has stopped advertising.
  @Test func shutdownEndsALinkThatComesUpMeanwhile() {
    var bench = Bench()
    bench.perform(.advertising(.start(id, intent)))
    bench.controller.silent = [.leSetAdvertisingEnable]
    bench.shutdown()
    bench.receive(ScriptedController.connected(0x40))
    #expect(!bench.core.isShutDown)
    bench.controller.silent = []
    bench.receive(ScriptedController.complete(.leSetAdvertisingEnable, [0]))
    #expect(bench.controller.commands.last?.opcode == .disconnect)
    bench.receive(ScriptedController.disconnected(0x40, .terminatedByLocalHost))
    #expect(bench.core.isShutDown)
  }

  @Test func shutdownDoesNotWaitForASilentController() {
    var bench = Bench()
    bench.receive(ScriptedController.connected(0x40))
    bench.shutdown()
    bench.run(for: .seconds(3))
    #expect(bench.core.isShutDown)
  }
}
