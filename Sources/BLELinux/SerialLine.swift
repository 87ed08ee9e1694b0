internal import CBluetoothLinux
internal import Glibc

/// Opens serial devices: raw, 8N1, exclusive.
enum SerialLine {
  static func open(
    _ path: String, _ settings: SerialSettings, through system: SystemCalls
  ) throws(TransportError) -> ByteStream {
    let endpoint = StreamEndpoint.serial(path: path, settings)
    guard let speed = speeds[settings.baudRate] else {
      throw TransportError(
        .malformed, at: "\(endpoint)", "\(settings.baudRate) is no baud rate that Linux knows",
        remedy: "take one of " + speeds.keys.sorted().map(String.init).joined(separator: ", "))
    }
    do throws(SystemError) {
      let line = try Descriptor.open(path, flags: O_RDWR | O_NOCTTY, through: system)
      let number = line.rawValue
      try system(.exclusive) { ble_take_terminal(number) }
      try makeRaw(line, speed: speed, flowControl: settings.flowControl, through: system)
      _ = tcflush(number, TCIOFLUSH)
      return ByteStream(line, medium: .terminal)
    } catch { throw TransportError(opening: endpoint, error) }
  }

  /// Lets every octet through unchanged; with a speed, sets that and the flow control too.
  static func makeRaw(
    _ line: borrowing Descriptor, speed: speed_t? = nil, flowControl: SerialSettings.FlowControl = .none,
    through system: SystemCalls
  ) throws(SystemError) {
    let number = line.rawValue
    var attributes = termios()
    try system(.terminalAttributes) { unsafe tcgetattr(number, &attributes) }
    unsafe cfmakeraw(&attributes)
    attributes.c_cflag &= ~tcflag_t(CSTOPB | PARENB)
    attributes.c_cflag |= tcflag_t(CLOCAL | CREAD)
    if let speed {
      try system(.terminalAttributes) { unsafe cfsetspeed(&attributes, speed) }
      if flowControl == .rtscts {
        attributes.c_cflag |= tcflag_t(CRTSCTS)
      } else {
        attributes.c_cflag &= ~tcflag_t(CRTSCTS)
      }
    }
    try system(.terminalAttributes) { unsafe tcsetattr(number, TCSANOW, &attributes) }
    guard let speed else { return }
    // tcsetattr succeeds when any one of the changes did.
    var inForce = termios()
    try system(.terminalAttributes) { unsafe tcgetattr(number, &inForce) }
    let decisive = tcflag_t(CSIZE | CSTOPB | PARENB) | tcflag_t(CRTSCTS)
    guard unsafe cfgetospeed(&inForce) == speed, inForce.c_cflag & decisive == attributes.c_cflag & decisive else {
      throw SystemError(.terminalAttributes, EINVAL)
    }
  }

  /// The baud rates of `termios`, by their number of bits a second.
  private static let speeds: [UInt32: speed_t] = Dictionary(
    uniqueKeysWithValues: [
      (9_600, B9600), (19_200, B19200), (38_400, B38400), (57_600, B57600), (115_200, B115200), (230_400, B230400),
      (460_800, B460800), (500_000, B500000), (576_000, B576000), (921_600, B921600), (1_000_000, B1000000),
      (1_152_000, B1152000), (1_500_000, B1500000), (2_000_000, B2000000), (2_500_000, B2500000),
      (3_000_000, B3000000), (3_500_000, B3500000), (4_000_000, B4000000),
    ].map { (UInt32($0.0), speed_t($0.1)) })
}
