import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// How we pair, decided from facts alone.
@Suite("Security policy") struct SecurityPolicyTests {
  private let device = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random).identity

  private func bond(isAuthenticated: Bool) -> Bond {
    Bond(
      identity: device, strength: KeyStrength(size: 16, isAuthenticated: isAuthenticated, isSecureConnections: true))
  }

  @Test func asksNothingOfABondThatIsNotThereOrIsProven() {
    let settings = PairingSettings()
    #expect(settings.replacement(of: nil, isProven: false) == nil)
    #expect(settings.replacement(of: bond(isAuthenticated: false), isProven: true) == nil)
    #expect(settings.replacement(of: bond(isAuthenticated: true), isProven: false) == nil)
    #expect(settings.replacement(of: bond(isAuthenticated: false), isProven: false) == .always)
  }

  @Test func demandsAnAuthenticatedKeyForABondThatIsNeverReplaced() {
    var settings = PairingSettings()
    settings.bondRules.replacement = .never
    func demands(_ isProven: Bool) -> Bool {
      settings.applied(
        to: PairingFacts(
          ownIdentity: device, withholdsIdentity: true, rules: settings.bondRules, bond: bond(isAuthenticated: false),
          isBondProven: isProven)
      ).requiresMITM
    }
    #expect(demands(false))
    #expect(!demands(true))
  }

  @Test func blocksADeviceThatFailsAgainAndAgainUntilItSucceeds() {
    var policy = SecurityPolicy(PairingSettings())
    for _ in 1...5 { policy.failed(device, PairingFailure(.confirmValueFailed, .local), now: .start) }
    #expect(policy.isBlocked(device, now: .start))
    #expect(!policy.isBlocked(device, now: .start + .seconds(2)))
    policy.succeeded(device)
    #expect(!policy.isBlocked(device, now: .start))
  }

  @Test func takesAnUnauthenticatedKeyForEnoughWhereTheDevicesCanMakeNoOther() {
    var settings = PairingSettings()
    let weak = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true)
    settings.requestsMITM = true
    #expect(!settings.isEnough(weak, for: .mitm))
    #expect(settings.isEnough(weak, for: []))
    settings.requestsMITM = false
    #expect(settings.isEnough(weak, for: .mitm))
  }
}
