package import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
package import BLEWire

/// The whole stack in user space, without I/O: packets, commands and time in; packets and events out.
///
/// It keeps one controller, any number of links, one attribute database and the application's declared intents
/// (advertising, scanning, connecting), which survive a reset of the controller.
package struct HostCore: Sendable {
  let configuration: HostConfiguration
  let cryptography: any Cryptography
  var random: RandomSource

  var session: ControllerSession
  var acl: ACLScheduler

  var services: ServiceRegistry
  var links = LinkTable()

  var radio: Radio

  var policy: SecurityPolicy
  var bonds: BondTable
  /// What the system's security manager has told of keys, by identity.
  var systemOutcomes: [DeviceAddress: SystemPairingOutcome] = [:]

  /// When the call under way, or the last one, was made.
  var time = Instant.start
  var log: DiagnosticLog
  /// Reused by every PDU; empty between calls.
  var scratch = Scratch()
  /// Our identity: the public address, or a static random one. Peers receive ``addressOnAir``.
  package var ownAddress: DeviceAddress { radio.identity }
  /// The address that advertising, scanning and connecting use: a private one where there is to be one, else our identity.
  package var addressOnAir: DeviceAddress { radio.address }
  /// How many links are up.
  package var linkCount: Int { links.count }

  package init(configuration: HostConfiguration, cryptography: any Cryptography, random: RandomSource) {
    self.configuration = configuration
    self.cryptography = cryptography
    self.random = random
    session = ControllerSession(configuration)
    acl = ACLScheduler(limits: configuration.linkQueue)
    log = DiagnosticLog(limits: configuration.diagnosticLimits)
    radio = Radio(configuration, SecurityToolbox(cryptography))
    services = ServiceRegistry(configuration, cryptography)
    policy = SecurityPolicy(configuration.pairing)
    bonds = BondTable(configuration)
  }

  /// When ``tick(now:into:)`` next has work, if ever.
  package var deadline: Instant? {
    var deadline = Instant?.nearer(session.deadline, radio.deadline)
    deadline = .nearer(deadline, links.deadline)
    deadline = .nearer(deadline, bonds.deadline)
    return .nearer(deadline, log.deadline)
  }

  /// Handles one whole H4 packet from the controller.
  package mutating func receive(_ packet: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard !packet.isEmpty else { return }
    time = now
    defer { links.review() }
    switch HCIPacketType(rawValue: packet[0]) {
    case .aclData: receiveACL(packet.extracting(1..<packet.count), now: now, into: &output)
    case .event: receiveEvent(packet.extracting(1..<packet.count), now: now, into: &output)
    // No SCO or ISO link was asked for, and a controller sends no commands.
    case .command, .synchronousData, .isoData, nil:
      report(.controller, "a packet of type 0x\(String(packet[0], radix: 16)), which nobody asked for", into: &output)
    }
    reviewRadio(now: now, into: &output)
  }

  /// Does what time demands: timeouts of commands, transactions and links.
  package mutating func tick(now: Instant, into output: inout HostOutput) {
    time = now
    defer { links.review() }
    withSession(now: now, into: &output) { $0.tick(now: now, packets: &$1, into: &$2) }
    for peer in links.due(now) {
      if let index = links.index(of: peer) { tickLink(index, now: now, into: &output) }
    }
    withRadio(now: now, into: &output) { $0.tick(&$1) }
    reviewRadio(now: now, into: &output)
    withBonds(into: &output) { $0.tick(now: now, into: &$1) }
    var lines: [Effect<Never>] = []
    log.tick(now: now, into: &lines)
    apply(lines, now: now, into: &output)
    session.checkShutdown(now: now, hasLinks: !links.isEmpty)
  }

  /// Performs a command of one owner.
  package mutating func perform(
    _ command: HostCommand, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    time = now
    defer { links.review() }
    switch command {
    case .addService, .removeService, .setValue, .setIdentity:
      performService(command, from: owner, now: now, into: &output)
    case .startAdvertising, .stopAdvertising, .startScanning, .stopScanning, .cancelConnect, .setPrivacy:
      withRadio(now: now, into: &output) { $0.perform(command, from: owner, &$1) }
    case .respond(let peer, let token, let answer): respond(peer, token, answer, from: owner, now: now, into: &output)
    case .update(let token, let attribute, let value, let peers):
      update(token, attribute, value, to: peers, from: owner, now: now, into: &output)
    case .setPairing, .setBonds, .bondsStored, .removeBond, .answerPairing, .authorize:
      performSecurity(command, now: now, into: &output)
    case .disconnect, .updateConnection, .readRSSI, .requestSecurity, .release:
      performLink(command, from: owner, now: now, into: &output)
    case .connect(let id, let address, let parameters):
      connect(id, address, parameters, for: owner, now: now, into: &output)
    case .client(let peer, let operation): client(peer, operation, from: owner, now: now, into: &output)
    }
    reviewRadio(now: now, into: &output)
  }
}

/// Outputs of the machines below, taken out of the core while they are drained and put back empty.
struct Scratch: Sendable {
  var server = LinkServer.Output()
  var client = LinkClient.Output()
  var signalling = PacketBuffer()
  var transmitted: [TransmittedFrames] = []
}

/// Why a command was sent: what the answer is for.
enum Purpose: Sendable, Equatable {
  case setup(SetupStep)
  case advertising(AdvertisingID, Advertisement.Step)
  case scanning(Scanner.Step)
  case initiating(Initiator.Step)
  case disconnect(PeerID)
  case endingSuperseded(ConnectionHandle)
  case connectionUpdate(PeerID, OwnerID)
  case rssi(PeerID, OwnerID)
  case encryption(PeerID)
  case address
  /// Nothing depends on the answer; a refusal is reported.
  case reply
}
