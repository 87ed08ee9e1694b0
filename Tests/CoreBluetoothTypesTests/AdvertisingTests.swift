import BLEGAP
import BLEHCI
import BLEHost
import BluetoothLE
import EngineFixtures
import Testing

@testable import CoreBluetoothTypes

/// Section 5 of CoreBluetooth's rules, and the advertisements that go beyond it.
@Suite struct AdvertisingTests {
  private let stage = Stage()

  private var identifier: AdvertisingID {
    for case .startAdvertising(let id, _) in stage.host.commands.reversed() { return id }
    return AdvertisingID(rawValue: 0)
  }

  @Test func rule5_1_nameAndServicesAreAdvertised() {
    stage.manager.startAdvertising([
      AdvertisementDataLocalNameKey: "Hi", AdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")],
    ])
    #expect(stage.heard() == ["didStart"])
    // Flags, the complete list of 16-bit UUIDs, the complete name.
    #expect(stage.host.takeCommands() == ["advertise 02010603030d1803094869 "])
  }

  @Test(arguments: [
    (AdvertisementDataTxPowerLevelKey, "is not supported"), (AdvertisementDataManufacturerDataKey, "is not supported"),
    ("nonsense", "is not supported"),
  ])
  func rule5_1_anyOtherKeyIsAnErrorThatNamesIt(key: String, words: String) {
    stage.manager.startAdvertising([key: 1, AdvertisementDataLocalNameKey: "Hi"])
    #expect(stage.heard() == ["didStart invalidParameters"])
    #expect(stage.recorder.lastText.contains(key) && stage.recorder.lastText.contains(words))
    #expect(stage.host.takeCommands() == [])
    #expect(!stage.manager.isAdvertising)
  }

  @Test func rule5_1_aValueOfTheWrongTypeIsAnErrorThatNamesItsKey() {
    stage.manager.startAdvertising([AdvertisementDataServiceUUIDsKey: "180D"])
    stage.manager.startAdvertising([AdvertisementDataLocalNameKey: 5])
    #expect(stage.heard() == ["didStart invalidParameters", "didStart invalidParameters"])
    #expect(stage.recorder.lastText.contains("takes a String, not Int"))
  }

