import AdapterFixtures
import BLELinux
import BLEWire
import Foundation
import Glibc
import Testing

@testable import BLEAdapter

/// The devices that a program has connected to, and the file that keeps them between runs.
@Suite struct DeviceFileTests {
  private let folder: BondFixtures.Folder
  private let log = Lines()

  init() throws { folder = try BondFixtures.Folder() }

  private func address(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
  }

  /// A run of a program.
  private func run() -> DeviceFile {
    DeviceFile(path: folder.file, log: { [log] in log.append($0.text) })
  }

  private func isKnown(_ number: UInt64, to devices: DeviceFile) -> Bool {
    devices.device(of: PeerIdentifier(address(number))) == address(number)
  }

  @Test("6.17 An identifier of an earlier run names a device that the program has connected to")
  func anIdentifierOfAnEarlierRunNamesItsDevice() {
    let first = AdapterDevices(run())
    first.note(.seen(address(1), name: "Clock", services: ["180D"]))
    first.note(.seen(address(2), name: "Neighbour", services: []))
    first.note(.connected(address(1)))
    first.remembered?.settle()
    let second = AdapterDevices(run())
    #expect(second.device(of: PeerIdentifier(address(1))) == AdapterDevices.Device(address: address(1), name: "Clock"))
    #expect(second.device(of: PeerIdentifier(address(2))) == nil, "it was seen, and not connected to")
    #expect(AdapterDevices().device(of: PeerIdentifier(address(1))) == nil, "without a file nothing is remembered")
  }

  @Test("6.17 A device keeps its name across starts, also one that is found out on a link")
  func aDeviceKeepsItsName() {
    let first = AdapterDevices(run())
    first.note(.connected(address(1)))
    first.remembered?.settle()
    first.note(.named(address(1), "Lamp"))
    first.remembered?.settle()
    // A run that finds out no name keeps the one of the file.
    let second = AdapterDevices(run())
    second.note(.connected(address(1)))
    second.remembered?.settle()
    let third = AdapterDevices(run())
    third.note(.seen(address(1), name: nil, services: ["180D"]))
    #expect(third.device(of: PeerIdentifier(address(1)))?.name == "Lamp")
    third.note(.seen(address(1), name: "Light", services: []))
    third.note(.connected(address(1)))
    third.remembered?.settle()
    #expect(AdapterDevices(run()).device(of: PeerIdentifier(address(1)))?.name == "Light")
  }

  /// Vol 3, Part C, 12.1.
  @Test(arguments: [248, 249]) func aNameHasTheOctetsOfTheDeviceNameAtMost(count: Int) {
    let first = run()
    first.connected(to: address(1), name: String(repeating: "a", count: count))
    first.settle()
    let second = run()
    #expect(isKnown(1, to: second) && second.name(of: address(1))?.utf8.count == (count == 248 ? 248 : nil))
  }

