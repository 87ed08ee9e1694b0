internal import BLEHCI
internal import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// The listener on ATT's channel, which the newest one to listen takes from all others.
extension KernelAdapter {
  /// Wakes the poller when the first link without a socket loses patience.
  func setAlarm() {
    guard let next = links.compactMap(\.patienceEnds).min() else { return }
    let (seconds, attoseconds) = max(.milliseconds(1), next - clock.now()).components
    var time = itimerspec()
    time.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    _ = unsafe timerfd_settime(alarm.rawValue, 0, &time, nil)
  }

  /// Takes the listener back where a link went to another program's: it is opened anew, which makes it the newest.
  ///
  /// The link itself is ended where we advertised for it, so that its central comes back to us.
  mutating func lookAfterListener() throws(SystemError) {
    var expirations: UInt64 = 0
    guard unsafe read(alarm.rawValue, &expirations, MemoryLayout<UInt64>.size) > 0 else { return }
    let now = clock.now()
    var lost: [UInt16] = []
    for position in links.indices {
      guard let end = links[position].patienceEnds, end <= now else { continue }
      links[position].patienceEnds = nil
      links[position].isDeaf = true
      lost.append(links[position].handle)
    }
    setAlarm()
    guard !lost.isEmpty else { return }
    listener = nil
    let opened = try Self.openListener(at: identity, through: system)
    try poller.watch(opened.descriptor, token: KernelToken.listener, for: .reading)
    listener = opened
    let who = BluetoothDaemon.isRunning ? "bluetoothd" : "another program"
    tell("\(name): \(who) took a link that was meant for this one; listening again, so that the next one comes here")
    guard advertises else { return }
    for handle in lost { try endLink(handle) }
  }

  static func openListener(
    at identity: DeviceAddress, through system: SystemCalls
  ) throws(SystemError) -> MessageSocket {
    let socket = try BluetoothSockets.attributeProtocol(at: identity, through: system)
    try BluetoothSockets.listen(socket, through: system)
    return MessageSocket(socket)
  }

  /// HCI Disconnect with Remote User Terminated Connection (Vol 4, Part E, 7.1.6).
  private mutating func endLink(_ handle: UInt16) throws(SystemError) {
    var command: [UInt8] = [HCIPacketType.command.rawValue]
    command.append(littleEndian: HCIOpcode.disconnect.rawValue)
    command.append(3)
    command.append(littleEndian: handle)
    command.append(HCIErrorCode.remoteUserTerminatedConnection.rawValue)
    try sendCommand(command.span)
  }
}
