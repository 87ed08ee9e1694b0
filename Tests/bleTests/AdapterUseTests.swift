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

  /// The link was not encrypted, because no user could answer: the command has to ask one.
  @Test func aPairingThatCouldNotBeAuthenticatedIsMadeOnATerminal() throws {
    let device = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    let failure = PairingFailure(.authenticationRequirements, .peer)
    let read = try ParsedArguments(ValueCommands.read, ["Lock", "2A6E"])
    let error = AdapterUse.explained(BLEError(failure), of: device, with: nil, read)
    #expect(
      error.description.hasSuffix(
        "Pair where a passkey can be displayed or entered, or lower the requirements. "
          + "Run: ble pair C0:11:22:33:44:55-random --authenticated"))
    let pair = try ParsedArguments(PairCommand.pair, ["Lock"])
    let again = AdapterUse.explained(BLEError(failure), of: device, with: nil, pair)
    #expect(
      PairingQuestions.isInteractive
        || again.description.hasSuffix(". Passkeys are displayed and entered on a terminal: run the command on one"))
  }

  /// Another program would remove the bond from the file, and the shell would still use it.
  @Test func theShellRemovesALostBondItself() throws {
    let device = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    let arguments = try ParsedArguments(ValueCommands.read, ["Lock", "2A6E"])
    let error = AdapterUse.explained(
      BLEError(BondLoss.keysDiffer), of: device, with: nil, arguments, inShell: "read")
    #expect(error.description.hasSuffix(". Run: forget, then connect, then pair"))
  }

  /// A link that ends with another key, while no command runs that would report it.
  @Test func theShellSaysWhyALinkWithAnotherKeyEnds() throws {
    let device = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    let strength = KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)
    let bond = Bond(identity: device, strength: strength)
    func end(_ reason: DisconnectReason) -> BLEError { BLEError(.disconnected, "x", disconnectReason: reason) }
    let advice = ShellSession.advice(after: end(.terminatedDueToMICFailure), with: bond)
    #expect(advice.hasSuffix("remove the bond there, too, and run forget, then connect, then pair --authenticated"))
    #expect(ShellSession.advice(after: end(.connectionTimeout), with: bond).isEmpty)
    #expect(ShellSession.advice(after: end(.terminatedDueToMICFailure), with: nil).isEmpty)
  }

  /// The bond is of use to the program that has the address: it is not removed on a radio, nor where `--address` sets
  /// the address.
  @Test(arguments: [
    (
      "tcp-client:127.0.0.1:6402", false,
      ". The address belongs to the place at the endpoint of the radio, and another program has the place of C0:FF:EE:00:00:01: "
        + "end it, or give each program an endpoint of its own (ble radio --help)"
    ),
    ("tcp-client:127.0.0.1:6402", true, ". Use: --address C0:FF:EE:00:00:01"),
    ("linux:hci1", true, ". Use: --address C0:FF:EE:00:00:01"),
    (
      "linux:hci1", false,
      ". Run: ble bonds --remove C0:11:22:33:44:55-random --transport linux:hci1 && ble pair C0:11:22:33:44:55-random --transport "
        + "linux:hci1"
    ),
  ])
  func aBondOfAnotherOwnAddressIsKeptWhereItIsOfUse(transport: String, isRandom: Bool, remedy: String) throws {
    let device = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    let old = try #require(DeviceAddress("C0:FF:EE:00:00:01", kind: isRandom ? .random : .public))
    let new = try #require(DeviceAddress("02:00:00:00:00:01", kind: .public))
    let loss = BondLoss.ownAddressChanged(from: old, to: new)
    let arguments = try ParsedArguments(ValueCommands.read, ["Lock", "2A6E", "--transport", transport])
    let error = AdapterUse.explained(BLEError(loss), of: device, with: nil, arguments)
    #expect(error.status == 76 && error.description == "\(device): \(loss)\(remedy)")
  }
}
