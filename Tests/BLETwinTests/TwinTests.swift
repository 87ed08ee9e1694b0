import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLETrace
import BLEWire
import TestSupport
import Testing
import ToolCore

@testable import BLETwin

/// Copies of devices from packet traces.
struct TwinTests {
  /// A trace of a host that is connected to a device.
  private struct Recording {
    var reader = TraceReader()
    var recorder = TwinRecorder()
    let peer = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
    /// In milliseconds.
    var time = 0

    mutating func add(_ packet: HCIPacket, _ direction: HCIPacketDirection) {
      let record = BTSnoopRecord(
        packet: packet.encoded[...], direction: direction, microseconds: Int64(time) &* 1_000)
      if let entry = reader.entry(for: record) { recorder.add(entry) }
    }

    mutating func connect(_ handle: UInt16 = 0x40, to device: DeviceAddress? = nil) {
      var event = HCI.LEConnectionComplete()
      event.connectionHandle = ConnectionHandle(rawValue: handle)
      event.peerAddress = device ?? peer
      add(.event(HCIEventPacket(event)), .controllerToHost)
    }

    mutating func disconnect() {
      var event = HCI.DisconnectionComplete()
      event.connectionHandle = ConnectionHandle(rawValue: 0x40)
      event.reason = .remoteUserTerminatedConnection
      add(.event(HCIEventPacket(event)), .controllerToHost)
    }

    mutating func encrypt() {
      var event = HCI.EncryptionChange()
      event.connectionHandle = ConnectionHandle(rawValue: 0x40)
      event.encryptionEnabled = .on
      add(.event(HCIEventPacket(event)), .controllerToHost)
    }

    mutating func frame(
      _ pdu: [UInt8], _ direction: HCIPacketDirection, on channel: ChannelID = .attributeProtocol,
      of link: UInt16 = 0x40
    ) {
      var packet = HCIACLDataPacket()
      packet.connectionHandle = ConnectionHandle(rawValue: link)
      packet.packetBoundaryFlag = direction == .hostToController ? .firstNonFlushable : .firstFlushable
      packet.data = BasicFrame(channel: channel, payload: pdu[...]).encoded[...]
      add(.aclData(packet), direction)
    }

    mutating func event(_ event: some LEEventParameters) { add(.event(HCIEventPacket(event)), .controllerToHost) }

    mutating func advertise(_ data: [UInt8], type: HCI.AdvertisingReportType = .connectable) {
      var report = HCI.AdvertisingReport()
      (report.eventType, report.address, report.data) = (type, peer, data[...])
      add(.event(HCIEventPacket(HCI.LEAdvertisingReport { $0.reports = [report] })), .controllerToHost)
    }

    /// A request of this host, and after a time the answer of the device.
    mutating func exchange(_ request: [UInt8], _ response: [UInt8], after milliseconds: Int = 1) {
      frame(request, .hostToController)
      time += milliseconds
      frame(response, .controllerToHost)
    }

    mutating func update(_ pdu: [UInt8], after milliseconds: Int) {
      time += milliseconds
      frame(pdu, .controllerToHost)
    }

    /// The discovery of a service with three characteristics: a value with notifications at 3, a control point with
    /// indications at 7 and a state at 10.
    mutating func discover() {
      connect()
      exchange([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 6, 1, 0, 12, 0, 0xE0, 0xFF])
      exchange(
        [0x08, 1, 0, 12, 0, 0x03, 0x28],
        [0x09, 7, 2, 0, 0x12, 3, 0, 0xE1, 0xFF, 6, 0, 0x28, 7, 0, 0xE2, 0xFF, 9, 0, 0x0A, 10, 0, 0xE3, 0xFF])
      exchange([0x04, 4, 0, 5, 0], [0x05, 1, 4, 0, 0x02, 0x29, 5, 0, 0x01, 0x29])
      exchange([0x04, 8, 0, 8, 0], [0x05, 1, 8, 0, 0x02, 0x29])
    }

