import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 2 of CoreBluetooth's rules: what may be published, and what is said when it may not.
@Suite struct DatabaseTests {
  /// What `add` is answered for a service with these characteristics, and the words of the error.
  private func added(_ characteristics: MutableCharacteristic...) -> (answer: [String], text: String, posted: Bool) {
    let fixture = PeripheralFixture()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = characteristics
    fixture.manager.add(service)
    let answer = fixture.takeCalls()
    return (answer, fixture.recorder.lastText, !fixture.host.commands.isEmpty)
  }

  @Test(
    "2.1 A cached value on a characteristic that is not read-only is refused",
    arguments: [
      ([.read, .notify], [.readable]), ([.read, .write], [.readable]), ([.read], [.readable, .writeable]),
      ([.indicate], []),
    ] as [(CharacteristicProperties, AttributePermissions)])
  func cachedValuesMustBeReadOnly(properties: CharacteristicProperties, permissions: AttributePermissions) {
    let (answer, text, posted) = added(
      MutableCharacteristic(type: "2A19", properties: properties, value: Data([100]), permissions: permissions))
    #expect(answer == ["didAdd 180D invalidParameters"])
    #expect(!posted)
    #expect(text.contains("characteristics with cached values must be read-only") && text.contains("2A19"))
    #expect(text.contains("pass value: nil"))
  }

  @Test(
    "2.1 A read-only cached value is marked readable",
    arguments: [
      ([.read], [.readable]), ([.read], [.readEncryptionRequired]), ([], []),
    ] as [(CharacteristicProperties, AttributePermissions)])
  func readOnlyCachedValuesAreMarkedReadable(
    properties: CharacteristicProperties, permissions: AttributePermissions
  ) throws {
    let fixture = PeripheralFixture()
    fixture.host.answerNothing()
    let service = MutableService(type: "180F", primary: true)
    service.characteristics = [
      MutableCharacteristic(type: "2A19", properties: properties, value: Data([100]), permissions: permissions)
    ]
    fixture.manager.add(service)
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    let characteristic = try #require(definition.characteristics.first)
    #expect(characteristic.value == .fixed([100]))
    #expect(characteristic.properties == .read)
    #expect(characteristic.permissions.read == (permissions == [.readEncryptionRequired] ? .encrypted : .open))
    #expect(characteristic.permissions.write == nil)
  }

  /// Beside whatever else they demand; by themselves, an encrypted link.
  @Test(
    arguments: [
      ([.readAuthorizationRequired], .encrypted, nil), ([.readable, .readAuthorizationRequired], .encrypted, nil),
      ([.readAuthenticationRequired, .readAuthorizationRequired], .authenticated, nil),
      ([.readable, .writeAuthorizationRequired], nil, .encrypted),
    ] as [(AttributePermissions, SecurityLevel?, SecurityLevel?)])
  func whatDemandsAuthorization(permissions: AttributePermissions, read: SecurityLevel?, write: SecurityLevel?) {
    let described = GATTAttributePermissions(permissions)
    let authorized = read.map { AccessRequirement(security: $0, authorization: true) }
    #expect(described.read == authorized ?? .open)
    #expect(described.write == write.map { AccessRequirement(security: $0, authorization: true) })
  }

  @Test("2.2 The host serves cached values, the delegate dynamic ones")
  func cachedValuesBelongToTheHostAndDynamicOnesToTheDelegate() throws {
    let fixture = PeripheralFixture()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [constant("2A38", [1]), dynamic("2A37", [.notify], permissions: [])]
    fixture.manager.add(service)
    fixture.settle()
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(definition.characteristics.map(\.value) == [.fixed([1]), .dynamic])
  }

  @Test("2.3 After publication the value is the application's")
  func theValueIsTheApplicationsAfterPublication() {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    characteristic.value = Data([7])
    #expect(fixture.host.takeCommands() == [])
    fixture.read(fixture.connect(1), characteristic)
    #expect(fixture.takeCalls() == ["didConnect 1", "didReceiveRead 2A37 0"])
    #expect(fixture.host.takeCommands() == ["respond 1 success 07"])
  }

