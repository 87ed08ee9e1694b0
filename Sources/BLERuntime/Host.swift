package import BLEHost

/// The application's end of one stack: commands go in from any thread, events come out on the stack's own.
///
/// A host lives while somebody holds it or one of its attachments; then the stack is shut down (advertising off, links
/// ended) and its thread ends.
///
/// ```swift
/// let host = try Host.shared(LaunchChoice.transport())
/// let attachment = host.attach { events in print(events) }
/// host.post(.stopScanning)
/// ```
package final class Host: Sendable {
  package let transport: TransportSpec
  /// The TCP port that `tcp-server:…` listens on; the one that was free where 0 was asked for.
  package let listeningPort: UInt16?
  /// Where the trace goes, if anywhere.
  package let tracePath: String?
  let desk: HostDesk<HostCommand, HostEvent>

  init(
    _ transport: TransportSpec, desk: HostDesk<HostCommand, HostEvent>, listeningPort: UInt16?, tracePath: String?
  ) {
    self.transport = transport
    self.desk = desk
    self.listeningPort = listeningPort
    self.tracePath = tracePath
  }

  deinit { desk.shutDown() }

  /// Posts a command; commands are performed in the order they were posted. The call never waits.
  ///
  /// - Returns: false where the command was refused: the stack has ended, or ``LoopOptions/commandLimit`` commands wait
  ///   already, which ``HostEvent/refused(_:)`` says too.
  @discardableResult
  package func post(_ command: HostCommand) -> Bool { desk.post(command) }

  /// Lets `sink` hear every event from now on, the newest ``HostEvent/state(_:_:)`` first.
  ///
  /// `sink` is called on the stack's thread with batches in order, until the attachment is let go. It must not wait; it
  /// may post.
  package func attach(_ sink: @escaping @Sendable ([HostEvent]) -> Void) -> HostAttachment {
    HostAttachment(host: self, id: desk.attach(sink))
  }

  /// The application has really taken so many of the events handed out, whichever attachment they went to.
  ///
  /// While one sink has more than ``LoopOptions/eventBacklogLimit`` events before it, the transport is left unread and
  /// the controller thereby held back; below half of the limit it is read again. ``HostAttachment/consumed(_:)`` counts
  /// exactly where there are several.
  package func consumed(_ count: Int) { desk.consumed(count) }

  /// Ends the stack although it is still held: advertising off, links ended. Commands are refused from then on.
  package func shutDown() { desk.shutDown() }

  /// Waits until the stack has ended and let go of its transport.
  @discardableResult
  package func waitUntilEnded(atMost patience: Duration) -> Bool { desk.waitUntilEnded(atMost: patience) }

  /// Shuts every host of the process down and waits for them: what a program does last, after SIGINT and SIGTERM too.
  ///
  /// - Returns: whether all have ended in time.
  @discardableResult
  package static func shutDownAll(atMost patience: Duration = .seconds(4)) -> Bool {
    HostRegistry.shared.shutDownAll(atMost: patience)
  }
}

/// One listener of a host; its sink hears nothing more once it is let go.
package final class HostAttachment: Sendable {
  private let host: Host
  private let id: UInt64

  init(host: Host, id: UInt64) {
    self.host = host
    self.id = id
  }

  deinit { host.desk.detach(id) }

  /// The owner of this sink has really taken so many of its events.
  package func consumed(_ count: Int) { host.desk.consumed(count, by: id) }
}
