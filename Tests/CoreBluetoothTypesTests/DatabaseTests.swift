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
    let stage = Stage()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = characteristics
    stage.manager.add(service)
    let answer = stage.heard()
    return (answer, stage.recorder.lastText, !stage.host.commands.isEmpty)
  }

  @Test(
    arguments: [
      ([.read, .notify], [.readable]), ([.read, .write], [.readable]), ([.read], [.readable, .writeable]),
      ([.indicate], []),
    ] as [(CharacteristicProperties, AttributePermissions)])
  func rule2_1_cachedValuesMustBeReadOnly(properties: CharacteristicProperties, permissions: AttributePermissions) {
    let (answer, text, posted) = added(
      MutableCharacteristic(type: "2A19", properties: properties, value: Data([100]), permissions: permissions))
    #expect(answer == ["didAdd 180D invalidParameters"])
    #expect(!posted)
    #expect(text.contains("characteristics with cached values must be read-only") && text.contains("2A19"))
    #expect(text.contains("pass value: nil"))
  }

  @Test(
    arguments: [
      ([.read], [.readable]), ([.read], [.readEncryptionRequired]), ([], []),
    ] as [(CharacteristicProperties, AttributePermissions)])
  func rule2_1_readOnlyCachedValuesAreMarkedReadable(
    properties: CharacteristicProperties, permissions: AttributePermissions
  ) throws {
    let stage = Stage()
    stage.host.answerNothing()
    let service = MutableService(type: "180F", primary: true)
    service.characteristics = [
      MutableCharacteristic(type: "2A19", properties: properties, value: Data([100]), permissions: permissions)
    ]
    stage.manager.add(service)
    guard case .addService(let definition)? = stage.host.commands.first else { return #expect(Bool(false)) }
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

  @Test func rule2_2_cachedValuesBelongToTheHostAndDynamicOnesToTheDelegate() throws {
    let stage = Stage()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [constant("2A38", [1]), dynamic("2A37", [.notify], permissions: [])]
    stage.manager.add(service)
    stage.settle()
    guard case .addService(let definition)? = stage.host.commands.first else { return #expect(Bool(false)) }
    #expect(definition.characteristics.map(\.value) == [.fixed([1]), .dynamic])
  }

  @Test func rule2_3_theValueIsTheApplicationsAfterPublication() {
    let stage = Stage()
    let characteristic = dynamic("2A37")
    stage.publish(characteristic)
    characteristic.value = Data([7])
    #expect(stage.host.takeCommands() == [])
    stage.read(stage.connect(1), characteristic)
    #expect(stage.heard() == ["didConnect 1", "didReceiveRead 2A37 0"])
    #expect(stage.host.takeCommands() == ["respond 1 success 07"])
  }

  @Test func rule2_4_twoDescriptorsAreTheApplications() {
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
  func rule2_4_otherDescriptorsAreRefused(uuid: String, value: Data, words: String) {
    let characteristic = dynamic("2A19")
    characteristic.descriptors = [MutableDescriptor(type: CBUUID(string: uuid), value: value)]
    let (answer, text, _) = added(characteristic)
    #expect(answer == ["didAdd 180D invalidParameters"])
    #expect(text.contains(words) && text.contains(uuid))
  }

  @Test func rule2_4_theTypedInitialiserMakesAnyDescriptor() throws {
    let stage = Stage()
    let characteristic = dynamic("2A19")
    let descriptor = MutableDescriptor(
      type: "2908", storedValue: Data([1, 2]), length: 2...2, permissions: [.readable, .writeable])
    characteristic.descriptors = [descriptor]
    let service = stage.publish(characteristic)
    #expect(service.characteristics?.count == 1)
    let central = stage.connect(1)
    _ = stage.heard()
    stage.say(.stored(central.peer, stage.attribute(descriptor), [3, 4]))
    #expect(stage.heard() == ["stored 1 2908"])
    #expect(descriptor.value as? Data == Data([3, 4]))
    try stage.manager.setStoredValue(Data([5, 6]), for: descriptor)
    #expect(stage.host.takeCommands() == ["set 0506"])
    #expect(throws: BluetoothError.self) { try stage.manager.setStoredValue(Data([5]), for: descriptor) }
  }

  @Test(arguments: [CharacteristicProperties.broadcast, .extendedProperties])
  func rule2_5_propertiesNoLocalCharacteristicHas(property: CharacteristicProperties) {
    let (answer, text, _) = added(dynamic("2A37", [.read, property]))
    #expect(answer == ["didAdd 180D invalidParameters"])
    #expect(text.contains("2A37"))
  }

  @Test func rule2_5_aStoredCharacteristicMayHaveThem() throws {
    let stage = Stage()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [
      MutableCharacteristic(
        type: "2A37", properties: [.read, .broadcast, .extendedProperties], storedValue: Data([1]),
        permissions: [.readable])
    ]
    stage.manager.add(service)
    #expect(stage.heard() == ["didAdd 180D"])
    guard case .addService(let definition)? = stage.host.commands.first else { return #expect(Bool(false)) }
    #expect(definition.characteristics.first?.properties == [.read, .broadcast, .extendedProperties])
  }

  @Test func rule2_6_encryptionRequiredBitsBecomeARequirementOfUpdates() throws {
    let stage = Stage()
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [dynamic("2A37", [.notifyEncryptionRequired], permissions: [])]
    stage.manager.add(service)
    guard case .addService(let definition)? = stage.host.commands.first else { return #expect(Bool(false)) }
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
      let stage = Stage()
      let service = MutableService(type: "180D", primary: true)
      service.characteristics = [dynamic("2A37", properties, permissions: permissions)]
      stage.manager.add(service)
      #expect(stage.heard() == ["didAdd 180D"])
      let lines = stage.logged()
      #expect(lines.count == (missing == nil ? 0 : 1), "\(properties) \(permissions)")
      if let missing {
        #expect(lines.first?.contains("2A37") == true && lines.first?.hasSuffix("add the property \(missing).") == true)
      }
    }
  }

  @Test func rule2_7_eachAddIsAnsweredInOrderWithTheObjectThatWasAdded() {
    let stage = Stage()
    let services = ["180D", "1800", "180F", "1801", "180A"].map {
      MutableService(type: CBUUID(string: $0), primary: true)
    }
    for service in services { stage.manager.add(service) }
    #expect(
      stage.heard() == [
        "didAdd 180D", "didAdd 1800 uuidNotAllowed", "didAdd 180F", "didAdd 1801 uuidNotAllowed", "didAdd 180A",
      ])
    #expect(zip(stage.recorder.services, services).allSatisfy { $0 === $1 })
  }

  @Test func rule2_7_aRefusalWaitsForTheAnswersBeforeIt() throws {
    let stage = Stage()
    stage.host.answerNothing()
    stage.manager.add(MutableService(type: "180D", primary: true))
    stage.manager.add(MutableService(type: "1800", primary: true))
    #expect(stage.heard() == [])
    guard case .addService(let definition)? = stage.host.commands.first else { return #expect(Bool(false)) }
    stage.say(.serviceAdded(definition.id, .failure(.handlesExhausted(needed: 1))))
    #expect(stage.heard() == ["didAdd 180D outOfSpace", "didAdd 1800 uuidNotAllowed"])
  }

  @Test func rule2_7_includedServicesMustBePublishedFirst() {
    let stage = Stage()
    let included = MutableService(type: "180F", primary: false)
    let service = MutableService(type: "180D", primary: true)
    service.includedServices = [included]
    stage.manager.add(service)
    #expect(stage.heard() == ["didAdd 180D invalidParameters"])
    #expect(stage.recorder.lastText.contains("180F") && stage.recorder.lastText.contains("add that one first"))
    stage.manager.add(included)
    stage.manager.add(service)
    #expect(stage.heard() == ["didAdd 180F", "didAdd 180D"])

    _ = stage.host.takeCommands()
    stage.manager.remove(included)
    #expect(stage.host.takeCommands() == [])
    #expect(stage.logged().first?.contains("is included by") == true)
    stage.manager.remove(service)
    stage.manager.remove(included)
    #expect(stage.host.takeCommands() == ["remove", "remove"])
    #expect(stage.logged() == [])
  }

  @Test func rule2_8_theSameObjectTwiceIsRefusedAndAnEqualOneIsNot() {
    let stage = Stage()
    let service = stage.publish(dynamic("2A37"))
    stage.manager.add(service)
    #expect(stage.heard() == ["didAdd 180D invalidParameters"])
    #expect(stage.recorder.lastText.contains("published already"))
    let twin = MutableService(type: "180D", primary: true)
    twin.characteristics = [dynamic("2A37")]
    stage.manager.add(twin)
    #expect(stage.heard() == ["didAdd 180D"])
  }

  @Test func rule2_8_aCharacteristicBelongsToOneService() {
    let stage = Stage()
    let characteristic = dynamic("2A37")
    stage.publish(characteristic)
    let other = MutableService(type: "180F", primary: true)
    other.characteristics = [characteristic]
    stage.manager.add(other)
    #expect(stage.heard() == ["didAdd 180F invalidParameters"])
  }

  @Test(arguments: ["1800", "1801", "00001800-0000-1000-8000-00805F9B34FB"])
  func rule2_9_theStacksOwnServicesAreRefused(uuid: String) {
    let stage = Stage()
    stage.manager.add(MutableService(type: CBUUID(string: uuid), primary: true))
    #expect(stage.heard().first?.hasSuffix("uuidNotAllowed") == true)
  }

  @Test(arguments: ["1805", "180A", "180F", "1812", "181E"])
  func rule2_9_otherServicesThatAppleKeepsAreAllowed(uuid: String) {
    let stage = Stage()
    stage.manager.add(MutableService(type: CBUUID(string: uuid), primary: true))
    #expect(stage.heard() == ["didAdd \(uuid)"])
  }

  @Test func rule2_10_removingForgetsTheSubscribersAndKeepsTheLink() {
    let stage = Stage()
    let characteristic = dynamic("2A37")
    let service = stage.publish(characteristic)
    let central = stage.connect(1)
    stage.subscribe(central, characteristic)
    _ = stage.heard()
    stage.manager.remove(service)
    #expect(stage.host.takeCommands() == ["remove"])
    #expect(characteristic.subscribedCentrals == [])
    stage.manager.add(service)
    #expect(stage.heard() == ["didAdd 180D"])
    #expect(characteristic.subscribedCentrals == [])
    #expect(stage.manager.connectedCentrals == [central])
    stage.say(.disconnected(central.peer, .remoteUserTerminatedConnection))
    #expect(stage.heard() == ["didDisconnect 1 0x13"])
  }

  @Test func rule2_10_requestsForAServiceThatWasJustRemovedAreRefused() {
    let stage = Stage()
    let characteristic = dynamic("2A37")
    let service = stage.publish(characteristic)
    let central = stage.connect(1)
    let attribute = stage.attribute(characteristic)
    stage.recorder.answer(nil)
    stage.read(central, characteristic)
    stage.host.answerNothing()
    stage.manager.remove(service)
    #expect(stage.host.takeCommands() == ["respond 1 failure 0e", "remove"])
    stage.say(.read(central.peer, stage.host.token(), attribute, offset: 0))
    #expect(stage.host.takeCommands() == ["respond 1 failure 0e"])
  }

  @Test func rule2_11_secondaryServicesAreSaidToBe() throws {
    let stage = Stage()
    stage.manager.add(MutableService(type: "180F", primary: false))
    guard case .addService(let definition)? = stage.host.commands.first else { return #expect(Bool(false)) }
    #expect(!definition.isPrimary)
  }

  @Test func removeAllServicesTakesTheIncludingOnesFirst() {
    let stage = Stage()
    let included = MutableService(type: "180F", primary: false)
    let service = MutableService(type: "180D", primary: true)
    service.includedServices = [included]
    stage.manager.add(included)
    stage.manager.add(service)
    _ = stage.heard()
    _ = stage.host.takeCommands()
    stage.manager.removeAllServices()
    #expect(stage.host.takeCommands() == ["remove", "remove"])
    #expect(stage.logged() == [])
  }

  @Test func storedValuesAreKeptByTheHost() throws {
    let stage = Stage()
    let characteristic = MutableCharacteristic(
      type: "2A37", properties: [.read, .write, .notify], storedValue: Data([1]), length: 1...20,
      permissions: [.readable, .writeAuthenticationRequired])
    let service = MutableService(type: "180D", primary: true)
    service.characteristics = [characteristic]
    stage.manager.add(service)
    #expect(stage.heard() == ["didAdd 180D"])
    guard case .addService(let definition)? = stage.host.commands.first else { return #expect(Bool(false)) }
    #expect(definition.characteristics.first?.value == .stored([1], length: 1...20))
    #expect(definition.characteristics.first?.permissions.write == .authenticated)

    let central = stage.connect(1)
    _ = stage.heard()
    _ = stage.host.takeCommands()
    stage.say(.stored(central.peer, stage.attribute(characteristic), [2, 3]))
    #expect(stage.heard() == ["stored 1 2A37"])
    #expect(characteristic.value == Data([2, 3]))
    try stage.manager.setStoredValue(Data([4]), for: characteristic)
    #expect(stage.host.takeCommands() == ["set 04"])
    #expect(characteristic.value == Data([4]))
    #expect(throws: BluetoothError.self) { try stage.manager.setStoredValue(Data(), for: characteristic) }
    #expect(throws: BluetoothError.self) { try stage.manager.setStoredValue(Data([1]), for: constant("2A38", [1])) }
  }

  @Test(arguments: [(512, true), (513, false)])
  func aCachedValueHoldsUpTo512Octets(count: Int, isTaken: Bool) {
    let (answer, text, _) = added(constant("2A38", Array(repeating: 1, count: count)))
    #expect(answer == [isTaken ? "didAdd 180D" : "didAdd 180D invalidParameters"])
    #expect(isTaken || text.contains("513 octets"))
  }
}
