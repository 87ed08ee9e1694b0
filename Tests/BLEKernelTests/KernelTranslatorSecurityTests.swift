import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

@testable import BLEKernel

/// The security of links: the kernel's word counts (Docs/Decisions/kernel.md#pairing).
@Suite struct KernelTranslatorSecurityTests {
  static let handle = TranslatorStage.handle
  static let encrypted = SocketSecurity(level: .medium, keySize: 16)
  static let strength = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: false)

  static let encryptionChange = HCI.EncryptionChange {
    $0.connectionHandle = handle
    $0.encryptionEnabled = .on
  }

  static func level(_ strength: KeyStrength?) -> TranslatorStage.Result.Input {
    .report(.level(handle: handle.rawValue, strength))
  }

  @Test(
    arguments: [
      (0, nil), (1, nil), (2, KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: false)),
      (3, KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: false)),
      (4, KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)),
      (255, KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)),
    ] as [(UInt8, KeyStrength?)])
  func mapsTheKernelsLevels(number: UInt8, strength: KeyStrength?) {
    #expect(SocketSecurity(level: .init(kernel: number), keySize: 16).strength == strength)
  }

  @Test func readsTheLevelAfterAChangeOfEncryptionUntilItHasSettled() {
    var stage = TranslatorStage()
    stage.link()
    let changed = stage.event(Self.encryptionChange)
    #expect(changed.packets.count == 1, "the event comes before the level")
    #expect(changed.actions == [.readSecurity(Self.handle)])
    #expect(stage.socket(.security(Self.handle, SocketSecurity(level: .low, keySize: 0))).isEmpty, "not yet")
    #expect(stage.translator.deadline == .start + KernelLink.levelInterval)
    #expect(stage.tick(after: KernelLink.levelInterval).actions == [.readSecurity(Self.handle)])
    #expect(stage.socket(.security(Self.handle, Self.encrypted)).input == [Self.level(Self.strength)])
    #expect(stage.socket(.security(Self.handle, Self.encrypted)).isEmpty, "reported once")
    #expect(stage.socket(.readable(Self.handle)).actions == [.readSecurity(Self.handle)], "before each PDU")
    #expect(stage.tick(after: KernelLink.levelPatience).actions == [.readSecurity(Self.handle)], "the last time")
    #expect(stage.translator.deadline == nil)
    #expect(stage.socket(.readable(Self.handle)).isEmpty)
  }

  @Test func readsTheLevelAfterAKeyRefreshAndNotAfterAFailure() {
    var stage = TranslatorStage()
    stage.link()
    let refresh = HCI.EncryptionKeyRefreshComplete { $0.connectionHandle = Self.handle }
    #expect(stage.event(refresh).actions == [.readSecurity(Self.handle)])
    let failed = HCI.EncryptionChange {
      $0.connectionHandle = Self.handle
      $0.status = .pinOrKeyMissing
    }
    #expect(stage.event(failed).actions.isEmpty)
  }

  @Test func reportsNothingWhereTheKernelDoesNotAnswer() {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.event(Self.encryptionChange)
    #expect(stage.socket(.security(Self.handle, nil)).isEmpty)
  }

  @Test func raisesTheLevelOfALink() {
    var stage = TranslatorStage()
    stage.link()
    let secure = KernelCommand.secure(handle: 0x0040, isAuthenticated: true)
    #expect(stage.perform(secure).actions == [.raiseSecurity(Self.handle, to: .high)])
    #expect(stage.socket(.raised(Self.handle, isPending: true)).isEmpty)
    // The kernel takes no PDU meanwhile.
    _ = stage.send(TranslatorStage.packet([1]))
    #expect(stage.reject([1], .notConnected).isEmpty)
    #expect(stage.completed() == [])
    let secured = stage.socket(.security(Self.handle, Self.encrypted))
    #expect(secured.input == [Self.level(Self.strength)])
    #expect(secured.messages == [[1]], "now it does")
    #expect(stage.translator.deadline == nil)
  }

  @Test func raisesTheLevelOnceTheLinkHasASocket() {
    var stage = TranslatorStage()
    _ = stage.event(TranslatorStage.connection(.peripheral))
    #expect(stage.perform(.secure(handle: 0x0040, isAuthenticated: false)).isEmpty)
    let opened = stage.socket(.accepted(Self.handle, from: TranslatorStage.peer))
    #expect(opened.actions == [.readSecurity(Self.handle), .raiseSecurity(Self.handle, to: .medium)])
    #expect(stage.perform(.secure(handle: 0x0077, isAuthenticated: false)).isEmpty, "no such link")
  }

  @Test func reportsTheLevelWhereItCannotBeRaised() {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.perform(.secure(handle: 0x0040, isAuthenticated: true))
    _ = stage.socket(.raised(Self.handle, isPending: false))
    #expect(stage.translator.deadline == .start)
    #expect(stage.tick(after: .milliseconds(1)).actions == [.readSecurity(Self.handle)])
    #expect(stage.socket(.security(Self.handle, SocketSecurity(level: .low, keySize: 0))).input == [Self.level(nil)])
    #expect(stage.translator.deadline == nil)
  }

  @Test func endsALinkThatIsNotSecuredInTime() {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.perform(.secure(handle: 0x0040, isAuthenticated: true))
    _ = stage.socket(.raised(Self.handle, isPending: true))
    #expect(stage.tick(after: KernelLink.securingPatience - .milliseconds(1)).isEmpty)
    let disconnect: [UInt8] = [0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x05]
    let expired = stage.tick(after: .milliseconds(1))
    #expect(expired.messages == [disconnect] && expired.input == [.sentCommand(disconnect)])
    #expect(stage.tick(after: .seconds(1)).isEmpty, "once")
  }

  /// The level decides where it is being read as the time ends.
  @Test(arguments: [true, false]) func readsTheLevelBeforeItEndsALink(isSecured: Bool) {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.perform(.secure(handle: 0x0040, isAuthenticated: true))
    _ = stage.socket(.raised(Self.handle, isPending: true))
    stage.now = .start + KernelLink.securingPatience
    _ = stage.event(Self.encryptionChange)
    let due = stage.tick(after: KernelLink.levelInterval)
    #expect(due.actions == [.readSecurity(Self.handle)])
    let level = isSecured ? Self.encrypted : SocketSecurity(level: .low, keySize: 0)
    let result = stage.socket(.security(Self.handle, level))
    #expect(result.actions == (isSecured ? [] : [.sendCommand]))
  }

  @Test func leavesPairingToBluetoothd() {
    var stage = TranslatorStage(isPairedByDaemon: true)
    let result = stage.perform(.setPairing(PairingSettings()))
    #expect(result.actions.isEmpty && result.notices.count == 1)
    #expect(stage.perform(.loadKeys([])).isEmpty)
    var request = Management.UserPasskeyRequest()
    request.device = ManagementAddress(TranslatorStage.peer)
    #expect(stage.management(request).isEmpty)
    stage.link()
    #expect(stage.perform(.secure(handle: 0x0040, isAuthenticated: false)).actions.count == 1, "links are ours")
  }

  @Test func looksForBluetoothdWhenAProgramConfiguresTheAdapter() {
    var stage = TranslatorStage()
    #expect(stage.management(Management.LocalNameChanged()).actions == [.findDaemon])
    _ = stage.socket(.daemon(isRunning: false))
    #expect(stage.perform(.forget(TranslatorStage.peer)).actions == [.sendManagement])
    #expect(stage.management(Management.ClassOfDeviceChanged()).actions == [.findDaemon])
    _ = stage.socket(.daemon(isRunning: true))
    #expect(stage.perform(.forget(TranslatorStage.peer)).isEmpty)
    #expect(stage.management(Management.LocalNameChanged()).isEmpty, "known already")
  }

  @Test func reportsThatTheAdapterIsOffOrGone() {
    var settings = Management.NewSettings()
    for index in [1, 0] as [UInt16] {
      var stage = TranslatorStage()
      #expect(stage.management(settings, index: index).loss == (index == 0 ? .switchedOff : nil))
    }
    settings.settings = .powered
    var stage = TranslatorStage()
    #expect(stage.management(settings).loss == nil)
    #expect(stage.management(Management.IndexAdded()).isEmpty)
    #expect(stage.management(Management.IndexRemoved()).loss == .removed)
  }
}
