import BLEHost
import BLESMP
import BLEWire
import Testing
import ToolCore

@testable import BLEKit
@testable import ble

struct AdapterUseTests {
  private static func open(_ name: String) async throws -> Adapter {
    var options = AdapterOptions(transport: "virtual:\(name)")
    options.pairing.storage = .memory
    let adapter = Adapter(options)
    try await adapter.waitUntilPoweredOn(timeout: nil)
    return adapter
  }

  /// Anybody can advertise the address of a device as a name: what is written would reach a stranger, without
  /// encryption.
  @Test func aNameThatReadsAsAnAddressIsNotTakenForIt() async throws {
    let (lock, stranger) = (try await Self.open("find-lock"), try await Self.open("find-stranger"))
    let user = try await Self.open("find-user")
    let real = try #require(lock.address)
    let attack = Task { try await stranger.advertise(Advertisement(localName: real.octets.description)) }
    defer { attack.cancel() }
    // The stranger is in range before the device is.
    for try await found in user.scan(ScanOptions())
    where found.contents.localName?.displayText == real.octets.description { break }
    let progress = SearchProgress(real.octets.description.lowercased(), with: user, timeout: .seconds(600))
    let search = Task { try await user.search(progress.target, within: .seconds(600)) }
    let device = Task { try await lock.advertise(Advertisement(localName: "Lock")) }
    defer { device.cancel() }
    let found = try await search.value
    await progress.end()
    #expect(found.address == real)
  }

  @Test(arguments: [false, true]) func aNewBondIsAsStrongAsTheLostOne(isAuthenticated: Bool) throws {
    let device = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    let strength = KeyStrength(size: 16, isAuthenticated: isAuthenticated, isSecureConnections: true)
    let arguments = try ParsedArguments(ValueCommands.read, ["Lock", "2A6E"])
    let command = AdapterUse.command(
      for: BLEError(BondLoss.keysDiffer), of: device, with: Bond(identity: device, strength: strength), arguments)
    let pair = "ble pair C0:11:22:33:44:55-random" + (isAuthenticated ? " --authenticated" : "")
    #expect(command == "ble bonds --remove C0:11:22:33:44:55-random && \(pair)")
  }
}
