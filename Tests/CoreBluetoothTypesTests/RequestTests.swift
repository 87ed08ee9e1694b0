import BLEATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 3 of CoreBluetooth's rules: requests and their answers.
@Suite struct RequestTests {
  private let stage = Stage()
  private let characteristic = dynamic("2A37")
  private let other = dynamic("2A38")
  private let central: Central

  init() {
    stage.publish(characteristic, other)
    central = stage.connect(7)
    _ = stage.heard()
    stage.recorder.answer(nil)
  }

  @Test func rule3_1_aReadIsAnsweredWithTheRequestsValue() throws {
    stage.read(central, characteristic, offset: 3)
    #expect(stage.heard() == ["didReceiveRead 2A37 3"])
    let request = try #require(stage.recorder.requests.first)
    #expect(request.central === central && request.characteristic === characteristic && request.offset == 3)
    #expect(request.value == nil)
    #expect(stage.host.takeCommands() == [])
    request.value = Data([1, 2, 3])
    stage.manager.respond(to: request, withResult: .success)
    #expect(stage.host.takeCommands() == ["respond 7 success 010203"])
  }

  @Test func rule3_1_anOffsetBeyondTheValueIsTheApplicationsToRefuse() throws {
    stage.read(central, characteristic, offset: 30)
    stage.manager.respond(to: try #require(stage.recorder.requests.first), withResult: .invalidOffset)
    #expect(stage.host.takeCommands() == ["respond 7 failure 07"])
  }

  @Test func rule3_1_successWithoutAValueIsAnEmptyOne() throws {
    stage.read(central, characteristic)
    stage.manager.respond(to: try #require(stage.recorder.requests.first), withResult: .success)
    #expect(stage.host.takeCommands() == ["respond 7 success "])
  }

  @Test func rule3_2_queuedWritesComeTogetherAndAreAnsweredThroughTheFirst() throws {
    stage.write(central, (characteristic, 0, [1, 2]), (other, 4, [3]), (characteristic, 2, [4]))
    #expect(stage.heard() == ["didReceiveWrite 2A37@0=[1, 2] 2A38@4=[3] 2A37@2=[4]"])
    stage.manager.respond(to: try #require(stage.recorder.requests.first), withResult: .success)
    #expect(stage.host.takeCommands() == ["respond 7 success "])
    #expect(stage.logged() == [])
  }

  @Test func rule3_2_aFailureIsAnsweredThroughTheRequestAtFault() throws {
    stage.write(central, (characteristic, 0, [1, 2]), (other, 4, [3]))
    stage.manager.respond(to: try #require(stage.recorder.requests.last), withResult: .invalidOffset)
    #expect(stage.host.takeCommands() == ["respond 7 failure 07 of a part"])
    #expect(stage.logged() == [])
  }

  @Test func rule3_2_successThroughAnotherThanTheFirstCountsAndIsLogged() throws {
    stage.write(central, (characteristic, 0, [1, 2]), (other, 4, [3]))
    stage.manager.respond(to: try #require(stage.recorder.requests.last), withResult: .success)
    #expect(stage.host.takeCommands() == ["respond 7 success "])
    #expect(stage.logged().count == 1)
  }

  @Test func rule3_3_theOffsetOfAWriteArrives() throws {
    stage.write(central, (characteristic, 18, [9]))
    #expect(try #require(stage.recorder.requests.first).offset == 18)
  }

  @Test func rule3_4_aWriteCommandArrivesAndItsAnswerGoesNowhere() throws {
    stage.write(central, (characteristic, 0, [5]), command: true)
    #expect(stage.heard() == ["didReceiveWrite 2A37@0=[5]"])
    let request = try #require(stage.recorder.requests.first)
    stage.manager.respond(to: request, withResult: .success)
    stage.manager.respond(to: request, withResult: .success)
    #expect(stage.host.takeCommands() == [])
    #expect(stage.logged() == [])
  }

  @Test func rule3_5_aSecondAnswerIsIgnoredAndLogged() throws {
    stage.read(central, characteristic)
    let request = try #require(stage.recorder.requests.first)
    stage.manager.respond(to: request, withResult: .success)
    stage.manager.respond(to: request, withResult: .unlikelyError)
    #expect(stage.host.takeCommands() == ["respond 7 success "])
    let lines = stage.logged()
    #expect(lines.count == 1)
    #expect(lines.first?.contains("answered before") == true)
  }

  @Test func rule3_6_aDelegateWithoutTheMethodsAnswersRequestNotSupported() {
    final class Silent: NSObject, PeripheralManagerDelegate {
      func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
    }
    let silent = Silent()
    stage.manager.delegate = silent
    stage.read(central, characteristic)
    stage.write(central, (characteristic, 0, [1]))
    #expect(stage.host.takeCommands() == ["respond 7 failure 06", "respond 7 failure 06 of a part"])
    withExtendedLifetime(silent) {}
  }

  @Test func rule3_6_noDelegateAtAllAnswersRequestNotSupported() {
    stage.manager.delegate = nil
    stage.read(central, characteristic)
    stage.write(central, (characteristic, 0, [1]))
    stage.write(central, (characteristic, 0, [1]), command: true)
    #expect(stage.host.takeCommands() == ["respond 7 failure 06", "respond 7 failure 06 of a part"])
  }

  @Test func rule3_7_eachBlobOfALongReadComesWithItsOffset() {
    for offset in [0, 22, 44] { stage.read(central, characteristic, offset: offset) }
    #expect(stage.heard() == ["didReceiveRead 2A37 0", "didReceiveRead 2A37 22", "didReceiveRead 2A37 44"])
  }

  @Test(
    arguments: [
      (.invalidHandle, "01"), (.insufficientResources, "11"), (ATTError.Code(rawValue: 0x80), "80"),
      (ATTError.Code(rawValue: 0xFF), "ff"), (ATTError.Code(rawValue: 0x100), "0e"),
      (ATTError.Code(rawValue: -1), "0e"),
    ] as [(ATTError.Code?, String)])
  func everyCodeOfOneOctetCanBeSent(code: ATTError.Code?, octet: String) throws {
    stage.read(central, characteristic)
    stage.manager.respond(to: try #require(stage.recorder.requests.first), withResult: try #require(code))
    #expect(stage.host.takeCommands() == ["respond 7 failure \(octet)"])
  }

  @Test func rule3_9_anAnswerInTimeIsNeededAndItsLackIsReported() throws {
    let token = stage.read(central, characteristic)
    stage.say(.requestTimedOut(central.peer, token))
    let lines = stage.logged()
    #expect(lines.count == 1)
    #expect(lines.first?.contains("a read of <CBMutableCharacteristic 2A37> was not answered in time") == true)
    stage.manager.respond(to: try #require(stage.recorder.requests.first), withResult: .success)
    #expect(stage.host.takeCommands() == [])
    #expect(stage.logged().count == 1)
  }

  @Test func anAnswerFromAnotherQueueIsAsGood() throws {
    stage.read(central, characteristic)
    let request = try #require(stage.recorder.requests.first)
    let manager = stage.manager
    let done = DispatchSemaphore(value: 0)
    DispatchQueue(label: "worker").async {
      request.value = Data([8])
      manager.respond(to: request, withResult: .success)
      done.signal()
    }
    done.wait()
    #expect(stage.host.takeCommands() == ["respond 7 success 08"])
  }

  @Test func anAnswerAfterTheLinkEndedIsLoggedAndGoesNowhere() throws {
    stage.read(central, characteristic)
    stage.say(.disconnected(central.peer, .connectionTimeout))
    stage.manager.respond(to: try #require(stage.recorder.requests.first), withResult: .success)
    #expect(stage.host.takeCommands() == [])
    #expect(stage.logged().count == 1)
  }

  /// The host refuses the requests of an owner that detaches.
  @Test func theManagerDetachesWithItsEnd() {
    stage.read(central, characteristic)
    _ = stage.host.takeCommands()
    stage.releaseManager()
    #expect(stage.host.listeners == 0 && stage.host.takeCommands().isEmpty)
  }
}
