import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire

/// A host with enhanced ATT bearers (Vol 3, Part G, 5.3) and two bonded clients: a hostile one that opens, changes and
/// closes bearers, gives few credits, whose packets stay in the controller, and which in half of the runs sends any
/// frame; and an honest one.
///
/// It requires that
/// - each request has one response of its kind, on its bearer, as long as the client keeps to the protocol;
/// - the host sends no frame without a credit, none above the MPS and no PDU above the MTU of the channel;
/// - a client has at most five bearers;
/// - the honest client has its answers at once on both of its bearers, whatever the other one does, and the host does
///   not end its link.
func fuzzBearers(_ input: inout FuzzInput) {
  var run = BearersRun.started(input.octet())
  while !input.isEmpty, run.steps < BearersRun.stepLimit { run.step(&input) }
  run.finish()
}

private struct BearersRun {
  static let stepLimit = 150
  private static let hostile = 0
  private static let honest = 1

  /// Whether the hostile client sends frames that break the protocol. What its channels are then is not known here.
  let sendsAnyFrame: Bool

  struct Bearer {
    /// The number at the host.
    let remote: ChannelID
    var mtu: Int
    var mps: Int
    /// Frames that the host may send.
    var credits: Int
    var isReconfigured = false
    var requests: [UInt8] = []
    var sdu: [UInt8] = []
    /// The length of the SDU whose frames are received; nil between two.
    var length: Int?
  }

  struct Link {
    let handle: ConnectionHandle
    let address: DeviceAddress
    var isUp = false
    var reassembler = Reassembler(maximumPayload: 2048)
    var bearers: [ChannelID: Bearer] = [:]
    /// Requests for bearers without a response, by their identifier.
    var openings: [UInt8: CreditBasedConnectionRequest] = [:]
    /// The requests without a response on the first bearer.
    var requests: [UInt8] = []
    var identifier: UInt8 = 0
    var answers: [[UInt8]] = []
  }

  var core: HostCore
  var controller = FuzzController()
  var output = HostOutput()
  var now = Instant.start
  var steps = 0
  var links: [Link]
  var tokens: [(LinkID, RequestToken)] = []
  /// The links that are up.
  var peers: [LinkID] = []
  var value = AttributeHandle(rawValue: 0)
  var updates: UInt32 = 0
  /// Whether packets of the host are being received, and the packets that answer them.
  var isSettling = false
  var replies: [[UInt8]] = []

  /// The hosts that have both links, by their settings: values, which are copied in each run.
  nonisolated(unsafe) private static var ready: [UInt8: BearersRun] = [:]

  static func started(_ bits: UInt8) -> BearersRun {
    let bits = bits & 15
    if let run = unsafe ready[bits] { return run }
    let run = BearersRun(bits)
    unsafe ready[bits] = run
    return run
  }

