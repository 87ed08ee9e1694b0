import BLEHost
import Dispatch
import Synchronization

/// The channels of one client: their reports go to their streams at once, on the thread of the host, and do not wait
/// for the queue of the application. Otherwise a program that waits in `read` on that queue would wait for itself.
final class ChannelRouter: Sendable {
  private let streams = Mutex<[L2CAPChannelID: Entry]>([:])
  private let later: ChannelStream.Timer
  private let post: @Sendable (HostCommand) -> Bool

  private struct Entry: Sendable {
    let stream: ChannelStream
    var isTaken = false
    var hasEnded = false
  }

  /// Set when the host has rejected an SDU: no further one may follow it.
  private final class Gap: Sendable {
    let exists = Atomic(false)
  }

  /// - Parameter post: posts a command; false if too many wait for the host.
  init(later: @escaping ChannelStream.Timer, post: @escaping @Sendable (HostCommand) -> Bool) {
    (self.later, self.post) = (later, post)
  }

  /// Takes the reports of channels out of a batch. The events that announce a channel stay in it.
  func route(_ events: inout [HostEvent]) {
    guard events.contains(where: \.concernsStream) else { return }
    events.removeAll { event in
      if case .channels(.opened(let opened)) = event { open(opened) }
      guard case .channel(let id, let report) = event else { return false }
      receive(report, of: id)
      return true
    }
  }

  private func receive(_ report: HostEvent.Channel, of id: L2CAPChannelID) {
    switch report {
    case .received(let sdu): stream(id)?.received(sdu)
    case .sent(let octets): stream(id)?.sent(octets)
    case .resized(let mtu): stream(id)?.resized(mtu)
    case .closed(let reason): ended(id, reason)
    }
  }

  /// The stream of a channel; nil if it was taken before.
  func take(_ id: L2CAPChannelID) -> ChannelStream? {
    streams.withLock { streams in
      guard let entry = streams[id], !entry.isTaken else { return nil }
      if entry.hasEnded { streams[id] = nil } else { streams[id]?.isTaken = true }
      return entry.stream
    }
  }

  /// Ends all channels: the host has closed them with their owner.
  func endAll() {
    let all = streams.withLock { streams in
      defer { streams = [:] }
      return streams.values.map(\.stream)
    }
    for stream in all { stream.ended(.detached) }
  }

  private func stream(_ id: L2CAPChannelID) -> ChannelStream? { streams.withLock { $0[id]?.stream } }

  private func open(_ opened: OpenedChannel) {
    let gap = Gap()
    let stream = ChannelStream(maximumLength: opened.remoteMTU, frameLength: opened.remoteMPS, later: later) {
      [weak self, post, id = opened.id] command in
      guard !gap.exists.load(ordering: .acquiring) else { return }
      let isTaken =
        switch command {
        case .send(let sdu): post(.channel(id, .send(sdu)))
        case .didRead: post(.channel(id, .didRead))
        case .close: post(.channel(id, .close))
        }
      guard !isTaken else { return }
      gap.exists.store(true, ordering: .releasing)
      // Not here: the stream is locked.
      DispatchQueue.global().async { [weak self] in self?.close(id) }
    }
    streams.withLock { $0[opened.id] = Entry(stream: stream) }
  }

  /// Ends a channel of which the host has lost a command, as soon as it takes another one.
  private func close(_ id: L2CAPChannelID) {
    stream(id)?.ended(.overloaded)
    guard !post(.channel(id, .close)) else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { [weak self] in self?.close(id) }
  }

  private func ended(_ id: L2CAPChannelID, _ reason: ChannelCloseReason) {
    let stream = streams.withLock { streams in
      let entry = streams[id]
      if entry?.isTaken == true { streams[id] = nil } else { streams[id]?.hasEnded = true }
      return entry?.stream
    }
    stream?.ended(ChannelEnd(reason))
  }
}

extension HostEvent {
  fileprivate var concernsStream: Bool {
    switch self {
    case .channel, .channels(.opened): true
    default: false  // The others are for the client.
    }
  }
}
