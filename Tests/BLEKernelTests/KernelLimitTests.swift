import BLEHCI
import BLELinux
import BLEWire
import CBluetoothLinux
import Glibc
import Testing

@testable import BLEKernel

/// The limits of the sockets below a kernel's adapter, at the limit and one past it.
@Suite struct KernelLimitTests {
  /// A packet of this length: a vendor-specific event, whose length octet no socket reads.
  private func packet(_ length: Int) -> [UInt8] { [0x04, 0xFF] + [UInt8](repeating: 0x5A, count: length - 2) }

  private func received(by channel: inout UserChannel) throws -> [Int] {
    var lengths: [Int] = []
    try channel.receive { lengths.append($0.count) }
    return lengths
  }

  @Test func aPacketOfTheUserChannelIsReadUpToItsLimit() throws {
    let pair = try MessagePair()
    var channel = UserChannel(try #require(pair.near), named: "hci-socket:0")
    for length in [UserChannel.packetLimit, UserChannel.packetLimit + 1] { try pair.say(packet(length)) }
    #expect(try received(by: &channel) == [UserChannel.packetLimit, UserChannel.packetLimit])
  }

  @Test func theUserChannelKeepsPacketsUpToItsLimitAndThenCountsAsStuck() throws {
    let pair = try MessagePair()
    let near = try #require(pair.near)
    let filler = packet(4_096)
    while try near.send(filler.span) {}
    var channel = UserChannel(near, named: "hci-socket:0")
    var packets = PacketBuffer()
    for _ in 0..<UserChannel.backlogLimit / filler.count { packets.append { $0 += filler } }
    try channel.send(packets)
    packets.removeAll()
    packets.append { $0 += [0x01] }
    let error = try #require(throws: TransportError.self) { try channel.send(packets) }
    #expect(error.cause == SystemError(.send, ENOBUFS))
  }

  @Test func commandsWaitForTheKernelUpToTheLimit() throws {
    var played = try PlayedAdapter()
    let command: [UInt8] = [0x01, 0x01, 0x10, 0x00]
    let near = try #require(played.events.near)
    while try near.send(command.span) {}
    for _ in 0..<KernelAdapter.commandLimit { try played.send(command) }
    var thrown: TransportError?
    do { try played.send(command) } catch { thrown = error as? TransportError }
    #expect(thrown?.cause == SystemError(.send, EIO))
    // All that were accepted are sent once the kernel reads.
    while try played.events.sent() != nil {}
    _ = try played.received()
    var sent = 0
    while try played.events.sent() != nil { sent += 1 }
    #expect(sent == KernelAdapter.commandLimit)
  }

  /// A PDU of an L2CAP socket becomes an ACL packet with two headers of four octets.
  @Test func aMessageOfALinkIsReadUpToTheLimit() throws {
    var played = try PlayedAdapter()
    let (pair, _) = try played.link(0x0040)
    for length in [KernelAdapter.messageLimit, KernelAdapter.messageLimit + 1] {
      #expect(try pair.far.send([UInt8](repeating: 0x1B, count: length).span))
      let octets = try played.received().filter { $0[0] == 0x02 }.map(\.count)
      #expect(octets == [1 + 4 + 4 + KernelAdapter.messageLimit])
    }
  }

  /// Command Complete of Read Controller Index List, so long that the whole message has `length` octets.
  private func answer(_ length: Int) -> [UInt8] {
    var message: [UInt8] = [0x01, 0x00, 0xFF, 0xFF]
    message.append(littleEndian: UInt16(length - 6))
    message += [0x03, 0x00, 0x00]
    return message + [UInt8](repeating: 7, count: length - message.count)
  }

  @Test func aManagementMessageIsReadUpToTheLimit() throws {
    let pair = try MessagePair()
    var management = ManagementSocket(try #require(pair.near))
    management.patience = .milliseconds(10)
    let request = ManagementRequest(Management.ReadIndexList())
    try pair.say(answer(ManagementSocket.messageLimit))
    let reply = try management.request(request, to: Management.noIndex)
    #expect(reply.status == .success && reply.parameters.count == ManagementSocket.messageLimit - 9)
    // One octet is lost, so that it is no message.
    try pair.say(answer(ManagementSocket.messageLimit + 1))
    #expect(try management.request(request, to: Management.noIndex).status == nil)
  }

  /// The kernel fills as many entries as it was asked for. One that reports one more has not written it.
  @Test func aListOfLinksHasAsManyAsTheLimitAtMost() {
    var link = hci_conn_info()
    (link.type, link.state) = (0x80, 1)
    let list = (0..<BluetoothSockets.linkLimit).map { number in
      link.handle = UInt16(number)
      return link
    }
    for count in [BluetoothSockets.linkLimit, BluetoothSockets.linkLimit + 1] {
      let handles = BluetoothSockets.links(in: list, count: count).map(\.handle.rawValue)
      #expect(handles == list.map(\.handle))
    }
    #expect(BluetoothSockets.links(in: list, count: 1).count == 1)
    #expect(BluetoothSockets.links(in: list, count: -1).isEmpty)
  }
}