  private init(_ bits: UInt8) {
    sendsAnyFrame = bits & 8 != 0
    links = [0x55, 0x66].enumerated().map { index, octet in
      Link(
        handle: ConnectionHandle(rawValue: 0x40 + UInt16(index)),
        address: DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_00 | UInt64(octet)), kind: .random))
    }
    var configuration = HostConfiguration()
    configuration.pairing = PairingSettings()
    configuration.enhancedBearers = 1 + Int(bits & 3)
    let strength = KeyStrength(size: 16, isAuthenticated: bits & 4 != 0, isSecureConnections: true)
    configuration.bonds = links.enumerated().map { index, link in
      let key = LongTermKey(value: SecretKey(UInt128(index + 1)), strength: strength)
      var bond = Bond(identity: link.address, strength: strength)
      (bond.peripheralKey, bond.centralKey) = (key, key)
      return bond
    }
    controller.buffers = (251, 8)
    controller.keepsData = true
    core = HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(1))
    core.start(now: now, into: &output)
    settle()
    for service in TestDatabase.services { perform(.services(.add(service))) }
    for index in links.indices { connect(index) }
    open(Self.honest, count: 1, mtu: 517, mps: 247, credits: 20)
    require(links[Self.honest].bearers.count == 1, "the honest client has no bearer")
    exchange()
  }

  // MARK: Steps

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let index = Self.hostile
    guard links[index].isUp else { return connect(index) }
    switch input.index(20) {
    case 0, 1:
      let least = sendsAnyFrame ? 0 : 1
      let (count, credits) = (least + input.index(5), least + input.index(12))
      open(index, count: count, mtu: 64 + Int(input.octet()) * 2, mps: 64 + Int(input.octet()), credits: credits)
    case 2, 3, 4, 5: sendRequest(&input)
    case 6: giveCredits(&input)
    case 7: reconfigure(&input)
    case 8: close(&input)
    case 9, 10, 11, 12: if sendsAnyFrame { sendAnyFrame(&input) } else { sendRequest(&input) }
    case 13: sendCommand(&input)
    case 14: answer(&input)
    case 15: stall(input.flag())
    case 16: pass(.milliseconds(Int64(input.uint16())))
    case 17:
      updates += 1
      perform(update(&input, number: updates, to: peers))
    case 18: exchange()
    default: if input.octet() % 4 == 0 { disconnect(index) }
    }
  }

  private func bearer(_ input: inout FuzzInput) -> ChannelID? {
    let open = links[Self.hostile].bearers.keys.sorted { $0.rawValue < $1.rawValue }
    return open.isEmpty ? nil : input.element(of: open)
  }

  private mutating func open(_ index: Int, count: Int, mtu: Int, mps: Int, credits: Int) {
    let used = links[index].openings.values.flatMap(\.sourceCIDs) + links[index].bearers.keys
    let free = (0x40...0x7F as ClosedRange<UInt16>).map { ChannelID(rawValue: $0) }.filter { !used.contains($0) }
    var request = CreditBasedConnectionRequest()
    request.spsm = .enhancedATT
    (request.mtu, request.mps, request.initialCredits) = (UInt16(mtu), UInt16(mps), UInt16(credits))
    request.sourceCIDs = Array(free.prefix(count))
    let identifier = signal(index)
    links[index].openings[identifier] = request
    frame(index, .signalling, request.encodedPDU(identifier: identifier))
  }

  /// The identifier of the next request.
  private mutating func signal(_ index: Int) -> UInt8 {
    links[index].identifier = links[index].identifier == 255 ? 1 : links[index].identifier + 1
    return links[index].identifier
  }

  private mutating func sendRequest(_ input: inout FuzzInput) {
    let channel = input.index(4) == 0 ? .attributeProtocol : bearer(&input) ?? .attributeProtocol
    let handle = AttributeHandle(rawValue: UInt16(input.octet() % 64))
    let last = AttributeHandle(rawValue: 0xFFFF)
    let pdu: [UInt8]
    switch input.index(9) {
    case 0: pdu = ReadBlobRequest(handle: handle, valueOffset: UInt16(input.octet())).encodedPDU
    case 1: pdu = WriteRequest(handle: handle, value: input.take(input.index(30))[...]).encodedPDU
    case 2:
      pdu =
        PrepareWriteRequest(
          handle: handle, valueOffset: UInt16(input.octet()), partAttributeValue: input.take(input.index(30))[...]
        ).encodedPDU
    case 3: pdu = [0x18, input.octet() % 2]
    case 4: pdu = [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]
    case 5: pdu = [0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28]
    case 6: pdu = [0x04] + octets(handle) + octets(last)
    case 7: pdu = [[0x0E, 0x20][input.index(2)]] + octets(handle) + octets(value)
    default: pdu = ReadRequest(handle: handle).encodedPDU
    }
    send(Self.hostile, channel, pdu)
  }

  private func octets(_ handle: AttributeHandle) -> [UInt8] {
    [UInt8(truncatingIfNeeded: handle.rawValue), UInt8(truncatingIfNeeded: handle.rawValue >> 8)]
  }

  /// Sends a request. One before the response to the last one is against the protocol (Vol 3, Part F, 3.3.2).
  private mutating func send(_ index: Int, _ channel: ChannelID, _ pdu: [UInt8]) {
    let mayRepeat = sendsAnyFrame && index == Self.hostile
    guard channel != .attributeProtocol else {
      guard mayRepeat || links[index].requests.isEmpty else { return }
      links[index].requests.append(pdu[0])
      return frame(index, channel, pdu)
    }
    guard let bearer = links[index].bearers[channel], mayRepeat || bearer.requests.isEmpty else { return }
    links[index].bearers[channel]?.requests.append(pdu[0])
    frame(index, bearer.remote, sdu(pdu))
  }

  private func sdu(_ pdu: [UInt8]) -> [UInt8] {
    var octets: [UInt8] = []
    octets.append(littleEndian: UInt16(pdu.count))
    return octets + pdu
  }

  private mutating func sendCommand(_ input: inout FuzzInput) {
    guard let channel = bearer(&input), let bearer = links[Self.hostile].bearers[channel] else { return }
    let pdu = [0x52] + octets(AttributeHandle(rawValue: UInt16(input.octet() % 64))) + input.take(input.index(40))
    frame(Self.hostile, bearer.remote, sdu(pdu))
  }

  private mutating func giveCredits(_ input: inout FuzzInput) {
    guard let channel = bearer(&input) else { return }
    var indication = FlowControlCredit()
    (indication.channel, indication.credits) = (channel, 1 + UInt16(input.octet()))
    links[Self.hostile].bearers[channel]?.credits += Int(indication.credits)
    frame(Self.hostile, .signalling, indication.encodedPDU(identifier: signal(Self.hostile)))
  }

  private mutating func reconfigure(_ input: inout FuzzInput) {
    guard let channel = bearer(&input), let bearer = links[Self.hostile].bearers[channel] else { return }
    var request = CreditBasedReconfigureRequest()
    request.mtu = UInt16(bearer.mtu) + UInt16(input.octet())
    request.mps = UInt16(bearer.mps) + UInt16(input.octet())
    request.destinationCIDs = [channel]
    links[Self.hostile].bearers[channel]?.mtu = Int(request.mtu)
    links[Self.hostile].bearers[channel]?.mps = Int(request.mps)
    links[Self.hostile].bearers[channel]?.isReconfigured = true
    frame(Self.hostile, .signalling, request.encodedPDU(identifier: signal(Self.hostile)))
  }

  private mutating func close(_ input: inout FuzzInput) {
    guard let channel = bearer(&input), let bearer = links[Self.hostile].bearers.removeValue(forKey: channel) else {
      return
    }
    let request = DisconnectionRequest(destinationCID: bearer.remote, sourceCID: channel)
    frame(Self.hostile, .signalling, request.encodedPDU(identifier: signal(Self.hostile)))
  }

  private mutating func sendAnyFrame(_ input: inout FuzzInput) {
    switch input.index(4) {
    case 0: frame(Self.hostile, ChannelID(rawValue: 0x40 + UInt16(input.index(8))), input.counted())
    case 1: frame(Self.hostile, .signalling, input.counted())
    case 2: frame(Self.hostile, .signalling, signallingPDU(&input))
    default: frame(Self.hostile, .attributeProtocol, input.counted())
    }
  }

  private func signallingPDU(_ input: inout FuzzInput) -> [UInt8] {
    func encoded<PDU: SignallingPacket>(_ type: PDU.Type) -> [UInt8] {
      let identifier = input.octet() % 8
      return PDU.random(from: &input).encodedPDU(identifier: identifier)
    }
    return encoded(SignallingPDU.packets[input.index(SignallingPDU.packets.count)])
  }

  private mutating func answer(_ input: inout FuzzInput) {
    guard let (peer, token) = tokens.popLast() else { return }
    perform(.respond(peer, token, input.flag() ? .success(input.counted()) : .failure(.unlikelyError)))
  }

  /// The packets of the hostile client stay in the controller: it does not acknowledge them.
  private mutating func stall(_ isStalled: Bool) {
    let handle = links[Self.hostile].handle
    if isStalled {
      controller.stalled[handle] = controller.stalled[handle] ?? 0
    } else {
      receive(controller.resume(handle))
    }
  }

  // MARK: The honest client

  /// A request on the first bearer and one on the enhanced one: both are answered at once.
  private mutating func exchange() {
    let index = Self.honest
    guard let channel = links[index].bearers.keys.first else {
      return require(false, "the bearer of the honest client is closed")
    }
    for channel in [.attributeProtocol, channel] {
      links[index].answers = []
      send(index, channel, ReadRequest(handle: value).encodedPDU)
      require(
        links[index].answers.count == 1 && links[index].answers[0].first == 0x0B,
        "the honest client has the answers \(links[index].answers.map(\.hexadecimal)) on \(channel)")
    }
    let missing = 20 - (links[index].bearers[channel]?.credits ?? 20)
    guard missing > 0 else { return }
    var indication = FlowControlCredit()
    (indication.channel, indication.credits) = (channel, UInt16(missing))
    links[index].bearers[channel]?.credits = 20
    frame(index, .signalling, indication.encodedPDU(identifier: signal(index)))
  }

  // MARK: The links

  private mutating func connect(_ index: Int) {
    let (handle, address) = (links[index].handle, links[index].address)
    links[index] = Link(handle: handle, address: address)
    links[index].isUp = true
    controller.stalled[handle] = nil
    receive(
      HCI.LEConnectionComplete {
        $0.connectionHandle = handle
        $0.role = .peripheral
        $0.peerAddress = address
        $0.connectionInterval = 24
        $0.supervisionTimeout = 500
      })
    receive(HCI.LELongTermKeyRequest { $0.connectionHandle = handle })
    receive(HCI.EncryptionChange { ($0.connectionHandle, $0.encryptionEnabled) = (handle, .on) })
  }

  private mutating func disconnect(_ index: Int) {
    let handle = links[index].handle
    links[index].isUp = false
    controller.stalled[handle] = nil
    var packet: [UInt8] = []
    packet.append(hci: HCI.DisconnectionComplete { $0.connectionHandle = handle })
    if isSettling { replies.append(packet) } else { receive(packet) }
  }

  private mutating func frame(_ index: Int, _ channel: ChannelID, _ payload: [UInt8]) {
    guard links[index].isUp else { return }
    let frame = BasicFrame(channel: channel, payload: payload[...]).encoded
    var packet: [UInt8] = [2]
    packet.append(littleEndian: links[index].handle.rawValue | 0x2000)
    packet.append(littleEndian: UInt16(frame.count))
    if isSettling { replies.append(packet + frame) } else { receive(packet + frame) }
  }

  private mutating func receive(_ event: some HCIEventParameters) {
    var packet: [UInt8] = []
    packet.append(hci: event)
    receive(packet)
  }

  private mutating func receive(_ packet: [UInt8]) {
    core.receive(packet.span, now: now, into: &output)
    settle()
  }

  private mutating func perform(_ command: HostCommand) {
    core.perform(command, from: .process, now: now, into: &output)
    settle()
  }

  private mutating func pass(_ duration: Duration) {
    now = now + duration
    for _ in 0..<100 {
      guard let deadline = core.deadline, deadline <= now else { return }
      core.tick(now: now, into: &output)
      settle()
    }
    require(false, "the deadline \(String(describing: core.deadline)) stays in the past")
  }

  private mutating func settle() {
    isSettling = true
    for _ in 0..<1000
    where !output.packets.isEmpty || !output.events.isEmpty || !output.kernelCommands.isEmpty || !replies.isEmpty {
      var drained = HostOutput()
      swap(&drained, &output)
      for addressed in drained.events { note(addressed.event) }
      for index in 0..<drained.packets.count {
        let packet = Array(drained.packets[index])
        for answer in controller.receive(packet) { core.receive(answer.span, now: now, into: &output) }
      }
      let (data, ended) = (controller.data, controller.ended)
      (controller.data, controller.ended) = ([], [])
      for packet in data { receive(data: packet) }
      for handle in ended {
        require(handle != links[Self.honest].handle, "the host ends the link of the honest client")
        if links[Self.hostile].isUp { disconnect(Self.hostile) }
      }
      let packets = replies
      replies = []
      for packet in packets { core.receive(packet.span, now: now, into: &output) }
    }
    isSettling = false
    require(output.packets.isEmpty && replies.isEmpty, "host and controller do not become quiet")
  }

  private mutating func note(_ event: HostEvent) {
    switch event {
    case .services(.added(_, .success(let service))):
      if let handle = service.attributes[AttributeID(rawValue: 1)] { value = handle }
    case .connected(let connection): peers.append(connection.peer)
    case .link(let peer, .disconnected(_)):
      tokens.removeAll { $0.0 == peer }
      peers.removeAll { $0 == peer }
    case .server(let peer, .read(let token, _, _)): tokens = tokens.suffix(15) + [(peer, token)]
    case .server(let peer, .write(let token, _)): tokens = tokens.suffix(15) + [(peer, token)]
    default: break
    }
  }

  // MARK: What the host sends

  /// Whether channels and requests of a client are what this harness has counted.
  private func isKnown(_ index: Int) -> Bool { index == Self.honest || !sendsAnyFrame }

  private mutating func receive(data packet: HCIACLDataPacket) {
    guard let index = links.firstIndex(where: { $0.handle == packet.connectionHandle }), links[index].isUp else {
      return
    }
    let outcome = links[index].reassembler.receive(
      packet.data.span, packetBoundary: UInt8(packet.packetBoundaryFlag.rawValue))
    require(outcome.dropped == nil, "the host sends fragments that are no frame: \(outcome)")
    switch outcome.frame {
    case .inFragment(let channel, let payload):
      let start = packet.data.startIndex
      receive(Array(packet.data[start + payload.lowerBound..<start + payload.upperBound]), on: channel, index)
    case .assembled(let channel):
      receive(Array(links[index].reassembler.takeFrame().dropFirst(BasicFrame.headerLength)), on: channel, index)
    case nil: break
    }
  }

  private mutating func receive(_ payload: [UInt8], on channel: ChannelID, _ index: Int) {
    switch channel {
    case .signalling: receiveSignal(payload, index)
    case .attributeProtocol: received(payload, on: channel, index)
    case .securityManager: break
    default: receiveFrame(payload, on: channel, index)
    }
  }

  private mutating func receiveSignal(_ payload: [UInt8], _ index: Int) {
    guard let pdu = try? SignallingPDU(decoding: payload[...]) else {
      return require(false, "not a signalling PDU: \(payload.hexadecimal)")
    }
    switch pdu.command {
    case .creditBasedConnectionResponse(let response):
      guard let request = links[index].openings.removeValue(forKey: pdu.identifier) else { return }
      for (channel, remote) in zip(request.sourceCIDs, response.destinationCIDs) where remote != .null {
        require(
          !isKnown(index) || links[index].bearers.values.allSatisfy { $0.remote != remote },
          "the host uses the channel \(remote) twice")
        links[index].bearers[channel] = Bearer(
          remote: remote, mtu: Int(request.mtu), mps: Int(request.mps), credits: Int(request.initialCredits))
      }
      require(!isKnown(index) || links[index].bearers.count <= 5, "\(links[index].bearers.count) bearers")
    case .disconnectionRequest(let request):
      links[index].bearers[request.destinationCID] = nil
      require(index == Self.hostile, "the host closes the bearer of the honest client")
      let response = DisconnectionResponse(destinationCID: request.destinationCID, sourceCID: request.sourceCID)
      frame(index, .signalling, response.encodedPDU(identifier: pdu.identifier))
    case .commandReject:
      links[index].openings[pdu.identifier] = nil
    default: break
    }
  }

  private mutating func receiveFrame(_ payload: [UInt8], on channel: ChannelID, _ index: Int) {
    guard isKnown(index) else { return }
    guard var bearer = links[index].bearers[channel] else {
      // What the host has sent before it received the request to close a channel.
      return require(index == Self.hostile, "a frame on \(channel), which the honest client has not opened")
    }
    require(bearer.credits > 0, "a frame on \(channel) without a credit")
    require(payload.count <= bearer.mps, "a frame of \(payload.count) octets on \(channel), whose MPS is \(bearer.mps)")
    bearer.credits -= 1
    if let length = bearer.length {
      bearer.sdu += payload
      bearer.length = length
    } else {
      require(payload.count >= 2, "a first frame of \(payload.count) octets")
      bearer.length = Int(payload[0]) | Int(payload[1]) << 8
      bearer.sdu = Array(payload.dropFirst(2))
    }
    let length = bearer.length ?? 0
    require(length <= bearer.mtu, "an SDU of \(length) octets on \(channel), whose MTU is \(bearer.mtu)")
    require(bearer.sdu.count <= length, "\(bearer.sdu.count) octets of an SDU of \(length)")
    let isWhole = bearer.sdu.count == length
    if isWhole { bearer.length = nil }
    links[index].bearers[channel] = bearer
    if isWhole {
      plantedFault(
        index == Self.hostile && bearer.isReconfigured && links[index].bearers.count >= 2 && bearer.sdu.count >= 60
          && bearer.sdu.first == 0x0B,
        "a long value that is read on one of two bearers after its reconfiguration")
      received(bearer.sdu, on: channel, index)
    }
  }

  /// Each request has one response, in order.
  private mutating func received(_ pdu: [UInt8], on channel: ChannelID, _ index: Int) {
    guard let packet = (try? ATTPDU(decoding: pdu[...]))?.packet else {
      return require(false, "not a PDU: \(pdu.hexadecimal)")
    }
    guard type(of: packet).pduType == .response else { return }
    links[index].answers.append(pdu)
    let requests =
      channel == .attributeProtocol ? links[index].requests : links[index].bearers[channel]?.requests ?? []
    guard let request = requests.first else {
      return require(!isKnown(index), "a response without a request on \(channel): \(pdu.hexadecimal)")
    }
    if channel == .attributeProtocol {
      links[index].requests.removeFirst()
    } else {
      links[index].bearers[channel]?.requests.removeFirst()
    }
    guard isKnown(index) else { return }
    if let error = packet as? ErrorResponse {
      require(error.requestOpcode.rawValue == request, "\(pdu.hexadecimal) on \(channel) answers \(request)")
    } else {
      require(
        ATTOpcode(rawValue: request).response == type(of: packet).opcode,
        "\(pdu.hexadecimal) on \(channel) answers \(request)")
    }
  }

  /// The hostile client goes, and time passes.
  mutating func finish() {
    exchange()
    if links[Self.hostile].isUp { disconnect(Self.hostile) }
    pass(.seconds(60))
    exchange()
  }
}
