import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// Whom the peer of a link is taken for, and which of several links that claim one identity is reported by it.
@Suite("Identity of a link's peer") struct PeerIdentityTests {
  private let device = DeviceAddress(octets: BD_ADDR(0xC0_0000_0001), kind: .public)
  private let other = DeviceAddress(octets: BD_ADDR(0xC0_0000_0002), kind: .public)
  private let drawn = DeviceAddress(octets: BD_ADDR(0x0000_0000_0007), kind: .random)
  private let toolbox = SecurityToolbox(LibCrypto())
  private let weak = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true)

  private func start(_ origin: KeyStart.Origin) -> KeyStart { KeyStart(strength: weak, origin: origin) }

  private func table(_ devices: [PeerIdentity], _ roles: [ConnectedLink.Role] = []) -> LinkTable {
    var table = LinkTable()
    for (number, device) in devices.enumerated() {
      let link = Link(
        peer: table.nextPeer(), handle: UInt16(number + 1), device: device,
        role: number < roles.count ? roles[number] : .peripheral)
      _ = table.append(link)
    }
    return table
  }

  private func words(_ effects: [Effect<LinkEffect>]) -> [String] {
    effects.map { effect in
      switch effect {
      case .report: "report"
      case .command(let command, for: .endingSuperseded(let handle)) where command.opcode == .disconnect:
        "end \(handle.rawValue)"
      case .own(.superseded(let handle)): "superseded \(handle.rawValue)"
      case .event(.link(let peer, .identified(_)), _): "identified \(peer.rawValue)"
      case .event(.link(let peer, .security(let security)), _): "security \(peer.rawValue) \(security.isBondProven)"
      default: "other"
      }
    }
  }

  private func confirm(_ peer: UInt32, _ table: inout LinkTable) -> [String] {
    var effects: [Effect<LinkEffect>] = []
    table.confirmIdentity(of: LinkID(rawValue: peer), into: &effects)
    return words(effects)
  }

  @Test func onlyTheKeyOfABondProvesIt() {
    var identity = PeerIdentity(address: device, identity: device)
    let unproven = [
      identity.encrypted(start(.pairing), hasBond: true), identity.encrypted(start(.bond), hasBond: false),
    ]
    #expect(unproven == [false, false])
    #expect(identity.security.level == .encrypted && !identity.security.isBondProven)
    let proofs = [identity.encrypted(start(.bond), hasBond: true), identity.encrypted(start(.bond), hasBond: true)]
    #expect(proofs == [true, false] && identity.security.isBondProven)
    identity.loseLevel()
    #expect(identity.security.level == .none && !identity.security.isBondProven && identity.security.isBonded)
  }

  @Test func authorizationEndsWhenAnUnknownDeviceIsIdentified() {
    var identity = PeerIdentity(address: device, identity: device, reportedAs: drawn)
    let news = [identity.authorize(true), identity.authorize(true)]
    #expect(news == [true, false])
    let confirmations = [identity.confirm(), identity.confirm()]
    #expect(confirmations == [true, false])
    #expect(identity.reportedAddress == device && !identity.security.isAuthorized)
  }

  @Test func aPeerWithANonResolvableAddressOfItsOwnStaysReportedByIt() {
    var identity = PeerIdentity(address: drawn, identity: drawn.identity)
    let isConfirmed = identity.confirm()
    #expect(!isConfirmed && identity.reportedAddress == drawn.identity)
  }

  @Test func otherBondsAreAnotherIdentityUnlessItIsProven() {
    var configuration = HostConfiguration()
    var bond = Bond(identity: other, strength: weak)
    bond.addressOnAir = device
    configuration.bonds = [bond]
    var bonds = BondTable(configuration)
    var claimed = PeerIdentity(address: device, identity: device)
    claimed.identify(with: &bonds, toolbox)
    #expect(claimed.identity == other && claimed.security.isBonded && !claimed.security.isBondProven)
    var proven = PeerIdentity(address: device, identity: device)
    proven.bonded(as: other)
    proven.identify(with: &bonds, toolbox)
    #expect(proven.security.isBondProven)
    bonds.replaceAll(with: [])
    proven.identify(with: &bonds, toolbox)
    #expect(proven.identity == device && !proven.security.isBonded && !proven.security.isBondProven)
  }

  @Test func theLinkThatProvesAnIdentityEndsTheOneThatIsReportedByIt() {
    var claim = PeerIdentity(address: device, identity: device, reportedAs: drawn)
    _ = claim.encrypted(start(.bond), hasBond: true)
    var table = table([PeerIdentity(address: device, identity: device), claim])
    #expect(confirm(2, &table) == ["report", "end 1", "superseded 1", "identified 2"])
    #expect(confirm(9, &table).isEmpty)
  }

  @Test func linksInTheOtherRoleOrWithDrawnAddressesStay() {
    let claim = PeerIdentity(address: device, identity: device, reportedAs: drawn)
    var table = table(
      [PeerIdentity(address: device, identity: device), claim, PeerIdentity(address: device, identity: device)],
      [.central, .peripheral, .peripheral])
    #expect(confirm(3, &table).isEmpty)
  }

  @Test func aBondThatIsReplacedOrRemovedIsProvenByNoOtherLink() {
    var proven = PeerIdentity(address: device, identity: device)
    proven.bonded(as: device)
    var table = table([proven, proven, PeerIdentity(address: other, identity: other)])
    #expect(table.provenIdentities() == [device] && table.provenIdentities(except: LinkID(rawValue: 3)) == [device])
    var effects: [Effect<LinkEffect>] = []
    table.bondReplaced(device, on: LinkID(rawValue: 2), into: &effects)
    #expect(words(effects) == ["security 1 false"])
    #expect(table.provenIdentities(except: LinkID(rawValue: 2)).isEmpty)
    table.bondRemoved(device)
    #expect(table.provenIdentities().isEmpty && table.allSatisfy { !$0.security.isBonded })
  }
}
