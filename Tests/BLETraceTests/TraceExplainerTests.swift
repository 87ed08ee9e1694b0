import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEVirtual
import BLEWire
import TestSupport
import Testing
import ToolCore

@testable import BLETrace

/// The explanations of traces that two hosts on a virtual radio make.
struct TraceExplainerTests {
  /// The only problem of a trace.
  private func problem(_ explanation: TraceExplanation) throws -> TraceFinding {
    try #require(explanation.problems.count == 1, "\(explanation.lines.map(\.text).joined(separator: "\n"))")
    return explanation.problems[0]
  }

  private func text(_ explanation: TraceExplanation) -> String {
    explanation.lines.map(\.text).joined(separator: "\n")
  }

  private func hasPacket(_ name: String, _ finding: TraceFinding) -> Bool {
    finding.evidence.contains { $0.number != nil && $0.text.contains(name) }
  }

  // MARK: Clean sessions

  @Test func aCleanSessionHasNoProblem() throws {
    var radio = TracedRadio(pacing: .connectionEvents(packetsPerEvent: 4))
    radio.connect()
    radio.perform(.discoverPrimaryServices)
    radio.read(TracedRadio.short)
    radio.read(TracedRadio.encrypted)
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    radio.read(TracedRadio.encrypted)
    for _ in 0..<5 { radio.perform(.readLong(try #require(radio.handles[TracedRadio.long]))) }
    radio.disconnect()
    radio.connect()
    radio.read(TracedRadio.encrypted)
    radio.disconnect(0)
    for host in 0...1 {
      let explanation = radio.explanation(host)
      #expect(explanation.problems.isEmpty, "\(text(explanation))")
      #expect(explanation.findings.count { $0.kind == .disconnection } == 2)
      #expect(text(explanation).contains("Nothing wrong in \(radio.records[host].count) packets. A trace of HCI"))
    }
    #expect(text(radio.explanation()).contains("This host ended the link after"))
    #expect(text(radio.explanation()).contains("The peer ended the link after"))
  }

  @Test func aLinkThatIsOpenAtTheEndIsNoProblem() {
    var radio = TracedRadio()
    radio.connect()
    #expect(radio.explanation().problems.isEmpty)
    #expect(text(radio.explanation()).contains("The link is open at the end of the trace, after"))
  }

  // MARK: Periodic advertising

  /// The peripheral sends a train with long data, and the central receives it.
  private func received() -> TracedRadio {
    var radio = TracedRadio()
    var intent = AdvertisingIntent(data: [], scanResponse: [])
    (intent.usesExtendedPDUs, intent.isConnectable) = (true, false)
    intent.periodic = PeriodicIntent(data: [5, 9] + Array("Time".utf8) + [UInt8](repeating: 0, count: 600))
    radio.ask(0, .advertising(.start(AdvertisingID(rawValue: 2), intent)))
    let train = SyncSource.train(TrainID(radio.peripheral, set: 1))
    radio.ask(1, .synchronizing(.start(SyncID(rawValue: 1), train, SyncParameters())))
    radio.run(for: .seconds(5))
    return radio
  }

  private func lines(_ radio: TracedRadio, _ name: String) -> [String] {
    var reader = TraceReader()
    return radio.records[1].compactMap { reader.entry(for: $0) }.filter { $0.name.contains(name) }.map(\.line)
  }

  @Test func aTrainIsShownInWords() throws {
    var radio = received()
    #expect(radio.explanation().problems.isEmpty, "\(text(radio.explanation()))")
    let name = "set 1 of \(radio.peripheral)"
    let established = try #require(lines(radio, "Sync Established").first)
    #expect(established.contains("\(name), every 100.0 ms, sync handle "))
    let reports = lines(radio, "Periodic Advertising Report")
    #expect(reports.contains { $0.contains("\(name)") && $0.contains("247 octets, more follow") })
    #expect(reports.contains { $0.contains("dBm") })
    radio.setInRange(false)
    radio.run(for: .seconds(5))
    #expect(lines(radio, "Sync Lost").allSatisfy { $0.contains(name) })
  }

  @Test func aTrainThatIsLostIsAProblemWithItsPackets() throws {
    var radio = received()
    for _ in 0..<2 {
      radio.setInRange(false)
      radio.run(for: .seconds(5))
      radio.setInRange(true)
      radio.run(for: .seconds(5))
    }
    let found = try problem(radio.explanation())
    #expect(found.kind == .periodicAdvertising && found.peer == radio.peripheral)
    #expect(found.headline.contains("was lost: nothing was received") && found.headline.hasSuffix("2 times"))
    #expect(found.evidence.count == 2 && hasPacket("Sync Lost", found) && found.remedy != nil)
  }

  @Test func dataThatDoesNotArriveWholeIsAProblem() throws {
    var radio = received()
    radio.setFaults([.losesChains(behind: 300)], of: 1)
    radio.run(for: .seconds(1))
    let found = try problem(radio.explanation())
    #expect(found.kind == .periodicAdvertising && found.headline.contains("did not arrive whole"))
    #expect(found.evidence.count == 2 && hasPacket("the rest was not received", found))
  }

  // MARK: The end of a link

  @Test func aSupervisionTimeoutHasTheParametersAndTheLastPacket() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.read(TracedRadio.short)
    radio.cutLinks()
    radio.run(for: .seconds(10))
    let found = try problem(radio.explanation())
    #expect(found.kind == .disconnection && found.headline.hasPrefix("The link was lost after"))
    #expect(found.headline.contains("Connection Timeout (0x08): no packet of the peer arrived"))
    #expect(hasPacket("Read Response", found) && hasPacket("Disconnection Complete", found))
    #expect(found.evidence.contains { $0.text.contains("supervision timeout 6.0 s") })
    #expect(found.remedy != nil)
  }

  @Test(arguments: [
    (HCIErrorCode.terminatedMICFailure, "the keys of the two devices differ"),
    (.instantPassed, "a time that had already passed"),
    (.linkLayerResponseTimeout, "did not answer a Link Layer procedure"),
    (.remoteDeviceTerminatedLowResources, "its resources are exhausted"),
  ]) func aReasonOfTheControllerIsExplained(reason: HCIErrorCode, meaning: String) throws {
    var radio = TracedRadio()
    radio.connect()
    radio.setFaults([.disconnects(afterPackets: 1, reason)], of: 0)
    radio.read(TracedRadio.short)
    radio.run(for: .seconds(1))
    let found = try problem(radio.explanation())
    #expect(found.headline.contains("\(reason)") && found.headline.contains(meaning), "\(found)")
    #expect(found.kind == .disconnection && found.remedy != nil)
  }

  @Test func aRequestWithoutAnAnswerEndsTheLinkAfter30Seconds() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.setFaults([.packets(PacketFault(.drop, .data, .toHost))], of: 0)
    radio.read(TracedRadio.short)
    radio.run(for: .seconds(2))
    let found = try problem(radio.explanation())
    #expect(found.headline.hasPrefix("This host ended the link after"))
    #expect(found.headline.hasSuffix("the peer did not answer a Read Request for 30.0 s, the timeout of ATT is 30 s"))
    #expect(hasPacket("Read Request", found) && hasPacket("> HCI   Disconnect", found))
  }

  @Test func aPeerThatEndsTheLinkInsteadOfAnAnswerIsAProblem() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.setFaults([.packets(PacketFault(.drop, .data, .toHost))], of: 0)
    let handle = try #require(radio.handles[TracedRadio.short])
    radio.link(1, .client(GATTClient.Operation(id: GATTClient.OperationID(rawValue: 9), .read(handle))))
    radio.run(for: .seconds(3))
    radio.disconnect(0)
    let found = try problem(radio.explanation())
    #expect(found.headline.contains("The peer ended the link") && found.headline.contains("3.0 s after a Read Request"))
  }

