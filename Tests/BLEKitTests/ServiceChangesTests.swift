import BLEATT
import BLEHost
import BLEWire
import Testing

@testable import BLEKit

@Suite("Changes of a device's services") struct ServiceChangesTests {
  @Test func aChangeConcernsWhatWasDiscoveredBefore() {
    var changes = ServiceChanges()
    let before = changes.count
    changes.add(0x10...0x1F)
    #expect(changes.includes(0x10, since: before) && !changes.includes(0x20, since: before))
    #expect(!changes.includes(0x10, since: changes.count))
  }

  /// What was discovered before the changes that are remembered counts as changed.
  @Test func theChangesThatAreRememberedAreLimited() {
    var changes = ServiceChanges()
    let before = changes.count
    for _ in 0..<ServiceChanges.limit { changes.add(0x10...0x1F) }
    #expect(!changes.includes(0x20, since: before))
    changes.add(0x10...0x1F)
    #expect(changes.includes(0x20, since: before))
  }

  @Test func theFaultsOfALinkAreLimited() {
    var link = LinkState(
      address: DeviceAddress(octets: BD_ADDR(1), kind: .public), isCentral: false,
      timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500))
    for number in 1...(LinkState.discoveryFaultLimit + 1) {
      let handle = AttributeHandle(UInt16(number))
      link.note([RemoteDevice.DiscoveryFault(handles: handle...handle, error: .servicesChanged)])
    }
    #expect(link.discoveryFaults.count == LinkState.discoveryFaultLimit)
    link.note(link.discoveryFaults)
    #expect(link.discoveryFaults.count == LinkState.discoveryFaultLimit)
  }
}
