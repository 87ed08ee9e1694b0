internal import CLinux
internal import Glibc

/// Opens serial devices: raw, 8N1, exclusive.
enum SerialLine {
  static func open(
    _ path: String, _ settings: SerialSettings, through system: SystemCalls
  ) throws(TransportError) -> ByteStream {
    let endpoint = StreamEndpoint.serial(path: path, settings)
    guard let speed = speeds[settings.baudRate] else {
      throw TransportError(
        .malformed, at: "\(endpoint)", "cannot open the device: \(settings.baudRate) is not a baud rate of Linux",
        remedy: "Use one of \(speeds.keys.sorted().map(String.init).joined(separator: ", ")).")
    }
    do throws(SystemError) {
      let line = try FileDescriptor.open(path, flags: O_RDWR | O_NOCTTY, through: system)
      let number = line.rawValue
      try system(.exclusive) { ble_take_terminal(number) }
      try makeRaw(line, speed: speed, flowControl: settings.flowControl, through: system)
      _ = tcflush(number, TCIOFLUSH)
      return ByteStream(line, medium: .terminal)
    } catch { throw TransportError(opening: endpoint, error) }
  }

  /// Sets the raw mode, in which every octet passes unchanged. With a speed, also sets the speed and the flow control.
  static func makeRaw(
    _ line: borrowing FileDescriptor, speed: speed_t? = nil, flowControl: SerialSettings.FlowControl = .none,
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
    // tcsetattr succeeds if at least one of the changes succeeded.
    var inForce = termios()
    try system(.terminalAttributes) { unsafe tcgetattr(number, &inForce) }
    let decisive = tcflag_t(CSIZE | CSTOPB | PARENB) | tcflag_t(CRTSCTS)
    guard unsafe cfgetospeed(&inForce) == speed, inForce.c_cflag & decisive == attributes.c_cflag & decisive else {
      throw SystemError(.terminalAttributes, EINVAL)
    }
  }

  /// The constants of `termios`, by their bits per second.
  private static let speeds: [UInt32: speed_t] = Dictionary(
    uniqueKeysWithValues: [
      (9_600, B9600), (19_200, B19200), (38_400, B38400), (57_600, B57600), (115_200, B115200), (230_400, B230400),
      (460_800, B460800), (500_000, B500000), (576_000, B576000), (921_600, B921600), (1_000_000, B1000000),
      (1_152_000, B1152000), (1_500_000, B1500000), (2_000_000, B2000000), (2_500_000, B2500000),
      (3_000_000, B3000000), (3_500_000, B3500000), (4_000_000, B4000000),
    ].map { (UInt32($0.0), speed_t($0.1)) })
}

/// A pseudo-terminal: this process has one end, and a symbolic link leads to the other.
package struct PseudoTerminal: ~Copyable, Sendable {
  // The type is written in full, so that the property has no initial value: Swift 6.2.3 rejects its own code for an
  // initializer of a noncopyable type that throws after a property has its initial value.
  private var near: Optional<FileDescriptor>
  private let link: OwnedPath
  /// The device of the other end.
  package let device: String

  /// Creates the terminal, in raw mode, and the link. An existing symbolic link at that path is replaced.
  package init(linkedAt path: String, through system: SystemCalls = .kernel) throws(TransportError) {
    do throws(SystemError) {
      let near = FileDescriptor(
        adopting: try system(.openPseudoTerminal) { posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK) })
      let number = near.rawValue
      try system(.openPseudoTerminal) { ble_set_nonblocking(number) }
      try system(.openPseudoTerminal) { grantpt(number) }
      try system(.openPseudoTerminal) { unlockpt(number) }
      var name = [CChar](repeating: 0, count: 128)
      let failure = unsafe name.withUnsafeMutableBufferPointer {
        unsafe ptsname_r(number, $0.baseAddress, UInt($0.count))
      }
      guard failure == 0 else { throw SystemError(.openPseudoTerminal, failure) }
      let device = name.withUnsafeBufferPointer { unsafe $0.baseAddress.map { unsafe String(cString: $0) } ?? "" }
      do {
        // After the other end has been opened and closed once, it counts as hung up until a program opens it.
        let far = try FileDescriptor.open(device, flags: O_RDWR | O_NOCTTY, through: system)
        try SerialLine.makeRaw(far, through: system)
      }
      if let present = FileIdentity(at: path) {
        guard present.kind == .link else { throw SystemError(.symlink, EEXIST) }
        try system(.unlink) { unlink(path) }
      }
      try system(.symlink) { symlink(device, path) }
      link = OwnedPath(madeAt: path)
      self.device = device
      self.near = consume near
    } catch { throw TransportError(opening: .pseudoTerminal(path: path), error) }
  }

  /// Returns the stream, once, after another program has opened its end.
  package mutating func accept() -> ByteStream? {
    guard let near = near.take() else { return nil }
    var wanted = pollfd(fd: near.rawValue, events: Int16(POLLOUT), revents: 0)
    guard unsafe poll(&wanted, 1, 0) >= 0, Int32(wanted.revents) & POLLHUP == 0 else {
      self.near = consume near
      return nil
    }
    return ByteStream(near, medium: .terminal)
  }
}
