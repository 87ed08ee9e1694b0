import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLELinux
import BLESMP
import BLEWire
import Synchronization
import Testing

@testable import BLEAdapter

/// The names of bonded devices, beside their bonds.
@Suite struct BondNameTests {
  private static let link = LinkID(rawValue: 7)
  private let store = BondFixtures.Notebook()

  private func hub() -> AdapterHub { AdapterHub(BondStorage(store, log: { _ in }), log: { _ in }) }

  private static func connected(_ address: DeviceAddress) -> HostEvent {
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    return .connected(ConnectedLink(peer: link, address: address, role: .central, timing: timing))
  }

  private static func security(isProven: Bool) -> HostEvent {
    let level: SecurityLevel = isProven ? .encrypted : .none
    return .link(link, .security(SecurityState(level: level, keySize: 16, isBonded: true, isBondProven: isProven)))
  }

  /// In either order: the name is known before the link is encrypted, or after.
  @Test(arguments: [true, false]) func aNameIsStoredOnALinkThatHasProvenItsBond(isKnownBefore: Bool) throws {
    let hub = hub()
    let bond = BondFixtures.record(1, bonds: 1).bonds[0]
    hub.receive([.bonds(.changed(bond)), Self.connected(bond.identity), Self.security(isProven: false)])
    if isKnownBefore { hub.note(.advertised("Lamp", by: Self.link)) }
    #expect(hub.bonds.bonds.map(\.name) == [nil])
    hub.receive([Self.security(isProven: true)])
    if !isKnownBefore { hub.note(.advertised("Lamp", by: Self.link)) }
    #expect(hub.bonds.bonds.map(\.name) == ["Lamp"])
    // The host's copy of the bond has no name, and does not take it away.
    var used = bond
    used.lastUse += 1
    hub.receive([.bonds(.changed(used))])
    #expect(hub.bonds.bonds.map(\.name) == ["Lamp"] && hub.bonds.bonds.map(\.lastUse) == [used.lastUse])
    // The Device Name characteristic, as a central manager reads it.
    hub.note(.named(bond.identity, "Kitchen"))
    #expect(hub.bonds.bonds.map(\.name) == ["Kitchen"])
    hub.bonds.settle(isLast: true)
    #expect(store.records.withLock { $0.last?.bonds.map(\.name) } == ["Kitchen"])
  }

  /// A device that advertises the address of a bonded one, and cannot encrypt.
  @Test func aNameOfALinkWithoutProofChangesNothing() {
    let hub = hub()
    let bond = BondFixtures.record(1, bonds: 1).bonds[0]
    hub.receive([.bonds(.changed(bond)), Self.connected(bond.identity), Self.security(isProven: true)])
    hub.note(.advertised("Lamp", by: Self.link))
    hub.receive([.link(Self.link, .disconnected(.connectionTimeout))])
    hub.receive([Self.connected(bond.identity), Self.security(isProven: false)])
    hub.note(.seen(bond.identity, name: "Stranger", services: []))
    hub.note(.advertised("Stranger", by: Self.link))
    hub.note(.named(bond.identity, "Stranger"))
    #expect(hub.bonds.bonds.map(\.name) == ["Lamp"])
  }

  /// A device that has paired with a private address: its bond has the identity that it has distributed.
  @Test func theBondOfAPairingHasTheNameOfItsLink() throws {
    let hub = hub()
    let bond = BondFixtures.record(1, bonds: 1).bonds[0]
    let address = DeviceAddress(octets: BD_ADDR(0x4000_0000_0001), kind: .random)
    hub.receive([Self.connected(address)])
    hub.note(.advertised("Lamp", by: Self.link))
    let paired = PairedDevice(identity: bond.identity, isBonded: true, strength: bond.strength)
    hub.receive([.bonds(.changed(bond)), .pairing(Self.link, .succeeded(paired))])
    #expect(hub.bonds.bonds.map(\.name) == ["Lamp"])
  }

  @Test(arguments: [(0, nil), (248, 248), (249, nil)] as [(Int, Int?)])
  func aNameOfABondHasTheOctetsOfTheDeviceNameAtMost(count: Int, stored: Int?) throws {
    #expect(Bond.nameLimit == 248)
    let storage = BondStorage(store, log: { _ in })
    let bond = BondFixtures.record(1, bonds: 1).bonds[0]
    storage.receive(.changed(bond))
    storage.note(name: String(repeating: "a", count: count), of: bond.identity)
    #expect(storage.bonds.map { $0.name?.utf8.count } == [stored])
    // A file that another program has written.
    var record = BondRecord()
    record.bonds = [bond]
    record.bonds[0].nameOctets = Array(repeating: UInt8(ascii: "a"), count: count)
    let read = try BondRecord(decoding: try record.encoded())
    #expect(read.bonds.map { $0.name?.utf8.count } == [count == 0 ? 0 : stored])
  }

  /// A name is compared as the octets that are sent, not as characters.
  @Test func bondsWithNamesOfDifferentOctetsDiffer() {
    var bonds = [Bond](repeating: BondFixtures.record(1, bonds: 1).bonds[0], count: 2)
    (bonds[0].nameOctets, bonds[1].nameOctets) = (Array("K\u{E4}se".utf8), Array("Ka\u{308}se".utf8))
    #expect(bonds[0].name == bonds[1].name && bonds[0] != bonds[1])
    bonds[1].nameOctets = bonds[0].nameOctets
    #expect(bonds[0] == bonds[1] && bonds[0].hashValue == bonds[1].hashValue)
  }

  @Test func aNameOfAnUnknownDeviceIsIgnored() {
    let storage = BondStorage(store, log: { _ in })
    storage.note(name: "Lamp", of: DeviceAddress(octets: BD_ADDR(1), kind: .public))
    #expect(storage.bonds.isEmpty)
  }

  /// Files without names are read (``BondFormatTests``); a reader skips members that it does not have, as one of an
  /// older version skips the name.
  @Test func aFileHasTheNameAsAMemberThatAReaderMaySkip() throws {
    let file = BondFormatTests.file
    let old = try BondRecord(decoding: [UInt8](file.utf8))
    var named = old
    named.bonds[0].nameOctets = Array("L\u{7}amp".utf8)
    let text = String(decoding: try named.encoded(), as: UTF8.self)
    #expect(text == file.replacing(#""lastUse" : 3,"#, with: "\"lastUse\" : 3,\n      \"name\" : \"L\\u0007amp\","))
    #expect(try BondRecord(decoding: [UInt8](text.utf8)) == named)
    let unknown = text.replacing(#""name" :"#, with: #""later" :"#)
    #expect(try BondRecord(decoding: [UInt8](unknown.utf8)) == old)
  }

  /// Two programs with one file: a name that only one of them knows stays.
  @Test func aNameOfTheOtherProgramStays() {
    let base = BondFixtures.record(1, bonds: 1)
    var (ours, theirs) = (base, base)
    theirs.bonds[0].nameOctets = Array("Lamp".utf8)
    ours.bonds[0].lastUse += 1
    #expect(ours.merged(with: theirs, since: base).bonds.map(\.name) == ["Lamp"])
    ours.bonds[0].nameOctets = Array("Kitchen".utf8)
    #expect(ours.merged(with: theirs, since: base).bonds.map(\.name) == ["Kitchen"])
  }
}
