import BLEGAP
import BLEKit
import BLEWire
import Testing
import ToolCore

@testable import ble

/// Which device of a scan is the one that the user has named.
struct DeviceSearchTests {
  private let device = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
  private let other = DeviceAddress(octets: BD_ADDR(0xC011_2233_4466), kind: .random)

  private func named(_ name: String, isComplete: Bool = true) -> AdvertisedData {
    var contents = AdvertisedData()
    contents.localName = LocalName(name, isComplete: isComplete)
    return contents
  }

  /// The devices that are the target, of several in turn.
  private func found(_ search: inout DeviceSearch, _ devices: [(DeviceAddress, AdvertisedData)]) -> [Bool] {
    var found: [Bool] = []
    for (address, contents) in devices { found.append(search.add(address, contents)) }
    return found
  }

  @Test func findsANameInEitherCase() {
    var search = DeviceSearch("kitchen LAMP", bonds: [])
    let results = found(
      &search, [(other, named("Kitchen")), (other, AdvertisedData()), (device, named("Kitchen Lamp"))])
    #expect(results == [false, false, true] && search.count == 2)
  }

  @Test func paddingIsNotPartOfAName() {
    var search = DeviceSearch("Pad", bonds: [])
    #expect(found(&search, [(device, named("Pad\0\0\0\0"))]) == [true])
  }

  @Test func findsAShortenedNameThatIsWhatTheUserHasNamed() {
    var search = DeviceSearch("Kitchen", bonds: [])
    #expect(found(&search, [(device, named("Kitchen", isComplete: false))]) == [true])
  }

