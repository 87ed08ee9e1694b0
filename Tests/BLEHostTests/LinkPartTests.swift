import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// One link without a host: ACL fragments, commands and time go in; the test lends the database and the bonds.
@Suite("The link, alone") struct LinkPartTests {
  private let owner = OwnerID(rawValue: 1)
  private let other = OwnerID(rawValue: 2)
  private let device = DeviceAddress(octets: BD_ADDR(9), kind: .public)
  private var context = LinkContext(
    services: ServiceRegistry(HostConfiguration(), LibCrypto()), bonds: BondTable(HostConfiguration()),
    turn: LinkTurn(SecurityToolbox(LibCrypto())))

  private func link(_ role: ConnectedLink.Role = .peripheral, users: [OwnerID] = []) -> Link {
    Link(
      peer: LinkID(rawValue: 1), handle: 0x40, device: PeerIdentity(address: device, identity: device), role: role,
      users: users)
  }

  /// What the turn has written and caused, in the order in which the router takes it.
  private mutating func take(_ link: inout Link) -> [String] {
    link.finish(&context)
    let turn = context.turn
    defer { context.turn.removeAll() }
    func pdus(_ channel: String, _ buffer: borrowing PacketBuffer) -> [String] {
      var pdus: [String] = []
      for index in 0..<buffer.count { pdus.append("\(channel) \(Array(buffer[index]))") }
      return pdus
    }
    return pdus("ATT", turn.server.gatt.pdus) + turn.server.effects.map(describe)
      + pdus("ATT", turn.client.gatt.pdus) + turn.client.effects.map(describe) + turn.effects.map(describe)
      + pdus("signalling", turn.signalling)
  }

  private func describe(_ effect: Effect<LinkEffect>) -> String {
    switch effect {
    case .command(let command, _): "\(command.opcode)"
    case .event(.connected(let connection), let recipient):
      "connected \(connection.request?.rawValue ?? 0) \(recipient)"
    case .event(.link(_, .disconnected(let reason)), let recipient): "disconnected \(reason) \(recipient)"
    case .report(_, let text, _): text
    case .own(.security(let input)): "security \(input)"
    case .own(.closed): "closed"
    case .own(let own): "\(own)"
    default: "other"
    }
  }

  private mutating func receive(_ fragment: [UInt8], boundary: UInt8 = 0b10, on link: inout Link) -> [String] {
    link.receive(fragment.span, boundary: boundary, &context)
    return take(&link)
  }

  @Test mutating func aFrameInOneFragmentIsAnswered() {
    var link = link()
    // Exchange MTU Request with 185: the response, and the MTU for both halves.
    let result = receive([3, 0, 4, 0, 0x02, 185, 0], on: &link)
    #expect(result.first?.hasPrefix("ATT [3, ") == true)
    #expect(result.contains("mtuChanged(185)"))
  }

  @Test mutating func aFrameInSeveralFragmentsIsAnsweredAtItsEnd() {
    var link = link()
    #expect(receive([3, 0, 4, 0, 0x02], on: &link).isEmpty)
    #expect(receive([185, 0], boundary: 0b01, on: &link).contains("mtuChanged(185)"))
  }

  @Test mutating func aFrameThatDoesNotEndIsReported() {
    var link = link()
    _ = receive([3, 0, 4, 0, 0x02], on: &link)
    let result = receive([1, 0, 4, 0, 0x0A], on: &link)
    #expect(result.contains { $0.hasPrefix("a malformed L2CAP frame is dropped") })
  }

  @Test mutating func framesOfOtherChannelsAreIgnored() {
    var link = link()
    #expect(receive([1, 0, 0x40, 0, 0x0A], on: &link).isEmpty)
    #expect(receive([0, 0, 4, 0], on: &link).isEmpty)
  }

  @Test mutating func pdusOfTheSecurityManagerAreForTheRouter() {
    var link = link()
    #expect(receive([2, 0, 6, 0, 0x0B, 0x01], on: &link) == ["security pdu([11, 1])"])
  }

  @Test mutating func eventsAboutEncryptionAreForTheSecurityManager() {
    var link = link()
    link.receive(.encryptionKeyRefreshComplete(.success), &context.turn)
    let result = take(&link)
    #expect(result.count == 1 && result[0].hasPrefix("security encryptionChanged"))
    link.receive(.longTermKeyRequest(.init { $0.connectionHandle = link.handle }), &context.turn)
    #expect(take(&link).first?.hasPrefix("security keyRequested") == true)
  }

  @Test mutating func commandsOfOwnersAreForThePartThatTheyConcern() {
    var link = link()
    func perform(_ command: HostCommand.Link) {
      link.perform(command, from: owner, ControllerCapabilities(), &context.turn)
    }
    perform(.requestSecurity)
    #expect(take(&link).first?.hasPrefix("security requested") == true)
    perform(.readRSSI)
    #expect(take(&link) == ["\(HCIOpcode.readRSSI)"])
    perform(.authorize(true))
    #expect(take(&link) == ["securityChanged"])
    perform(.authorize(true))
    #expect(take(&link).isEmpty)
  }

