import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

/// A program that adds its services and advertises at each start, whatever `willRestoreState` gives it, as most
/// programs do.
@Suite struct AddedAgainTests {
  private let place: RestorationPlace

  init() throws { place = try RestorationPlace() }

  private func opened() throws -> RestorationStore {
    let store = place.open(.peripheral)
    return try #require(store)
  }

  /// A manager whose process was killed after `body`.
  private func earlier(_ body: (PeripheralFixture) -> Void) throws {
    let fixture = PeripheralFixture(restoration: try opened())
    body(fixture)
    fixture.settle()
    try place.kill(.peripheral) { fixture.releaseManager() }
  }

  /// The next manager, which is powered on. Its delegate holds nothing of what it was given, except what `kept`
  /// returns.
  private func later(
    keeping kept: (MutableService) -> AnyObject? = { _ in nil }
  ) throws -> (PeripheralFixture, AnyObject?) {
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.say(.state(.poweredOn, nil))
    _ = later.takeCalls()
    _ = later.host.takeCommands()
    return (later, keep(kept, of: later))
  }

  private func keep(_ kept: (MutableService) -> AnyObject?, of later: PeripheralFixture) -> AnyObject? {
    defer { later.recorder.letGo() }
    return (later.recorder.services.last as? MutableService).flatMap(kept)
  }

  /// A thermometer, each time as new objects.
  private func thermometer(
    _ permissions: AttributePermissions = .readable
  ) -> (service: MutableService, value: MutableCharacteristic) {
    let value = dynamic("2A1C", [.read, .notify], permissions: permissions)
    value.descriptors = [MutableDescriptor(type: "2901", value: "Temperature")]
    let service = MutableService(type: "1809", primary: true)
    service.characteristics = [value, constant("2A1D", [1])]
    return (service, value)
  }

