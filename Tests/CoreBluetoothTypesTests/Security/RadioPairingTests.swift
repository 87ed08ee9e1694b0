import AdapterFixtures
import BLECrypto
import BLEHost
import BLELinux
import BLESMP
import BLEWire
import BluetoothLE
import Foundation
import Synchronization
import Testing

@testable import BLEAdapter
@testable import CoreBluetoothTypes

/// Two managers of this process pair over the simulated radio, because a value demands it.
@Suite(.serialized, .usesRadio) struct RadioPairingTests {
  /// Publishes one value that only trusted devices read, and shows its passkey to whoever waits for it.
  final class Vault: NSObject, PeripheralManagerDelegate, PairingDelegate, Sendable {
    let shown: AsyncStream<String>
    let lines: AsyncStream<String>
    private let show: AsyncStream<String>.Continuation
    private let say: AsyncStream<String>.Continuation
    let service: MutableService

    init(_ service: MutableService) {
      self.service = service
      (shown, show) = AsyncStream.makeStream(of: String.self)
      (lines, say) = AsyncStream.makeStream(of: String.self)
    }

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
      guard peripheral.state == .poweredOn else { return }
      peripheral.add(service)
      peripheral.startAdvertising([AdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
      say.yield("advertising")
    }
    func manager(_ manager: Manager, display passkey: String, toPairWith peer: Peer) { show.yield(passkey) }
    func manager(_ manager: Manager, didPairWith peer: Peer, bond: Bond?) {
      say.yield(bond?.id == peer.identifier ? "paired" : "paired with somebody else")
    }
    func manager(_ manager: Manager, didRemoveBondOf identifier: UUID) { say.yield("removed") }
    func peripheralManager(
      _ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason
    ) { say.yield("disconnected") }

    func wait(for line: String) async { for await said in lines where said == line { return } }
  }

  /// Types what the other one shows.
  final class Typist: PairingDelegate, Sendable {
    let shown: AsyncStream<String>
    init(_ shown: AsyncStream<String>) { self.shown = shown }
    func manager(_ manager: Manager, enterPasskeyToPairWith peer: Peer, reply: PairingReply) {
      Task {
        for await passkey in shown { return reply.enter(passkey: UInt32(passkey) ?? 1_000_000) }
      }
    }
  }

  typealias Bond = BluetoothLE.Bond

  private func options(
    _ name: String, _ capability: PairingOptions.Capability, _ store: any BondStore, _ folder: String
  )
    -> AdapterOptions
  {
    var pairing = PairingOptions()
    pairing.capability = capability
    pairing.storage = .custom(store)
    return AdapterOptions(transport: "virtual:\(name)", snoop: "\(folder)/\(name).btsnoop", pairing: pairing)
  }

  /// Who opens an adapter says how; a manager that comes later is told what of its options has no effect.
  @Test(.ownsLog) func anOptionThatComesTooLateIsSaid() async throws {
    let (said, say) = AsyncStream.makeStream(of: String.self)
    BluetoothLog.setHandler { say.yield($0.text) }
    defer { BluetoothLog.setHandler(nil) }
    let vault = Vault(MutableService(type: CBUUID(nsuuid: UUID()), primary: true))
    var options = AdapterOptions(transport: "virtual:late-\(UUID().uuidString)")
    let first = PeripheralManager(delegate: vault, queue: DispatchQueue(label: "vault"), adapter: options)
    await vault.wait(for: "advertising")
    (options.privacy.usesPrivateAddress, options.maximumMTU) = (true, 100)
    let second = PeripheralManager(delegate: nil, queue: DispatchQueue(label: "late"), adapter: options)
    for await line in said where line.contains("maximumMTU, privacy of the new AdapterOptions") { break }
    withExtendedLifetime((first, second)) {}
  }

  /// The second time the private one is called through the object it was found with, whatever its address is by then.
  @Test(.ownsLog, arguments: [false, true])
  func aValueThatDemandsTrustMakesTheTwoPairAndNoSecretIsSeen(isPrivate: Bool) async throws {
    let lines = Lines()
    BluetoothLog.setHandler { lines.append($0.text) }
    defer { BluetoothLog.setHandler(nil) }
    let folder = try BondFixtures.Folder()
    let service = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
    service.characteristics = [
      MutableCharacteristic(
        type: "2A6E", properties: [.read], value: Data("gold".utf8), permissions: [.readAuthenticationRequired])
    ]
    let vault = Vault(service)
    let (ours, theirs) = (BondFixtures.Notebook(), BondFixtures.Notebook())
    let name = UUID().uuidString
    var hiding = options("v-\(name)", .displayOnly, ours, folder.path)
    (hiding.privacy.usesPrivateAddress, hiding.privacy.rotation) = (isPrivate, .seconds(3600))
    var manager: PeripheralManager? = PeripheralManager(
      delegate: vault, queue: DispatchQueue(label: "vault"), adapter: hiding)
    manager?.pairingDelegate = vault
    await vault.wait(for: "advertising")
    var asyncCentral: AsyncCentral? = AsyncCentral(
      options("t-\(name)", .keyboardOnly, theirs, folder.path), label: "typist")
    let typist = Typist(vault.shown)
    var central = asyncCentral?.manager
    central?.pairingDelegate = typist
    let peripheral = try #require(try await asyncCentral?.find(service.uuid))
    for round in 1...2 {
      try await asyncCentral?.connect(peripheral)
      let characteristics = try await asyncCentral?.discover(service.uuid, of: peripheral)
      let value = try await asyncCentral?.value(of: #require(characteristics?.first), of: peripheral)
      #expect(value == Data("gold".utf8))
      if round == 1 { await vault.wait(for: "paired") }
      // Any change of the settings draws another address.
      hiding.privacy.rotation = .seconds(3599)
      for command in manager?.client.hub?.bonds.commands(hiding.pairing, hiding.privacy) ?? [] {
        if case .privacy = command { manager?.client.commands.post(command) }
      }
      try await asyncCentral?.disconnect(peripheral)
      await vault.wait(for: "disconnected")
    }
    #expect(manager?.bonds.count == 1 && manager?.bonds.first?.isProtected == true)
    #expect(central?.bonds.count == 1 && central?.bonds.first?.usesSecureConnections == true)
    manager?.client.hub?.bonds.settle()
    central?.client.hub?.bonds.settle()
    let records = [ours, theirs].compactMap { $0.records.withLock { $0.last } }
    #expect(records.count == 2)
    if let bond = manager?.bonds.first { manager?.remove(bond) }
    await vault.wait(for: "removed")
    #expect(manager?.bonds.isEmpty == true)
    (manager, central, asyncCentral) = (nil, nil, nil)

    let keys = records.flatMap(BondFixtures.keys)
    #expect(keys.count >= 8)
    var traced = 0
    for file in folder.names where file.hasSuffix(".btsnoop") {
      let octets = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)")))
      traced += octets.count
      // What is no secret is there: the trace holds this pairing.
      #expect(Self.contains(octets, [0x0C]) && octets.count > 1000)
      for key in keys {
        #expect(!Self.contains(octets, key.value.littleEndianOctets))
        #expect(!Self.contains(octets, key.value.bigEndianOctets))
      }
    }
    #expect(traced > 0)
    let text = lines.take().joined(separator: "\n")
    for key in keys {
      for form in [key.value.littleEndianOctets.hexadecimal, key.value.bigEndianOctets.hexadecimal, "\(key.value)"] {
        #expect(!text.contains(form))
      }
    }
  }

