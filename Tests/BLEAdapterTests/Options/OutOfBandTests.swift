import BLECrypto
import BLESMP
import Testing

@testable import BLEAdapter

@Suite struct OutOfBandTests {
  typealias OutOfBandData = BLEAdapter.OutOfBandData

  /// What is given away is a commitment to the public key that the pairing will use (Vol 3, Part H, 2.3.5.6.4).
  @Test func whatIsToldCommitsToTheKey() throws {
    let pairing = try OutOfBandPairing()
    #expect(try OutOfBandPairing().own != pairing.own)
    let own = try #require(pairing.data.own)
    let toolbox = SecurityToolbox(LibCrypto())
    let x = own.keyPair.publicKey.x
    let confirm = try toolbox.f4(u: x, v: x, x: own.random.value, z: 0)
    #expect([UInt8](confirm.littleEndianOctets) == pairing.own.confirm)
    #expect([UInt8](own.random.value.littleEndianOctets) == pairing.own.random)
    let record = [17, 0x22] + pairing.own.confirm + [17, 0x23] + pairing.own.random
    #expect(pairing.own.record == record)
    #expect(pairing.data.peer == nil && pairing.data.temporaryKey == nil)
  }

  @Test func octetsGoLeastSignificantFirst() throws {
    var pairing = try OutOfBandPairing()
    pairing.peer = OutOfBandData(confirm: [UInt8](0..<16), random: [UInt8](16..<32))
    pairing.legacyKey = [1] + [UInt8](repeating: 0, count: 15)
    #expect(pairing.data.peer?.confirm == 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100)
    #expect(pairing.data.temporaryKey == SecretKey(1))
    pairing.legacyKey = [1]
    #expect(pairing.data.temporaryKey == nil)
    #expect(OutOfBandData(confirm: [UInt8](0..<15), random: [UInt8](16..<32)) == nil)
  }

  @Test func itIsPartOfTheOptionsAndOfNoDescription() throws {
    var options = PairingOptions()
    options.outOfBand = try OutOfBandPairing()
    let settings = try #require(options.settings(identityResolvingKey: SecretKey(1)))
    #expect(settings.requestsMITM && settings.outOfBand.own != nil)
    var text = "\(String(describing: options.outOfBand)) \(String(describing: options.outOfBand?.own))"
    dump(options.outOfBand, to: &text)
    dump(options.outOfBand?.own, to: &text)
    #expect(!text.contains("scalar") && !text.contains("bytes"))
    #expect(text.contains("(out-of-band pairing)") && text.contains("(out-of-band data)"))
  }
}
