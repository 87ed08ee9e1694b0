package import BLECrypto
import BLEKit
package import BLELinux
package import BLEProxy
import BLEWire
package import ESPHomeAPI
import Synchronization

/// The TCP server of a proxy: one thread that waits for sockets, for the clients' events and for deadlines.
package final class ProxyServer: Sendable {
  package struct Settings: Sendable {
    package var identity: ProxySession.Identity
    /// The key of the encryption; nil for plain text.
    package var key: NoiseKey?
    /// Clients at once, and how they get their places before they have proven the key.
    package var places = ConnectionPlaces.Limits(clients: 16)
    /// Octets that wait to be written to one socket. Above it neither messages nor events of the client are handled:
    /// advertisements are dropped and counted, and a client whose values do not fit either is disconnected
    /// (``ProxyConfiguration/eventLimit``).
    package var outputLimit = 256 << 10
    /// How long advertisements wait for others, to share a message.
    package var advertisementDelay = Duration.milliseconds(20)
    /// The period in which eight lines about clients without the key are logged; more are counted.
    package var complaintTime = Duration.seconds(10)
    /// How long the server waits for clients when it ends.
    package var endPatience = Duration.seconds(1)
    package var log: @Sendable (String) -> Void = { _ in }
    /// Is called once if the server ends because a system call has failed, on its thread.
    package var failed: @Sendable (SystemError) -> Void = { _ in }

    package init(identity: ProxySession.Identity, key: NoiseKey?) { (self.identity, self.key) = (identity, key) }
  }

  private let mailbox: Mailbox
  private let hasEnded: Latch

  /// Listens, and starts the thread.
  ///
  /// - Parameter random: makes the keys of the handshakes.
  package init(
    _ proxy: Proxy, _ settings: Settings, listener: consuming Listener, random: RandomSource = .system
  ) throws(SystemError) {
    let (mailbox, hasEnded) = (try Mailbox(), try Latch())
    (self.mailbox, self.hasEnded) = (mailbox, hasEnded)
    let listener = OneShot(listener)
    try LoopThread.start {
      do throws(SystemError) {
        if let listener = listener.take() {
          var loop = try ServerLoop(mailbox, proxy, settings, random, listener)
          try loop.run()
        }
      } catch { settings.failed(error) }
      hasEnded.open()
    }
  }

  /// Disconnects the clients, and waits until the thread has ended.
  package func end() {
    mailbox.end()
    hasEnded.wait(atMost: .seconds(3))
  }

  /// The input of other threads for the thread of the server.
  final class Mailbox: Sendable {
    struct Content: Sendable {
      /// Clients with events, and those with advertisements only.
      var urgent: [UInt64] = []
      var advertisements: [UInt64] = []
      var isEnding = false
    }

    let waker: Waker
    private let content = Mutex(Content())

    init() throws(SystemError) { waker = try Waker() }

    func add(_ token: UInt64, _ waiting: ProxyClient.Waiting) {
      let wakes = content.withLock { content in
        defer { if waiting == .events { content.urgent.append(token) } else { content.advertisements.append(token) } }
        return content.urgent.isEmpty && content.advertisements.isEmpty
      }
      if wakes { waker.wake() }
    }

    func end() {
      content.withLock { $0.isEnding = true }
      waker.wake()
    }

    func take() -> Content {
      waker.drain()
      return content.withLock { content in
        defer { content = Content(isEnding: content.isEnding) }
        return content
      }
    }
  }
}