  @Test func aChangeOfTheParametersBeforeTheEndIsNamed() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.link(1, .updateConnection(ConnectionParameters(interval: 80...80, supervisionTimeout: 100)))
    radio.run(for: .seconds(1))
    radio.cutLinks()
    radio.run(for: .seconds(3))
    let found = try problem(radio.explanation())
    #expect(hasPacket("LE Connection Update Complete", found))
    #expect(
      found.evidence.contains { $0.text.hasPrefix("the parameters had changed") && $0.text.contains("they were") })
  }

  @Test func aShortIntervalIsNamed() throws {
    var radio = TracedRadio(controller: { $1.connectionIntervals = VirtualConnectionIntervals() })
    radio.connect()
    radio.link(1, .requestConnectionRate(LinkRateParameters(interval: 10...10)))
    radio.run(for: .seconds(1))
    radio.link(1, .updateConnection(ConnectionParameters(interval: 80...80, supervisionTimeout: 100)))
    radio.run(for: .seconds(1))
    radio.cutLinks()
    radio.run(for: .seconds(3))
    let found = try problem(radio.explanation())
    #expect(found.evidence.contains { $0.text.contains("they were: interval 1.25 ms") }, "\(found.evidence)")
  }

  // MARK: Connections

  @Test func aConnectionThatIsNotEstablishedIsExplained() throws {
    var radio = TracedRadio()
    // After the Connection Complete event of the central.
    radio.setFaults([.disconnects(afterPackets: 3, .connectionFailedToBeEstablished)], of: 1)
    radio.connect()
    let found = try #require(radio.explanation().problems.first)
    #expect(found.kind == .connection && found.headline.contains("0x3E"), "\(text(radio.explanation()))")
  }

  @Test func aDeviceThatDoesNotAdvertiseIsNamed() throws {
    var radio = TracedRadio()
    let absent = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    radio.connect(to: absent, for: .seconds(7))
    // A packet shows the time: Read Local Version Information.
    radio.forge([0x01, 0x01, 0x10, 0x00], from: 1)
    #expect(try problem(radio.explanation()).headline.hasPrefix("No connection with C0:11:22:33:44:55 (random) until"))
    radio.ask(1, .initiating(.cancel(ConnectID(rawValue: 1))))
    radio.run(for: .seconds(2))
    let found = try problem(radio.explanation())
    #expect(found.kind == .connection && found.peer == absent)
    #expect(found.headline.contains("within 7.0 s, after which this host cancelled the attempt"))
    #expect(hasPacket("Create Connection Cancel", found) && hasPacket("Unknown Connection Identifier", found))
    // The device is a filter, too.
    var filter = TraceFilter()
    filter.link = TraceFilter.Link("C0:11:22:33:44:55")
    #expect(radio.explanation(1, filter).problems.count == 1)
    filter.link = TraceFilter.Link("C0:11:22:33:44:56")
    #expect(radio.explanation(1, filter).findings.isEmpty)
  }

  @Test func aControllerThatRefusesAConnectionIsNamed() throws {
    let creates: Set<HCIOpcode> = [.leCreateConnection, .leExtendedCreateConnection]
    var radio = TracedRadio(controller: { index, controller in
      if index == 1 { controller.faults = [.refuses(.only(creates), .connectionLimitExceeded)] }
    })
    radio.connect()
    let found = try #require(radio.explanation().problems.first)
    #expect(found.headline.hasPrefix("The controller refused to establish a connection with"))
    #expect(found.headline.contains("Connection Limit Exceeded (0x09): the controller has no resources"))
  }

  // MARK: Pairing and encryption

  @Test func aForgottenBondHasItsRemedy() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    radio.disconnect()
    let bond = try #require(radio.bonds[0])
    radio.ask(0, .security(.removeBond(bond.identity)))
    radio.connect()
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    let central = try #require(radio.explanation().problems.first)
    #expect(central.kind == .encryption && central.headline.contains("PIN or Key Missing (0x06)"))
    #expect(central.headline.contains("has forgotten the bond"))
    #expect(central.remedy?.contains("ble bonds --remove") == true && central.remedy?.contains("ble pair") == true)
    let peripheral = try #require(radio.explanation(0).problems.first)
    #expect(peripheral.headline.hasPrefix("This host has no key for the central"))
  }

  @Test func aWrongPasskeyIsNamed() throws {
    var radio = TracedRadio(host: { index, host in
      host.pairing = TracedRadio.pairing(index == 0 ? .displayOnly : .keyboardOnly)
    })
    radio.enteredPasskey = 654_321
    radio.connect()
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    let found = try #require(radio.explanation().problems.first { $0.kind == .pairing })
    #expect(found.headline.contains("Confirm Value Failed (0x04): the passkeys differ"), "\(found.headline)")
    #expect(
      found.evidence.contains { $0.text.contains("this host is KeyboardOnly") && $0.text.contains("passkey entry") })
    #expect(hasPacket("Pairing Request", found) && hasPacket("Pairing Response", found) && hasPacket("Failed", found))
    let peripheral = try #require(radio.explanation(0).problems.first { $0.kind == .pairing })
    #expect(peripheral.evidence.contains { $0.text.contains("the peer is KeyboardOnly") })
  }

  @Test func aDeviceThatDoesNotPairIsNamed() throws {
    var radio = TracedRadio(host: { index, host in if index == 0 { host.pairing = nil } })
    radio.connect()
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(2))
    let found = try #require(radio.explanation().problems.first)
    #expect(found.kind == .pairing && found.headline.contains("The peer ended the pairing after the Pairing Request"))
    #expect(found.headline.contains("Pairing Not Supported (0x05): the device does not pair at present"))
  }

  @Test func aPairingWithoutAnAnswerEndsAfter30Seconds() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.setFaults([.packets(PacketFault(.drop, .data, .toHost))], of: 0)
    radio.link(1, .requestSecurity)
    radio.run(for: .seconds(40))
    radio.disconnect()
    let found = try #require(radio.explanation().problems.first { $0.kind == .pairing }, "\(text(radio.explanation()))")
    #expect(
      found.headline.contains("The peer sent nothing for") && found.headline.contains("after the Pairing Request"))
  }

  @Test func aDemandForSecurityWithoutAPairingIsAProblem() throws {
    var radio = TracedRadio(host: { index, host in if index == 1 { host.pairing = nil } })
    radio.connect()
    radio.read(TracedRadio.encrypted)
    radio.disconnect()
    let found = try #require(radio.explanation().problems.first)
    #expect(found.kind == .refusal && found.headline.contains("The peer refused a Read Request of 0x"))
    #expect(found.evidence.contains { $0.text.contains("no pairing and no encryption of the link follows") })
  }

  // MARK: Speed

  @Test func longReadsWithASmallMTUAreCounted() throws {
    var radio = TracedRadio(host: { _, host in host.serverLimits.maximumMTU = 23 })
    radio.connect()
    radio.perform(.readLong(try #require(radio.handles[TracedRadio.long])))
    radio.disconnect()
    let found = try problem(radio.explanation())
    #expect(found.kind == .speed && found.headline.hasPrefix("ATT_MTU is 23: a value of 200 octets took 10 requests"))
    #expect(found.remedy?.contains("one request") == true)
  }

  @Test func aLongIntervalIsNamed() throws {
    var radio = TracedRadio(pacing: .connectionEvents(packetsPerEvent: 4))
    radio.connect(ConnectionParameters(interval: 400...400), for: .seconds(20))
    for _ in 0..<12 {
      radio.read(TracedRadio.short)
      radio.read(TracedRadio.long)
    }
    radio.disconnect()
    let found = try #require(radio.explanation().problems.first { $0.kind == .speed })
    #expect(found.headline.hasPrefix("The connection interval is 500 ms:"), "\(text(radio.explanation()))")
    #expect(found.evidence.first?.text.hasPrefix("interval 500.00 ms") == true)
  }

  @Test func writesOneAfterTheOtherAreNamed() throws {
    var radio = TracedRadio(pacing: .connectionEvents(packetsPerEvent: 4))
    radio.connect()
    let handle = try #require(radio.handles[TracedRadio.short])
    for _ in 0..<40 { radio.perform(.write(handle, [UInt8](repeating: 1, count: 20))) }
    radio.disconnect()
    let found = try problem(radio.explanation())
    #expect(
      found.kind == .speed && found.headline.hasPrefix("40 times Write Request of \(handle), one after the other"))
    #expect(found.headline.contains("800 octets") && found.headline.contains("connection intervals"))
    #expect(found.remedy?.contains("Write Commands") == true)
  }

  @Test func aHostWithoutBuffersIsNamed() throws {
    var radio = TracedRadio(
      pacing: .connectionEvents(packetsPerEvent: 4),
      controller: { _, controller in controller.totalNumACLDataPackets = 2 })
    radio.connect()
    radio.setFaults(
      [.packets(PacketFault(.delay(.seconds(3)), .event(.numberOfCompletedPackets), .toHost, occurrences: 1...1))],
      of: 1)
    let handle = try #require(radio.handles[TracedRadio.short])
    for _ in 0..<8 { radio.perform(.writeWithoutResponse(handle, [UInt8](repeating: 1, count: 20))) }
    radio.run(for: .seconds(8))
    radio.disconnect()
    let found = try problem(radio.explanation())
    #expect(found.kind == .speed && found.headline.hasPrefix("The controller had no free buffer for 3.0 s"))
    #expect(hasPacket("Write Command", found) && hasPacket("Number Of Completed Packets", found))
  }

  @Test func aFlowOfDataHasItsFigures() throws {
    var radio = TracedRadio(pacing: .connectionEvents(packetsPerEvent: 4))
    radio.connect()
    let handle = try #require(radio.handles[TracedRadio.short])
    for _ in 0..<300 { radio.perform(.writeWithoutResponse(handle, [UInt8](repeating: 1, count: 200))) }
    radio.run(for: .seconds(8))
    radio.disconnect()
    let explanation = radio.explanation()
    #expect(explanation.problems.isEmpty, "\(text(explanation))")
    let found = try #require(explanation.findings.first { $0.kind == .speed })
    #expect(found.headline.contains("octets were sent in") && found.headline.contains("kB/s"))
    #expect(found.evidence.contains { $0.text.contains("data length 251, ATT_MTU 517") })
    #expect(found.evidence.contains { $0.text.hasSuffix("the link is the limit") })
  }

  @Test func aSmallDataLengthIsNamed() throws {
    var radio = TracedRadio(
      pacing: .connectionEvents(packetsPerEvent: 4),
      controller: { _, controller in
        controller.features.remove(.dataPacketLengthExtension)
        controller.aclDataPacketLength = 27
      })
    radio.connect()
    let handle = try #require(radio.handles[TracedRadio.short])
    for _ in 0..<100 { radio.perform(.writeWithoutResponse(handle, [UInt8](repeating: 1, count: 200))) }
    radio.run(for: .seconds(20))
    radio.disconnect()
    let found = try problem(radio.explanation())
    #expect(found.kind == .speed && found.headline.hasPrefix("The data length is 27 octets: "))
    // The buffers are also in use between the fragments of a frame.
    #expect(text(radio.explanation()).contains("100 % of the time: the link is the limit"))
  }

  // MARK: Refusals

  @Test func refusalsAreCountedByAttribute() throws {
    var radio = TracedRadio()
    radio.connect()
    let handle = try #require(radio.handles[TracedRadio.long])
    for _ in 0..<3 { radio.perform(.write(handle, [1])) }
    radio.disconnect()
    let found = try problem(radio.explanation())
    #expect(found.headline.hasPrefix("The peer refused a Write Request of \(handle)"))
    #expect(found.headline.hasSuffix(", 3 times, Write Not Permitted (0x03): the attribute cannot be written"))
    #expect(found.evidence.count == 2)
  }

  @Test func aRefusedCommandIsNamed() throws {
    var radio = TracedRadio(controller: { index, controller in
      if index == 1 { controller.faults = [.refuses(.only([.leConnectionUpdate]), .commandDisallowed)] }
    })
    radio.connect()
    radio.link(1, .updateConnection(ConnectionParameters(interval: 80...80, supervisionTimeout: 100)))
    radio.run(for: .seconds(1))
    radio.disconnect()
    let found = try #require(radio.explanation().problems.first)
    #expect(found.kind == .refusal && found.headline.contains("The controller refused LE Connection Update"))
    #expect(found.headline.hasSuffix(": Command Disallowed (0x0C)"))
  }

  @Test func missingSubscriptionsAreInformation() throws {
    var radio = TracedRadio()
    radio.connect()
    radio.perform(.discoverPrimaryServices)
    let stream = try #require(radio.handles[TracedRadio.stream])
    let all = AttributeHandle(rawValue: 1)...AttributeHandle(rawValue: 0xFFFF)
    radio.perform(.discoverCharacteristics(all))
    radio.perform(
      .discoverDescriptors(AttributeHandle(rawValue: stream.rawValue + 1)...AttributeHandle(rawValue: 0xFFFF)))
    let before = radio.explanation()
    #expect(before.problems.isEmpty)
    #expect(text(before).contains("This host has not enabled notifications or indications"), "\(text(before))")
    #expect(text(before).contains("\(stream) FiRa Consortium"))
  }

  // MARK: Limits

  private func connected(_ handle: UInt16) -> HCIPacket {
    .event(
      HCIEventPacket(
        HCI.LEConnectionComplete {
          $0.connectionHandle = ConnectionHandle(rawValue: handle)
          $0.peerAddress = DeviceAddress(octets: BD_ADDR(UInt64(handle)), kind: .public)
          $0.connectionInterval = 24
        }))
  }

  private func disconnected(_ handle: UInt16, _ reason: HCIErrorCode) -> HCIPacket {
    .event(
      HCIEventPacket(
        HCI.DisconnectionComplete { ($0.connectionHandle, $0.reason) = (ConnectionHandle(rawValue: handle), reason) }))
  }

  /// - Parameter step: the microseconds between two packets.
  private func explanation(
    _ packets: [HCIPacket], _ filter: TraceFilter = TraceFilter(), step: Int64 = 1_000
  ) -> TraceExplanation {
    var (reader, explainer) = (TraceReader(), TraceExplainer(filter))
    for (index, packet) in packets.enumerated() {
      explainer.add(
        reader.anyEntry(
          for: BTSnoopRecord(
            packet: packet.encoded[...], direction: isSent(packet) ? .hostToController : .controllerToHost,
            microseconds: Int64(index) * step)))
    }
    return explainer.finish()
  }

  /// A host sends commands, and data with another boundary flag than a controller (Vol 4, Part E, 5.4.2).
  private func isSent(_ packet: HCIPacket) -> Bool {
    switch packet {
    case .command: true
    case .aclData(let data): data.packetBoundaryFlag == .firstNonFlushable
    case .event, .synchronousData, .isoData: false
    }
  }

  private func frame(_ channel: UInt8, _ pdu: [UInt8], isSent: Bool = false) -> HCIPacket {
    .aclData(
      HCIACLDataPacket {
        $0.connectionHandle = ConnectionHandle(rawValue: 1)
        $0.packetBoundaryFlag = isSent ? .firstNonFlushable : .firstFlushable
        $0.data = ([UInt8(pdu.count), 0, channel, 0] + pdu)[...]
      })
  }

  @Test func characteristicsWithUpdatesAreKeptUpToTheLimit() {
    func others(_ count: Int) -> String? {
      let request = ReadByTypeRequest { $0.attributeType = "2803" }.encodedPDU
      var packets = [connected(1)]
      for index in 0..<count {
        let handle = UInt8(2 * index + 1)
        packets += [
          frame(4, request, isSent: true),
          // Properties: Notify.
          frame(4, [0x09, 7, handle, 0, 0x10, handle + 1, 0, 0x19, 0x2A]),
        ]
      }
      packets += [frame(4, [0x04, 1, 0, 0xFF, 0xFF], isSent: true), frame(4, [0x05, 1, 0xF0, 0, 0x02, 0x29])]
      return explanation(packets).findings.first { $0.kind == .answer }?.headline
    }
    let limit = AttributeHistory.subscriptionLimit
    #expect(others(limit)?.hasSuffix(" and \(limit - 4) others") == true)
    #expect(others(limit + 1) == others(limit))
  }

  @Test func aWaitForCreditsIsNamed() throws {
    // The interval of the link is 30 ms: a frame that follows 40 ms after its credit has waited for it.
    var packets = [connected(1)]
    packets += [
      frame(5, [0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 64, 0, 64, 0, 1, 0], isSent: true),
      frame(5, [0x15, 1, 10, 0, 0x41, 0, 64, 0, 64, 0, 1, 0, 0, 0]),
    ]
    for _ in 0..<40 {
      packets += [frame(0x41, [1, 2, 3], isSent: true), frame(5, [0x16, 9, 4, 0, 0x41, 0, 1, 0])]
    }
    let found = try problem(explanation(packets, step: 40_000))
    #expect(found.kind == .speed && found.headline.hasPrefix("This host waited 1.6 s of 3.2 s for credits of channel"))
    #expect(hasPacket("Flow Control Credit", found) && hasPacket("Data", found))
    // Pauses after a credit are of the sender.
    #expect(explanation(packets, step: 400_000).problems.isEmpty)
  }

  @Test func aHostThatChangesItsListGoesOnWithTheAttempt() throws {
    func address(_ device: Int) -> DeviceAddress { DeviceAddress(octets: BD_ADDR(UInt64(device)), kind: .public) }
    func command<Command: HCICommand>(_ command: Command) -> HCIPacket {
      var packet = HCICommandPacket()
      (packet.opcode, packet.parameters) = (Command.opcode, command.encoded[...])
      return .command(packet)
    }
    let cancelled = HCIPacket.event(
      HCIEventPacket(HCI.LEConnectionComplete { $0.status = .unknownConnectionIdentifier }))
    let lists = [1, 2].map { device in command(HCI.LEAddDeviceToFilterAcceptList { $0.address = address(device) }) }
    let single = command(HCI.LECreateConnection { $0.peerAddress = address(1) })
    let several = command(HCI.LECreateConnection { $0.initiatorFilterPolicy = .acceptList })
    let other = command(HCI.LECreateConnection { $0.peerAddress = address(3) })
    let start = lists + [single, cancelled]
    // 600 ms between two packets.
    func findings(_ packets: [HCIPacket]) -> [TraceFinding] { explanation(packets, step: 600_000).findings }
    #expect(findings(start + [several, connected(1)]).map(\.kind) == [.disconnection])
    #expect(findings(lists + [several, cancelled, single, connected(1)]).map(\.kind) == [.disconnection])
    let waits = findings(start + [several, lists[0], cancelled])
    #expect(waits.map(\.isProblem) == [false], "a host may wait for several devices")
    #expect(waits.first?.headline.contains(" and ") == false && waits.first?.headline.contains("2.4 s") == true)
    #expect(findings(start + [other, connected(3)]).map(\.peer) == [address(1), address(3)])
  }

  @Test func anIndicationWithoutAConfirmationIsNamed() throws {
    let packets = [connected(1), frame(4, [0x1D, 3, 0, 7], isSent: true), frame(4, [0x1B, 3, 0, 7])]
    let found = try problem(explanation(packets, step: 31_000_000))
    #expect(
      found.headline == "The peer did not answer a Handle Value Indication until the end of the trace, 31.0 s")
    #expect(explanation(packets, step: 10_000_000).problems.isEmpty)
  }

  @Test func aLateAnswerIsNamed() throws {
    let packets = [connected(1), frame(4, [0x12, 3, 0, 7]), frame(4, [0x13], isSent: true)]
    let found = try problem(explanation(packets, step: 5_000_000))
    #expect(found.headline == "This host took 5.0 s to answer a Write Request" && found.evidence.count == 2)
    #expect(explanation(packets, step: 1_000_000).problems.isEmpty)
  }

  @Test func smallValuesWithALargeMTUAreNamed() throws {
    let exchange = [frame(4, [0x02, 0xF7, 0], isSent: true), frame(4, [0x03, 0xF7, 0])]
    let values = (0..<300).map { _ in frame(4, [0x1B, 3, 0] + [UInt8](repeating: 7, count: 10)) }
    let found = try problem(explanation([connected(1)] + exchange + values, step: 5_000))
    #expect(found.kind == .speed && found.headline.hasPrefix("300 values of 10 octets were received in 1.5 s"))
    #expect(found.remedy == "Put several values into one: up to 244 octets fit.")
    // One value in an interval needs no more room.
    #expect(explanation([connected(1)] + exchange + values, step: 40_000).problems.isEmpty)
  }

  @Test func pollingIsNamed() throws {
    let read = [frame(4, [0x0A, 3, 0], isSent: true), frame(4, [0x0B, 7])]
    func packets(_ count: Int) -> [HCIPacket] { [connected(1)] + (0..<count).flatMap { _ in read } }
    let found = try problem(explanation(packets(LinkSpeed.requestsOfARun), step: 30_000))
    #expect(found.headline.hasPrefix("20 times Read Request of 0x0003") && found.remedy?.contains("subscribe") == true)
    #expect(explanation(packets(LinkSpeed.requestsOfARun - 1), step: 30_000).problems.isEmpty)
    // Reads now and then are not one after the other.
    #expect(explanation(packets(40), step: 900_000).problems.isEmpty)
  }

  @Test func failuresOfTheControllerAreNamed() {
    let hardware = HCIPacket.event(HCIEventPacket(HCI.HardwareError { $0.hardwareCode = 7 }))
    let overflow = HCIPacket.event(HCIEventPacket(HCI.DataBufferOverflow()))
    var reset = HCI.CommandComplete()
    (reset.opcode, reset.returnParameters) = (.reset, [0])
    let found = explanation([connected(1), hardware, overflow, .event(HCIEventPacket(reset))])
    #expect(found.problems.map(\.kind) == [.controller, .controller])
    #expect(text(found).contains("because the host reset the controller"))
  }

  /// The parameters of a link that was open before the trace are not in it.
  @Test func aLinkThatWasOpenBeforeTheTraceHasNoParameters() {
    let values = (0..<400).map { _ in frame(4, [0x1B, 3, 0] + [UInt8](repeating: 7, count: 200)) }
    let found = explanation(values + [disconnected(1, .remoteUserTerminatedConnection)], step: 5_000)
    #expect(found.problems.isEmpty && text(found).hasPrefix("Link 0x0001, open when the trace begins\n"))
    #expect(text(found).contains("octets were received in 2.0 s") && text(found).contains("after at least 2.0 s"))
    for unknown in ["data length", "ATT_MTU", "PHY", "buffers"] { #expect(!text(found).contains(unknown)) }
  }

  @Test func aLatencyThatDelaysAnswersIsNamed() throws {
    var event = HCI.LEConnectionComplete()
    (event.connectionHandle, event.connectionInterval, event.peripheralLatency) = (ConnectionHandle(rawValue: 1), 24, 9)
    let read = [frame(4, [0x0A, 3, 0], isSent: true), frame(4, [0x0B, 7])]
    let packets = [HCIPacket.event(HCIEventPacket(event))] + (0..<12).flatMap { _ in read }
    let found = try problem(explanation(packets, step: 200_000))
    #expect(found.headline.hasPrefix("The connection interval is 30 ms with a latency of 9 intervals: 12 answers took"))
    #expect(explanation(packets, step: 50_000).problems.isEmpty)
  }

  @Test func theEndOfALinkNamesOnlyFailuresThatLast() {
    let failure = frame(6, PairingFailed(reason: .repeatedAttempts).encodedPDU)
    let encryption = HCIPacket.event(
      HCIEventPacket(
        HCI.EncryptionChange { ($0.connectionHandle, $0.encryptionEnabled) = (ConnectionHandle(rawValue: 1), .on) }))
    let end = disconnected(1, .remoteUserTerminatedConnection)
    func headline(_ packets: [HCIPacket]) -> String {
      explanation([connected(1)] + packets + [end]).findings.last?.headline ?? ""
    }
    #expect(headline([failure]).hasSuffix("1 ms before, the pairing failed: Repeated Attempts (0x09)"))
    #expect(headline([failure, encryption]).hasSuffix("Remote User Terminated Connection (0x13)"))
    // Error Responses to a Read Request: Insufficient Authentication.
    for isSent in [false, true] {
      let demand = frame(4, [0x01, 0x0A, 3, 0, 0x05], isSent: isSent)
      #expect(headline([demand]).contains("\(isSent ? "this host" : "it") had demanded security"))
      #expect(headline([demand, encryption]).hasSuffix("Remote User Terminated Connection (0x13)"))
    }
  }

  @Test func aReusedHandleIsAnotherLink() {
    let packets = [
      connected(1), disconnected(1, .connectionTimeout), frame(4, [0x1B, 3, 0, 7], isSent: true), connected(1),
      disconnected(1, .remoteUserTerminatedConnection),
    ]
    let found = explanation(packets)
    #expect(found.findings.map(\.link?.place) == [1, 2] && found.problems.count == 1)
  }

  @Test func aRefusedChannelIsNamed() throws {
    let request = frame(5, [0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 64, 0, 64, 0, 1, 0], isSent: true)
    let response = frame(5, [0x15, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0])
    let found = try problem(explanation([connected(1), request, response]))
    #expect(found.kind == .refusal && found.headline.hasPrefix("The peer refused a channel to "))
    #expect(found.remedy?.contains("does not listen on this SPSM") == true)
    let limit = ChannelHistory.refusalLimit
    for count in [limit, limit + 1] {
      let packets = [connected(1)] + (0..<count).flatMap { _ in [request, response] }
      #expect(explanation(packets).problems.count == limit)
    }
  }

  @Test func channelsAreKeptUpToTheLimit() {
    func waits(_ count: Int) -> Bool {
      var packets = [connected(1)]
      for index in 0..<count {
        let endpoint = UInt8(0x40 + index)
        packets += [
          frame(5, [0x14, UInt8(index + 1), 10, 0, 0x80, 0, endpoint, 0, 64, 0, 64, 0, 1, 0], isSent: true),
          frame(5, [0x15, UInt8(index + 1), 10, 0, endpoint, 0, 64, 0, 64, 0, 1, 0, 0, 0]),
        ]
      }
      let last = UInt8(0x40 + count - 1)
      for _ in 0..<100 {
        packets += [frame(last, [1, 2, 3], isSent: true), frame(5, [0x16, 9, 4, 0, last, 0, 1, 0])]
      }
      return explanation(packets, step: 40_000).findings.contains { $0.headline.contains("for credits of channel") }
    }
    // Each channel has two directions.
    #expect(waits(ChannelHistory.senderLimit / 2) && !waits(ChannelHistory.senderLimit / 2 + 1))
  }

  @Test func advertisementsAreKeptUpToTheLimit() throws {
    func attempt(_ device: Int, of count: Int) throws -> TraceFinding {
      func address(_ device: Int) -> DeviceAddress {
        DeviceAddress(octets: BD_ADDR(UInt64(device)), kind: .public)
      }
      let reports = (0..<count).map { index in
        HCIPacket.event(
          HCIEventPacket(
            HCI.LEAdvertisingReport { $0.reports = [HCI.AdvertisingReport { $0.address = address(index) }] }))
      }
      var create = HCICommandPacket()
      create.opcode = .leCreateConnection
      create.parameters = HCI.LECreateConnection { $0.peerAddress = address(device) }.encoded[...]
      let end = HCI.LEConnectionComplete { $0.status = .unknownConnectionIdentifier }
      return try #require(explanation(reports + [.command(create), .event(HCIEventPacket(end))]).findings.first)
    }
    let limit = ConnectionAttempts.deviceLimit
    let last = try attempt(limit - 1, of: limit)
    #expect(last.evidence.contains { $0.text.hasPrefix("the device was advertising") })
    let past = try attempt(limit, of: limit + 1)
    #expect(!past.evidence.contains { $0.text.contains("advertis") })
    let absent = try attempt(limit, of: limit - 1)
    #expect(absent.evidence.contains { $0.text.hasSuffix("but none of this one") })
  }

  @Test func trainsAreKeptUpToTheLimits() {
    func packets(_ count: Int) -> [HCIPacket] {
      (0..<count).flatMap { number -> [HCIPacket] in
        let established = HCI.LEPeriodicAdvertisingSyncEstablished {
          ($0.syncHandle, $0.advertisingSID, $0.periodicAdvertisingInterval) = (UInt16(number), 3, 80)
          $0.advertiserAddress = DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public)
        }
        let lost = HCI.LEPeriodicAdvertisingSyncLost { $0.syncHandle = UInt16(number) }
        return [.event(HCIEventPacket(established)), .event(HCIEventPacket(lost))]
      }
    }
    #expect(explanation(packets(TrainHistory.limit)).problems.count == TrainHistory.limit)
    #expect(explanation(packets(TrainHistory.limit + 1)).problems.count == TrainHistory.limit)
    var reader = TraceReader()
    let lines = packets(TraceTrains.limit + 1).compactMap {
      reader.entry(for: BTSnoopRecord(packet: $0.encoded[...], direction: .controllerToHost, microseconds: 0))?.details
    }
    #expect(lines[2 * TraceTrains.limit - 1].hasPrefix("set 3 of "))
    #expect(lines[2 * TraceTrains.limit + 1] == "sync handle \(TraceTrains.limit)")
  }

  /// A report of version 2 says of an event that it was not received; of version 1 there is none.
  @Test func eventsOfATrainThatWereNotReceivedAreOneProblem() throws {
    let established = HCI.LEPeriodicAdvertisingSyncEstablished { $0.periodicAdvertisingInterval = 80 }
    let missed = HCI.LEPeriodicAdvertisingReportV2 { $0.dataStatus = 0xFF }
    let packets: [HCIPacket] =
      [.event(HCIEventPacket(established))]
      + Array(
        repeating: .event(HCIEventPacket(missed)), count: 3)
    let found = try problem(explanation(packets))
    #expect(found.headline.contains("was not received in an event, 3 times") && found.evidence.count == 2)
    #expect(found.evidence.allSatisfy { $0.text.contains("an event was not received") })
  }

  @Test func findingsAreKeptUpToTheirLimits() {
    for (reason, limit) in [
      (HCIErrorCode.connectionTimeout, TraceExplainer.problemLimit),
      (.remoteUserTerminatedConnection, TraceExplainer.noteLimit),
    ] {
      func packets(_ count: Int) -> [HCIPacket] {
        (0..<count).flatMap { [connected(UInt16($0)), disconnected(UInt16($0), reason)] }
      }
      let full = explanation(packets(limit))
      #expect(full.findings.count == limit && full.omitted == 0)
      let more = explanation(packets(limit + 1))
      #expect(more.findings.count == limit && more.omitted == 1)
      #expect(text(more).contains("1 more findings are not listed. Choose a link with --link."))
      // A filter keeps the others from the limit.
      var filter = TraceFilter()
      filter.link = .handle(ConnectionHandle(rawValue: UInt16(limit)))
      #expect(explanation(packets(limit + 1), filter).findings.count == 1)
    }
  }

  @Test func refusedCommandsAreKeptUpToTheLimit() {
    func packets(_ count: Int) -> [HCIPacket] {
      [connected(1)]
        + (0..<count).map { index in
          .event(
            HCIEventPacket(
              HCI.CommandStatus {
                ($0.opcode, $0.status) = (HCIOpcode(rawValue: 0xFC00 + UInt16(index)), .commandDisallowed)
              }))
        }
    }
    let limit = TraceExplainer.commandLimit
    for count in [limit, limit + 1] { #expect(explanation(packets(count)).problems.count == limit) }
  }

  @Test func refusalsOfALinkAreKeptUpToTheLimit() {
    func packets(_ count: Int) -> [HCIPacket] {
      [connected(1)]
        + (0..<count).map { index in
          let pdu = ErrorResponse {
            ($0.requestOpcode, $0.handle, $0.code) = (
              ReadRequest.opcode, AttributeHandle(rawValue: UInt16(index + 1)), .readNotPermitted
            )
          }.encodedPDU
          return frame(4, pdu)
        }
    }
    let limit = AttributeHistory.refusalLimit
    #expect(explanation(packets(limit)).problems.count == limit)
    let more = explanation(packets(limit + 1)).problems
    #expect(
      more.count == limit + 1 && more.contains { $0.headline.hasPrefix("More requests were refused than the 32") })
  }

  @Test func failedPairingsOfALinkAreKeptUpToTheLimit() {
    func packets(_ count: Int) -> [HCIPacket] {
      let pdu = PairingFailed(reason: .repeatedAttempts).encodedPDU
      return [connected(1)]
        + (0..<count).map { _ in frame(6, pdu) }
    }
    let limit = PairingHistory.failureLimit
    for count in [limit, limit + 1] { #expect(explanation(packets(count)).problems.count == limit) }
  }

  @Test mutating func explainsRandomPacketsWithoutATrap() {
    var random = SplitMix64(seed: 7)
    var (reader, explainer) = (TraceReader(), TraceExplainer())
    for _ in 0..<20_000 {
      var octets = (0..<Int.random(in: 4...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      octets[0] = UInt8.random(in: 1...5, using: &random)
      if octets[0] == 4 { octets[1] = [0x05, 0x08, 0x0E, 0x0F, 0x13, 0x3E].randomElement(using: &random) ?? 0 }
      // A length that fits.
      let place = [1: 3, 2: 3, 4: 2][octets[0]] ?? 3
      octets[place] = UInt8(truncatingIfNeeded: octets.count - place - (octets[0] == 2 ? 2 : 1))
      if octets[0] == 2, octets.count > 8 {
        octets.replaceSubrange(4..<9, with: [0, UInt8(octets.count - 9), 0, 4, 0])
      }
      let direction: HCIPacketDirection = Bool.random(using: &random) ? .hostToController : .controllerToHost
      let time = Int64(bitPattern: random.next())
      explainer.add(
        reader.anyEntry(for: BTSnoopRecord(packet: octets[...], direction: direction, microseconds: time)))
    }
    for finding in explainer.finish().findings {
      for line in finding.lines { #expect(line.unicodeScalars.allSatisfy { String.isPrintable($0) }) }
    }
  }
}