  @Test("7.3 A service that is added takes the place of an equal restored one")
  func anAddedServiceTakesThePlaceOfAnEqualOne() throws {
    let first = thermometer()
    try earlier { $0.manager.add(first.service) }
    let (later, _) = try later()
    let again = thermometer()
    later.manager.add(again.service)
    #expect(later.takeCalls() == ["didAdd 1809"] && later.recorder.services.last === again.service)
    #expect(later.host.takeCommands() == [], "its attributes are those of the restored service")
    let central = later.connect(1)
    later.subscribe(central, again.value)
    later.read(central, again.value)
    #expect(
      later.takeCalls() == ["didConnect 1", "didSubscribe 1 2A1C", "didReceiveRead 2A1C 0"]
        && later.recorder.requests.last?.characteristic === again.value)
    #expect(later.manager.updateValue(Data([7]), for: again.value, onSubscribedCentrals: nil))
    #expect(later.host.takeCommands().last == "update 07 to [1]")
    // It is the program's from now on: a further equal one is a second instance, and what it removes is gone.
    later.manager.add(thermometer().service)
    later.manager.remove(again.service)
    #expect(later.takeCalls() == ["didAdd 1809"] && later.host.takeCommands() == ["add 1809", "remove"])
  }

  /// Five starts in a row, each ended by a kill.
  @Test func thereIsOneServiceAndOneAdvertisementAtEachStart() throws {
    for run in 1...5 {
      let fixture = PeripheralFixture(.unknown, restoration: try opened())
      fixture.say(.state(.poweredOn, nil))
      #expect(fixture.takeCalls() == (run == 1 ? ["state poweredOn"] : ["willRestore 1809 -", "state poweredOn"]))
      fixture.recorder.letGo()
      fixture.manager.add(thermometer().service)
      fixture.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "1809")]])
      #expect(fixture.takeCalls() == ["didAdd 1809", "didStart"] && fixture.manager.isAdvertising)
      let commands = fixture.host.takeCommands()
      #expect(commands.count { $0 == "add 1809" } == 1)
      #expect(commands.count { $0.hasPrefix("advertise") } - commands.count { $0 == "stop advertising" } == 1)
      try place.kill(.peripheral) { fixture.releaseManager() }
    }
  }

  @Test func itsSubscribersAreThoseOfTheRestoredService() throws {
    try earlier { $0.manager.add(thermometer().service) }
    let (later, _) = try later()
    let central = later.connect(1)
    let attribute = later.manager.run { role, _ in role.attributes.keys.first }
    later.say(.server(central.peer, .subscription(try #require(attribute), .notify)))
    #expect(later.takeCalls() == ["didConnect 1", "didSubscribe 1 2A1C"])
    let again = thermometer()
    later.manager.add(again.service)
    #expect(later.takeCalls() == ["didUnsubscribe 1 2A1C", "didAdd 1809", "didSubscribe 1 2A1C"])
    #expect(again.value.subscribedCentrals == [central])
    #expect(later.manager.updateValue(Data([7]), for: again.value, onSubscribedCentrals: nil))
    #expect(later.host.takeCommands() == ["update 07 to [1]"])
    later.say(.link(central.peer, .disconnected(.connectionTimeout)))
    #expect(later.takeCalls() == ["didUnsubscribe 1 2A1C", "didDisconnect 1 0x8"])
  }

  /// Any part is enough: requests come with the objects that the program has.
  @Test(arguments: ["service", "characteristic", "descriptor"])
  func aServiceThatTheProgramHoldsStays(part: String) throws {
    try earlier { $0.manager.add(thermometer().service) }
    let (later, kept) = try later { service in
      let characteristic = service.characteristics?.first
      return switch part {
      case "service": service
      case "characteristic": characteristic
      default: characteristic?.descriptors?.first
      }
    }
    #expect(kept != nil)
    later.manager.add(thermometer().service)
    #expect(later.takeCalls() == ["didAdd 1809"] && later.host.takeCommands() == ["add 1809"])
    withExtendedLifetime(kept) {}
  }

  @Test func oneThatDiffersIsWithdrawn() throws {
    try earlier { $0.manager.add(thermometer().service) }
    let (later, _) = try later()
    later.manager.add(thermometer([.readable, .readEncryptionRequired]).service)
    #expect(later.takeCalls() == ["didAdd 1809"] && later.host.takeCommands() == ["remove", "add 1809"])
  }

  /// The first instance differs from the one that is added, the second one does not.
  @Test func ofTwoInstancesTheEqualOneMakesRoom() throws {
    try earlier { fixture in
      fixture.manager.add(thermometer(.readEncryptionRequired).service)
      fixture.manager.add(thermometer().service)
    }
    let (later, _) = try later()
    later.manager.add(thermometer().service)
    later.manager.add(thermometer(.readEncryptionRequired).service)
    #expect(later.takeCalls() == ["didAdd 1809", "didAdd 1809"] && later.host.takeCommands() == [])
  }

  @Test func includedServicesAreThoseOfThisRun() throws {
    func services() -> (inner: MutableService, outer: MutableService) {
      let (inner, outer) = (MutableService(type: "180F", primary: false), MutableService(type: "1809", primary: true))
      inner.characteristics = [dynamic("2A19", [.read])]
      outer.includedServices = [inner]
      return (inner, outer)
    }
    try earlier { fixture in
      let first = services()
      fixture.manager.add(first.inner)
      fixture.manager.add(first.outer)
    }
    let (later, _) = try later()
    let again = services()
    later.manager.add(again.inner)
    #expect(later.host.takeCommands() == [] && later.takeCalls() == ["didAdd 180F"])
    // The restored service that includes it includes the new object now.
    later.manager.remove(again.inner)
    #expect(later.host.takeCommands() == [] && later.logged().count { $0.contains("is included by") } == 1)
    later.manager.add(again.outer)
    #expect(later.host.takeCommands() == [] && later.takeCalls() == ["didAdd 1809"])
    later.manager.remove(again.outer)
    later.manager.remove(again.inner)
    #expect(later.host.takeCommands() == ["remove", "remove"])
  }

  /// The outer service refers to the inner one.
  @Test func aServiceIsHeldWithTheOneThatIncludesIt() throws {
    try earlier { fixture in
      let (inner, outer) = (MutableService(type: "180F", primary: false), MutableService(type: "1809", primary: true))
      outer.includedServices = [inner]
      fixture.manager.add(inner)
      fixture.manager.add(outer)
    }
    let (later, kept) = try later { $0 }
    later.manager.add(MutableService(type: "180F", primary: false))
    #expect(later.host.takeCommands() == ["add 180F"])
    withExtendedLifetime(kept) {}
  }

  /// The values that the stack stores are those of the program that runs; only they may differ.
  @Test func storedValuesAreThoseOfTheAddedService() throws {
    func settings(_ octets: [UInt8]) -> MutableService {
      let service = MutableService(type: "FFE0", primary: true)
      let value = MutableCharacteristic(
        type: "FFE1", properties: [.read, .write], storedValue: Data(octets), permissions: [.readable, .writeable])
      value.descriptors = [MutableDescriptor(type: "2908", storedValue: Data(octets), length: 0...4)]
      service.characteristics = [value]
      return service
    }
    try earlier { $0.manager.add(settings([1])) }
    let (later, _) = try later()
    later.manager.add(settings([2]))
    #expect(later.takeCalls() == ["didAdd FFE0"] && later.host.takeCommands() == ["set 02", "set 02"])
  }

  @Test(arguments: [true, false]) func theAnswerOfTheHostIsTheAnswerForTheAddedService(isAdded: Bool) throws {
    try earlier { $0.manager.add(thermometer().service) }
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.host.answerNothing()
    later.say(.state(.poweredOn, nil))
    _ = later.takeCalls()
    later.recorder.letGo()
    later.manager.add(thermometer().service)
    #expect(later.takeCalls() == [])
    guard case .services(.add(let definition))? = later.host.commands.last else { throw CocoaError(.fileNoSuchFile) }
    if isAdded {
      var database = AttributeDatabase()
      later.say(.services(.added(definition.id, .success(try database.add(definition)))))
    } else {
      later.say(.services(.added(definition.id, .failure(.duplicateService(definition.id)))))
    }
    #expect(later.takeCalls() == ["didAdd 1809\(isAdded ? "" : " invalidParameters")"])
    #expect(later.logged() == [])
  }

  @Test func aServiceThatCannotBePublishedTakesNoPlace() throws {
    try earlier { $0.manager.add(thermometer().service) }
    let (later, _) = try later()
    let invalid = MutableService(type: "1809", primary: true)
    invalid.characteristics = [
      MutableCharacteristic(type: "2A1C", properties: [.write], value: Data([1]), permissions: [.writeable])
    ]
    later.manager.add(invalid)
    #expect(later.takeCalls() == ["didAdd 1809 invalidParameters"] && later.host.takeCommands() == [])
  }

  @Test("5.5 A start replaces a restored advertisement")
  func aStartReplacesARestoredAdvertisement() throws {
    try earlier { $0.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Old"]) }
    let (later, _) = try later()
    #expect(later.manager.isAdvertising)
    later.manager.startAdvertising([CBAdvertisementDataLocalNameKey: 1])
    #expect(later.takeCalls() == ["didStart invalidParameters"] && later.manager.isAdvertising)
    #expect(later.host.takeCommands() == [])
    later.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "New"])
    #expect(later.takeCalls() == ["didStart"] && later.manager.isAdvertising)
    #expect(later.host.takeCommands().map { $0.prefix(9) } == ["stop adve", "advertise"])
    later.manager.startAdvertising(nil)
    #expect(later.takeCalls() == ["didStart alreadyAdvertising"], "that one was started in this run")
    try place.kill(.peripheral) { later.releaseManager() }
    let last = PeripheralFixture(.unknown, restoration: try opened())
    last.say(.state(.poweredOn, nil))
    #expect(last.takeCalls() == ["willRestore New", "state poweredOn"])
  }
}
