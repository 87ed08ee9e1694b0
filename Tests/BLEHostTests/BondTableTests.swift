import BLECrypto
import BLEGATT
import BLESMP
import BLEWire
import Synchronization
import Testing

@testable import BLEHost

/// The bond table alone: admission, removal, reports and sign counters.
@Suite("Bond table") struct BondTableTests {
  private static func seconds(_ number: Int) -> Instant { .start + .seconds(number) }

  private func device(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random).identity
  }

  private func bond(_ number: UInt64, isAuthenticated: Bool = false) -> Bond {
    let strength = KeyStrength(size: 16, isAuthenticated: isAuthenticated, isSecureConnections: true)
    return Bond(identity: device(number), strength: strength)
  }

  private func table(_ maximum: Int = 2, _ change: (inout HostConfiguration) -> Void = { _ in }) -> BondTable {
    var configuration = HostConfiguration()
    configuration.maximumBonds = maximum
    change(&configuration)
    return BondTable(configuration)
  }

  /// Admits a bond that somebody agreed to.
  private func admit(_ bond: Bond, to table: inout BondTable) -> (isKept: Bool, effects: [Effect<BondEffect>]) {
    var effects: [Effect<BondEffect>] = []
    let isKept = table.admit(
      bond, hasConsent: true, inUse: [], UnconfirmedBondLimit(), now: .start, into: &effects)
    return (isKept, effects)
  }

  private func words(_ effects: [Effect<BondEffect>]) -> [String] {
    effects.map { effect in
      switch effect {
      case .own(.removed(let identity)): "removed \(identity.octets.value & 0xFF)"
      case .event(.bonds(.removed(let identity)), _): "report removal \(identity.octets.value & 0xFF)"
      case .event(.bonds(.changed(let bond)), _): "report \(bond.identity.octets.value & 0xFF)"
      case .own(.made(let bond, _)): "made \(bond.identity.octets.value & 0xFF)"
      case .own(.replaced(let identity, _)): "replaced \(identity.octets.value & 0xFF)"
      case .own(.notKept(let identity)): "not kept \(identity.octets.value & 0xFF)"
      case .own(.securityChanged): "security"
      case .event(.pairing(_, .succeeded(let device)), _): "paired \(device.isBonded)"
      case .event(.pairing(_, .failed(let failure)), _):
        "failed \(failure.reason == .keyRejected ? "keyRejected" : "authenticationRequirements")"
      case .event(.bonds(.lost), _): "bond lost"
      case .event(.bonds(.replaced), _): "bond replaced"
      case .report: "log"
      default: "other"
      }
    }
  }

  @Test func reportsAnAdmittedBond() {
    var table = table()
    let (isKept, effects) = admit(bond(1), to: &table)
    #expect(isKept)
    #expect(words(effects) == ["report 1"])
    #expect(table[device(1)]?.lastUse == 1)
  }

  @Test func removesTheLeastRecentlyUsedBondForANewOneBeforeItIsReported() {
    var table = table()
    for number in 1...2 { _ = admit(bond(UInt64(number)), to: &table) }
    #expect(words(admit(bond(3), to: &table).effects) == ["removed 1", "report removal 1", "report 3"])
    #expect(table.bonds.map(\.identity) == [device(2), device(3)])
  }

  @Test func refusesABondWhereAllOthersAreAuthenticated() {
    var table = table()
    for number in 1...2 { _ = admit(bond(UInt64(number), isAuthenticated: true), to: &table) }
    let (isKept, effects) = admit(bond(3), to: &table)
    #expect(!isKept)
    #expect(effects.isEmpty)
    let rules = table.rules(for: device(3), PairingSettings(), inUse: [], now: .start)
    #expect(rules.admission == .none)
  }

  @Test func refusesMoreUnconfirmedBondsThanTheLimitInOnePeriod() {
    var table = table(8)
    var limit = UnconfirmedBondLimit()
    (limit.count, limit.period) = (1, .seconds(60))
    var effects: [Effect<BondEffect>] = []
    func admits(_ number: UInt64, at now: Instant) -> Bool {
      table.admit(bond(number), hasConsent: false, inUse: [], limit, now: now, into: &effects)
    }
    #expect(admits(1, at: .start))
    #expect(!admits(2, at: Self.seconds(59)))
    var settings = PairingSettings()
    settings.unconfirmedBonds = limit
    let rules = table.rules(for: device(2), settings, inUse: [], now: Self.seconds(59))
    #expect(rules.admission == .confirmed)
    #expect(admits(2, at: Self.seconds(60)))
  }

  /// What a pairing with `number` causes on the link of that device.
  private func pair(
    _ number: UInt64, _ table: inout BondTable, isAuthenticated: Bool = false, isBonded: Bool = true,
    _ change: (inout PairedLink) -> Void = { _ in }
  ) -> [String] {
    let strength = KeyStrength(size: 16, isAuthenticated: isAuthenticated, isSecureConnections: true)
    var link = PairedLink(
      peer: LinkID(rawValue: 1), address: device(number), identity: device(number), isBondProven: false)
    change(&link)
    var effects: [Effect<BondEffect>] = []
    table.paired(
      PairingOutcome(isBonded: isBonded, strength: strength), on: link, UnconfirmedBondLimit(),
      SecurityToolbox(LibCrypto()), now: .start, into: &effects)
    return words(effects)
  }

  @Test func aPairingMakesABondAndThenReportsIt() {
    var table = table()
    let (bonded, unbonded) = (pair(1, &table), pair(2, &table, isBonded: false))
    #expect(bonded == ["report 1", "made 1", "paired true", "security"])
    #expect(unbonded == ["paired false"])
    #expect(table.bonds.map(\.identity) == [device(1)])
  }

  @Test func aPairingThatReplacesABondSaysSoUnlessTheLinkHadProvenIt() {
    var table = table()
    _ = pair(1, &table)
    let replaced = pair(1, &table)
    #expect(replaced == ["report 1", "made 1", "replaced 1", "bond replaced", "log", "paired true", "security"])
    let renewed = pair(1, &table) { $0.isBondProven = true }
    #expect(renewed == ["report 1", "made 1", "replaced 1", "paired true", "security"])
  }

  @Test func aPairingDoesNotReplaceABondThatIsStrongerOrInUse() {
    var table = table()
    _ = pair(1, &table, isAuthenticated: true)
    let weaker = pair(1, &table)
    #expect(weaker == ["failed authenticationRequirements", "log", "bond lost"])
    _ = pair(2, &table)
    let inUse: Set = [device(2)]
    let second = pair(2, &table) { $0.inUse = inUse }
    #expect(second == ["failed keyRejected", "log"])
  }

  @Test func aPairingWithoutRoomMakesNoBond() {
    var table = table(1)
    _ = pair(1, &table, isAuthenticated: true)
    let refused = pair(2, &table)
    #expect(refused == ["not kept 2", "log", "paired false"])
  }

  @Test func aPrivateAddressWithoutIdentityMakesNoBond() {
    var table = table()
    let address = DeviceAddress(octets: BD_ADDR(0x4000_0000_0001), kind: .random)
    let unknown = pair(1, &table) { ($0.address, $0.identity) = (address, address.identity) }
    #expect(unknown == ["paired false"] && table.bonds.isEmpty)
  }

  @Test func reportsALaterChangeOfAClientAtTheEndOfTheInterval() {
    var table = table()
    _ = admit(bond(1), to: &table)
    var effects: [Effect<BondEffect>] = []
    func keep(_ features: ClientSupportedFeatures, at second: Int) -> [String] {
      effects = []
      var record = ClientRecord()
      record.supportedFeatures = features
      table.keep(record, of: device(1), now: Self.seconds(second), into: &effects)
      return words(effects)
    }
    #expect(keep(.robustCaching, at: 1) == ["report 1"])
    #expect(keep([], at: 2) == [])
    #expect(table.deadline == Self.seconds(11))
    effects = []
    table.tick(now: Self.seconds(11), into: &effects)
    #expect(words(effects) == ["report 1"])
    #expect(table.deadline == nil)
    // While the host shuts down nothing is put off.
    table.shutdown(into: &effects)
    #expect(keep(.robustCaching, at: 12) == ["report 1"])
  }

  @Test func reportsAPendingChangeWhenTheLinkEnds() {
    var table = table()
    _ = admit(bond(1), to: &table)
    var effects: [Effect<BondEffect>] = []
    for number in 1...2 {
      var record = ClientRecord()
      if number == 1 { record.supportedFeatures = .robustCaching }
      table.keep(record, of: device(1), now: .start, into: &effects)
    }
    effects = []
    table.linkEnded(device(1), into: &effects)
    table.linkEnded(device(1), into: &effects)
    #expect(words(effects) == ["report 1"])
    #expect(table.deadline == nil)
  }

  @Test func removesABondOnce() {
    var table = table()
    _ = admit(bond(1), to: &table)
    var effects: [Effect<BondEffect>] = []
    for _ in 1...2 { table.remove(device(1), into: &effects) }
    #expect(words(effects) == ["removed 1", "report removal 1"])
  }

  @Test func acceptsACounterOfAPeerOnce() {
    var table = table()
    var signing = bond(1)
    signing.peerCSRK = SecretKey(1)
    _ = admit(signing, to: &table)
    var effects: [Effect<BondEffect>] = []
    table.usePeerCounter(7, of: device(1), into: &effects)
    table.usePeerCounter(7, of: device(1), into: &effects)
    #expect(words(effects) == ["report 1"])
    #expect(table[device(1)]?.peerSignCounter == 8)
    #expect(table.store(of: device(1)) == SignCounters.StoreState(peerEnd: 8, isFailing: false))
  }

  /// Counts the calls of AES, which resolving an address needs.
  private final class CountingCryptography: Cryptography {
    let calls = Mutex(0)
    func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128 {
      calls.withLock { $0 += 1 }
      return try LibCrypto().encrypt(plaintext, key: key)
    }
    func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128 {
      try LibCrypto().cmac(message, key: key)
    }
    func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey {
      try LibCrypto().publicKey(of: privateKey)
    }
    func sharedSecret(_ privateKey: P256PrivateKey, with peer: P256PublicKey) throws(CryptographyError) -> UInt256 {
      try LibCrypto().sharedSecret(privateKey, with: peer)
    }
    func areEqual(_ a: UInt128, _ b: UInt128) -> Bool { LibCrypto().areEqual(a, b) }
  }

  /// An address of the cache costs no AES; one more than its limit empties it.
  @Test func resolvedAddressesAreKeptUpToTheLimit() {
    let counting = CountingCryptography()
    let toolbox = SecurityToolbox(counting)
    var bond = bond(1)
    bond.identityResolvingKey = SecretKey(7)
    var list = BondList()
    list.replaceAll(with: [bond], limit: 8)
    func calls(_ number: UInt64) -> Int {
      let before = counting.calls.withLock { $0 }
      let address = DeviceAddress(octets: BD_ADDR(0x4000_0000_0000 + number), kind: .random)
      _ = list.identity(of: address, toolbox)
      return counting.calls.withLock { $0 } - before
    }
    for number in 0..<UInt64(BondList.maximumResolved) { #expect(calls(number) == 1) }
    for number in 0..<UInt64(BondList.maximumResolved) { #expect(calls(number) == 0) }
    #expect(calls(UInt64(BondList.maximumResolved)) == 1)
    #expect(calls(0) == 1, "the cache was emptied")
  }
}