  @Test("2.4 An application makes the descriptors 2901 and 2904 only")
  func twoDescriptorsAreTheApplications() {
    let characteristic = constant("2A19", [1])
    characteristic.descriptors = [
      MutableDescriptor(type: "2901", value: "Battery"),
      MutableDescriptor(type: "2904", value: Data([4, 0, 0, 0, 1, 0, 0])),
    ]
    #expect(added(characteristic).answer == ["didAdd 180D"])
    #expect(characteristic.descriptors?.first?.characteristic === characteristic)
    #expect(characteristic.descriptors?.first?.value as? String == "Battery")
  }

  @Test(arguments: [
    ("2902", Data([1, 0]), "made by the stack"), ("2900", Data([1, 0]), "made by the stack"),
    ("2908", Data([1, 0]), "neither 2901 nor 2904"), ("2901", Data([1]), "takes a String"),
  ])
  func otherDescriptorsAreRefused(uuid: String, value: Data, words: String) {
    let characteristic = dynamic("2A19")
    characteristic.descriptors = [MutableDescriptor(type: CBUUID(string: uuid), value: value)]
    let (answer, text, _) = added(characteristic)
    #expect(answer == ["didAdd 180D invalidParameters"])
    #expect(text.contains(words) && text.contains(uuid))
  }

  @Test func theTypedInitialiserMakesAnyDescriptor() throws {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A19")
    let descriptor = MutableDescriptor(
      type: "2908", storedValue: Data([1, 2]), length: 2...2, permissions: [.readable, .writeable])
    characteristic.descriptors = [descriptor]
    let service = fixture.publish(characteristic)
    #expect(service.characteristics?.count == 1)
    let central = fixture.connect(1)
    _ = fixture.takeCalls()
    fixture.say(.server(central.peer, .stored(fixture.attribute(descriptor), [3, 4])))
    #expect(fixture.takeCalls() == ["stored 1 2908"])
    #expect(descriptor.value as? Data == Data([3, 4]))
    try fixture.manager.setStoredValue(Data([5, 6]), for: descriptor)
    #expect(fixture.host.takeCommands() == ["set 0506"])
    #expect(throws: BluetoothError.self) { try fixture.manager.setStoredValue(Data([5]), for: descriptor) }
  }

  @Test(
    "2.5 No local characteristic has broadcast or extendedProperties",
    arguments: [CharacteristicProperties.broadcast, .extendedProperties])
  func propertiesNoLocalCharacteristicHas(property: CharacteristicProperties) {
    let (answer, text, _) = added(dynamic("2A37", [.read, property]))
    #expect(answer == ["didAdd 180D invalidParameters"])
    #expect(text.contains("2A37"))
  }

  @Test func aStoredCharacteristicMayHaveThem() throws {
    let fixture = PeripheralFixture()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [
      MutableCharacteristic(
        type: "2A37", properties: [.read, .broadcast, .extendedProperties], storedValue: Data([1]),
        permissions: [.readable])
    ]
    fixture.manager.add(service)
    #expect(fixture.takeCalls() == ["didAdd 180D"])
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(definition.characteristics.first?.properties == [.read, .broadcast, .extendedProperties])
  }

  @Test("2.6 The bits that require encryption are not sent")
  func encryptionRequiredBitsBecomeARequirementOfUpdates() throws {
    let fixture = PeripheralFixture()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [dynamic("2A37", [.notifyEncryptionRequired], permissions: [])]
    fixture.manager.add(service)
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(definition.characteristics.first?.properties == .notify)
    #expect(definition.characteristics.first?.updateRequirement == .encrypted)
  }

