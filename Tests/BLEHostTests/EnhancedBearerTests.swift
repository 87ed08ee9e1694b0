import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire
import Testing

/// A peripheral with dynamic values, whose application the test plays, and a central; both may have enhanced bearers.
private struct EnhancedPair {
  static let attributes = (11...14).map { AttributeID(rawValue: $0) }
  var pair: ChannelPair
  var handles: [AttributeHandle] = []
  private var operations: UInt32 = 500

  /// - Parameter mtu: the MTU of the channels of the bearers, in octets, instead of 517.
  init(central: Int = 3, peripheral: Int = 3, mtu: UInt8? = nil, isEncrypted: Bool = true) throws {
    let couple = Couple(configure: { $1.enhancedBearers = $0 == 0 ? peripheral : central })
    pair = try ChannelPair(nil, couple: couple)
    let definitions = Self.attributes.map {
      CharacteristicDefinition(
        id: $0, uuid: BluetoothUUID(0xFF20), properties: [.read, .write, .indicate], permissions: .readableAndWritable,
        value: .dynamic)
    }
    pair.ask(
      0,
      .services(
        .add(
          ServiceDefinition(id: ServiceID(rawValue: 9), uuid: BluetoothUUID(0xFF21), characteristics: definitions))),
      from: OwnerID(rawValue: 4))
    for event in pair.couple.events(0) {
      if case .services(.added(ServiceID(rawValue: 9), .success(let added))) = event {
        handles = Self.attributes.compactMap { added.attributes[$0] }
      }
    }
    if let mtu {
      pair.couple.world.claimed = { _, packet in
        guard packet.count > 16, packet[0] == 2, packet[7] == 5, [0x17, 0x18].contains(packet[9]) else { return packet }
        // The MTU follows the SPSM in the request, and is the first field of the response.
        let place = packet[9] == 0x17 ? 15 : 13
        return packet[..<place] + [mtu, 0] + packet[(place + 2)...]
      }
    }
    if isEncrypted { pair.couple.secure() }
  }

  /// What a host has sent on the bearer with this number since it had sent `count` frames there, joined.
  func octets(of host: Int, on channel: UInt16, after count: Int = 0) -> String {
    pair.frames(of: host, on: channel).dropFirst(count).joined()
  }

  mutating func perform(_ kinds: [GATTClient.Operation.Kind]) {
    let commands = kinds.map { kind in
      operations += 1
      return HostCommand.link(pair.link(1), .client(.init(id: .init(rawValue: operations), kind)))
    }
    pair.couple.world.ask(1, commands)
  }

  /// The requests that the peripheral's application has been given.
  var requests: [(token: RequestToken, attribute: AttributeID)] {
    pair.couple.events(0).compactMap {
      switch $0 {
      case .server(_, .read(let token, let attribute, _)): (token, attribute)
      case .server(_, .write(let token, let parts)): (token, parts[0].attribute)
      default: nil
      }
    }
  }

  mutating func respond(to token: RequestToken, _ value: [UInt8]) {
    pair.ask(0, .respond(pair.link(0), token, .success(value)), from: OwnerID(rawValue: 4))
  }

  /// The ends of the operations, in order.
  var results: [(number: UInt32, result: Result<GATTClient.Outcome, GATTClientError>)] {
    pair.couple.events(1).compactMap {
      if case .client(_, .finished(let id, let result)) = $0, id.rawValue > 500, id.rawValue < 100_000 {
        (id.rawValue - 500, result)
      } else {
        nil
      }
    }
  }

  var values: [UInt32: [UInt8]] {
    var values: [UInt32: [UInt8]] = [:]
    for case (let number, .success(.value(let value))) in results { values[number] = value }
    return values
  }

  func requestsForChannels(_ host: Int) -> [String] { pair.frames(of: host, on: 5).filter { $0.hasPrefix("17") } }

  /// Sends an ATT PDU on the bearer with this channel number behind the back of a host.
  mutating func forge(_ pdu: String, on channel: UInt16 = 0x40, from host: Int) throws {
    var length: [UInt8] = []
    length.append(littleEndian: UInt16(pdu.count / 2))
    try pair.forge(length.hexadecimal + pdu, on: channel, from: host)
  }

  var isLinkUp: Bool {
    !pair.couple.events(1).contains { if case .link(_, .disconnected) = $0 { true } else { false } }
  }
}