    /// A PDU of any kind, about one of the attributes.
    mutating func addAny(_ random: inout SplitMix64) {
      let opcodes: [UInt8] = [
        0x01, 0x02, 0x03, 0x05, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12, 0x13, 0x16, 0x18, 0x19,
        0x1B,
        0x1D, 0x1E, 0x23, 0x52,
      ]
      let opcode = opcodes.randomElement(using: &random) ?? 0
      let handles: [UInt8] = [3, 4, 5, 7, 8, 10, 13]
      let handle = handles.randomElement(using: &random) ?? 1
      let count = Bool.random(using: &random) ? Int.random(in: 0...3, using: &random) : 20
      let rest = (0..<count).map { _ in UInt8.random(in: 0...3, using: &random) }
      time += Int.random(in: -1...400, using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: connect()
      case 1: encrypt()
      case 2: frame([0x12, 1, 8, 0] + rest.prefix(8), .controllerToHost, on: .signalling)
      case 3: frame([UInt8.random(in: 1...14, using: &random)] + rest, .controllerToHost, on: .securityManager)
      case 4: advertise(rest)
      default:
        let fields = opcode == 0x01 ? [0x0A, handle, 0] + rest.prefix(1) : [handle, 0] + rest
        // Now and then in the other direction.
        let isOfServer = opcode % 2 == 1 && Int.random(in: 0..<10, using: &random) > 0
        let link: UInt16 = Int.random(in: 0..<4, using: &random) == 0 ? 0x41 : 0x40
        frame([opcode] + fields, isOfServer ? .controllerToHost : .hostToController, of: link)
      }
    }

    var twin: Twin {
      get throws {
        let seen = try #require(reader.devices.first)
        let twin = seen.device.twin(orNamed: "x", in: recorder, link: seen.link, address: seen.address)
        // What is written can be read.
        let text = twin.description.text
        #expect(try ServiceDescription(Array(text.utf8), of: "twin.json") == twin.description)
        return twin
      }
    }

    /// The characteristics of the service.
    var characteristics: [ServiceDescription.Characteristic] {
      get throws { try #require(try twin.description.services.first).characteristics }
    }
  }

  @Test func aCopyHasTheHandlesOfTheDevice() throws {
    var trace = Recording()
    trace.discover()
    let service = try #require(try trace.twin.description.services.first)
    #expect(service.uuid == "FFE0" && service.handles == 1...12)
    #expect(service.characteristics.map(\.handle) == [2, 6, 9])
    #expect(service.characteristics.map(\.placeOfValue) == [3, 7, 10])
    #expect(service.characteristics.map { $0.descriptors.map(\.handle) } == [[4, 5], [8], []])
    #expect(service.characteristics.map(\.propertyBits.rawValue) == [0x12, 0x28, 0x0A])
  }

  @Test func successiveValuesAreKeptInOrder() throws {
    var trace = Recording()
    trace.discover()
    for value: UInt8 in [5, 5, 4, 3, 3] { trace.exchange([0x0A, 3, 0], [0x0B, value]) }
    trace.exchange([0x0A, 10, 0], [0x01, 0x0A, 10, 0, 0x80])
    let characteristics = try trace.characteristics
    #expect(characteristics[0].reads == [.value([5]), .value([5]), .value([4]), .value([3])])
    #expect(characteristics[2].reads == [.error(0x80)])
  }

  @Test func aLongValueIsJoined() throws {
    var trace = Recording()
    trace.discover()
    let value = (0..<50).map { UInt8($0) }
    trace.exchange([0x0A, 3, 0], [0x0B] + value[..<22])
    trace.exchange([0x0C, 3, 0, 22, 0], [0x0D] + value[22..<44])
    trace.exchange([0x0C, 3, 0, 44, 0], [0x0D] + value[44...])
    #expect(try trace.characteristics[0].value == value)
  }

