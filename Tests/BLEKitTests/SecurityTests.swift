import AdapterFixtures
import BLEAdapter
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Dispatch
import Glibc
import Testing

@testable import BLEKit

/// Pairing and values that require it, over the simulated radio.
@Suite(.usesRadio) struct SecurityTests {
  /// Longer than any run: only the watchdog of the run limits a wait.
  private static let patience = Duration.seconds(1_000_000)

  /// GAP/SEC/AUT: the client pairs because the server demands it, and repeats the request.
  @Test func aProtectedValueMakesTheTwoPair() async throws {
    let air = try await OnTheAir()
    let characteristic = LocalCharacteristic("2A19").read(security: .encrypted) { device in
      #expect(device.security.level >= .encrypted)
      return UInt8(97)
    }
    let service = air.service
    let level = try await air.meet(characteristic) { device in
      try await device.pair(timeout: Self.patience)
      return try await device.read("2A19", in: service, as: UInt8.self)
    }
    #expect(level == 97)
    #expect(air.central.bonds.count == 1)
    for bond in air.central.bonds { air.central.remove(bond) }
  }

  @Test func pairingThatIsDisabledFailsAtOnce() async throws {
    var pairing = OnTheAir.inMemory
    pairing.isEnabled = false
    let air = try await OnTheAir(pairing: OnTheAir.inMemory, centralPairing: pairing)
    try await air.meet { device in
      let error = await #expect(throws: BLEError.self) { try await device.pair(timeout: Self.patience) }
      #expect(error?.pairingFailure == PairingError(PairingFailure(.pairingNotSupported, .local)))
    }
  }

  /// A program that pairs and ends the link at once has the bond (Vol 3, Part H, 2.4.3: keys follow the encryption).
  @Test func pairingIsCompleteWhenTheCallReturns() async throws {
    let air = try await OnTheAir()
    for _ in 0..<10 {
      try await air.meet { device in
        try await device.pair(timeout: Self.patience)
        #expect(device.security.isBonded)
      }
      #expect(air.central.bonds.count == 1)
      for bond in air.central.bonds { air.central.remove(bond) }
      for bond in air.peripheral.bonds { air.peripheral.remove(bond) }
      // At once, so that an adapter that is closed now has stored the removal.
      #expect(air.central.bonds.isEmpty)
    }
  }

  /// A program that is ended as soon as `pair` has returned keeps its bond.
  @Test func aBondIsInTheFileWhenTheCallReturns() async throws {
    let folder = try BondFixtures.Folder()
    var pairing = PairingOptions()
    pairing.storage = .file(folder.file)
    let air = try await OnTheAir(pairing: OnTheAir.inMemory, centralPairing: pairing)
    for _ in 0..<5 {
      try await air.meet { device in
        try await device.pair(timeout: Self.patience)
        let bonds = try FileBondStore(path: folder.file).contents()?.bonds
        #expect(bonds?.map(\.identity) == [device.address])
      }
      for bond in air.central.bonds { air.central.remove(bond) }
      for bond in air.peripheral.bonds { air.peripheral.remove(bond) }
    }
  }

  /// The devices have paired; what the caller must not believe is that the bond lasts.
  @Test func aBondThatCannotBeStoredIsTheErrorOfItsPairing() async throws {
    let folder = try BondFixtures.Folder()
    #expect(chmod(folder.path, 0o770) == 0)
    var pairing = PairingOptions()
    pairing.storage = .file(folder.file)
    let air = try await OnTheAir(pairing: OnTheAir.inMemory, centralPairing: pairing)
    try await air.meet { device in
      let error = await #expect(throws: BLEError.self) { try await device.pair(timeout: Self.patience) }
      #expect(error?.kind == .notStored)
      let text = error?.description ?? ""
      #expect(text.hasPrefix("paired with \(device.address), and the bond is not stored: \(folder.file): the bonds "))
      #expect(text.contains("Run: chmod go-w '\(folder.path)', or name another file"))
      #expect(device.security.isBonded && device.security.level >= .encrypted)
      // The devices are paired already; the bond is not stored any more than before.
      await expectThrows(.notStored) { try await device.pair(timeout: Self.patience) }
    }
    #expect(folder.names == [])
  }

