internal import BLEHCI
internal import BLELinux
internal import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// The listener on ATT's channel, which the newest one to listen takes from all others.
extension KernelAdapter {
  /// Wakes the poller when the first link has something to wait for no longer.
  func setAlarm() {
    let times = links.flatMap {
      [$0.patienceEnds, $0.securingEnds, $0.levelSettles.map { _ in clock.now() + Self.levelPace }]
    }
    guard let next = times.compactMap(\.self).min() else { return }
    let (seconds, attoseconds) = max(.milliseconds(1), next - clock.now()).components
    var time = itimerspec()
    time.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    _ = unsafe timerfd_settime(alarm.rawValue, 0, &time, nil)
  }

  mutating func alarmWentOff(_ body: Intake) throws(SystemError) {
    var expirations: UInt64 = 0
    guard unsafe read(alarm.rawValue, &expirations, MemoryLayout<UInt64>.size) > 0 else { return }
    let now = clock.now()
    try lookAfterListener(now)
    try lookAfterSecurity(now, body)
    setAlarm()
  }

  /// Takes the listener back where a link went to another program's: it is opened anew, which makes it the newest.
  ///
  /// The link itself is ended where we began it or advertised for it, so that it is begun again and comes to us.
  private mutating func lookAfterListener(_ now: Instant) throws(SystemError) {
    var lost: [KernelLink] = []
    for position in links.indices {
      guard let end = links[position].patienceEnds, end <= now else { continue }
      links[position].patienceEnds = nil
      links[position].isDeaf = true
      lost.append(links[position])
    }
    guard !lost.isEmpty else { return }
    listener = nil
    let opened = try Self.openListener(at: identity, through: system)
    try poller.watch(opened.descriptor, token: KernelToken.listener, for: .reading)
    listener = opened
    let who = BluetoothDaemon.isRunning ? "bluetoothd" : "another program"
    tell("\(name): \(who) took a link that was meant for this one; listening again, so that the next one comes here")
    for link in lost where link.isCentral || advertises { try endLink(link.handle, .remoteUserTerminatedConnection) }
  }

  static func openListener(
    at identity: DeviceAddress, through system: SystemCalls
  ) throws(SystemError) -> MessageSocket {
    let socket = try BluetoothSockets.attributeProtocol(at: identity, through: system)
    try BluetoothSockets.listen(socket, through: system)
    return MessageSocket(socket)
  }

  /// HCI Disconnect (Vol 4, Part E, 7.1.6).
  mutating func endLink(_ handle: UInt16, _ reason: HCIErrorCode) throws(SystemError) {
    var command: [UInt8] = [HCIPacketType.command.rawValue]
    command.append(littleEndian: HCIOpcode.disconnect.rawValue)
    command.append(3)
    command.append(littleEndian: handle)
    command.append(reason.rawValue)
    noteOwnCommand(command)
    try sendCommand(command.span)
  }
}
