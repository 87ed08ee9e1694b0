import BLEATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 3 of CoreBluetooth's rules: requests and their answers.
@Suite struct RequestTests {
  private let fixture = PeripheralFixture()
  private let characteristic = dynamic("2A37")
  private let other = dynamic("2A38")
  private let central: Central

  init() {
    fixture.publish(characteristic, other)
    central = fixture.connect(7)
    _ = fixture.takeCalls()
    fixture.recorder.answer(nil)
  }

  @Test("3.1 A read is answered with the request's value")
  func aReadIsAnsweredWithTheRequestsValue() throws {
    fixture.read(central, characteristic, offset: 3)
    #expect(fixture.takeCalls() == ["didReceiveRead 2A37 3"])
    let request = try #require(fixture.recorder.requests.first)
    #expect(request.central === central && request.characteristic === characteristic && request.offset == 3)
    #expect(request.value == nil)
    #expect(fixture.host.takeCommands() == [])
    request.value = Data([1, 2, 3])
    fixture.manager.respond(to: request, withResult: .success)
    #expect(fixture.host.takeCommands() == ["respond 7 success 010203"])
  }

  @Test("3.1 An offset past the value is refused by the application")
  func anOffsetBeyondTheValueIsTheApplicationsToRefuse() throws {
    fixture.read(central, characteristic, offset: 30)
    fixture.manager.respond(to: try #require(fixture.recorder.requests.first), withResult: .invalidOffset)
    #expect(fixture.host.takeCommands() == ["respond 7 failure 07"])
  }

  @Test func successWithoutAValueIsAnEmptyOne() throws {
    fixture.read(central, characteristic)
    fixture.manager.respond(to: try #require(fixture.recorder.requests.first), withResult: .success)
    #expect(fixture.host.takeCommands() == ["respond 7 success "])
  }

  @Test("3.2 Queued writes come together and are answered through the first")
  func queuedWritesComeTogetherAndAreAnsweredThroughTheFirst() throws {
    fixture.write(central, (characteristic, 0, [1, 2]), (other, 4, [3]), (characteristic, 2, [4]))
    #expect(fixture.takeCalls() == ["didReceiveWrite 2A37@0=[1, 2] 2A38@4=[3] 2A37@2=[4]"])
    fixture.manager.respond(to: try #require(fixture.recorder.requests.first), withResult: .success)
    #expect(fixture.host.takeCommands() == ["respond 7 success "])
    #expect(fixture.logged() == [])
  }

  @Test("3.2 A failure is answered through the request at fault")
  func aFailureIsAnsweredThroughTheRequestAtFault() throws {
    fixture.write(central, (characteristic, 0, [1, 2]), (other, 4, [3]))
    fixture.manager.respond(to: try #require(fixture.recorder.requests.last), withResult: .invalidOffset)
    #expect(fixture.host.takeCommands() == ["respond 7 failure 07 of a part"])
    #expect(fixture.logged() == [])
  }

  @Test func successThroughAnotherThanTheFirstCountsAndIsLogged() throws {
    fixture.write(central, (characteristic, 0, [1, 2]), (other, 4, [3]))
    fixture.manager.respond(to: try #require(fixture.recorder.requests.last), withResult: .success)
    #expect(fixture.host.takeCommands() == ["respond 7 success "])
    #expect(fixture.logged().count == 1)
  }

  @Test("3.3 A write has its offset")
  func theOffsetOfAWriteArrives() throws {
    fixture.write(central, (characteristic, 18, [9]))
    #expect(try #require(fixture.recorder.requests.first).offset == 18)
  }

  @Test("3.4 The answer to a write command sends nothing")
  func aWriteCommandArrivesAndItsAnswerGoesNowhere() throws {
    fixture.command(central, characteristic, [5])
    #expect(fixture.takeCalls() == ["didReceiveWrite 2A37@0=[5]"])
    let request = try #require(fixture.recorder.requests.first)
    fixture.manager.respond(to: request, withResult: .success)
    fixture.manager.respond(to: request, withResult: .success)
    #expect(fixture.host.takeCommands() == [])
    #expect(fixture.logged() == [])
  }

  @Test("3.5 A second answer is ignored and logged")
  func aSecondAnswerIsIgnoredAndLogged() throws {
    fixture.read(central, characteristic)
    let request = try #require(fixture.recorder.requests.first)
    fixture.manager.respond(to: request, withResult: .success)
    fixture.manager.respond(to: request, withResult: .unlikelyError)
    #expect(fixture.host.takeCommands() == ["respond 7 success "])
    let lines = fixture.logged()
    #expect(lines.count == 1)
    #expect(lines.first?.contains("answered before") == true)
  }

  @Test("3.6 A delegate without the methods answers Request Not Supported")
  func aDelegateWithoutTheMethodsAnswersRequestNotSupported() {
    final class Silent: NSObject, PeripheralManagerDelegate {
      func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
    }
    let silent = Silent()
    fixture.manager.delegate = silent
    fixture.read(central, characteristic)
    fixture.write(central, (characteristic, 0, [1]))
    #expect(fixture.host.takeCommands() == ["respond 7 failure 06", "respond 7 failure 06 of a part"])
    withExtendedLifetime(silent) {}
  }

  @Test func noDelegateAtAllAnswersRequestNotSupported() {
    fixture.manager.delegate = nil
    fixture.read(central, characteristic)
    fixture.write(central, (characteristic, 0, [1]))
    fixture.command(central, characteristic, [1])
    #expect(fixture.host.takeCommands() == ["respond 7 failure 06", "respond 7 failure 06 of a part"])
  }

  @Test("3.7 Each Read Blob is a call with its offset")
  func eachBlobOfALongReadComesWithItsOffset() {
    for offset in [0, 22, 44] { fixture.read(central, characteristic, offset: offset) }
    #expect(fixture.takeCalls() == ["didReceiveRead 2A37 0", "didReceiveRead 2A37 22", "didReceiveRead 2A37 44"])
  }

  @Test(
    arguments: [
      (.invalidHandle, "01"), (.insufficientResources, "11"), (ATTError.Code(rawValue: 0x80), "80"),
      (ATTError.Code(rawValue: 0xFF), "ff"), (ATTError.Code(rawValue: 0x100), "0e"),
      (ATTError.Code(rawValue: -1), "0e"),
    ] as [(ATTError.Code?, String)])
  func everyCodeOfOneOctetCanBeSent(code: ATTError.Code?, octet: String) throws {
    fixture.read(central, characteristic)
    fixture.manager.respond(to: try #require(fixture.recorder.requests.first), withResult: try #require(code))
    #expect(fixture.host.takeCommands() == ["respond 7 failure \(octet)"])
  }

  @Test func anAnswerInTimeIsNeededAndItsLackIsReported() throws {
    let token = fixture.read(central, characteristic)
    fixture.say(.server(central.peer, .requestTimedOut(token)))
    let lines = fixture.logged()
    #expect(lines.count == 1)
    #expect(lines.first?.contains("a read of <CBMutableCharacteristic 2A37> was not answered in time") == true)
    fixture.manager.respond(to: try #require(fixture.recorder.requests.first), withResult: .success)
    #expect(fixture.host.takeCommands() == [])
    #expect(fixture.logged().count == 1)
  }

  @Test func anAnswerFromAnotherQueueIsAsGood() throws {
    fixture.read(central, characteristic)
    let request = try #require(fixture.recorder.requests.first)
    let manager = fixture.manager
    let done = DispatchSemaphore(value: 0)
    DispatchQueue(label: "worker").async {
      request.value = Data([8])
      manager.respond(to: request, withResult: .success)
      done.signal()
    }
    done.wait()
    #expect(fixture.host.takeCommands() == ["respond 7 success 08"])
  }

  @Test func anAnswerAfterTheLinkEndedIsLoggedAndGoesNowhere() throws {
    fixture.read(central, characteristic)
    fixture.say(.link(central.peer, .disconnected(.connectionTimeout)))
    fixture.manager.respond(to: try #require(fixture.recorder.requests.first), withResult: .success)
    #expect(fixture.host.takeCommands() == [])
    #expect(fixture.logged().count == 1)
  }

  /// The host refuses the requests of an owner that detaches.
  @Test func theManagerDetachesWithItsEnd() {
    fixture.read(central, characteristic)
    _ = fixture.host.takeCommands()
    fixture.releaseManager()
    #expect(fixture.host.listeners == 0 && fixture.host.takeCommands().isEmpty)
  }
}