  /// Reads that demand more than a subscription: published as asked, and the log names what would protect the updates.
  @Test func warnsOfUpdatesThatAreEasierToHaveThanReads() throws {
    let table: [(CharacteristicProperties, AttributePermissions, String?)] = [
      ([.read, .notify], [.readable, .readEncryptionRequired], "notifyEncryptionRequired"),
      ([.read, .notify], [.readAuthenticationRequired], "notifyEncryptionRequired"),
      ([.read, .notify], [.readAuthorizationRequired], "notifyEncryptionRequired"),
      ([.indicate], [.readEncryptionRequired], "indicateEncryptionRequired"),
      (
        [.notify, .indicate], [.readEncryptionRequired], "notifyEncryptionRequired and indicateEncryptionRequired"
      ),
      ([.read, .notify], [.readable], nil), ([.notify], [], nil), ([.notify], [.writeEncryptionRequired], nil),
      ([.read], [.readAuthenticationRequired], nil),
      ([.read, .notifyEncryptionRequired], [.readAuthenticationRequired], nil),
      ([.read, .notify, .indicateEncryptionRequired], [.readAuthenticationRequired], nil),
    ]
    for (properties, permissions, missing) in table {
      let fixture = PeripheralFixture()
      let service = MutableService(type: "180D", primary: true)
      service.characteristics = [dynamic("2A37", properties, permissions: permissions)]
      fixture.manager.add(service)
      #expect(fixture.takeCalls() == ["didAdd 180D"])
      let lines = fixture.logged()
      #expect(lines.count == (missing == nil ? 0 : 1), "\(properties) \(permissions)")
      if let missing {
        #expect(lines.first?.contains("2A37") == true && lines.first?.hasSuffix("add the property \(missing).") == true)
      }
    }
  }

