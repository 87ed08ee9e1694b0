internal import CBluetoothLinux
internal import Glibc

/// A terminal made for another program: we hold the one end, a symbolic link leads to the other.
package struct PseudoTerminal: ~Copyable, Sendable {
  private var near: Descriptor?
  private let link: OwnedPath
  /// The device that the link leads to.
  package let device: String

  /// Makes the terminal, in raw mode, and the link to it; a link that leads nowhere else is replaced.
  package init(linkedAt path: String, through system: SystemCalls = .kernel) throws(TransportError) {
    do throws(SystemError) {
      let near = Descriptor(
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
        // Opened and closed once, the other end counts as gone, which is how its coming is seen.
        let far = try Descriptor.open(device, flags: O_RDWR | O_NOCTTY, through: system)
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

  /// The stream, once another program has opened its end; it is handed out once.
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