  /// A client need not read a long value to its end (Vol 3, Part G, 4.8.3): the rest is known from another read.
  @Test func theBeginningOfALongValueIsThatValue() throws {
    var trace = Recording()
    trace.discover()
    let value = (0..<30).map { UInt8($0) }
    trace.exchange([0x0A, 3, 0], [0x0B] + value[..<22])
    trace.exchange([0x0C, 3, 0, 22, 0], [0x0D] + value[22...])
    trace.exchange([0x0A, 3, 0], [0x0B, 1])
    trace.exchange([0x0A, 3, 0], [0x0B] + value[..<22])
    #expect(try trace.characteristics[0].reads == [.value(value), .value([1]), .value(value)])
  }

  @Test func beginningsAreCompletedUpToALimit() throws {
    var trace = Recording()
    trace.discover()
    for number in 0...TwinBehaviour.beginningLimit {
      let value = [UInt8(number)] + [UInt8](repeating: 7, count: 25)
      trace.exchange([0x0A, 3, 0], [0x0B] + value[..<22])
      trace.exchange([0x0C, 3, 0, 22, 0], [0x0D] + value[22...])
      trace.exchange([0x0A, 3, 0], [0x0B, 1])
      trace.exchange([0x0A, 3, 0], [0x0B] + value[..<22])
    }
    let lengths = try trace.characteristics[0].reads.map { if case .value(let octets) = $0 { octets.count } else { 0 } }
    #expect(
      lengths == Array([[Int]](repeating: [26, 1, 26], count: TwinBehaviour.beginningLimit).joined()) + [26, 1, 22])
  }

  /// Two clients write one value at the same time: each answer is that of the write of its link, and a write that the
  /// security of a link forbids is none.
  @Test func writesOfTwoLinksHaveTheirOwnAnswers() throws {
    var trace = Recording()
    trace.discover()
    trace.connect(0x41)
    trace.frame([0x12, 10, 0, 1], .hostToController)
    trace.frame([0x12, 10, 0, 2], .hostToController, of: 0x41)
    trace.frame([0x01, 0x12, 10, 0, 0x05], .controllerToHost)
    trace.frame([0x01, 0x12, 10, 0, 0x80], .controllerToHost, of: 0x41)
    trace.time += 100
    trace.frame([0x1B, 3, 0, 7], .controllerToHost, of: 0x41)
    let characteristic = try trace.characteristics[2]
    #expect(characteristic.writes.map(\.value) == [[2]] && characteristic.writes.map(\.error) == [0x80])
    #expect(characteristic.writes[0].updates.map(\.value) == [[7]])
    #expect(characteristic.security == .authenticated)
  }

  /// A request of the device within a second after a write follows the write; another one is that of each link.
  @Test(arguments: [999, 1_001]) func aRequestOfTheDeviceFollowsTheWriteBefore(after milliseconds: Int) throws {
    var trace = Recording()
    trace.discover()
    trace.exchange([0x12, 10, 0, 9], [0x13], after: 0)
    trace.time += milliseconds
    trace.frame([0x0B, 0x01], .controllerToHost, on: .securityManager)
    trace.frame([0x12, 1, 8, 0, 24, 0, 40, 0, 2, 0, 0x58, 2], .controllerToHost, on: .signalling)
    let description = try trace.twin.description
    let writes = description.services[0].characteristics[2].writes
    let connection = ServiceDescription.Connection(delay: 0, interval: 24...40, latency: 2, timeout: 600)
    if milliseconds < 1_000 {
      #expect(writes.map(\.value) == [[9]])
      #expect(writes.first?.updates.map(\.requestsSecurity) == [true, false])
      #expect(writes.first?.updates.map(\.connection) == [nil, connection])
      #expect(description.pairing?.requestDelay == nil && description.connection == nil)
    } else {
      #expect(writes.isEmpty)
      #expect(description.pairing?.requestDelay != nil && description.connection?.interval == 24...40)
    }
  }