  /// A store that takes as long as the test wants.
  private final class SlowStore: BondStore {
    let mayEnd = DispatchSemaphore(value: 0)
    func load() -> BondRecord? { nil }
    func save(_ record: BondRecord) { mayEnd.wait() }
  }

  /// A disk that does not answer does not hang the pairing: after the limit, the caller learns that the bond may be
  /// lost.
  @Test func theStorageOfABondHasALimitOfTime() async throws {
    let store = SlowStore()
    let hub = AdapterHub(BondStorage(store, log: { _ in }), log: { _ in })
    let host = ScriptedHost(hub: hub)
    // The limit of the pairing does not pass, and that of the storage does at once.
    let clock = WaitClock(sleep: { limit in if limit != .seconds(10) { try await untilCancelled() } })
    let adapter = try await host.open(clock: clock)
    host.connect()
    let bond = BondFixtures.record(1, bonds: 1).bonds[0]
    let device = RemoteDevice(
      session: adapter.session, peer: ScriptedHost.client, address: bond.identity, isCentral: true)
    host.say(.link(ScriptedHost.client, .identified(bond.identity)))
    let pairing = Task { try await device.pair() }
    guard case .link(_, .requestSecurity) = try await host.next() else { throw CancellationError() }
    hub.receive([.bonds(.changed(bond))])
    let security = SecurityState(level: .encrypted, keySize: 16, isBonded: true, isBondProven: true)
    host.say(.link(ScriptedHost.client, .security(security)))
    let error = await #expect(throws: BLEError.self) { try await pairing.value }
    #expect(error?.kind == .notStored)
    #expect(error?.description.contains("the bond is not stored: no answer of the disk within 10.0 seconds") == true)
    for _ in 1...10 { store.mayEnd.signal() }
  }

  @Test func aWrongPasskeyIsTheErrorOfTheReadThatNeededIt() async throws {
    var (lock, user) = (OnTheAir.inMemory, OnTheAir.inMemory)
    (lock.capability, lock.fixedPasskey) = (.displayOnly, 123_456)
    user.capability = .keyboardOnly
    let air = try await OnTheAir(pairing: lock, centralPairing: user)
    let requests = air.central.pairingRequests
    let answers = Task { for await request in requests { request.reply.enter(passkey: 654_321) } }
    defer { answers.cancel() }
    let displays = air.peripheral.pairingRequests
    let shown = Task { for await _ in displays {} }
    defer { shown.cancel() }
    let service = air.service
    try await air.meet(LocalCharacteristic("2A19").read(security: .authenticated) { _ in UInt8(97) }) { device in
      let error = await #expect(throws: BLEError.self) { _ = try await device.read("2A19", in: service) }
      #expect(error?.kind == .security && error?.pairingFailure != nil)
      #expect(error?.description.contains("characteristic 2A19: the pairing failed") == true)
      #expect(error?.description.contains("Confirm Value Failed (0x04)") == true)
    }
  }

  @Test func aQuestionThatNobodyReadsIsRejected() async throws {
    var pairing = OnTheAir.inMemory
    pairing.asksConsent = true
    let air = try await OnTheAir(pairing: pairing)
    try await air.meet { device in
      await expectThrows(.security) { try await device.pair(timeout: Self.patience) }
    }
  }

  @Test func aQuestionIsAnsweredByItsReader() async throws {
    var pairing = OnTheAir.inMemory
    pairing.asksConsent = true
    let air = try await OnTheAir(pairing: pairing)
    func accept(_ adapter: Adapter) -> Task<Void, Never> {
      let requests = adapter.pairingRequests
      return Task {
        for await request in requests {
          #expect(request.question == .consent)
          request.reply.accept()
        }
      }
    }
    let readers = [accept(air.peripheral), accept(air.central)]
    defer { for reader in readers { reader.cancel() } }
    try await air.meet { device in
      try await device.pair(timeout: Self.patience)
      #expect(device.security.level >= .encrypted)
    }
  }
}
