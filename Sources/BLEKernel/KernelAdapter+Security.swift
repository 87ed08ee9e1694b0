internal import BLEHCI
package import BLELinux
package import BLESMP
internal import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// What comes from an adapter: a whole H4 packet, or, beside an empty one, news of the kernel's security manager.
package typealias Intake = (Span<UInt8>, SecurityReport?) -> Void

/// The kernel's security manager: directives go to the management socket or, for one link, to its own socket; reports come
/// from there, and what a link is worth is asked of its socket.
extension KernelAdapter {
  /// How long after an event about encryption the kernel may need to take it up itself, and how often it is asked meanwhile.
  static let levelPatience = Duration.milliseconds(500)
  static let levelPace = Duration.milliseconds(20)
  /// A security manager that hears nothing gives up after 30 seconds (Vol 3, Part H, 3.4).
  static let securingPatience = Duration.seconds(31)

  package mutating func perform(_ directives: [SecurityDirective]) throws(TransportError) {
    do throws(SystemError) {
      for directive in directives {
        if case .secure(let handle, let isAuthenticated) = directive {
          if let position = position(of: handle) { secure(position, isAuthenticated ? 3 : 2) }
        } else if !isDaemons {
          for message in ManagementSocket.messages(for: directive) {
            try management.post(message.command, index, message.parameters)
          }
        } else if case .setPolicy(_?) = directive {
          tell("\(name): bluetoothd is running and pairs by itself (bluetoothctl agent on); bonds are its own")
        }
      }
    } catch { throw TransportError(usingAdapter: name, error) }
  }

  /// Raises the level of one link: as a peripheral the kernel sends a Security Request (Vol 3, Part H, 2.4.6).
  mutating func secure(_ position: Int, _ level: UInt8) {
    guard let socket = links[position].socket, !links[position].isConnecting else {
      return links[position].wantedLevel = level
    }
    links[position].wantedLevel = nil
    if BluetoothSockets.raise(socket.descriptor, to: level, through: system) {
      links[position].securingEnds = clock.now() + Self.securingPatience
    } else {
      // It is that secure already, or cannot be: the host is told what it is.
      links[position].owesLevel = true
      links[position].levelSettles = clock.now()
    }
    setAlarm()
  }

  /// News of the management socket. Where bluetoothd has come meanwhile, its agent answers and we must not.
  mutating func receive(_ report: SecurityReport, _ body: Intake) throws(SystemError) {
    guard !isDaemons else { return }
    tell(report, body)
  }

  /// The controller says that a link's encryption has changed; the kernel, which knows the key, learns of it at the same
  /// time, so its word may come a moment later.
  mutating func encryptionChanged(_ handle: UInt16, _ body: Intake) {
    guard let position = position(of: handle) else { return }
    links[position].levelSettles = clock.now() + Self.levelPatience
    askLevel(position, body)
    setAlarm()
  }

  /// Asks the kernel what a link is worth, and tells what is new.
  mutating func askLevel(_ position: Int, _ body: Intake) {
    guard let socket = links[position].socket,
      let (level, size) = try? BluetoothSockets.security(of: socket.descriptor, through: system)
    else { return }
    let strength =
      level < 2 ? nil : KeyStrength(size: size, isAuthenticated: level >= 3, isSecureConnections: level >= 4)
    guard strength != links[position].strength || links[position].owesLevel else { return }
    (links[position].strength, links[position].owesLevel) = (strength, false)
    tell(.level(handle: links[position].handle, strength), body)
    guard strength != nil, links[position].securingEnds != nil else { return }
    links[position].securingEnds = nil
    flush(position)
  }

  private func tell(_ report: SecurityReport, _ body: Intake) {
    let nothing: [UInt8] = []
    body(nothing.span, report)
  }

  mutating func lookAfterSecurity(_ now: Instant, _ body: Intake) throws(SystemError) {
    for position in links.indices {
      if let end = links[position].levelSettles {
        askLevel(position, body)
        if end <= now { links[position].levelSettles = nil }
      }
      if let end = links[position].securingEnds, end <= now {
        links[position].securingEnds = nil
        try endLink(links[position].handle, .authenticationFailure)
      }
    }
  }
}
