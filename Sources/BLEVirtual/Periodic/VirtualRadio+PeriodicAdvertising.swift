internal import BLEHCI
internal import BLEWire

/// Periodic advertising events, from a train to the controllers that are synchronized with it (Vol 6, Part B, 4.4.2.12
/// and 4.4.3.4).
///
/// The receiving controller has the deadlines. It takes the packets from the train at the anchor point; with airtime it
/// receives them when they end.
extension VirtualRadio {
  /// Does everything that is due in the synchronizations of one controller.
  mutating func runPeriodicEvents(of slot: Int) {
    while let step = controllers[slot].periodicStepDue(at: context.now) {
      switch step {
      case .begin(let handle, let info):
        let pdu = sender(of: info, for: slot).flatMap { sender in
          controllers[sender].periodicPacket(of: info.train, rssi: advertisingRSSI(of: sender, at: slot))
        }
        if let pdu, context.pacing == .airtime {
          controllers[slot].beginPeriodicEvent(pdu, on: handle)
        } else {
          controllers[slot].receivePeriodicEvent(pdu, on: handle, &context)
        }
      case .end(let handle, let info, let pdu):
        let isReceived = sender(of: info, for: slot) != nil
        controllers[slot].receivePeriodicEvent(isReceived ? pdu : nil, on: handle, &context)
      }
    }
    controllers[slot].tickSynchronizations(&context)
  }

  /// The slot of the controller that sends a train, if the controller in `slot` can receive it. None receives itself.
  private func sender(of info: SyncInfo, for slot: Int) -> Int? {
    guard let sender = self.slot(of: info.sender), sender != slot, controllers[sender].isReachable,
      controllers[slot].isReachable, controllers[slot].receives(on: info.phy)
    else { return nil }
    return sender
  }
}
