internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// Packets that pass through the faults of their controllers.
extension VirtualRadio {
  /// Receives a packet from the host of the controller in `slot`, with the faults of all controllers.
  mutating func receiveWithFaults(_ packet: Span<UInt8>, slot: Int) {
    invalidateDeadline()
    let octets = [UInt8](copying: packet)
    let passed = controllers[slot].pass(octets[...], .toController, now: context.now) ?? [octets]
    perform(passed, slot: slot)
  }

  /// Passes on all held packets that are due.
  mutating func releaseHeldPackets() {
    for slot in controllers.indices where controllers[slot].isAttached {
      for packet in controllers[slot].releasePackets(.toHost, at: context.now) {
        context.output.append(to: controllers[slot].id) { $0 += packet }
      }
      perform(controllers[slot].releasePackets(.toController, at: context.now), slot: slot)
    }
  }

  private mutating func perform(_ packets: [[UInt8]], slot: Int) {
    let first = context.output.count
    for packet in packets { perform(packet.span, slot: slot) }
    applyFaults(toOutputFrom: first)
  }

  /// Applies the faults to the packets for hosts from an index on, and then ends the links that the faults end.
  mutating func applyFaults(toOutputFrom first: Int) {
    var first = first
    repeat {
      if first < context.output.count {
        var output = VirtualRadioOutput()
        for index in 0..<context.output.count {
          let (id, packet) = (context.output.destination(index), context.output[index])
          let faulty = index < first ? nil : slot(of: id)
          let passed = faulty.flatMap { controllers[$0].pass(packet, .toHost, now: context.now) }
          if let passed {
            for packet in passed { output.append(to: id) { $0 += packet } }
          } else {
            output.append(to: id) { $0 += packet }
          }
        }
        context.output = output
      }
      first = context.output.count
    } while endLinks()
  }

  /// Ends the links of each controller that has reached its number of packets.
  ///
  /// - Returns: whether it ended a link: the events are in the output.
  private mutating func endLinks() -> Bool {
    let before = context.output.count
    for slot in controllers.indices where controllers[slot].isAttached {
      guard let reason = controllers[slot].takeDisconnection() else { continue }
      invalidateDeadline()
      for link in controllers[slot].linkEnds {
        for place in [slot, link.peer] { controllers[place].close(link.id, reason, &context) }
      }
    }
    deliver()
    return context.output.count > before
  }
}
