import BLEHCI
import BLEVirtual
import BLEWire

/// The host under test: a beacon, which sends its next command when the controller has answered the previous one.
struct Beacon {
  private var commands: [[UInt8]] = [
    packet(HCI.Reset()),
    packet(HCI.LESetAdvertisingData { $0.advertisingData = [0x02, 0x01, 0x06, 0x02, 0x0A, 0x04] }),
    packet(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }),
  ]

  mutating func nextCommand() -> [UInt8]? { commands.isEmpty ? nil : commands.removeFirst() }
}

/// Runs the beacon on a simulated radio and returns the advertising data that another host receives.
///
/// Time is virtual: ten seconds of advertising take less than a millisecond, and each run gives the same octets.
func advertisements(of host: Beacon, for duration: Duration) throws -> [Bytes] {
  var host = host
  var radio = VirtualRadio(seed: 1)
  var output = VirtualRadioOutput()
  let beacon = radio.attach(now: .start)
  let observer = radio.attach(now: .start)

  // The other host needs two commands to receive reports.
  for command in [
    packet(HCI.SetEventMask { $0.eventMask = [.leMeta] }), packet(HCI.LESetScanEnable { $0.scanEnable = true }),
  ] {
    radio.receive(command[...], from: observer, now: .start, into: &output)
  }
  while let command = host.nextCommand() {
    radio.receive(command[...], from: beacon, now: .start, into: &output)
  }
  radio.tick(now: .start + duration, into: &output)

  return try output.packets(for: observer).flatMap { octets -> [Bytes] in
    guard case .event(let packet) = try HCIPacket(decoding: octets),
      case .leAdvertisingReport(let event) = try HCIEvent(packet)
    else { return [] }
    return event.reports.map(\.data)
  }
}

private func packet(_ command: some HCICommand) -> [UInt8] {
  var octets: [UInt8] = []
  octets.append(hci: command)
  return octets
}
