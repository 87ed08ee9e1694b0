import BLEATT
import BLECrypto
import BLEGATT
import BLEHost
import BLESMP
import BLEWire

/// What a scenario does next, drawn from its seed. The arithmetic is its own, so that another version of the standard
/// library draws the same.
struct Choices: Sendable {
  private var source: RandomSource
  /// The handles of the values that the peripheral has published.
  var known: [AttributeHandle] = []

  init(seed: UInt64) { source = .seeded(seed &* 0x2545_F491_4F6C_DD1D &+ 1) }

  mutating func number(below limit: Int) -> Int { Int(source.next() % UInt64(max(1, limit))) }
  mutating func number(_ range: ClosedRange<Int>) -> Int { range.lowerBound + number(below: range.count) }
  /// True `percent` times in a hundred.
  mutating func chance(_ percent: Int) -> Bool { number(below: 100) < percent }
  mutating func one<Element>(of all: [Element]) -> Element { all[number(below: all.count)] }
  mutating func octets(_ count: Int) -> [UInt8] { source.octets(count) }

  mutating func pairing() -> PairingSettings? {
    if chance(5) { return nil }
    var settings = PairingSettings()
    settings.ioCapability = one(of: [.noInputNoOutput, .displayOnly, .displayYesNo, .keyboardOnly, .keyboardDisplay])
    settings.requestsMITM = settings.ioCapability != .noInputNoOutput
    settings.allowsSecureConnections = chance(70)
    settings.allowsLegacy = !settings.allowsSecureConnections || chance(80)
    settings.requiresMITM = settings.requestsMITM && chance(15)
    settings.isBonding = chance(85)
    settings.asksConsent = chance(20)
    settings.pairsOnDemand = chance(60)
    settings.queuesOperationsAfterBondLoss = chance(30)
    settings.withholdsIdentity = chance(20)
    settings.bondRules.replacement = one(of: [.always, .always, .ask, .never])
    settings.maximumKeySize = chance(85) ? 16 : UInt8(number(7...15))
    settings.fixedPasskey = Passkey(123_456)
    settings.identityResolvingKey = SecretKey(UInt128(number(1...9)))
    return settings
  }

  mutating func privacy() -> PrivacySettings? {
    guard chance(30) else { return nil }
    return PrivacySettings(
      identityResolvingKey: SecretKey(UInt128(number(1...9))), rotation: .seconds(number(1...900)))
  }

  mutating func parameters() -> ConnectionParameters {
    guard chance(40) else { return ConnectionParameters() }
    let interval = UInt16(number(6...80))
    return ConnectionParameters(
      interval: interval...(interval + UInt16(number(below: 20))), latency: UInt16(number(below: 5)),
      supervisionTimeout: UInt16(number(20...600)))
  }

  mutating func intent() -> AdvertisingIntent {
    var intent = AdvertisingIntent(
      data: [2, 1, 6] + (chance(50) ? [3, 3, 0xF0, 0xFF] : []),
      scanResponse: chance(50) ? [5, 9, 0x74, 0x65, 0x73, 0x74] : [])
    intent.isConnectable = chance(85)
    intent.continuesWhileConnected = chance(60)
    intent.resumesAfterDisconnection = chance(80)
    intent.usesExtendedPDUs = chance(10)
    return intent
  }

  mutating func scan() -> ScanParameters {
    var scan = ScanParameters()
    scan.isActive = chance(60)
    scan.allowsDuplicates = chance(40)
    return scan
  }

  mutating func handle() -> AttributeHandle {
    known.isEmpty || chance(20) ? AttributeHandle(rawValue: UInt16(number(1...40))) : one(of: known)
  }

  private mutating func handles() -> ClosedRange<AttributeHandle> {
    let (a, b) = (handle(), handle())
    return chance(50) ? .first ... .last : min(a, b)...max(a, b)
  }

  mutating func operation() -> GATTClient.Operation.Kind {
    func value(_ limit: Int) -> [UInt8] { octets(number(below: limit)) }
    switch number(below: 22) {
    case 0: return .discoverPrimaryServices
    case 1: return .discoverPrimaryServicesByUUID(BluetoothUUID(0xFFF0))
    case 2: return .findIncludedServices(handles())
    case 3: return .discoverCharacteristics(handles())
    case 4: return .discoverDescriptors(handles())
    case 5, 6, 7: return .read(handle())
    case 8: return .readLong(handle())
    case 9: return .readUsingUUID(BluetoothUUID(0xFFF1), handles())
    case 10: return .readMultiple([handle(), handle()])
    case 11: return .writeWithoutResponse(handle(), value(24))
    case 12: return .writeWithoutResponse(handle(), value(8))
    case 13, 14, 15: return .write(handle(), value(22))
    case 16: return .writeLong(handle(), offset: 0, value(60))
    case 17:
      return .reliableWrite([.init(handle: handle(), value: value(6)), .init(handle: handle(), value: value(6))])
    case 18: return .subscribeToServiceChanged
    default:
      let value = handle()
      let descriptors = AttributeHandle(rawValue: value.rawValue + 1)...AttributeHandle(rawValue: value.rawValue + 1)
      return .configure(chance(50) ? .notify : chance(60) ? .indicate : [], in: descriptors)
    }
  }

  mutating func answer(to question: PairingQuestion) -> PairingAnswer? {
    if chance(4) { return nil }
    if chance(6) { return .reject }
    return switch question {
    case .consent, .replaceBond, .compare: .accept
    case .enterPasskey: Passkey(chance(92) ? 123_456 : 654_321).map { .passkey($0) }
    case .display: nil
    }
  }

  /// Services with stored, dynamic and secured values.
  static func service(_ number: UInt32) -> ServiceDefinition {
    func characteristic(
      _ id: UInt32, _ properties: GATTCharacteristicProperties, _ access: AccessRequirement, _ value: ValueSource,
      updates: AccessRequirement = .open
    ) -> CharacteristicDefinition {
      CharacteristicDefinition(
        id: AttributeID(rawValue: number * 10 + id), uuid: BluetoothUUID(UInt16(0xFFF0 + id)),
        properties: properties, permissions: GATTAttributePermissions(read: access, write: access),
        updateRequirement: updates, value: value)
    }
    return ServiceDefinition(
      id: ServiceID(rawValue: number), uuid: BluetoothUUID(UInt16(0xFFEF + number)),
      characteristics: [
        characteristic(1, [.read, .write, .notify], .open, .stored([1, 2, 3], length: 0...64)),
        characteristic(2, [.read, .write, .indicate], .open, .dynamic),
        characteristic(3, [.read, .write, .writeWithoutResponse], .encrypted, .stored([7], length: 0...20)),
        characteristic(4, [.read, .write, .authenticatedSignedWrites], .open, .stored([7], length: 0...20)),
        characteristic(5, [.read, .notify], .encrypted, .dynamic, updates: .encrypted),
        characteristic(6, [.read, .write, .notify], .authenticated, .stored([9], length: 0...20)),
        characteristic(
          7, [.read, .write], AccessRequirement(security: .encrypted, authorization: true),
          .stored([8], length: 0...20)),
      ])
  }
}
