import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import BluetoothLE
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

/// What a peripheral manager declares is there again in a manager with the same restoration identifier.
@Suite struct PeripheralRestorationTests {
  private let place: RestorationPlace

  init() throws { place = try RestorationPlace() }

  private func opened() throws -> RestorationStore {
    let store = place.open(.peripheral)
    return try #require(store)
  }

  /// A manager with this identifier, declared by `body`, whose process was killed.
  private func earlier(_ body: (PeripheralFixture) -> Void) throws {
    let fixture = PeripheralFixture(restoration: try opened())
    body(fixture)
    fixture.settle()
    try place.kill(.peripheral) { fixture.releaseManager() }
  }

  /// A manager with this identifier that is powered on.
  private func later() throws -> PeripheralFixture {
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.say(.state(.poweredOn, nil))
    return later
  }

  @Test("7.3 The restored state is the first call, before the state of the adapter")
  func theRestoredStateIsTheFirstCall() throws {
    try earlier { fixture in
      fixture.publish(dynamic("2A37"))
      fixture.manager.startAdvertising([
        CBAdvertisementDataLocalNameKey: "Clock", CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")],
      ])
    }
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.say(.state(.poweredOn, nil))
    #expect(later.takeCalls() == ["willRestore 180D Clock", "state poweredOn"])
    #expect(later.host.takeCommands().map { $0.prefix(9) } == ["add 180D", "advertise"])
    #expect(later.manager.isAdvertising)
    // They are the manager's as if it had declared them.
    later.manager.removeAllServices()
    later.manager.stopAdvertising()
    #expect(later.host.takeCommands() == ["remove", "stop advertising"])
  }

  @Test(arguments: [0, 1]) func theNumberOfServicesIsBounded(more: Int) {
    let uuid = RestoredUUID(BluetoothUUID(0x180D))
    let services = (0..<RestoredServices.limit + more).map { _ in RestoredServices.Service(uuid: uuid, isPrimary: true)
    }
    let restored = PeripheralRole.Restoration(RestoredServices(services: services))
    #expect(restored.services.count == RestoredServices.limit)
  }