  /// Each link of a device may have another handle.
  @Test func theLinksOfADeviceAreOneDevice() throws {
    var trace = Recording()
    trace.discover()
    trace.disconnect()
    trace.connect(0x41)
    #expect(trace.reader.devices.count == 1)
    #expect(try trace.twin.description.services.map(\.uuid) == ["FFE0"])
  }

  @Test func valuesAfterASubscriptionHaveTheirTimes() throws {
    var trace = Recording()
    trace.discover()
    trace.exchange([0x12, 4, 0, 1, 0], [0x13])
    trace.update([0x1B, 3, 0, 1], after: 100)
    trace.update([0x1B, 3, 0, 2], after: 50)
    // A write does not take a stream from its subscription.
    trace.exchange([0x12, 10, 0, 9], [0x13])
    trace.update([0x1B, 3, 0, 3], after: 49)
    let characteristics = try trace.characteristics
    let values = characteristics[0].subscriptions
    #expect(values.map { $0.map(\.value) } == [[[1], [2], [3]]])
    #expect(values.first?.map(\.delay) == [100, 150, 200])
    #expect(characteristics[2].writes.isEmpty)
  }

  @Test func aWriteIsFollowedByWhatFollowedIt() throws {
    var trace = Recording()
    trace.discover()
    trace.exchange([0x0A, 10, 0], [0x0B, 0])
    trace.exchange([0x12, 4, 0, 1, 0], [0x13])
    trace.exchange([0x12, 8, 0, 2, 0], [0x13])
    trace.exchange([0x12, 7, 0, 1], [0x13])
    trace.update([0x1B, 3, 0, 0x64], after: 30)
    trace.update([0x1D, 7, 0, 0x80, 1], after: 30)
    trace.frame([0x1E], .hostToController)
    trace.exchange([0x0A, 10, 0], [0x0B, 1])
    trace.exchange([0x0A, 10, 0], [0x0B, 2])
    trace.exchange([0x12, 7, 0, 9], [0x01, 0x12, 7, 0, 0x81])
    // Sent before the answer.
    trace.frame([0x12, 7, 0, 2], .hostToController)
    trace.update([0x1D, 7, 0, 0x80, 2], after: 1)
    trace.update([0x13], after: 1)
    let characteristics = try trace.characteristics
    let writes = characteristics[1].writes
    #expect(writes.map(\.value) == [[1], [9], [2]] && writes.map(\.error) == [nil, 0x81, nil])
    #expect(
      writes[0].updates == [
        ServiceDescription.Update(delay: 30, handle: 3, value: [0x64]),
        ServiceDescription.Update(delay: 60, value: [0x80, 1]),
      ])
    #expect(writes[0].reads == [.init(handle: 10, values: [.value([1]), .value([2])])])
    #expect(writes[2].updates == [ServiceDescription.Update(delay: 0, value: [0x80, 2], isBeforeAnswer: true)])
    #expect(characteristics[2].value == [0] && characteristics[0].subscriptions.isEmpty)
  }

  /// A write whose value is read afterwards needs no entry: any other would be the same.
  @Test func aPlainValueIsNoBehaviour() throws {
    var trace = Recording()
    trace.discover()
    trace.exchange([0x0A, 10, 0], [0x0B, 0])
    trace.exchange([0x12, 10, 0, 7], [0x13])
    trace.exchange([0x0A, 10, 0], [0x0B, 7])
    let twin = try trace.twin
    let characteristic = twin.description.services[0].characteristics[2]
    #expect(characteristic.value == [0] && characteristic.writes.isEmpty)
    #expect(twin.notes.contains { $0.hasPrefix("writes of values that were not seen are accepted") })
  }

  @Test func aLateAnswerIsLate() throws {
    var trace = Recording()
    trace.discover()
    trace.exchange([0x12, 7, 0, 1], [0x13], after: 801)
    #expect(try trace.characteristics[1].writes.map(\.delay) == [800])
  }

  @Test func aDeviceThatEndsTheLinkDoesSoAgain() throws {
    var trace = Recording()
    trace.discover()
    trace.exchange([0x12, 7, 0, 5], [0x13])
    trace.time += 20
    var event = HCI.DisconnectionComplete()
    event.connectionHandle = ConnectionHandle(rawValue: 0x40)
    trace.add(.event(HCIEventPacket(event)), .controllerToHost)
    #expect(try trace.characteristics[1].writes[0].updates == [.init(delay: 20, disconnects: true)])
  }

  @Test func theSecurityIsThatOfTheKeyWithWhichAReadHasSucceeded() throws {
    for (isAuthenticated, security) in [(false, ServiceDescription.Security.encrypted), (true, .authenticated)] {
      var trace = Recording()
      trace.discover()
      trace.exchange([0x0A, 3, 0], [0x01, 0x0A, 3, 0, 0x05])
      trace.frame([0x0B, 0x05], .controllerToHost, on: .securityManager)
      let request: UInt8 = isAuthenticated ? 0x0D : 0x09
      trace.frame([0x01, 0x04, 0, request, 16, 3, 3], .hostToController, on: .securityManager)
      trace.frame([0x02, isAuthenticated ? 0x00 : 0x03, 0, request, 16, 3, 3], .controllerToHost, on: .securityManager)
      trace.encrypt()
      trace.exchange([0x0A, 3, 0], [0x0B, 1])
      let twin = try trace.twin
      #expect(
        twin.notes.contains("whether subscriptions of FFE1 of FFE0 need security was not seen: they need none"))
      let description = twin.description
      let characteristic = description.services[0].characteristics[0]
      #expect(characteristic.security == security && characteristic.refusal == 0x05)
      #expect(characteristic.secures == [.read] && characteristic.value == [1])
      #expect(
        description.pairing?.capability == (isAuthenticated ? .display : ServiceDescription.Pairing.Capability.none))
      #expect(description.pairing?.requestDelay != nil && description.pairing?.hasSecureConnections == true)
    }
  }

  @Test func theAdvertisementIsCopiedOctetByOctet() throws {
    var trace = Recording()
    for pause in [103, 109, 207, 101, 104] {
      trace.advertise([2, 1, 6, 3, 0x09, 0x41, 0x42])
      trace.advertise([3, 0x03, 0xE0, 0xFF], type: .scanResponse)
      trace.time += pause
    }
    trace.discover()
    let twin = try trace.twin
    #expect(twin.description.name == "AB" && twin.description.address == .staticRandom)
    #expect(
      twin.description.advertising
        == ServiceDescription.Advertising(
          data: [2, 1, 6, 3, 0x09, 0x41, 0x42], scanResponse: [3, 0x03, 0xE0, 0xFF], interval: 101))
    let seen = try #require(trace.reader.devices.first)
    let kept = seen.device.twin(
      orNamed: "x", in: trace.recorder, link: nil, address: seen.address, keepsAddress: true)
    #expect(kept.description.address == .given(trace.peer.octets))
    #expect(kept.description.text.contains("\"address\": \"C0:11:22:33:44:55\""))
  }

  @Test func thePeriodicAdvertisingIsCopied() throws {
    var trace = Recording()
    func report(_ data: [UInt8], _ status: UInt8) {
      trace.event(HCI.LEPeriodicAdvertisingReport { ($0.syncHandle, $0.dataStatus, $0.data) = (7, status, data[...]) })
    }
    trace.advertise([2, 1, 6])
    // Its announcement has no data of the device.
    var announcement = HCI.ExtendedAdvertisingReport()
    (announcement.address, announcement.periodicAdvertisingInterval) = (trace.peer, 6)
    trace.event(HCI.LEExtendedAdvertisingReport { $0.reports = [announcement] })
    trace.discover()
    #expect(try trace.twin.notes.contains { $0.hasPrefix("periodic advertising was announced, and none of it") })
    report([1, 1], 0)
    trace.event(
      HCI.LEPeriodicAdvertisingSyncEstablished {
        ($0.syncHandle, $0.advertiserAddress, $0.periodicAdvertisingInterval) = (7, trace.peer, 6)
      })
    report([1, 2], 1)
    report([3], 0)
    report([9], 1)
    report([9], 2)
    let twin = try trace.twin
    #expect(twin.description.periodic == ServiceDescription.Periodic(data: [1, 2, 3], interval: 8))
    #expect(twin.description.advertising?.data == [2, 1, 6] && twin.description.advertising?.isConnectable == true)
    // Data that is longer than a train has is not kept.
    for _ in 0..<20 { report([UInt8](repeating: 0, count: 100), 1) }
    report([0], 0)
    #expect(try trace.twin.description.periodic?.data == [1, 2, 3])
  }

  /// A host that sends a train has a set more, which is not the advertisement to which a central connects.
  @Test func theOwnPeriodicAdvertisingIsCopied() throws {
    var recorder = TwinRecorder()
    var reader = TraceReader()
    func add(_ command: some HCICommand) {
      var packet: [UInt8] = []
      packet.append(hci: command)
      let record = BTSnoopRecord(packet: packet[...], direction: .hostToController, microseconds: 0)
      if let entry = reader.entry(for: record) { recorder.add(entry) }
    }
    for set: UInt8 in [1, 0] {
      add(
        HCI.LESetExtendedAdvertisingParameters {
          ($0.advertisingHandle, $0.advertisingEventProperties) = (set, set == 0 ? .connectable : [])
        })
    }
    for set: UInt8 in [0, 1] {
      add(HCI.LESetExtendedAdvertisingData { ($0.advertisingHandle, $0.advertisingData) = (set, [set]) })
    }
    add(HCI.LESetPeriodicAdvertisingParameters { ($0.advertisingHandle, $0.periodicAdvertisingIntervalMin) = (1, 80) })
    for (operation, octet) in [(.first, 4), (.last, 5), (.unchanged, nil)] as [(HCI.DataOperation, UInt8?)] {
      add(
        HCI.LESetPeriodicAdvertisingData {
          ($0.advertisingHandle, $0.operation) = (1, operation)
          if let octet { $0.advertisingData = [octet] }
        })
    }
    #expect(recorder.own.isConnectable && recorder.own.data == [0])
    #expect(recorder.own.train.data == [4, 5] && recorder.own.train.interval == 80)
  }

  @Test func theMTUAndTheTimingAreCopied() throws {
    var trace = Recording()
    trace.discover()
    trace.exchange([0x02, 0x05, 0x02], [0x03, 185, 0])
    trace.time += 1_000
    trace.frame([0x12, 1, 8, 0, 24, 0, 40, 0, 4, 0, 0x58, 0x02], .controllerToHost, on: .signalling)
    let description = try trace.twin.description
    #expect(description.mtu == 185)
    let connection = try #require(description.connection)
    #expect(connection.interval == 24...40 && connection.latency == 4 && connection.timeout == 600)
    #expect(connection.delay >= 1_000)
  }

  @Test func whatWasNotSeenIsSaid() throws {
    var trace = Recording()
    trace.discover()
    #expect(
      try trace.twin.notes == [
        "the value of the descriptor 2901 of FFE1 of FFE0 was not seen: it is empty",
        "the value of FFE1 of FFE0 was not seen: it is empty",
        "no value that FFE1 of FFE0 sends was seen: the copy sends none",
        "no value that FFE2 of FFE0 sends was seen: the copy sends none",
        "the value of FFE3 of FFE0 was not seen: it is empty",
        "no advertisement was seen: the copy advertises its name and its primary services",
        "the copy has a static address of its own; --keep-address takes the recorded one",
        "no exchange of the MTU was seen: the copy offers the greatest one",
        "no discovery of Generic Access was seen: the copy lacks that service",
        "writes of values that were not seen are accepted: they are read from then on, and nothing is sent",
      ])
  }

  /// Clocks jump, and devices send what the specification does not allow.
  @Test func whatADescriptionCannotHaveIsLeftOut() throws {
    var trace = Recording()
    trace.discover()
    trace.time = Int(Int64.max / 1_000)
    trace.exchange([0x02, 0xFF, 0xFF], [0x03, 0xFF, 0xFF], after: 0)
    trace.exchange([0x0A, 3, 0], [0x01, 0x0A, 3, 0, 0x00], after: 0)
    trace.exchange([0x12, 4, 0, 1, 0], [0x13], after: 0)
    trace.time = Int(Int64.min / 1_000)
    trace.frame([0x1B, 3, 0] + [UInt8](repeating: 1, count: 600), .controllerToHost)
    trace.frame([0x12, 1, 8, 0, 40, 0, 24, 0, 4, 0, 0x58, 0x02], .controllerToHost, on: .signalling)
    trace.exchange([0x12, 7, 0] + [UInt8](repeating: 1, count: 600), [0x13])
    let twin = try trace.twin
    #expect(twin.description.mtu == 517 && twin.description.connection == nil)
    #expect(twin.notes.contains("the MTU 65535 is not repeated"))
    #expect(twin.notes.contains("a request of connection parameters that are not allowed is not repeated"))
    let characteristics = twin.description.services[0].characteristics
    #expect(characteristics[0].reads == [.error(1)] && characteristics[1].writes.isEmpty)
    #expect(characteristics[0].subscriptions.first?.first?.value.count == 512)
  }

  @Test func aCopyFromAnyPacketsIsReadAsItIsWritten() throws {
    var (accepted, writes) = (0, 0)
    for seed: UInt64 in 0..<300 {
      var random = SplitMix64(seed: seed)
      var trace = Recording()
      trace.discover()
      for _ in 0..<60 { trace.addAny(&random) }
      for seen in trace.reader.devices {
        let twin = seen.device.twin(orNamed: "x", in: trace.recorder, link: seen.link, address: seen.address)
        let read = try? ServiceDescription(Array(twin.description.text.utf8), of: "twin.json")
        // A database that makes no sense is rejected.
        #expect(read == nil || read == twin.description, "seed \(seed)")
        guard let read else { continue }
        accepted += 1
        writes += read.services.flatMap(\.characteristics).flatMap(\.writes).count
        #expect(!ServedValues(read).attributes().isEmpty)
      }
    }
    #expect(accepted > 100 && writes > 30, "\(accepted) copies, \(writes) writes")
  }

  @Test func thePacketsThatAreKeptAreLimited() throws {
    var trace = Recording()
    trace.discover()
    let limit = TwinRecorder.packetLimit
    trace.exchange([0x0A, 3, 0], [0x0B, 1])
    // The discovery has nine packets with the connection, and the read two.
    let pdu = HCIPacket.aclData(
      HCIACLDataPacket {
        $0.connectionHandle = ConnectionHandle(rawValue: 0x40)
        $0.packetBoundaryFlag = .firstFlushable
        $0.data = BasicFrame(channel: .attributeProtocol, payload: [0x1B, 10, 0, 0]).encoded[...]
      })
    for _ in 0..<limit - 11 { trace.add(pdu, .controllerToHost) }
    #expect(try trace.twin.notes.contains { $0.hasPrefix("the trace has more than") } == false)
    trace.add(pdu, .controllerToHost)
    #expect(try trace.twin.notes.contains("the trace has more than \(limit) packets of links: the rest is left out"))
  }

  @Test func theAdvertisersThatAreKeptAreLimited() throws {
    var trace = Recording()
    for number in 0..<TwinRecorder.advertiserLimit {
      var report = HCI.AdvertisingReport()
      report.address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(number)), kind: .random)
      trace.add(.event(HCIEventPacket(HCI.LEAdvertisingReport { $0.reports = [report] })), .controllerToHost)
    }
    trace.advertise([2, 1, 6])
    trace.discover()
    #expect(try trace.twin.description.advertising == nil)
  }
}