  /// A link to a device whose whole name is another one would be worse than an error.
  @Test func namesTheDevicesWithAShortenedNameAndConnectsToNone() {
    var search = DeviceSearch("Kitchen Lamp", bonds: [])
    // A complete name is another one.
    let results = found(
      &search,
      [
        (device, named("Kitchen", isComplete: false)), (other, named("Kitchen")),
        (other, named("Lamp", isComplete: false)),
      ])
    #expect(results == [false, false, false])
    let error = search.notFound(after: .seconds(30), scan: "ble scan")
    #expect(error.status == 68)
    #expect(
      error.description
        == "no device 'Kitchen Lamp' was found in 30 s, but C0:11:22:33:44:55 (random) advertises the beginning of this name: a long name is "
        + "shortened. Use the address C0:11:22:33:44:55-random, or the name 'Kitchen'")
  }

  @Test func namesTheCommandThatShowsTheDevicesInRange() {
    let error = DeviceSearch("Lamp", bonds: []).notFound(after: .milliseconds(1_500), scan: "ble scan --transport x")
    #expect(error.description.hasPrefix("no device 'Lamp' was found in 1.5 s. "))
    #expect(error.description.hasSuffix(" No device was received. Run: ble scan --transport x"))
  }

  /// Those with names first, then the strongest.
  @Test func listsTheDevicesThatWereFound() {
    var search = DeviceSearch("Kitchn lamp", bonds: [])
    for number in 1...6 {
      let address = DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public)
      let isFound = search.add(address, AdvertisedData(), strength: -40 - number)
      #expect(!isFound)
    }
    // The name is in the scan response; a later report without it does not remove it.
    _ = search.add(device, named("Kitchen Lamp"), strength: -90)
    _ = search.add(device, AdvertisedData(), strength: -90)
    _ = search.add(other, named("\u{1B}Radio"), strength: -80)
    #expect(
      search.notFound(after: .seconds(30), scan: "ble scan").description
        == "no device 'Kitchn lamp' was found in 30 s. Is it switched on, near, and not connected elsewhere? Did you mean "
        + "'Kitchen Lamp'? Received were '\\u{1B}Radio' (C0:11:22:33:44:66-random), 'Kitchen Lamp' "
        + "(C0:11:22:33:44:55-random), 00:00:00:00:00:01-public, 00:00:00:00:00:02-public, 00:00:00:00:00:03-public and 3 "
        + "more. Run: ble scan")
  }

  @Test(arguments: [
    ("C0:11:22:33:44", "has six octets"), ("C0:11:22:33:44:55:66", "has six octets"), ("c0:11:22:33", "has six octets"),
    ("C0:11:22:33:44:5G", "has six octets"), ("C0-11-22-33-44", "has six octets"),
    ("c0-11-22-33-44-55", "C0:11:22:33:44:55"), ("c0-11-22-33-44-55-random", "C0:11:22:33:44:55"),
    ("C0 11 22 33 44 55", "C0:11:22:33:44:55"), ("c01122334455", "C0:11:22:33:44:55"),
    ("0xC01122334455", "C0:11:22:33:44:55"), ("c011.2233.4455", "C0:11:22:33:44:55"),
    ("c:1:2:3:4:5", "0C:01:02:03:04:05"),
    ("C0:11:22:33:44:55-rand", "-public, -random or nothing"),
    ("C0:11:22:33:44:55/random", "-public, -random or nothing"),
  ])
  func aMisspeltAddressIsAnError(text: String, hint: String) {
    #expect(AddressWord.misspelling(in: text)?.contains(hint) == true)
    let error = #expect(throws: ToolError.self) { try DeviceSearch.check(text, of: ValueCommands.read) }
    #expect(error?.status == 64)
  }

  @Test(arguments: [
    "", "Lamp", "C0:11:22:33:44:55", "C0:11:22:33:44:55-random", "c0:11:22:33:44:55 (public)", "ATC_123456",
    "2026-11-28",
    "192.168.0.17", "10.0.0.1", "123456789012", "12:30", "AB-CD", "Cafe", "0x12", "a:b:c", "x:y:z:t:u:value", "-random",
    "::::",
    "Décor-12", "１２:12:12:12:12",
  ])
  func anAddressAndANameAreNotMisspelt(text: String) { #expect(AddressWord.misspelling(in: text) == nil) }

  @Test func remembersDevicesUpToTheLimit() {
    var search = DeviceSearch("Lamp", bonds: [])
    for number in 0...DeviceSearch.limit {
      let address = DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public)
      let isFound = search.add(address, named("L", isComplete: false))
      #expect(!isFound)
    }
    #expect(search.count == DeviceSearch.limit)
    // One past the limit is found nevertheless.
    #expect(found(&search, [(other, named("Lamp"))]) == [true])
  }

  @Test(arguments: ["C0:11:22:33:44:55-public", "c0:11:22:33:44:55-PUBLIC", "C0:11:22:33:44:55 (public)"])
  func aWordDecidesTheKindOfAnAddress(_ word: String) {
    let stranger = DeviceAddress(octets: device.octets, kind: .publicIdentity)
    var search = DeviceSearch(word, bonds: [device])
    #expect(found(&search, [(device, named(word)), (stranger, AdvertisedData())]) == [false, true])
  }

  @Test func findsANameThatComesLaterOrAlternates() {
    var search = DeviceSearch("Dev", bonds: [])
    #expect(
      found(&search, [(device, AdvertisedData()), (device, named("Abc")), (device, named("Dev"))]) == [
        false, false, true,
      ])
    let later = search.add(device, AdvertisedData(), name: "Dev")
    #expect(later)
  }

  @Test func aShortenedNameMayComeLater() {
    var search = DeviceSearch("Kitchen Lamp", bonds: [])
    _ = found(&search, [(device, AdvertisedData()), (device, named("Kitchen", isComplete: false))])
    #expect(search.notFound(after: .seconds(1), scan: "ble scan").description.contains("'Kitchen'"))
  }

  @Test func aBondDecidesTheKindOfAnAddress() {
    let stranger = DeviceAddress(octets: device.octets, kind: .public)
    var search = DeviceSearch("c0:11:22:33:44:55", bonds: [device, other])
    #expect(found(&search, [(stranger, AdvertisedData()), (device, AdvertisedData())]) == [false, true])
    var unbonded = DeviceSearch("c0:11:22:33:44:55", bonds: [other])
    #expect(
      found(&unbonded, [(stranger, AdvertisedData()), (other, named("C0:11:22:33:44:55"))]) == [true, false])
  }
}

/// What does not fit into the advertisement of `ble serve`.
struct AdvertisementNoticeTests {
  @Test(arguments: [29, 30]) func saysThatANameIsShortened(octets: Int) {
    let name = String(repeating: "n", count: octets)
    let notice = ServeCommand.notice(Advertisement(localName: name, serviceUUIDs: ["180F"]))
    // 31 octets of the scan response, without the two of the header.
    guard octets > 29 else { return #expect(notice == nil) }
    #expect(
      notice
        == "the name '\(name)' has 30 octets and does not fit into the advertisement: '\(name.dropLast())' (29 octets) is sent, and devices "
        + "that search for the whole name do not find it. Shorten it, or list fewer services in \"advertise\"")
  }

  @Test func saysWhichServicesDoNotFit() {
    let uuids = (0..<4).map { BluetoothUUID("12345678-1234-1234-1234-12345678900\($0)") }.compactMap { $0 }
    let notice = ServeCommand.notice(Advertisement(serviceUUIDs: uuids + ["180F"])) ?? ""
    #expect(
      notice.hasPrefix("these services do not fit into the advertisement") && notice.contains("\(uuids[3].uuidString)"))
    #expect(!notice.contains(uuids[0].uuidString))
    #expect(ServeCommand.notice(Advertisement(serviceUUIDs: ["180F", "181A"])) == nil)
  }
}