  @Test func everythingOfAServiceIsRestored() throws {
    let constant = MutableCharacteristic(
      type: "2A29", properties: .read, value: Data("Maker".utf8), permissions: .readEncryptionRequired)
    let answered = dynamic("0000FFE1-0000-1000-8000-00805F9B34FB", [.read, .notifyEncryptionRequired])
    answered.descriptors = [
      MutableDescriptor(type: "2901", value: "Text"),
      MutableDescriptor(type: "2904", value: Data([4, 0, 0, 0, 1, 0, 0])),
      MutableDescriptor(type: "2908", storedValue: Data([1]), length: 1...4, permissions: [.readable, .writeable]),
    ]
    let stored = MutableCharacteristic(
      type: "2A3D", properties: [.read, .write], storedValue: Data([1]), length: 0...20,
      permissions: [.readable, .writeable])
    let inner = MutableService(type: "180F", primary: false)
    inner.characteristics = [constant]
    let outer = MutableService(type: "E20A39F4-73F5-4BC4-A12F-17D1AD07A961", primary: true)
    outer.characteristics = [answered, stored]
    outer.includedServices = [inner]
    var first: [HostCommand] = []
    try earlier { fixture in
      fixture.manager.add(inner)
      fixture.manager.add(outer)
      first = fixture.host.commands
      // The value that a read is answered with is the application's; the one that the stack stores is restored.
      answered.value = Data([9])
      let central = fixture.connect(1)
      fixture.say(.server(central.peer, .stored(fixture.attribute(stored), [7, 7])))
    }
    let later = PeripheralFixture(restoration: try opened())
    #expect(
      describe(later.host.commands) == describe(first).map { $0.replacing("[1], 0...20", with: "[7, 7], 0...20") })
    let services = later.recorder.services.compactMap { $0 as? MutableService }
    #expect(services.map(\.uuid) == [inner.uuid, outer.uuid] && services.map(\.isPrimary) == [false, true])
    #expect(services.last?.includedServices?.first === services.first)
    let restored = try #require(services.last?.characteristics?.first as? MutableCharacteristic)
    #expect(restored.uuid.data.count == 16, "in the form in which it was made")
    #expect(restored.value == nil && restored.properties == answered.properties)
    #expect(restored.descriptors?.map(\.uuid) == ["2901", "2904", "2908"])
    // Its requests come with the restored objects.
    _ = later.takeCalls()
    later.read(later.connect(1), restored)
    #expect(later.recorder.requests.first?.characteristic === restored)
  }

  private func describe(_ commands: [HostCommand]) -> [String] {
    commands.compactMap { command in
      guard case .services(.add(let definition)) = command else { return nil }
      let characteristics = definition.characteristics.map { characteristic in
        let descriptors = characteristic.descriptors.map { "\($0.uuid) \($0.permissions) \(describe($0.value))" }
        return "\(characteristic.uuid) \(characteristic.properties.rawValue) \(characteristic.permissions) "
          + "\(characteristic.updateRequirement) \(describe(characteristic.value)) \(descriptors)"
      }
      return "\(definition.uuid) \(definition.isPrimary) \(definition.includes.count) \(characteristics)"
    }
  }

  private func describe(_ source: ValueSource) -> String {
    switch source {
    case .dynamic: "dynamic"
    case .fixed(let value): "fixed \(value)"
    case .stored(let value, let length): "stored \(value), \(length)"
    }
  }

  @Test func whatTheProgramTakesBackIsNotRestored() throws {
    try earlier { fixture in
      let service = fixture.publish(dynamic("2A37"))
      fixture.publish(dynamic("2A19"), as: "180F")
      fixture.manager.startAdvertising(nil)
      fixture.manager.remove(service)
      fixture.manager.stopAdvertising()
    }
    try earlier { #expect($0.recorder.services.map(\.uuid) == ["180F"] && !$0.manager.isAdvertising) }
    try earlier { $0.manager.removeAllServices() }
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.say(.state(.poweredOn, nil))
    #expect(later.takeCalls() == ["state poweredOn"], "there is nothing to restore")
  }

  /// An adapter that is lost ends services; the program has not taken them back.
  @Test func theEndOfTheAdapterTakesNothingBack() throws {
    var fixture: PeripheralFixture? = PeripheralFixture(restoration: try opened())
    fixture?.publish(dynamic("2A37"))
    fixture?.manager.startAdvertising(nil)
    fixture?.settle()
    place.passTime()
    #expect(place.file(.peripheral) != nil)
    fixture?.say(.state(.unsupported, nil))
    fixture = nil
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.say(.state(.poweredOn, nil))
    #expect(later.takeCalls() == ["willRestore 180D -", "state poweredOn"])
  }

  @Test func theStateIsSavedAMomentAfterTheChange() throws {
    let store = try opened()
    let fixture = PeripheralFixture(restoration: store)
    fixture.publish(dynamic("2A37"))
    #expect(place.file(.peripheral) == nil)
    place.passTime()
    let path = try #require(place.file(.peripheral))
    #expect(place.folder.permissions(path) == 0o600)
    #expect(store.restored(RestoredServices.self)?.services.map(\.uuid.uuid) == ["180D"])
  }

  @Test func anAdapterThatIsOffFirstRestoresWhenItIsOn() throws {
    try earlier { $0.publish(dynamic("2A37")) }
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.say(.state(.poweredOff, nil))
    #expect(later.takeCalls() == ["willRestore 180D", "state poweredOff"] && later.host.takeCommands() == [])
    later.say(.state(.resetting, nil))
    later.say(.state(.poweredOn, nil))
    #expect(later.takeCalls() == ["state resetting", "state poweredOn"])
    #expect(later.host.takeCommands() == ["add 180D"])
  }

  /// The process goes on: the next manager in it takes over, and there is nothing for another process.
  @Test func aManagerThatIsReleasedLeavesItsStateToTheNextOneInTheProcess() throws {
    let fixture = PeripheralFixture(restoration: try opened())
    fixture.publish(dynamic("2A37"))
    place.passTime()
    #expect(place.file(.peripheral) != nil)
    fixture.publish(dynamic("2A19"), as: "180F")
    fixture.releaseManager()
    #expect(place.file(.peripheral) == nil)
    let second = try later()
    #expect(second.takeCalls() == ["willRestore 180D 180F", "state poweredOn"])
    place.passTime()
    #expect(place.file(.peripheral) != nil, "a kill is the end of this manager, too")
  }

  @Test func aServiceThatTheHostRefusesIsLogged() throws {
    try earlier { fixture in
      fixture.publish(dynamic("2A37"))
      fixture.manager.startAdvertising(nil)
    }
    let later = PeripheralFixture(.unknown, restoration: try opened())
    later.host.answerNothing()
    later.say(.state(.poweredOn, nil))
    for command in later.host.commands {
      switch command {
      case .services(.add(let definition)):
        later.say(.services(.added(definition.id, .failure(.duplicateService(definition.id)))))
      case .advertising(.start(let id, _)): later.say(.advertising(id, .started(.failure(.unsupported("advertising")))))
      default: break
      }
    }
    #expect(later.takeCalls() == ["willRestore 180D -", "state poweredOn"] && !later.manager.isAdvertising)
    #expect(later.logged().count { $0.contains("is not restored: ") } == 2)
  }

  @Test(arguments: [
    "", "{", #"{"version": 0, "role": "peripheral", "identifier": "main", "content": {"services": []}}"#,
  ])
  func aDamagedFileIsLoggedAndReplaced(content: String) throws {
    try earlier { $0.publish(dynamic("2A37")) }
    let path = try #require(place.file(.peripheral))
    try place.write(Data(content.utf8), to: path)
    try earlier { fixture in
      #expect(fixture.recorder.services.isEmpty)
      fixture.publish(dynamic("2A19"), as: "180F")
    }
    #expect(
      place.lines.take().count { $0.hasPrefix("\(path): the state of the peripheral manager “main” cannot be") } == 1)
    try earlier { #expect($0.recorder.services.map(\.uuid) == ["180F"]) }
  }

  @Test(arguments: [
    #"{"services": [{"uuid": "180d5", "isPrimary": true, "includes": [], "characteristics": []}]}"#,
    #"{"services": [{"uuid": "zz", "isPrimary": true, "includes": [], "characteristics": []}]}"#,
    #"{"services": [{"uuid": "180d", "isPrimary": true, "includes": [7, -1], "characteristics": [{"uuid": "2a37", "properties": 18446744073709551615, "permissions": 1, "descriptors": [], "lengths": {"minimum": 9, "maximum": -9}}]}]}"#,
  ]) func noContentOfTheFileEndsTheProgram(content: String) throws {
    try earlier { $0.publish(dynamic("2A37")) }
    let path = try #require(place.file(.peripheral))
    let whole = #"{"version": 1, "role": "peripheral", "identifier": "main", "content": \#(content)}"#
    try place.write(Data(whole.utf8), to: path)
    try earlier { #expect($0.takeCalls().isEmpty) }
  }

  @Test("1.8 An identifier without the method of the delegate is logged")
  func anIdentifierWithoutTheMethodIsLogged() throws {
    final class Deaf: NSObject, PeripheralManagerDelegate {
      func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
    }
    try earlier { $0.publish(dynamic("2A37")) }
    let later = PeripheralFixture(.unknown, restoration: try opened())
    let deaf = Deaf()
    later.manager.delegate = deaf
    later.say(.state(.poweredOn, nil))
    #expect(later.logged().count { $0.contains("does not implement willRestoreState") } == 1)
  }

  @Test func anIdentifierIsOneManagers() throws {
    let first = try opened()
    #expect(place.open(.peripheral) == nil)
    #expect(place.lines.take().count { $0.hasPrefix("API MISUSE: the restoration identifier “main” is in use") } == 1)
    #expect(place.open(.peripheral, "other") != nil)
    #expect(place.open(.central) != nil)
    withExtendedLifetime(first) {}
  }
}
