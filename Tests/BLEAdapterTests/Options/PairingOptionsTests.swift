import AdapterFixtures
import BLECrypto
import BLEHost
import BLELinux
import BLESMP
import Synchronization
import Testing

@testable import BLEAdapter

/// What the host is given of the options and of the store.
@Suite struct PairingOptionsTests {
  @Test func theKeeperHandsOverWhatWasSavedAndSavesWhatChanges() throws {
    let known = BondFixtures.record(3)
    let notebook = BondFixtures.Notebook(known)
    let keeper = BondStorage(notebook, log: { _ in })
    let commands = keeper.commands(PairingOptions())
    guard commands.count == 3, case .security(.setBonds(let bonds)) = commands[0],
      case .security(.setPairing(let settings?)) = commands[1], case .privacy(nil) = commands[2]
    else {
      Issue.record("\(commands.count) commands")
      return
    }
    #expect(bonds == known.bonds && settings.identityResolvingKey == known.identityResolvingKey)
    var changed = bonds[1]
    changed.peerSignCounter = 77
    keeper.receive(.changed(changed))
    keeper.receive(.removed(bonds[0].identity))
    keeper.settle()
    #expect(notebook.records.withLock { $0.last }?.bonds == [changed, known.bonds[2]])
    #expect(keeper.bonds == [changed, known.bonds[2]])
  }

  @Test(arguments: [
    (Duration.seconds(900), Duration.seconds(900)), (.zero, .seconds(1)), (.seconds(86_400), .seconds(3600)),
  ])
  func aPrivateAddressIsMadeWithTheKeyThatPeersAreGiven(wanted: Duration, taken: Duration) {
    let keeper = BondStorage(BondFixtures.Notebook(BondFixtures.record(1)), log: { _ in })
    var privacy = PrivacyOptions()
    (privacy.usesPrivateAddress, privacy.rotation) = (true, wanted)
    let commands = keeper.commands(PairingOptions(), privacy)
    guard case .security(.setPairing(let pairing?)) = commands[1], case .privacy(let settings?) = commands[2] else {
      Issue.record("\(commands.count) commands")
      return
    }
    #expect(settings.identityResolvingKey == pairing.identityResolvingKey && settings.rotation == taken)
  }

  /// Enabling privacy warns where devices can pair that do not get the key.
  @Test func privacyWarnsOfDevicesThatLoseTheAdapter() {
    var (privacy, pairing) = (PrivacyOptions(), PairingOptions())
    #expect(privacy.warning(pairing) == nil)
    privacy.usesPrivateAddress = true
    #expect(privacy.warning(pairing)?.contains("distributesIdentityWhenUnauthenticated") == true)
    #expect(privacy.settings(identityResolvingKey: SecretKey(1))?.distributesIdentityWhenUnauthenticated == false)
    pairing.requiresProtection = true
    #expect(privacy.warning(pairing) == nil)
    pairing = PairingOptions()
    privacy.distributesIdentityWhenUnauthenticated = true
    #expect(privacy.warning(pairing) == nil)
    #expect(privacy.settings(identityResolvingKey: SecretKey(1))?.distributesIdentityWhenUnauthenticated == true)
  }

  /// What replaces a bond, and how many strangers may bond.
  @Test func optionsOfBondsReachTheHost() throws {
    var options = PairingOptions()
    func settings() throws -> PairingSettings { try #require(options.settings(identityResolvingKey: SecretKey(1))) }
    #expect(try settings().bondRules.replacement == .always && settings().unconfirmedBonds.count == 12)
    (options.bondReplacement, options.unconfirmedBondLimit) = (.ask, -1)
    #expect(try settings().bondRules.replacement == .ask && settings().unconfirmedBonds.count == 0)
    options.bondReplacement = .never
    #expect(try settings().bondRules.replacement == .never)
  }

  /// Two programs that begin with one new file give their peers one key.
  @Test func programsThatShareAStoreShareTheKey() throws {
    let folder = try BondFixtures.Folder()
    let keepers = (0..<2).map { _ in BondStorage(FileBondStore(path: folder.file), log: { _ in }) }
    func key(_ keeper: BondStorage) -> SecretKey? {
      if case .security(.setPairing(let settings?)) = keeper.commands(PairingOptions())[1] {
        settings.identityResolvingKey
      } else {
        nil
      }
    }
    #expect(key(keepers[0]) != key(keepers[1]))
    for keeper in keepers { keeper.shareKey() }
    #expect(key(keepers[0]) == key(keepers[1]) && key(keepers[0]) != nil)
    // A store that keeps nothing leaves the key as it is.
    let forgetful = BondStorage(MemoryBondStore(), log: { _ in })
    let before = key(forgetful)
    forgetful.shareKey()
    #expect(key(forgetful) == before)
  }

  @Test func aStoreThatFailsIsReportedAndTheProgramGoesOn() {
    let lines = Lines()
    let keeper = BondStorage(BondFixtures.Notebook(isFull: true), log: { lines.append($0.text) })
    let bond = BondFixtures.record(3).bonds[0]
    keeper.receive(.changed(bond))
    keeper.settle()
    let attempt = "bonds are kept in memory, and saving is tried again: the notebook is full"
    #expect(lines.take() == ["the notebook is full", attempt] && keeper.bonds == [bond])
  }

  @Test func optionsBecomeSettings() throws {
    let key = SecretKey(1)
    var options = PairingOptions()
    let plain = try #require(options.settings(identityResolvingKey: key))
    #expect(plain.ioCapability == .noInputNoOutput && plain.isBonding && !plain.requestsMITM && plain.allowsLegacy)
    options.capability = .keyboardDisplay
    options.fixedPasskey = 1_000_000
    options.minimumKeySize = 99
    let others = try #require(options.settings(identityResolvingKey: key))
    #expect(others.requestsMITM && others.fixedPasskey == nil && others.minimumKeySize == 16)
    let strict = try #require(PairingOptions.secureConnectionsOnly.settings(identityResolvingKey: key))
    #expect(strict.isSecureConnectionsOnly)
    options.isEnabled = false
    #expect(options.settings(identityResolvingKey: key) == nil)
  }
}
