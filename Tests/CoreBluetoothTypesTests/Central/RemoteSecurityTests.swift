import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// The host raises the security of a link and asks again (Docs/Decisions/corebluetooth.md#the-central); what it reports
/// is the result. The manager asks for security only by `pair(with:)`, which is the application's consent
/// (Docs/Decisions/pairing-and-bonds.md#the-central-encrypts-first).
@Suite struct RemoteSecurityTests {
  private let peer = LinkID(rawValue: 1)

  private func refusal(_ code: ATTErrorCode) -> Result<GATTClient.Outcome, GATTClientError> {
    .failure(.errorResponse(code, request: .readRequest, handle: 3))
  }

  /// A read that ended, on a link that stays up.
  private func ended(
    _ result: Result<GATTClient.Outcome, GATTClientError>, _ before: HostEvent...
  ) throws -> (CentralFixture, Peripheral) {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let characteristic = try #require(fixture.discover(peripheral, [("2A37", [.read, .write])]).first)
    _ = fixture.posted()
    peripheral.readValue(for: characteristic)
    for event in before { fixture.say(event) }
    fixture.answer(result)
    return (fixture, peripheral)
  }

  @Test(arguments: [
    ATTErrorCode.insufficientAuthentication, .insufficientEncryption, .readNotPermitted, .insufficientAuthorization,
    .insufficientEncryptionKeySize,
  ])
  func aRefusalIsTheResultAndNobodyPairsForIt(code: ATTErrorCode) throws {
    let (fixture, peripheral) = try ended(refusal(code))
    #expect(fixture.takeCalls() == ["value 2A37 - ATT 0x\(String(code.rawValue, radix: 16))"])
    #expect(fixture.posted() == [] && peripheral.state == .connected)
  }

  @Test(
    "6.7 A bond that is lost is the error",
    arguments: [
      (BondLoss.forgottenByPeer, "peerRemovedPairingInformation"), (.keysDiffer, "encryptionTimedOut"),
      (.notEncrypted(.linkLayerResponseTimeout), "encryptionTimedOut"),
    ])
  func aBondThatIsLostIsTheResult(loss: BondLoss, code: String) throws {
    let (fixture, peripheral) = try ended(.failure(.notEncrypted), .bonds(.lost(peer, CentralFixture.address(1), loss)))
    #expect(fixture.takeCalls() == ["value 2A37 - \(code)"] && peripheral.state == .connected)
  }

  @Test func pairingIsAskedForByTheApplication() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    _ = fixture.posted()
    fixture.manager.pair(with: peripheral)
    #expect(fixture.posted() == ["security 1"])
  }
}