  @Test("2.7 Each add is answered in order, with the object that was added")
  func eachAddIsAnsweredInOrderWithTheObjectThatWasAdded() {
    let fixture = PeripheralFixture()
    let services = ["180D", "1800", "180F", "1801", "180A"].map {
      MutableService(type: CBUUID(string: $0), primary: true)
    }
    for service in services { fixture.manager.add(service) }
    #expect(
      fixture.takeCalls() == [
        "didAdd 180D", "didAdd 1800 uuidNotAllowed", "didAdd 180F", "didAdd 1801 uuidNotAllowed", "didAdd 180A",
      ])
    #expect(zip(fixture.recorder.services, services).allSatisfy { $0 === $1 })
  }

  @Test func aRefusalWaitsForTheAnswersBeforeIt() throws {
    let fixture = PeripheralFixture()
    fixture.host.answerNothing()
    fixture.manager.add(MutableService(type: "180D", primary: true))
    fixture.manager.add(MutableService(type: "1800", primary: true))
    #expect(fixture.takeCalls() == [])
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    fixture.say(.services(.added(definition.id, .failure(.handlesExhausted(needed: 1)))))
    #expect(fixture.takeCalls() == ["didAdd 180D outOfSpace", "didAdd 1800 uuidNotAllowed"])
  }

  @Test("2.7 Included services are published first")
  func includedServicesMustBePublishedFirst() {
    let fixture = PeripheralFixture()
    let included = MutableService(type: "180F", primary: false)
    let service = MutableService(type: "180D", primary: true)
    service.includedServices = [included]
    fixture.manager.add(service)
    #expect(fixture.takeCalls() == ["didAdd 180D invalidParameters"])
    #expect(fixture.recorder.lastText.contains("180F") && fixture.recorder.lastText.contains("add that one first"))
    fixture.manager.add(included)
    fixture.manager.add(service)
    #expect(fixture.takeCalls() == ["didAdd 180F", "didAdd 180D"])

    _ = fixture.host.takeCommands()
    fixture.manager.remove(included)
    #expect(fixture.host.takeCommands() == [])
    #expect(fixture.logged().first?.contains("is included by") == true)
    fixture.manager.remove(service)
    fixture.manager.remove(included)
    #expect(fixture.host.takeCommands() == ["remove", "remove"])
    #expect(fixture.logged() == [])
  }

  @Test("2.8 The same object twice is refused, an equal one is not")
  func theSameObjectTwiceIsRefusedAndAnEqualOneIsNot() {
    let fixture = PeripheralFixture()
    let service = fixture.publish(dynamic("2A37"))
    fixture.manager.add(service)
    #expect(fixture.takeCalls() == ["didAdd 180D invalidParameters"])
    #expect(fixture.recorder.lastText.contains("published already"))
    let twin = MutableService(type: "180D", primary: true)
    twin.characteristics = [dynamic("2A37")]
    fixture.manager.add(twin)
    #expect(fixture.takeCalls() == ["didAdd 180D"])
  }

  @Test func aCharacteristicBelongsToOneService() {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A37")
    fixture.publish(characteristic)
    let other = MutableService(type: "180F", primary: true)
    other.characteristics = [characteristic]
    fixture.manager.add(other)
    #expect(fixture.takeCalls() == ["didAdd 180F invalidParameters"])
  }

  @Test(
    "2.9 The stack's own services are refused", arguments: ["1800", "1801", "00001800-0000-1000-8000-00805F9B34FB"])
  func theStacksOwnServicesAreRefused(uuid: String) {
    let fixture = PeripheralFixture()
    fixture.manager.add(MutableService(type: CBUUID(string: uuid), primary: true))
    #expect(fixture.takeCalls().first?.hasSuffix("uuidNotAllowed") == true)
  }

  @Test(
    "2.9 Other services that Apple's systems keep are allowed", arguments: ["1805", "180A", "180F", "1812", "181E"])
  func otherServicesThatAppleKeepsAreAllowed(uuid: String) {
    let fixture = PeripheralFixture()
    fixture.manager.add(MutableService(type: CBUUID(string: uuid), primary: true))
    #expect(fixture.takeCalls() == ["didAdd \(uuid)"])
  }

  @Test("2.10 Removing a service forgets its subscribers and keeps the link")
  func removingForgetsTheSubscribersAndKeepsTheLink() {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A37")
    let service = fixture.publish(characteristic)
    let central = fixture.connect(1)
    fixture.subscribe(central, characteristic)
    _ = fixture.takeCalls()
    fixture.manager.remove(service)
    #expect(fixture.host.takeCommands() == ["remove"])
    #expect(characteristic.subscribedCentrals == [])
    fixture.manager.add(service)
    #expect(fixture.takeCalls() == ["didAdd 180D"])
    #expect(characteristic.subscribedCentrals == [])
    #expect(fixture.manager.connectedCentrals == [central])
    fixture.say(.link(central.peer, .disconnected(.remoteUserTerminatedConnection)))
    #expect(fixture.takeCalls() == ["didDisconnect 1 0x13"])
  }

  @Test func requestsForAServiceThatWasJustRemovedAreRefused() {
    let fixture = PeripheralFixture()
    let characteristic = dynamic("2A37")
    let service = fixture.publish(characteristic)
    let central = fixture.connect(1)
    let attribute = fixture.attribute(characteristic)
    fixture.recorder.answer(nil)
    fixture.read(central, characteristic)
    fixture.host.answerNothing()
    fixture.manager.remove(service)
    #expect(fixture.host.takeCommands() == ["respond 1 failure 0e", "remove"])
    fixture.say(.server(central.peer, .read(fixture.host.token(), attribute, offset: 0)))
    #expect(fixture.host.takeCommands() == ["respond 1 failure 0e"])
  }

  @Test("2.11 A service that is not primary is a secondary one")
  func secondaryServicesAreSaidToBe() throws {
    let fixture = PeripheralFixture()
    fixture.manager.add(MutableService(type: "180F", primary: false))
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(!definition.isPrimary)
  }

  @Test func removeAllServicesTakesTheIncludingOnesFirst() {
    let fixture = PeripheralFixture()
    let included = MutableService(type: "180F", primary: false)
    let service = MutableService(type: "180D", primary: true)
    service.includedServices = [included]
    fixture.manager.add(included)
    fixture.manager.add(service)
    _ = fixture.takeCalls()
    _ = fixture.host.takeCommands()
    fixture.manager.removeAllServices()
    #expect(fixture.host.takeCommands() == ["remove", "remove"])
    #expect(fixture.logged() == [])
  }

  @Test func storedValuesAreKeptByTheHost() throws {
    let fixture = PeripheralFixture()
    let characteristic = MutableCharacteristic(
      type: "2A37", properties: [.read, .write, .notify], storedValue: Data([1]), length: 1...20,
      permissions: [.readable, .writeAuthenticationRequired])
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [characteristic]
    fixture.manager.add(service)
    #expect(fixture.takeCalls() == ["didAdd 180D"])
    guard case .services(.add(let definition))? = fixture.host.commands.first else { return #expect(Bool(false)) }
    #expect(definition.characteristics.first?.value == .stored([1], length: 1...20))
    #expect(definition.characteristics.first?.permissions.write == .authenticated)

    let central = fixture.connect(1)
    _ = fixture.takeCalls()
    _ = fixture.host.takeCommands()
    fixture.say(.server(central.peer, .stored(fixture.attribute(characteristic), [2, 3])))
    #expect(fixture.takeCalls() == ["stored 1 2A37"])
    #expect(characteristic.value == Data([2, 3]))
    try fixture.manager.setStoredValue(Data([4]), for: characteristic)
    #expect(fixture.host.takeCommands() == ["set 04"])
    #expect(characteristic.value == Data([4]))
    #expect(throws: BluetoothError.self) { try fixture.manager.setStoredValue(Data(), for: characteristic) }
    #expect(throws: BluetoothError.self) { try fixture.manager.setStoredValue(Data([1]), for: constant("2A38", [1])) }
  }

  @Test func storedWritesAreReportedOnlyToADelegateWithTheMethod() {
    final class Deaf: NSObject, PeripheralManagerDelegate {
      func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
    }
    let fixture = PeripheralFixture()
    let characteristic = MutableCharacteristic(
      type: "2A37", properties: [.read, .write], storedValue: Data([1]), permissions: [.readable, .writeable])
    fixture.publish(characteristic)
    let central = fixture.connect(1)
    let (first, second) = (Deaf(), Deaf())
    fixture.manager.delegate = first
    _ = fixture.host.takeCommands()
    fixture.say(.server(central.peer, .stored(fixture.attribute(characteristic), [2])))
    #expect(fixture.host.takeCommands() == ["report stored writes false"])
    fixture.say(.server(central.peer, .stored(fixture.attribute(characteristic), [3])))
    #expect(fixture.host.takeCommands() == [], "asked once")
    fixture.manager.delegate = second
    #expect(fixture.host.takeCommands() == ["report stored writes true"], "it may have the method")
    fixture.say(.server(central.peer, .stored(fixture.attribute(characteristic), [4])))
    #expect(fixture.host.takeCommands() == ["report stored writes false"])
    fixture.manager.delegate = fixture.recorder
    _ = fixture.takeCalls()
    fixture.say(.server(central.peer, .stored(fixture.attribute(characteristic), [5])))
    #expect(fixture.takeCalls() == ["stored 1 2A37"])
    #expect(fixture.host.takeCommands() == ["report stored writes true"])
  }

  @Test(arguments: [(512, true), (513, false)])
  func aCachedValueHoldsUpTo512Octets(count: Int, isTaken: Bool) {
    let (answer, text, _) = added(constant("2A38", Array(repeating: 1, count: count)))
    #expect(answer == [isTaken ? "didAdd 180D" : "didAdd 180D invalidParameters"])
    #expect(isTaken || text.contains("513 octets"))
  }
}
