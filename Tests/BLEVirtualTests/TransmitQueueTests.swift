import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// What one end of a link has to send.
struct TransmitQueueTests {
  @Test func controlPDUsWaitUpToTheLimit() {
    var queue = TransmitQueue()
    for _ in 0..<TransmitQueue.controlLimit { queue.append(.featureRequest) }
    #expect(queue.controls.count == TransmitQueue.controlLimit)
    queue.append(.versionRequest)
    #expect(queue.controls.count == TransmitQueue.controlLimit)
    // The end of the link is never dropped, and stored once.
    for _ in 0..<2 { queue.append(.terminate(.remoteUserTerminatedConnection)) }
    #expect(queue.controls.count == TransmitQueue.controlLimit + 1)
  }

  /// Packets that come back stay in their order, before those that have not been sent.
  @Test func packetsThatComeBackStayInOrder() {
    var queue = TransmitQueue()
    func packet(_ buffer: Int) -> TransmitQueue.Packet { .init(buffer: buffer, isStart: true, length: 27) }
    for buffer in 0..<4 { queue.append(packet(buffer)) }
    queue.removePackets(2)
    for buffer in 0..<2 { queue.putBack(packet(buffer)) }
    #expect(queue.isBlocked && queue.packets.map(\.buffer) == [0, 1, 2, 3])
    // Another time begins at the front again.
    queue.unblock()
    queue.removePackets(1)
    queue.putBack(packet(0))
    #expect(queue.packets.map(\.buffer) == [0, 1, 2, 3])
  }

  /// Vol 4, Part E, 5.4.2: a continuing fragment follows the start of a frame.
  @Test func aContinuationFollowsAStart() {
    var queue = TransmitQueue()
    let areAdmitted = [false, true, false].map { queue.admits(isStart: $0) }
    #expect(areAdmitted == [false, true, true])
  }
}
