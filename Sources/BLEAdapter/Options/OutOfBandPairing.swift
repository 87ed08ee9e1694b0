import BLECrypto
import BLESMP
import BLEWire

/// Pairing with data that two devices exchange by other means than radio: NFC, a printed code, a cable (Vol 3, Part H,
/// 2.3.5.4 and 2.3.5.6.4). Such a pairing is authenticated, whatever displays and keys the devices have.
///
/// One direction is enough: give ``own`` to the other device, or store the data from the other device in ``peer``, or
/// do both. Make a new one for each run of the program; a device that has read ``own`` may pair.
///
/// ```swift
/// var options = AdapterOptions(transport: "virtual")
/// let tag = try OutOfBandPairing()
/// options.pairing.outOfBand = tag
/// print("to be written to the tag: \(tag.own.record.count) octets")
/// ```
public struct OutOfBandPairing: Hashable, Sendable {
  /// The data for the other device, for LE Secure Connections.
  public let own: OutOfBandData
  /// The data of the other device, for LE Secure Connections.
  public var peer: OutOfBandData?
  /// The Temporary Key of LE legacy pairing, 16 octets, least significant first, which both devices know; any other
  /// length counts as none.
  public var legacyKey: [UInt8]?

  private let keys: P256KeyPair

  /// Draws a key pair and a random value.
  ///
  /// - Throws: an error of the library for cryptography, if it has no P-256.
  public init() throws {
    var random = RandomSource.system
    let (own, forPeer) = try PairingKeys.make(SecurityToolbox(LibCrypto()), random: &random)
    keys = own.keyPair
    self.own = OutOfBandData(confirm: forPeer.confirm, random: forPeer.random.value)
  }

  private typealias PairingKeys = BLESMP.OutOfBandData.OwnData

  /// The data in the type of the host.
  var data: BLESMP.OutOfBandData {
    var data = BLESMP.OutOfBandData()
    data.own = PairingKeys(keyPair: keys, random: SecretKey(own.number(own.random)))
    data.peer = peer.map { .init(confirm: $0.number($0.confirm), random: SecretKey($0.number($0.random))) }
    data.temporaryKey = legacyKey.flatMap { UInt128(littleEndian: $0) }.map(SecretKey.init)
    return data
  }
}

extension OutOfBandPairing: CustomStringConvertible, CustomReflectable {
  public var description: String { "(out-of-band pairing)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// One device's part of pairing out of band with LE Secure Connections; its description never shows it.
public struct OutOfBandData: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// 16 octets, least significant first.
  public let confirm: [UInt8]
  /// 16 octets, least significant first.
  public let random: [UInt8]

  /// - Returns: nil if one of them does not have 16 octets.
  public init?(confirm: [UInt8], random: [UInt8]) {
    guard confirm.count == 16, random.count == 16 else { return nil }
    (self.confirm, self.random) = (confirm, random)
  }

  init(confirm: UInt128, random: UInt128) {
    (self.confirm, self.random) = ([UInt8](confirm.littleEndianOctets), [UInt8](random.littleEndianOctets))
  }

  /// Both as AD structures: LE Secure Connections Confirmation Value (0x22) and Random Value (0x23), as a record for
  /// NFC holds them (Core Specification Supplement, Part A, 1.6).
  public var record: [UInt8] { [17, 0x22] + confirm + [17, 0x23] + random }

  func number(_ octets: [UInt8]) -> UInt128 { UInt128(littleEndian: octets) ?? 0 }

  public var description: String { "(out-of-band data)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
