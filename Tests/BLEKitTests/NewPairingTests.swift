import AdapterFixtures
import BLEKit
import Testing

/// Pairing anew with a bonded device, over the simulated radio.
@Suite(.usesRadio) struct NewPairingTests {
  /// Longer than any run: only the watchdog of the run limits a wait.
  private static let patience = Duration.seconds(1_000_000)

  /// Of two keys only the peripheral would have the new one, were the link to end before it has distributed its own.
  @Test func anAuthenticatedBondReplacesAnotherOneBeforeTheCallReturns() async throws {
    var (lock, user) = (OnTheAir.inMemory, OnTheAir.inMemory)
    (lock.capability, lock.fixedPasskey) = (.displayOnly, 123_456)
    let air = try await OnTheAir(pairing: lock, centralPairing: user)
    let questions = [air.central, air.peripheral].map { adapter in
      let requests = adapter.pairingRequests
      return Task { for await request in requests { request.reply.enter(passkey: 123_456) } }
    }
    defer { for task in questions { task.cancel() } }
    let value = LocalCharacteristic("2A19").read(security: .authenticated) { _ in UInt8(97) }
    let service = air.service
    try await air.meet(value) { device in try await device.pair(timeout: Self.patience) }
    #expect(air.central.bonds.map(\.isProtected) == [false])
    user.capability = .keyboardOnly
    air.central.setPairing(user)
    try await air.meet(value) { device in try await device.pair(level: .authenticated, timeout: Self.patience) }
    #expect(air.central.bonds.map(\.isProtected) == [true])
    let level = try await air.meet(value) { device in try await device.read("2A19", in: service, as: UInt8.self) }
    #expect(level == 97)
  }
}