  /// Asked to compare a number, and slow: it keeps every reply.
  final class Hesitant: NSObject, PeripheralManagerDelegate, PairingDelegate, Sendable {
    let service: MutableService
    let replies = Mutex<[PairingReply]>([])
    let lines: AsyncStream<String>
    private let say: AsyncStream<String>.Continuation

    init(_ service: MutableService) {
      self.service = service
      (lines, say) = AsyncStream.makeStream(of: String.self)
    }

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
      guard peripheral.state == .poweredOn else { return }
      peripheral.add(service)
      peripheral.startAdvertising([AdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
      say.yield("advertising")
    }
    func manager(_ manager: Manager, compare number: String, toPairWith peer: Peer, reply: PairingReply) {
      replies.withLock { $0.append(reply) }
      say.yield("compare")
    }
    func manager(_ manager: Manager, didWithdrawQuestion id: PairingReply.ID, of peer: Peer) {
      say.yield(replies.withLock { $0.first?.id == id } ? "first withdrawn" : "another withdrawn")
    }
    func wait(for line: String) async { for await said in lines where said == line { return } }
  }

  /// Rejects the first number and accepts every later one.
  final class Attacker: PairingDelegate, Sendable {
    private let compared = Mutex(0)
    func manager(_ manager: Manager, compare number: String, toPairWith peer: Peer, reply: PairingReply) {
      let isFirst = compared.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst { reply.reject() } else { reply.accept() }
    }
  }

  @Test(.ownsLog) func anOldReplyAnswersNoNewQuestion() async throws {
    let lines = Lines()
    BluetoothLog.setHandler { lines.append($0.text) }
    defer { BluetoothLog.setHandler(nil) }
    let service = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
    service.characteristics = [
      MutableCharacteristic(
        type: "2A6E", properties: [.read], value: Data("gold".utf8), permissions: [.readAuthenticationRequired])
    ]
    let victim = Hesitant(service)
    let name = UUID().uuidString
    var options = AdapterOptions(transport: "virtual:h-\(name)")
    options.pairing.capability = .displayYesNo
    let manager = PeripheralManager(delegate: victim, queue: DispatchQueue(label: "hesitant"), adapter: options)
    manager.pairingDelegate = victim
    await victim.wait(for: "advertising")
    var theirs = AdapterOptions(transport: "virtual:a-\(name)")
    (theirs.pairing.capability, theirs.pairing.pairsOnDemand) = (.displayYesNo, false)
    let asyncCentral = AsyncCentral(theirs, label: "attacker")
    let central = asyncCentral.manager
    let attacker = Attacker()
    central.pairingDelegate = attacker
    let peripheral = try await asyncCentral.find(service.uuid)
    try await asyncCentral.connect(peripheral)
    central.pair(with: peripheral)
    await victim.wait(for: "first withdrawn")
    central.pair(with: peripheral)
    await victim.wait(for: "compare")
    // The user taps "the same" in the dialogue of the first number, whose pairing failed.
    let replies = victim.replies.withLock { $0 }
    try #require(replies.count == 2)
    replies[0].accept()
    // Commands are performed in order: behind this one the answer has had its effect.
    central.pair(with: peripheral)
    try await asyncCentral.disconnect(peripheral)
    await victim.wait(for: "another withdrawn")
    #expect(manager.bonds.isEmpty && central.bonds.isEmpty)
    #expect(lines.take().contains { $0.contains("an answer to a pairing question is ignored") })
    withExtendedLifetime((manager, central, attacker)) {}
  }

  private static func contains(_ octets: [UInt8], _ part: [UInt8]) -> Bool {
    guard let first = part.first, octets.count >= part.count else { return false }
    var index = 0
    while let found = octets[index...].firstIndex(of: first), found + part.count <= octets.count {
      if octets[found..<found + part.count].elementsEqual(part) { return true }
      index = found + 1
    }
    return false
  }
}
