import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// One end of a link alone.
@Suite struct VirtualLinkTests {
  private func link() -> VirtualLink {
    VirtualLink(
      id: 1, handle: ConnectionHandle(rawValue: 0x0040), role: .central, peer: 1,
      peerAddress: DeviceAddress(octets: BD_ADDR(1), kind: .public), rssi: -50, anchor: .start,
      timing: LinkTiming(interval: 24, latency: 0, timeout: 500))
  }

  @Test func controlPDUsWaitUpToTheLimit() {
    var link = link()
    for _ in 0..<VirtualLink.controlLimit { link.keep(.featureRequest) }
    #expect(link.controls.count == VirtualLink.controlLimit)
    link.keep(.versionRequest)
    #expect(link.controls.count == VirtualLink.controlLimit)
    // The end of the link is never dropped, and stored once.
    for _ in 0..<2 { link.keep(.terminate(.remoteUserTerminatedConnection)) }
    #expect(link.controls.count == VirtualLink.controlLimit + 1)
  }
}