  @Test func theFileHasTheAddressesForTheOwnerAlone() throws {
    let devices = run()
    devices.connected(to: address(1), name: "Lamp")
    devices.connected(to: DeviceAddress(octets: BD_ADDR(0x0011_2233_4455), kind: .public))
    // A private address is another one soon.
    let changing = DeviceAddress(octets: BD_ADDR(0x4000_0000_0001), kind: .random)
    devices.connected(to: changing)
    devices.settle()
    #expect(folder.permissions(folder.file) == 0o600)
    let octets = try #require(FileManager.default.contents(atPath: folder.file))
    let text = String(decoding: octets, as: UTF8.self).filter { !$0.isWhitespace }
    #expect(
      text
        == #"{"devices":[{"address":"C0:00:00:00:00:01","name":"Lamp","random":true},{"address":"00:11:22:33:44:55","random":false}],"program":"BluetoothLE0.1.0","version":1}"#
    )
    #expect(run().device(of: PeerIdentifier(changing)) == nil)
  }

  /// The limit, and one past it.
  @Test(arguments: [0, 1]) func theDeviceThatWasUsedLongestAgoMakesRoom(more: Int) {
    let first = run()
    for number in 1...UInt64(DeviceFile.limit) { first.connected(to: address(number)) }
    first.connected(to: address(1))
    first.settle()
    let second = run()
    #expect(isKnown(2, to: second))
    if more == 1 { second.connected(to: address(5000)) }
    second.settle()
    let third = run()
    #expect(third.all.count == DeviceFile.limit && isKnown(1, to: third) && isKnown(3, to: third))
    #expect(isKnown(2, to: third) == (more == 0) && isKnown(5000, to: third) == (more == 1))
  }

  /// Only the first connection of a run is written at once: others change the order alone.
  @Test func aDeviceThatConnectsAgainAndAgainIsWrittenOnce() throws {
    let devices = run()
    for number in 1...2 as ClosedRange<UInt64> { devices.connected(to: address(number)) }
    devices.settle()
    func identity() -> FileIdentity? { FileIdentity(at: folder.file) }
    let before = identity()
    for _ in 1...100 { for number in 1...2 as ClosedRange<UInt64> { devices.connected(to: address(number)) } }
    #expect(identity() == before && devices.all == [address(1), address(2)])
    devices.connected(to: address(1))
    devices.settle()
    #expect(identity() != before && run().all == [address(2), address(1)])
  }

  @Test func programsShareAFile() {
    let (first, second) = (run(), run())
    first.connected(to: address(1))
    first.settle()
    second.connected(to: address(2))
    second.settle()
    #expect(run().all == [address(1), address(2)])
  }

  @Test func aDeviceThatIsRemovedStaysAway() {
    let first = run()
    for number in 1...2 as ClosedRange<UInt64> { first.connected(to: address(number)) }
    first.settle()
    let other = run()
    #expect(isKnown(1, to: other) && other.remove(address(1)) && !other.remove(address(1)))
    #expect(!isKnown(1, to: other) && run().all == [address(2)])
    // A program that has read the file before writes its own devices only.
    let third = run()
    #expect(third.device(of: PeerIdentifier(address(2))) != nil)
    #expect(other.remove(address(2)))
    third.connected(to: address(3))
    third.settle()
    #expect(run().all == [address(3)])
  }

  @Test(arguments: [0o640, 0o604, 0o620])
  func aFileThatOthersMayAccessIsNeitherReadNorReplaced(permissions: Int) throws {
    let first = run()
    first.connected(to: address(1))
    first.settle()
    #expect(chmod(folder.file, mode_t(permissions)) == 0)
    let before = FileManager.default.contents(atPath: folder.file)
    let second = run()
    #expect(!isKnown(1, to: second))
    for number in 2...3 as ClosedRange<UInt64> {
      second.connected(to: address(number))
      second.settle()
    }
    let lines = log.take()
    #expect(
      lines.count == 2 && lines.allSatisfy { $0.hasPrefix("\(folder.file): the identifiers of devices cannot be ") })
    #expect(FileManager.default.contents(atPath: folder.file) == before)
  }

  @Test func aFileOfSomethingElseStays() throws {
    folder.write(Data("{}".utf8))
    let devices = run()
    #expect(!isKnown(1, to: devices))
    devices.connected(to: address(1))
    devices.settle()
    let lines = log.take()
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains("it is not a file of devices") })
    #expect(FileManager.default.contents(atPath: folder.file) == Data("{}".utf8))
  }

  /// The file of a program that knows more: nothing in it is lost, and the line says whose it is.
  @Test func aFileOfANewerVersionStays() throws {
    let file = Data(
      """
      {"version": 2, "program": "BluetoothLE 9.1", "devices": [{"address": "C0:00:00:00:00:01", "random": true,
      "group": 7}], "groups": {"7": "kitchen"}}
      """.utf8)
    folder.write(file)
    let devices = run()
    #expect(!isKnown(1, to: devices) && devices.all.isEmpty)
    #expect(!devices.remove(address(1)))
    devices.connected(to: address(2))
    devices.settle()
    let lines = log.take()
    #expect(lines.count == 2)
    for line in lines {
      #expect(line.contains("it has version 2, written by BluetoothLE 9.1, and this program reads version 1"))
      #expect(line.contains("Use the program that wrote it or a newer one"))
    }
    #expect(FileManager.default.contents(atPath: folder.file) == file)
  }

  @Test func theFileIsBesideTheBonds() {
    let standard = AdapterOptions.DeviceStorage.standard
    #expect(standard.path(beside: "/var/lib/clock.json") == "/var/lib/clock.devices.json")
    #expect(standard.path(beside: "/var/lib/clock") == "/var/lib/clock.devices.json")
    #expect(standard.path(beside: nil) == nil)
    #expect(AdapterOptions.DeviceStorage.file("/a").path(beside: nil) == "/a")
    #expect(AdapterOptions.DeviceStorage.memory.path(beside: "/var/lib/clock.json") == nil)
  }
}
