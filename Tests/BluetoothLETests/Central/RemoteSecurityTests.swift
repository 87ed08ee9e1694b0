import BLEATT
import BLEGATT
import BLEHost
import Testing

@testable import BluetoothLE

/// Rule 3.8, from the other side: what is refused to a link in the clear is asked again when the link is encrypted.
@Suite struct RemoteSecurityTests {
  private let peer = PeerID(rawValue: 1)
  private let encrypted = LinkSecurity(level: .encrypted, keySize: 16)

  private func refusal(_ code: ATTErrorCode) -> Result<ClientOutcome, ClientError> {
    .failure(.refused(code, request: .readRequest, handle: 3))
  }

  /// A read that was refused, and the operation's name.
  private func refused(_ code: ATTErrorCode) throws -> (CentralStage, Peripheral, Characteristic) {
    let stage = CentralStage()
    let peripheral = try stage.connect(1)
    let characteristic = try #require(stage.discover(peripheral, [("2A37", [.read, .write])]).first)
    _ = stage.posted()
    peripheral.readValue(for: characteristic)
    stage.answer(refusal(code))
    return (stage, peripheral, characteristic)
  }

  @Test(arguments: [ATTErrorCode.insufficientAuthentication, .insufficientEncryption])
  func itIsAskedAgainOverAnEncryptedLink(code: ATTErrorCode) throws {
    let (stage, peripheral, characteristic) = try refused(code)
    #expect(stage.heard() == [])
    #expect(stage.posted() == ["security 1"])
    stage.say(.security(peer, encrypted))
    stage.answer(.success(.value([7])))
    #expect(stage.heard() == ["value 2A37 [7]"])
    #expect(peripheral.state == .connected && characteristic.value == Data([7]))
  }

  @Test func oneEncryptionServesAllThatWait() throws {
    let (stage, peripheral, characteristic) = try refused(.insufficientEncryption)
    peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    #expect(stage.commands().map(CentralStage.describe) == ["security 1", "1 write(0x0003, [1])"])
    let write = try #require(
      stage.host.commands.reversed().lazy.compactMap { if case .client(_, let it) = $0 { it.id } else { nil } }.first)
    stage.say(.client(peer, .finished(write, refusal(.insufficientEncryption))))
    #expect(stage.posted() == [])
    stage.say(.security(peer, encrypted))
    #expect(stage.host.commands.suffix(2).map(CentralStage.describe) == ["1 readLong(0x0003)", "1 write(0x0003, [1])"])
    stage.answer(.success(.value([7])), .success(.done))
    #expect(stage.heard() == ["value 2A37 [7]", "wrote 2A37"])
  }

  @Test func itIsAskedOnceMoreAndNotForEver() throws {
    let (stage, peripheral, characteristic) = try refused(.insufficientAuthentication)
    stage.say(.security(peer, encrypted))
    stage.answer(refusal(.insufficientAuthentication))
    #expect(stage.heard() == ["value 2A37 - ATT 0x5"])
    // An encrypted link is as good as it gets without the user.
    peripheral.readValue(for: characteristic)
    stage.answer(refusal(.insufficientAuthentication))
    #expect(stage.heard() == ["value 2A37 - ATT 0x5"])
    #expect(stage.posted() == [])
  }

  @Test func withoutEncryptionTheRefusalIsTheResult() throws {
    let (stage, peripheral, characteristic) = try refused(.insufficientAuthentication)
    stage.say(.refused(.unsupported("pairing: it is switched off")))
    #expect(stage.heard() == ["value 2A37 - ATT 0x5"])
    // The next one tries again.
    peripheral.readValue(for: characteristic)
    stage.answer(refusal(.insufficientAuthentication))
    #expect(stage.posted() == ["security 1"])
  }

  @Test(arguments: [ATTErrorCode.readNotPermitted, .insufficientAuthorization, .insufficientEncryptionKeySize])
  func otherRefusalsAreFinal(code: ATTErrorCode) throws {
    let (stage, peripheral, _) = try refused(code)
    #expect(stage.heard() == ["value 2A37 - ATT 0x\(String(code.rawValue, radix: 16))"])
    #expect(stage.posted() == [])
    #expect(peripheral.state == .connected)
  }
}
