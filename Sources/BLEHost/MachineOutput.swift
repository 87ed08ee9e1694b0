package import BLEWire

/// The output of a host: whole H4 packets for the controller and events for the application, each in order; and
/// commands to the kernel, if the kernel has the controller. The memory is reused.
///
/// It is a struct and not a protocol, so that a loop that is made for one machine uses the properties in place, without
/// a copy.
package struct MachineOutput<Event: Sendable>: Sendable {
  /// Whole H4 packets for the controller.
  package var packets = PacketBuffer()
  /// Commands to the kernel, in order.
  package var kernelCommands: [KernelCommand] = []
  /// Events, each for the owners that it is addressed to.
  package var events: [AddressedEvent<Event>] = []

  package init() {}

  package mutating func append(_ event: Event, to recipient: Recipient = .everyone) {
    events.append(AddressedEvent(event, to: recipient))
  }

  /// Forgets what was drained and keeps the memory.
  package mutating func removeAll() {
    packets.removeAll()
    kernelCommands.removeAll(keepingCapacity: true)
    events.removeAll(keepingCapacity: true)
  }
}

package typealias HostOutput = MachineOutput<HostEvent>
