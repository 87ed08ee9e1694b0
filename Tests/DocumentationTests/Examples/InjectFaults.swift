import BLEHCI
import BLEVirtual
import BLEWire

/// The number of advertising reports that a host receives in ten seconds over a connection to its controller that has faults.
///
/// The seed determines the packets that are lost, so a failing test of a host fails again in the next run.
func reports(with faults: [VirtualFault], seed: UInt64) throws -> Int {
  var radio = VirtualRadio(seed: seed)
  var output = VirtualRadioOutput()
  let beacon = radio.attach(now: .start)
  let observer = radio.attach(now: .start)

  func send(_ command: some HCICommand, from id: ControllerID) {
    var octets: [UInt8] = []
    octets.append(hci: command)
    radio.receive(octets[...], from: id, now: .start, into: &output)
  }
  send(HCI.SetEventMask { $0.eventMask = [.leMeta] }, from: observer)
  send(HCI.LESetScanEnable { $0.scanEnable = true }, from: observer)
  send(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }, from: beacon)

  // From now on, not before: the host could not start without the answers to its commands.
  radio.setFaults(faults, of: observer)
  output.removeAll()
  radio.tick(now: .start + .seconds(10), into: &output)
  return output.packets(for: observer).count
}

/// Half of the reports are lost, a tenth of the rest arrive twice, and the controller restarts after five seconds.
func reportsOfAnUnreliableController(seed: UInt64) throws -> Int {
  try reports(
    with: [
      .packets(PacketFault(.drop, .leEvent(.advertisingReport), .toHost, percent: 50)),
      .packets(PacketFault(.duplicate, .events, .toHost, percent: 10)),
      .restarts(at: .start + .seconds(5), hardwareError: 0x01),
    ], seed: seed)
}