  @Test func rule5_2_theNameHasTenOctetsInTheScanResponse() throws {
    let long = [CBUUID(string: "E20A39F4-73F5-4BC4-A12F-17D1AD07A961")]
    stage.manager.startAdvertising([
      AdvertisementDataLocalNameKey: "Thermometer", AdvertisementDataServiceUUIDsKey: long,
    ])
    #expect(stage.heard() == ["didStart"])
    guard case .startAdvertising(_, let intent)? = stage.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.data.count <= 31 && intent.scanResponse.count <= 12)
    let contents = AdvertisedData(advertisingData: intent.data[...], scanResponse: intent.scanResponse[...])
    #expect(contents.localName?.isComplete == true || contents.localName?.octets.count ?? 0 <= 10)
  }

  @Test func rule5_5_eachStartIsAnsweredAndASecondIsRefused() {
    stage.manager.startAdvertising(nil)
    stage.manager.startAdvertising(nil)
    #expect(stage.heard() == ["didStart", "didStart alreadyAdvertising"])
    #expect((stage.recorder.lastError as? BluetoothError)?.errorCode == 9)
    #expect(stage.manager.isAdvertising)
    #expect(stage.host.takeCommands().count == 1)
  }

  @Test func rule5_5_aSecondStartBeforeTheFirstAnswerWaitsItsTurn() {
    stage.host.answerNothing()
    stage.manager.startAdvertising(nil)
    stage.manager.startAdvertising(nil)
    #expect(stage.heard() == [])
    #expect(!stage.manager.isAdvertising)
    stage.say(.advertisingStarted(identifier, .success(())))
    #expect(stage.heard() == ["didStart", "didStart alreadyAdvertising"])
  }

  @Test func rule5_5_stoppingHasNoAnswerAndAllowsAnotherStart() {
    stage.manager.startAdvertising(nil)
    _ = stage.heard()
    _ = stage.host.takeCommands()
    stage.manager.stopAdvertising()
    stage.manager.stopAdvertising()
    #expect(stage.heard() == [])
    #expect(!stage.manager.isAdvertising)
    #expect(stage.host.takeCommands() == ["stop advertising"])
    stage.manager.startAdvertising(nil)
    #expect(stage.heard() == ["didStart"])
  }

  @Test func rule5_5_aStartThatWasStoppedBeforeItsAnswerIsAnsweredAndOff() {
    stage.host.answerNothing()
    stage.manager.startAdvertising(nil)
    let id = identifier
    stage.manager.stopAdvertising()
    stage.say(.advertisingStarted(id, .success(())))
    #expect(stage.heard() == ["didStart"])
    #expect(!stage.manager.isAdvertising)
  }

  @Test func rule5_5_aRefusalOfTheHostArrives() {
    stage.host.answerNothing()
    stage.manager.startAdvertising(nil)
    stage.say(.advertisingStarted(identifier, .failure(.tooMany("advertisements", limit: 1))))
    #expect(stage.heard() == ["didStart outOfSpace"])
    #expect(stage.recorder.lastText == "more than 1 advertisements at once")
    #expect(!stage.manager.isAdvertising)
  }

  @Test func rule5_5_isAdvertisingIsTrueInsideTheCallback() {
    let seen = Lines()
    stage.recorder.react { manager, line in seen.append("\(line) \(manager.isAdvertising)") }
    stage.manager.startAdvertising(nil)
    stage.settle()
    #expect(seen.take() == ["didStart true"])
  }

  @Test func rule5_7_aServiceNeedNotBeInTheDatabase() {
    stage.manager.startAdvertising([AdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")]])
    #expect(stage.heard() == ["didStart"])
  }

  @Test func twoHundredServicesGoToTheOverflow() throws {
    let uuids = (0..<200).map { BluetoothUUID(UInt16(0x2000 + $0)) }
    stage.manager.startAdvertising([AdvertisementDataServiceUUIDsKey: uuids])
    #expect(stage.heard() == ["didStart"])
    guard case .startAdvertising(_, let intent)? = stage.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.data.count <= 31 && intent.scanResponse.count <= 31)

    stage.manager.stopAdvertising()
    let payload = try stage.manager.startAdvertising(Advertisement(serviceUUIDs: uuids))
    let advertised = payload.contents.serviceUUIDs
    #expect(advertised.count + payload.overflowServiceUUIDs.count == 200)
  }

  @Test func anEmptyNameSendsNone() {
    stage.manager.startAdvertising([AdvertisementDataLocalNameKey: ""])
    #expect(stage.heard() == ["didStart"])
    #expect(stage.host.takeCommands() == ["advertise 020106 "])
  }

  @Test func theTypedApiHandsTheLayoutBack() throws {
    var options = AdvertisingOptions(policy: .full, interval: .milliseconds(20)...Duration.seconds(1))
    options.isConnectable = false
    options.continuesWhileConnected = false
    options.resumesAfterDisconnection = false
    let payload = try stage.manager.startAdvertising(
      Advertisement(
        localName: "Hi", serviceUUIDs: ["180D"],
        elements: [.txPowerLevel(4), .manufacturerData(company: 0xFFFF, Data([1, 2]))]),
      options: options)
    #expect(stage.heard() == ["didStart"])
    #expect(payload.localName?.text == "Hi" && payload.overflowServiceUUIDs == [])
    guard case .startAdvertising(_, let intent)? = stage.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.data == payload.advertisingData && intent.scanResponse == payload.scanResponse)
    #expect(intent.interval == 0x20...0x640)
    #expect(!intent.isConnectable && !intent.continuesWhileConnected && !intent.resumesAfterDisconnection)
  }

  @Test func anElementThatCannotFitIsItemised() {
    let tooLong = Advertisement(elements: [.manufacturerData(company: 0xFFFF, Data(count: 30))])
    do {
      _ = try stage.manager.startAdvertising(tooLong)
      #expect(Bool(false), "34 octets cannot fit")
    } catch let error as AdvertisingDataError {
      #expect("\(error)".contains("34 octets"))
    } catch {
      #expect(Bool(false), "\(error)")
    }
    #expect(stage.heard() == [])
    #expect(stage.host.takeCommands() == [])
  }

  @Test(arguments: [Duration.milliseconds(19), .milliseconds(10_241)])
  func anIntervalOutsideOfTheLimitsIsRefused(interval: Duration) {
    #expect(throws: BluetoothError.self) {
      try stage.manager.startAdvertising(Advertisement(), options: AdvertisingOptions(interval: interval...interval))
    }
  }

  @Test func pausesAndResumptionsAreTold() {
    stage.manager.startAdvertising(nil)
    _ = stage.heard()
    stage.say(.advertisingPaused(identifier, .connectionLimitExceeded))
    stage.say(.advertisingResumed(identifier))
    stage.say(.advertisingPaused(AdvertisingID(rawValue: 0), nil))
    #expect(stage.heard() == ["paused 0x9", "resumed"])
    #expect(stage.manager.isAdvertising)
  }
}
