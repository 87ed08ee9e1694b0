import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// One end of a link that a script speaks for: its host receives nothing of the security manager, and the script sends
/// what it wants. Published attacks are replayed by it (Docs/Security.md).
struct Attacker {
  static let att: UInt16 = 4
  static let signalling: UInt16 = 5
  static let security: UInt16 = 6
  static let random = [UInt8](repeating: 1, count: 16)

  var couple: Couple
  /// The end that the script speaks for: 0 the peripheral, 1 the central.
  let host: Int
  private var mark = 0

  /// A link whose one end is the attacker's.
  init(as host: Int, on couple: Couple) throws {
    (self.couple, self.host) = (couple, host)
    try self.couple.connect()
    self.couple.world.deaf.insert(host)
    mark = self.couple.world.sent[victim].count
  }

  /// The attacked end.
  var victim: Int { 1 - host }

  /// The link as the attacked host names it.
  func link() throws -> LinkID {
    let links = try #require(couple.links[1])
    return victim == 0 ? links.peripheral : links.central
  }

  private var handle: UInt16 {
    let last = couple.world.sent[host].last { $0[0] == 2 && $0.count > 2 }
    return last.map { UInt16($0[1]) | UInt16($0[2] & 0x0F) << 8 } ?? 0
  }

  /// Sends a frame on a fixed channel, or on a channel number of the attacked host.
  mutating func send(_ pdu: [UInt8], on channel: UInt16 = security) {
    var packet: [UInt8] = [2]
    packet.append(littleEndian: handle)
    packet.append(littleEndian: UInt16(pdu.count + 4))
    packet.append(littleEndian: UInt16(pdu.count))
    packet.append(littleEndian: channel)
    couple.world.forge(packet + pdu, from: host)
    couple.world.run(for: .milliseconds(200))
  }

  /// The command of the central's controller that encrypts with a key of the attacker's choice; no random number or
  /// diversifier.
  mutating func encrypt(with key: [UInt8] = [UInt8](repeating: 0, count: 16)) {
    var packet: [UInt8] = [1, 0x19, 0x20, 28]
    packet.append(littleEndian: handle)
    couple.world.forge(packet + [UInt8](repeating: 0, count: 10) + key, from: host)
    couple.world.run(for: .milliseconds(500))
  }

  /// PDUs that the attacked host sent on a channel since the last call.
  mutating func answers(on channel: UInt16 = security) -> [[UInt8]] {
    defer { mark = couple.world.sent[victim].count }
    return couple.world.sent[victim].dropFirst(mark).compactMap { packet in
      guard packet[0] == 2, packet.count >= 9, UInt16(packet[7]) | UInt16(packet[8]) << 8 == channel else { return nil }
      return Array(packet[9...])
    }
  }

  /// Commands that the attacked host gave its controller since the last look at ``answers(on:)``.
  func commands(_ opcode: UInt16) -> Int {
    couple.world.sent[victim].dropFirst(mark).count {
      $0[0] == 1 && $0.count > 2 && UInt16($0[1]) | UInt16($0[2]) << 8 == opcode
    }
  }

  /// No pairing, no key, no bond, no security level and no protected value.
  mutating func expectNothingGained(_ comment: String = "", at location: SourceLocation = #_sourceLocation) {
    let comment = Comment(rawValue: comment)
    #expect(couple.paired(victim).isEmpty, comment, sourceLocation: location)
    #expect(couple.bond(victim) == nil, comment, sourceLocation: location)
    #expect(
      (couple.security(victim)?.level ?? SecurityLevel.none) == SecurityLevel.none, comment, sourceLocation: location)
    #expect(couple.world.hosts[victim].linkCount == 1, comment, sourceLocation: location)
    guard victim == 0 else { return }
    #expect(
      couple.read(Couple.encrypted) == .failure(.insufficientAuthentication), comment, sourceLocation: location)
  }

  /// The attack is over: the host that the script spoke for pairs as ever.
  mutating func expectAPairingOfGoodWill(at location: SourceLocation = #_sourceLocation) {
    couple.world.deaf = []
    couple.world.claimed = nil
    couple.world.run(for: .seconds(31))
    couple.disconnect()
    do { try couple.connect() } catch { Issue.record("no link", sourceLocation: location) }
    couple.secure()
    #expect(couple.read(Couple.encrypted) == .success([7]), sourceLocation: location)
  }

  /// The attacked central begins a pairing; the attacked peripheral is asked for one.
  mutating func beginPairing(_ features: [UInt8] = [3, 0, 0x09, 16, 1, 1]) {
    if victim == 1 {
      couple.world.deaf = [0]
      couple.secure()
      send([2] + features)
    } else {
      send([1] + features)
    }
  }

  /// A key pair of the attacker.
  static func publicKey(_ number: UInt64 = 77) throws -> [UInt8] {
    try LibCrypto().publicKey(of: P256PrivateKey(UInt256(high: 0, low: UInt128(number)))).littleEndianOctets
  }

  /// The largest number of the field plus `offset` (P-256, FIPS 186-4, D.1.2.3), little-endian.
  static func prime(plus offset: UInt8) -> [UInt8] {
    var octets: [UInt8] = Array(repeating: 0xFF, count: 12) + Array(repeating: 0, count: 12)
    octets += [1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]
    // The prime ends with an octet of 0xFF: an addition carries through the first twelve octets.
    guard offset > 0 else { return octets }
    octets.replaceSubrange(0..<12, with: [offset - 1] + [UInt8](repeating: 0, count: 11))
    octets[12] = 1
    return octets
  }
}