/// The fields of a copy in a file.
struct TwinFileTests {
  private func error(_ text: String) -> String? {
    do throws(ToolError) {
      _ = try ServiceDescription(Array(text.utf8), of: "twin.json")
      return nil
    } catch { return error.description }
  }

  private static func twin(_ characteristic: String, service: String = "\"handle\": 1, \"end\": 9,") -> String {
    "{\"name\": \"x\",\n\"services\": [{\"uuid\": \"FFE0\", \(service) \"characteristics\": [\n{\"uuid\": \"FFE1\", "
      + "\"properties\": [\"read\"], \(characteristic)}]}]}"
  }

  @Test func handlesAreCompleteAndAscending() {
    #expect(error(Self.twin("\"handle\": 2")) == nil)
    #expect(
      error(Self.twin("\"value\": \"00\""))
        == "twin.json:2: services: FFE1 has no handle: all services and characteristics have one, or none")
    #expect(
      error(Self.twin("\"handle\": 2", service: ""))
        == "twin.json:2: services: FFE1 has fields of a copy of a device, which need the handles of all services and "
        + "characteristics")
    #expect(
      error(Self.twin("\"handle\": 1"))
        == "twin.json:2: services: the handle 1 of FFE1 is not above the one before it (1), or is past the end of its "
        + "service (9)")
    #expect(error(Self.twin("\"handle\": 9"))?.contains("the handle 10 of FFE1 is not above") == true)
    #expect(error(Self.twin("\"handle\": 0"))?.contains("a number from 1 to 65535 is expected") == true)
    #expect(error(Self.twin("\"handle\": 65535", service: "\"handle\": 1, \"end\": 65535,")) != nil)
  }

  @Test func whatFollowsNamesAValue() {
    let update = "\"handle\": 2, \"subscriptions\": [[{\"after\": 1, \"handle\": 7, \"value\": \"00\"}]]"
    #expect(
      error(Self.twin(update)) == "twin.json:2: services: no characteristic has a value with the handle 7")
    #expect(error(Self.twin(update.replacing("7", with: "3"))) == nil)
  }

  @Test func timesAreLimited() {
    func update(_ delay: UInt32) -> String {
      "\"handle\": 2, \"subscriptions\": [[{\"after\": \(delay), \"value\": \"00\"}]]"
    }
    #expect(error(Self.twin(update(ServiceDescription.maximumDelay))) == nil)
    #expect(
      error(Self.twin(update(ServiceDescription.maximumDelay + 1)))?
        .contains("a number from 0 to 3600000 is expected") == true)
  }

  @Test func anAdvertisementHasTheOctetsOfItsKind() {
    func advertisement(_ octets: Int, _ more: String = "") -> String {
      let data = String(repeating: "00", count: octets)
      return "{\"name\": \"x\", \"services\": [], \"advertising\": {\"data\": \"\(data)\"\(more)}}"
    }
    #expect(error(advertisement(31)) == nil && error(advertisement(1650, ", \"extended\": true")) == nil)
    #expect(error(advertisement(32))?.contains("at most 31 octets") == true)
    #expect(error(advertisement(1651, ", \"extended\": true"))?.contains("at most 1650 octets") == true)
  }

  @Test func anAddressIsStaticOrAKind() {
    for address in ["public", "static", "resolvable", "C0:11:22:33:44:55"] {
      #expect(error("{\"name\": \"x\", \"services\": [], \"address\": \"\(address)\"}") == nil)
    }
    for address in ["40:11:22:33:44:55", "C0:11", "random"] {
      #expect(
        error("{\"name\": \"x\", \"services\": [], \"address\": \"\(address)\"}")?.contains("is expected") == true)
    }
  }
}