/// Vol 3, Part F, 3.2.11; Part G, 5.3.2.
@Suite("Enhanced ATT bearers") struct EnhancedBearerTests {
  @Test func theCentralOpensBearersOnceTheLinkIsEncrypted() throws {
    var both = try EnhancedPair(isEncrypted: false)
    #expect(both.requestsForChannels(1).isEmpty)
    both.pair.couple.secure()
    let request = try #require(both.requestsForChannels(1).first)
    #expect(request.dropFirst(8).hasPrefix("2700" + "0502"), "SPSM 0x0027, MTU 517")
    #expect(request.hasSuffix("400041004200"), "three channels")
    let response = try #require(both.pair.frames(of: 0, on: 5).first { $0.hasPrefix("18") })
    #expect(response.hasSuffix("0000" + "400041004200"))
    #expect(both.pair.openedChannels(0).isEmpty && both.pair.openedChannels(1).isEmpty, "no application is told")
  }

  /// A peer that mishandles them must not be met with them.
  @Test func thereAreNoneByDefault() throws {
    var both = try EnhancedPair(central: 0, peripheral: 0)
    #expect(both.requestsForChannels(1).isEmpty)
    both.perform([.readUsingUUID(BluetoothUUID(0x2B3A), 0x0001...0xFFFF)])
    both.pair.couple.world.run(for: .seconds(1))
    guard case .failure(.errorResponse(.attributeNotFound, _, _))? = both.results.first?.result else {
      Issue.record("\(both.results)")
      return
    }
    try both.pair.forge("17050a0027004000400001004000", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last == "18050a0000000000000002000000")
  }

