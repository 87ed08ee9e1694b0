/// What a host has counted since it was started. The packets are those until its loop last waited.
package struct HostCounters: Hashable, Sendable {
  /// HCI packets from the controller.
  package var receivedPackets: UInt64 = 0
  /// HCI packets for the controller.
  package var sentPackets: UInt64 = 0
  /// Commands that were refused because too many of them waited for the host.
  package var refusedCommands: UInt64 = 0
  /// How often the transport was not read because an owner had not consumed its events.
  package var readingPauses: UInt64 = 0
}