  @Test mutating func aLinkIsClosedOnce() {
    var link = link()
    #expect(!link.isClosing)
    link.perform(
      .disconnect(.remoteUserTerminatedConnection), from: owner, ControllerCapabilities(), &context.turn)
    #expect(take(&link) == ["closed"])
    #expect(link.isClosing)
    link.close(.authenticationFailure, &context.turn)
    #expect(take(&link).isEmpty)
  }

  @Test mutating func aLinkEndsWithTheUseOfItsLastOwner() {
    var link = link(.central, users: [owner, other])
    link.release(by: owner, &context.turn)
    #expect(take(&link) == ["disconnected \(HCIErrorCode.terminatedByLocalHost) \(owner.recipient)"])
    link.release(by: owner, &context.turn)
    #expect(take(&link).isEmpty)
    link.release(by: other, &context.turn)
    #expect(take(&link) == ["closed"])
  }

  @Test mutating func aCentralsLinkIsNotTheOwnersToEnd() {
    var link = link(.peripheral, users: [owner])
    link.release(by: owner, &context.turn)
    #expect(take(&link) == ["disconnected \(HCIErrorCode.terminatedByLocalHost) \(owner.recipient)"])
    #expect(!link.isClosing)
  }

  @Test mutating func ourCentralExchangesTheMTUFirst() {
    var link = link(.central, users: [owner])
    let request = PendingConnection(
      id: ConnectID(rawValue: 5), owner: owner, device: device, parameters: ConnectionParameters())
    link.start([request], isShuttingDown: false, &context)
    let result = take(&link)
    #expect(result.first == "connected 5 \(Recipient.everyone)")
    #expect(result.dropFirst().first?.hasPrefix("ATT [2, ") == true)
  }

  @Test mutating func aLinkThatComesUpInAShutdownIsClosed() {
    var link = link(.central)
    link.start([], isShuttingDown: true, &context)
    #expect(take(&link) == ["connected 0 \(Recipient.everyone)", "closed"])
  }

  @Test mutating func aLinkToABondedPeripheralIsEncryptedBeforeItsClientSends() {
    var bond = Bond(
      identity: device, strength: KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true))
    bond.centralKey = LongTermKey(value: SecretKey(1), strength: bond.strength)
    context.bonds.replaceAll(with: [bond])
    var link = link(.central)
    link.start([], isShuttingDown: false, &context)
    #expect(take(&link) == ["connected 0 \(Recipient.everyone)", "security bond"])
    #expect(link.security.isBonded && !link.security.isBondProven)
    context.turn.now = link.deadline ?? .start
    link.tickReconnection(&context.turn)
    #expect(take(&link).last == "closed")
  }

  @Test mutating func theEndOfALinkIsReportedLast() {
    var link = link()
    link.ending(&context)
    #expect(take(&link).isEmpty)
    link.ended(.connectionTimeout, &context)
    #expect(take(&link) == ["disconnected \(HCIErrorCode.connectionTimeout) \(Recipient.everyone)"])
  }

  @Test mutating func theControllerMayResolveTheAddressWithoutItsType() {
    let event = HCI.LEEnhancedConnectionComplete {
      $0.peerAddress = device
      $0.peerResolvablePrivateAddress = BD_ADDR(0x4000_0000_0001)
    }
    let toolbox = SecurityToolbox(LibCrypto())
    // No bond resolves the private address, so nothing says that it is of this device.
    #expect(NewLink(event).addressOnRadio(&context.bonds, toolbox) == device)
    #expect(NewLink(event).resolved == nil)
    let resolved = HCI.LEEnhancedConnectionComplete {
      $0.peerAddress = DeviceAddress(octets: device.octets, kind: .publicIdentity)
      $0.peerResolvablePrivateAddress = BD_ADDR(0x4000_0000_0001)
    }
    #expect(NewLink(resolved).resolved == device)
    #expect(NewLink(resolved).addressOnRadio(&context.bonds, toolbox).octets == BD_ADDR(0x4000_0000_0001))
  }
}

extension Link {
  /// A link that a test makes alone: with 30 ms, and without pairing.
  init(
    peer: LinkID, handle: UInt16, device: PeerIdentity, role: ConnectedLink.Role = .peripheral, users: [OwnerID] = []
  ) {
    let new = NewLink(
      handle: ConnectionHandle(rawValue: handle), role: role,
      timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), address: device.address)
    let own = DeviceAddress(octets: BD_ADDR(1), kind: .public)
    let manager = SecurityPolicy(nil).makeManager(
      peer: peer, handle: new.handle, isCentral: role == .central, own: own, other: device.address,
      procedureTimeout: .seconds(42))
    self.init(new, peer: peer, device: device, manager: manager, users: users, HostConfiguration())
  }
}