  @Test func aPeerWithoutBearersIsServedAsBefore() throws {
    var both = try EnhancedPair(peripheral: 0)
    #expect(both.requestsForChannels(1).isEmpty)
    both.perform([.read(both.handles[0])])
    both.respond(to: try #require(both.requests.first).token, [1])
    #expect(both.values == [1: [1]])
    both = try EnhancedPair(central: 0)
    both.perform([.read(both.handles[0])])
    both.respond(to: try #require(both.requests.first).token, [1])
    #expect(both.values == [1: [1]])
    #expect(both.requestsForChannels(1).isEmpty)
  }

  @Test func bearersNeedEncryptionAndEnhancedFlowControl() throws {
    var both = try EnhancedPair(central: 0, isEncrypted: false)
    try both.pair.forge("17050a0027004000400001004000", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last == "18050a0000000000000005000000")
    both.pair.couple.secure()
    try both.pair.forge("14060a0027004000400040000100", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last == "15060a0000000000000000000200")
    try both.pair.forge("17070a00270040003f0001004000", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last == "18070a000000000000000b000000", "an MPS of 63")
  }

  @Test func thePeerMayOpenFiveBearers() throws {
    var both = try EnhancedPair(central: 0)
    try both.pair.forge("170512002700400040000100" + "40004100420043004400", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last?.hasSuffix("0000" + "40004100420043004400") == true)
    try both.pair.forge("17060a0027004000400001004500", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last == "18060a0000000000000004000000")
  }

  /// Linux (6.12 to 7.3) requests the channel that it made last first, and gives the numbers of the response to its
  /// channels in the order of their making, so that each would receive what is for another one.
  @Test func numbersThatDoNotAscendAreRejected() throws {
    var both = try EnhancedPair(central: 0)
    try both.pair.forge("17050c002700400040000100" + "41004000", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last == "18050c000000000000000400" + "00000000")
    try both.pair.forge("17060c002700400040000100" + "40004200", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last?.hasSuffix("0000" + "40004100") == true, "gaps are no matter")
    // One channel a request has no order.
    try both.pair.forge("17070a002700400040000100" + "4100", on: 5, from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last?.hasSuffix("0000" + "4200") == true)
  }

  @Test func severalTransactionsAreOpenAtOnce() throws {
    var both = try EnhancedPair()
    both.perform(both.handles.map { .read($0) })
    let requests = both.requests
    #expect(requests.map(\.attribute).sorted { $0.rawValue < $1.rawValue } == EnhancedPair.attributes)
    for request in requests.reversed() { both.respond(to: request.token, [UInt8(request.attribute.rawValue)]) }
    #expect(both.values == [1: [11], 2: [12], 3: [13], 4: [14]])
    #expect(both.results.map(\.number) != [1, 2, 3, 4], "in the order of the answers")
    #expect(both.pair.couple.world.complaints.isEmpty)
  }

  /// Operations on one attribute keep their order.
  @Test func operationsOnOneAttributeAreNotReordered() throws {
    var both = try EnhancedPair()
    both.perform([.read(both.handles[0]), .write(both.handles[1], [5]), .read(both.handles[1])])
    #expect(both.requests.count == 2, "the second read waits for the write")
    both.respond(to: both.requests[1].token, [])
    #expect(
      both.requests.map(\.attribute) == [
        EnhancedPair.attributes[0], EnhancedPair.attributes[1], EnhancedPair.attributes[1],
      ])
  }

  @Test func discoveryIsInOrderWithEverythingElse() throws {
    var both = try EnhancedPair()
    both.perform([.read(both.handles[0]), .discoverPrimaryServices, .read(both.handles[1])])
    #expect(both.requests.count == 1)
    both.respond(to: both.requests[0].token, [1])
    #expect(both.requests.count == 2)
  }

  /// Reads are repeated, a write may have been executed.
  @Test func aLostBearerEndsItsOwnTransactionAlone() throws {
    var both = try EnhancedPair()
    both.perform([.read(both.handles[0]), .read(both.handles[1]), .write(both.handles[2], [1]), .read(both.handles[3])])
    #expect(both.requests.count == 4)
    for channel in ["40", "41"] { try both.pair.forge("0601040\(0)\(channel)00\(channel)00", on: 5, from: 0) }
    #expect(both.results.map(\.number) == [3])
    guard case .failure(.bearerClosed)? = both.results.first?.result else { Issue.record("\(both.results)"); return }
    let last = try #require(both.requests.last { $0.attribute == EnhancedPair.attributes[3] })
    both.respond(to: last.token, [7])
    for request in both.requests.prefix(1) { both.respond(to: request.token, [9]) }
    let repeated = both.requests.filter { $0.attribute == EnhancedPair.attributes[1] }
    #expect(repeated.count == 2, "asked again on another bearer")
    for request in repeated { both.respond(to: request.token, [8]) }
    #expect(both.values == [1: [9], 2: [8], 4: [7]])
    #expect(both.isLinkUp)
  }

  @Test func aBearerWithoutAResponseEndsAlone() throws {
    var both = try EnhancedPair()
    both.perform([.read(both.handles[0]), .read(both.handles[1])])
    // Frames of the peripheral on the bearer go astray.
    both.pair.couple.world.claimed = { host, packet in
      host == 0 && packet[0] == 2 && packet.count > 9 && packet[7] == 0x40
        ? Array(packet[..<7]) + [0x7F] + packet[8...] : packet
    }
    for request in both.requests { both.respond(to: request.token, [3]) }
    #expect(both.values == [1: [3]])
    both.pair.couple.world.run(for: .seconds(31))
    guard case .failure(.timedOut)? = both.results.last?.result else { Issue.record("\(both.results)"); return }
    #expect(both.pair.frames(of: 1, on: 5).last?.hasPrefix("06") == true, "a Disconnection Request")
    #expect(both.isLinkUp)
    both.perform([.read(both.handles[2])])
    both.respond(to: try #require(both.requests.last).token, [4])
    #expect(both.values[3] == [4])
  }

  /// Vol 3, Part F, 3.4.2: the MTU of a bearer is that of its channel.
  @Test func aBearerHasNoMTUExchange() throws {
    var both = try EnhancedPair()
    try both.forge("020502", from: 1)
    #expect(both.pair.frames(of: 0, on: 0x40).last == "0500" + "0102000006")
  }

  @Test func theMTUOfABearerIsThatOfItsChannel() throws {
    var both = try EnhancedPair(central: 0)
    try both.pair.forge("17050a0027004000400001004000", on: 5, from: 1)
    // A stored value of one octet, and the device name of 11 octets: both fit. A list of services is cut at 64 octets.
    try both.forge("100100ffff0028", from: 1)
    let response = try #require(both.pair.frames(of: 0, on: 0x40).last)
    #expect(response.count / 2 <= 66)
    #expect(response.dropFirst(4).hasPrefix("11"))
  }

  /// Vol 3, Part G, 5.3.1: the latest L2CAP_CREDIT_BASED_RECONFIGURE_REQ counts. A long value has as many octets as
  /// fit.
  @Test func theMTUOfABearerOfTheServerFollowsItsChannel() throws {
    var both = try EnhancedPair(central: 0)
    try both.pair.forge("17050a0027004000400010004000", on: 5, from: 1)
    let read = "0a" + both.handles[0].octets
    for (count, mtu) in [(64, 64), (128, 128), (517, 151)] {
      if count > 64 {
        var request = "19060600"
        request += [UInt8(truncatingIfNeeded: count), UInt8(count >> 8), 0x40, 0, 0x40, 0].hexadecimal
        try both.pair.forge(request, on: 5, from: 1)
        #expect(both.pair.frames(of: 0, on: 5).last == "1a0602000000")
      }
      let before = both.pair.frames(of: 0, on: 0x40).count
      try both.forge(read, from: 1)
      both.respond(to: try #require(both.requests.last).token, [UInt8](repeating: 7, count: 150))
      let response = [UInt8(mtu), 0, 0x0B] + [UInt8](repeating: 7, count: mtu - 1)
      #expect(both.octets(of: 0, on: 0x40, after: before) == response.hexadecimal)
    }
  }

  @Test func theMTUOfABearerOfTheClientFollowsItsChannel() throws {
    var both = try EnhancedPair(central: 1, peripheral: 1, mtu: 64)
    let value = [UInt8](repeating: 9, count: 100)
    both.perform([.read(both.handles[0]), .write(both.handles[1], value)])
    #expect(both.pair.frames(of: 1, on: 0x40).isEmpty, "the value does not fit the bearer")
    both.respond(to: try #require(both.requests.first).token, [1])
    both.respond(to: try #require(both.requests.last).token, [])
    #expect(both.results.map(\.number) == [1, 2])
    // The peripheral raises its MTU to 517: the smaller one is ours, which is 517, too.
    both.pair.couple.world.claimed = nil
    try both.pair.forge("1906060005024000" + "4000", on: 5, from: 0)
    #expect(both.pair.frames(of: 1, on: 5).last == "1a0602000000")
    both.perform([.read(both.handles[0]), .write(both.handles[1], value)])
    #expect(both.octets(of: 1, on: 0x40) == "6700" + "12" + both.handles[1].octets + value.hexadecimal)
  }

  /// Docs/Decisions/gatt.md#enhanced-bearers: the length of a write is known, that of a value that is read is not.
  @Test func aSmallerBearerGetsWhatFits() throws {
    var both = try EnhancedPair(mtu: 64)
    let (fits, tooLong) = ([UInt8](repeating: 1, count: 61), [UInt8](repeating: 2, count: 62))
    both.perform([
      .readLong(both.handles[0]), .write(both.handles[1], fits), .write(both.handles[2], tooLong),
      .readLong(both.handles[3]),
    ])
    try #require(both.requests.map(\.attribute) == [0, 1, 3].map { EnhancedPair.attributes[$0] })
    #expect(both.octets(of: 1, on: 0x40) == "4000" + "12" + both.handles[1].octets + fits.hexadecimal)
    #expect(both.octets(of: 1, on: 0x41) == "0300" + "0a" + both.handles[3].octets)
    #expect(both.pair.frames(of: 1, on: 0x42).isEmpty)
    both.respond(to: both.requests[2].token, [UInt8](repeating: 3, count: 62))
    #expect(both.values[4] == [UInt8](repeating: 3, count: 62), "one octet less than fits: the whole value")
    both.respond(to: both.requests[0].token, [1])
    #expect(both.pair.frames(of: 1, on: 4).last == "12" + both.handles[2].octets + tooLong.hexadecimal)
  }

  /// The first 63 octets may be all of the value or a part of it.
  @Test func aReadThatFillsASmallerBearerIsRepeatedOnTheFirstOne() throws {
    var both = try EnhancedPair(mtu: 64)
    let value = [UInt8](repeating: 3, count: 100)
    both.perform([.read(both.handles[0]), .read(both.handles[1]), .write(both.handles[1], [5])])
    try #require(both.requests.count == 2)
    both.respond(to: both.requests[1].token, value)
    #expect(both.results.isEmpty && both.requests.count == 2, "behind the read of the first bearer")
    both.respond(to: both.requests[0].token, [1])
    try #require(both.requests.count == 3)
    #expect(both.pair.frames(of: 1, on: 4).last == "0a" + both.handles[1].octets)
    both.respond(to: both.requests[2].token, value)
    #expect(both.values[2] == value)
    try #require(both.requests.count == 4, "the write of the same attribute has waited for the read")
    #expect(both.pair.frames(of: 1, on: 4).last == "12" + both.handles[1].octets + "05")
    #expect(both.pair.frames(of: 1, on: 0x40).count == 1)
    both.respond(to: both.requests[3].token, [])
    #expect(both.results.map(\.number) == [1, 2, 3])
  }

  /// An operation that does not fit follows the one for the same attribute that does.
  @Test func operationsBehindOneOnASmallerBearerMoveInOrder() throws {
    var both = try EnhancedPair(mtu: 64)
    let tooLong = [UInt8](repeating: 2, count: 100)
    both.perform([
      .read(both.handles[0]), .write(both.handles[1], [1]), .write(both.handles[1], tooLong), .read(both.handles[1]),
    ])
    try #require(both.requests.count == 2)
    both.respond(to: both.requests[1].token, [])
    #expect(both.requests.count == 2 && both.pair.frames(of: 1, on: 0x40).count == 1)
    both.respond(to: both.requests[0].token, [])
    #expect(both.pair.frames(of: 1, on: 4).last == "12" + both.handles[1].octets + tooLong.hexadecimal)
    both.respond(to: try #require(both.requests.last).token, [])
    #expect(both.pair.frames(of: 1, on: 4).last == "0a" + both.handles[1].octets)
    both.respond(to: try #require(both.requests.last).token, [])
    #expect(both.results.map(\.number) == [2, 1, 3, 4])
  }

  @Test func aBearerHasAsManyOperationsAsTheFirstOne() throws {
    var both = try EnhancedPair(central: 1, peripheral: 1)
    let limit = GATTClient.Limits().waitingOctets
    // Of 64 octets and the value.
    let write = GATTClient.Operation.Kind.write(both.handles[1], [UInt8](repeating: 7, count: 192))
    let count = limit / 256
    // One on the first bearer; one on the other with as many behind it as may wait, and one too many.
    both.perform([.read(both.handles[0])] + (0..<(count + 2)).map { _ in write })
    #expect(both.results.map(\.number) == [UInt32(count) + 3])
    guard case .failure(.tooManyOperations(limit: limit))? = both.results.first?.result else {
      Issue.record("\(both.results)")
      return
    }
    both.respond(to: try #require(both.requests.last).token, [])
    both.perform([write, write])
    #expect(both.results.map(\.number) == [UInt32(count) + 3, 2, UInt32(count) + 5])
  }

  /// It waits for the operations of all bearers before it, and those after it wait for it.
  @Test func aCommandKeepsItsPlaceAmongTheOperationsOfAllBearers() throws {
    var both = try EnhancedPair()
    both.perform([
      .read(both.handles[0]), .read(both.handles[1]), .writeWithoutResponse(both.handles[2], [1]),
      .read(both.handles[0]), .read(both.handles[1]),
    ])
    let sent = both.pair.frames(of: 1, on: 4).count
    #expect(both.requests.count == 2)
    both.respond(to: both.requests[1].token, [1])
    #expect(both.requests.count == 2 && both.pair.frames(of: 1, on: 4).count == sent)
    both.respond(to: both.requests[0].token, [1])
    #expect(
      both.pair.frames(of: 1, on: 4).dropFirst(sent).map { String($0.prefix(2)) }.first == "52",
      "the command is the first to be sent")
    #expect(both.requests.count == 3)
    both.respond(to: both.requests[2].token, [2])
    both.respond(to: both.requests[3].token, [3])
    #expect(both.values == [1: [1], 2: [1], 4: [2], 5: [3]])
  }

  @Test func aPDUThatExceedsTheMTUClosesTheBearer() throws {
    var both = try EnhancedPair(central: 0)
    try both.pair.forge("17050a0027004000400001004000", on: 5, from: 1)
    try both.forge("12" + String(repeating: "00", count: 64), from: 1)
    #expect(both.pair.frames(of: 0, on: 5).last?.hasPrefix("06") == true, "a Disconnection Request")
    #expect(both.isLinkUp)
  }

  /// Docs/Decisions/pairing-and-bonds.md#a-failed-pairing-gives-no-level: the link counts as one that is not encrypted,
  /// which has no enhanced bearers.
  @Test(arguments: [0, 1]) func aPairingThatFailsAfterItsKeyIsInUseClosesTheBearers(host: Int) throws {
    var both = try EnhancedPair(isEncrypted: false)
    RevokedKeyTests.withholdKeys(&both.pair.couple.world)
    both.pair.couple.secure()
    #expect(both.requestsForChannels(1).count == 1)
    both.perform([.read(both.handles[0]), .read(both.handles[1])])
    #expect(both.requests.count == 2)
    both.pair.couple.forge([0x05, 0x08], onSecurityChannelFrom: 1 - host)
    #expect(both.pair.frames(of: host, on: 5).filter { $0.hasPrefix("06") }.count == 3, "a Disconnection Request each")
    for request in both.requests { both.respond(to: request.token, [1]) }
    for request in both.requests.suffix(1) { both.respond(to: request.token, [1]) }
    #expect(both.values == [1: [1], 2: [1]], "the read of the closed bearer is repeated on the first one")
    #expect(both.isLinkUp)
  }

  @Test func valuesAreAcceptedOnEachBearer() throws {
    var both = try EnhancedPair()
    let handle = both.handles[0].rawValue
    let octets = [UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)].hexadecimal
    try both.forge("1b\(octets)07", on: 0x41, from: 0)
    try both.forge("1d\(octets)08", on: 0x42, from: 0)
    let values = both.pair.couple.events(1).compactMap {
      switch $0 {
      case .client(_, .notification(_, let value)), .client(_, .indication(_, let value)): value
      default: nil
      }
    }
    #expect(values == [[7], [8]])
    #expect(both.pair.frames(of: 1, on: 0x42).last == "0100" + "1e", "confirmed on its bearer")
    #expect(!both.pair.frames(of: 1, on: 4).contains("1e"))
  }

  @Test func anOwnerThatDetachesIsAnsweredForOnEachBearer() throws {
    var both = try EnhancedPair()
    both.perform(both.handles.map { .read($0) })
    both.pair.couple.world.detach(OwnerID(rawValue: 4), from: 0)
    #expect(both.results.count == 4)
    #expect(both.values.isEmpty)
  }

  @Test func requestsThatTheApplicationDoesNotAnswerTimeOutOnEachBearer() throws {
    var both = try EnhancedPair()
    both.perform(both.handles.map { .read($0) })
    both.pair.couple.world.run(for: .seconds(29))
    #expect(both.results.count == 4)
    for (_, result) in both.results {
      guard case .failure(.errorResponse(.unlikelyError, _, _)) = result else { Issue.record("\(result)"); return }
    }
    for request in both.requests { both.respond(to: request.token, [1]) }
    #expect(both.values.isEmpty, "too late")
  }

  @Test func theEndOfTheLinkEndsTheOperationsOfEachBearer() throws {
    var both = try EnhancedPair()
    both.perform(both.handles.map { .read($0) })
    both.pair.couple.disconnect()
    #expect(both.results.count == 4)
    for (_, result) in both.results {
      guard case .failure(.linkEnded) = result else { Issue.record("\(result)"); return }
    }
    // Answers that come afterwards are ignored (CVE-2026-11368).
    for request in both.requests { both.respond(to: request.token, [1]) }
  }

  @Test func randomPDUsOnABearerAreHarmless() throws {
    var both = try EnhancedPair()
    var state: UInt64 = 3
    for _ in 0..<500 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let count = Int(state >> 33 % 12)
      let pdu = (0..<count).map { UInt8(truncatingIfNeeded: state >> UInt64(8 + $0 * 4)) }
      try both.forge(pdu.hexadecimal, from: 1)
      for request in both.requests.suffix(1) { both.respond(to: request.token, [1]) }
    }
    #expect(both.isLinkUp)
  }
}

extension AttributeHandle {
  /// The two octets on the link, in hexadecimal digits.
  fileprivate var octets: String { [UInt8(truncatingIfNeeded: rawValue), UInt8(rawValue >> 8)].hexadecimal }
}
