import AdapterFixtures
import BLEGAP
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 5 of CoreBluetooth's rules, and the advertisements that go beyond it.
@Suite struct AdvertisingTests {
  private let fixture = PeripheralFixture()

  private var identifier: AdvertisingID {
    for case .advertising(.start(let id, _)) in fixture.host.commands.reversed() { return id }
    return AdvertisingID(rawValue: 0)
  }

  @Test func nameAndServicesAreAdvertised() {
    fixture.manager.startAdvertising([
      AdvertisementDataLocalNameKey: "Hi", AdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")],
    ])
    #expect(fixture.takeCalls() == ["didStart"])
    // Flags, the complete list of 16-bit UUIDs, the complete name.
    #expect(fixture.host.takeCommands() == ["advertise 02010603030d1803094869 "])
  }

  @Test(
    "5.1 Another key is ignored with a line of the log that names it",
    arguments: [AdvertisementDataTxPowerLevelKey, AdvertisementDataManufacturerDataKey, "nonsense"])
  func anotherKeyIsIgnored(key: String) {
    fixture.manager.startAdvertising([key: 1, AdvertisementDataLocalNameKey: "Hi"])
    #expect(fixture.takeCalls() == ["didStart"])
    #expect(fixture.host.takeCommands() == ["advertise 02010603094869 "])
    #expect(fixture.logged().count { $0.contains("the key \(key) is ignored") } == 1)
  }

  @Test("5.1 A value of the wrong type is an error that names its key")
  func aValueOfTheWrongTypeIsAnErrorThatNamesItsKey() {
    fixture.manager.startAdvertising([AdvertisementDataServiceUUIDsKey: "180D"])
    fixture.manager.startAdvertising([AdvertisementDataLocalNameKey: 5])
    #expect(fixture.takeCalls() == ["didStart invalidParameters", "didStart invalidParameters"])
    #expect(fixture.recorder.lastText.contains("takes a String, not Int"))
  }

  @Test("5.3 A name that does not fit is shortened")
  func theNameHasTenOctetsInTheScanResponse() throws {
    let long = [CBUUID(string: "E20A39F4-73F5-4BC4-A12F-17D1AD07A961")]
    fixture.manager.startAdvertising([
      AdvertisementDataLocalNameKey: "Thermometer", AdvertisementDataServiceUUIDsKey: long,
    ])
    #expect(fixture.takeCalls() == ["didStart"])
    guard case .advertising(.start(_, let intent))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.data.count <= 31 && intent.scanResponse.count <= 12)
    let contents = AdvertisedData(advertisingData: intent.data[...], scanResponse: intent.scanResponse[...])
    #expect(contents.localName?.isComplete == true || contents.localName?.octets.count ?? 0 <= 10)
  }

  @Test("5.5 Each start is answered, and one while advertising is refused")
  func eachStartIsAnsweredAndASecondIsRefused() {
    fixture.manager.startAdvertising(nil)
    fixture.manager.startAdvertising(nil)
    #expect(fixture.takeCalls() == ["didStart", "didStart alreadyAdvertising"])
    #expect((fixture.recorder.lastError as? BluetoothError)?.errorCode == 9)
    #expect(fixture.manager.isAdvertising)
    #expect(fixture.host.takeCommands().count == 1)
  }

  @Test func aSecondStartBeforeTheFirstAnswerWaitsItsTurn() {
    fixture.host.answerNothing()
    fixture.manager.startAdvertising(nil)
    fixture.manager.startAdvertising(nil)
    #expect(fixture.takeCalls() == [])
    #expect(!fixture.manager.isAdvertising)
    fixture.say(.advertising(identifier, .started(.success(()))))
    #expect(fixture.takeCalls() == ["didStart", "didStart alreadyAdvertising"])
  }

  @Test("5.5 Stopping has no call")
  func stoppingHasNoAnswerAndAllowsAnotherStart() {
    fixture.manager.startAdvertising(nil)
    _ = fixture.takeCalls()
    _ = fixture.host.takeCommands()
    fixture.manager.stopAdvertising()
    fixture.manager.stopAdvertising()
    #expect(fixture.takeCalls() == [])
    #expect(!fixture.manager.isAdvertising)
    #expect(fixture.host.takeCommands() == ["stop advertising"])
    fixture.manager.startAdvertising(nil)
    #expect(fixture.takeCalls() == ["didStart"])
  }

  @Test func aStartThatWasStoppedBeforeItsAnswerIsAnsweredAndOff() {
    fixture.host.answerNothing()
    fixture.manager.startAdvertising(nil)
    let id = identifier
    fixture.manager.stopAdvertising()
    fixture.say(.advertising(id, .started(.success(()))))
    #expect(fixture.takeCalls() == ["didStart"])
    #expect(!fixture.manager.isAdvertising)
  }

  @Test func aRefusalOfTheHostArrives() {
    fixture.host.answerNothing()
    fixture.manager.startAdvertising(nil)
    fixture.say(.advertising(identifier, .started(.failure(.tooMany("advertisements", limit: 1)))))
    #expect(fixture.takeCalls() == ["didStart outOfSpace"])
    #expect(fixture.recorder.lastText == "more than 1 advertisements at once")
    #expect(!fixture.manager.isAdvertising)
  }

  @Test("5.5 isAdvertising is true in the call")
  func isAdvertisingIsTrueInsideTheCallback() {
    let seen = Lines()
    fixture.recorder.react { manager, line in seen.append("\(line) \(manager.isAdvertising)") }
    fixture.manager.startAdvertising(nil)
    fixture.settle()
    #expect(seen.take() == ["didStart true"])
  }

  @Test("5.7 An advertised service need not be in the database")
  func aServiceNeedNotBeInTheDatabase() {
    fixture.manager.startAdvertising([AdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")]])
    #expect(fixture.takeCalls() == ["didStart"])
  }

  @Test("5.3 UUIDs that do not fit go to the overflow area")
  func twoHundredServicesGoToTheOverflow() throws {
    let uuids = (0..<200).map { BluetoothUUID(UInt16(0x2000 + $0)) }
    fixture.manager.startAdvertising([AdvertisementDataServiceUUIDsKey: uuids])
    #expect(fixture.takeCalls() == ["didStart"])
    guard case .advertising(.start(_, let intent))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.data.count <= 31 && intent.scanResponse.count <= 31)

    fixture.manager.stopAdvertising()
    let payload = try fixture.manager.startAdvertising(Advertisement(serviceUUIDs: uuids))
    let advertised = payload.contents.serviceUUIDs
    #expect(advertised.count + payload.overflowServiceUUIDs.count == 200)
  }

  @Test func anEmptyNameSendsNone() {
    fixture.manager.startAdvertising([AdvertisementDataLocalNameKey: ""])
    #expect(fixture.takeCalls() == ["didStart"])
    #expect(fixture.host.takeCommands() == ["advertise 020106 "])
  }

  @Test func theTypedApiHandsTheLayoutBack() throws {
    var options = AdvertisingOptions(policy: .full, interval: .milliseconds(20)...Duration.seconds(1))
    options.isConnectable = false
    options.continuesWhileConnected = false
    options.resumesAfterDisconnection = false
    let payload = try fixture.manager.startAdvertising(
      Advertisement(
        localName: "Hi", serviceUUIDs: ["180D"],
        elements: [.txPowerLevel(4), .manufacturerData(company: 0xFFFF, Data([1, 2]))]),
      options: options)
    #expect(fixture.takeCalls() == ["didStart"])
    #expect(payload.localName?.text == "Hi" && payload.overflowServiceUUIDs == [])
    guard case .advertising(.start(_, let intent))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(intent.data == payload.advertisingData && intent.scanResponse == payload.scanResponse)
    #expect(intent.interval == 0x20...0x640)
    #expect(!intent.isConnectable && !intent.continuesWhileConnected && !intent.resumesAfterDisconnection)
  }

  @Test func anElementThatCannotFitIsItemised() {
    let tooLong = Advertisement(elements: [.manufacturerData(company: 0xFFFF, Data(count: 30))])
    do {
      _ = try fixture.manager.startAdvertising(tooLong)
      #expect(Bool(false), "34 octets cannot fit")
    } catch let error as AdvertisingDataError {
      #expect("\(error)".contains("34 octets"))
    } catch {
      #expect(Bool(false), "\(error)")
    }
    #expect(fixture.takeCalls() == [])
    #expect(fixture.host.takeCommands() == [])
  }

  @Test(arguments: [Duration.milliseconds(19), .milliseconds(10_241)])
  func anIntervalOutsideOfTheLimitsIsRefused(interval: Duration) {
    #expect(throws: BluetoothError.self) {
      try fixture.manager.startAdvertising(Advertisement(), options: AdvertisingOptions(interval: interval...interval))
    }
  }

  @Test func pausesAndResumptionsAreTold() {
    fixture.manager.startAdvertising(nil)
    _ = fixture.takeCalls()
    fixture.say(.advertising(identifier, .paused(.connectionLimitExceeded)))
    fixture.say(.advertising(identifier, .resumed))
    fixture.say(.advertising(AdvertisingID(rawValue: 0), .paused(nil)))
    #expect(fixture.takeCalls() == ["paused 0x9", "resumed"])
    #expect(fixture.manager.isAdvertising)
  }
}
