package import BLEGATT

/// The destination of the commands of one client of a host, from any thread. They are performed in the order of the
/// calls.
///
/// ```
///   post(_:)      ─► receiver, then the host is woken
///   batch { … }   ─► receiver …, under the caller's lock; the host is woken at the end, after the lock
/// ```
///
/// ```swift
/// port.post(.scanning(.start(ScanParameters())))
/// port.batch { batch in
///   state.withLock { state in
///     for command in state.changes() { batch.append(command) }
///   }
/// }
/// ```
package struct CommandPort: Sendable {
  @usableFromInline let receiver: any CommandReceiver

  @inlinable package init(to receiver: any CommandReceiver) { self.receiver = receiver }

  /// Posts a command. The call does not wait.
  ///
  /// - Parameter octets: the value of the command, where it is not in the command itself; copied without an allocation.
  /// - Returns: false where the command is lost, because too many wait for the host.
  @discardableResult
  @inlinable package func post(_ command: HostCommand, octets: Span<UInt8> = Span()) -> Bool {
    let admission = receiver.enqueue(command, octets: octets)
    if admission.wakesHost { receiver.wake() }
    return admission.isTaken
  }

  /// Posts the commands that `body` appends. The host is woken when `body` has ended: a caller whose lock the host's
  /// thread needs takes it within `body`, because the woken thread would find the lock taken, and spin.
  @inlinable package func batch<Result, Failure: Error>(
    _ body: (inout CommandBatch) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var batch = CommandBatch(receiver: receiver)
    defer { if batch.wakesHost { receiver.wake() } }
    return try body(&batch)
  }
}

/// Commands for which the host is woken once (``CommandPort/batch(_:)``).
package struct CommandBatch {
  @usableFromInline let receiver: any CommandReceiver
  @usableFromInline var wakesHost = false

  @inlinable init(receiver: any CommandReceiver) { self.receiver = receiver }

  /// Appends a command.
  ///
  /// - Parameter octets: as for ``CommandPort/post(_:octets:)``.
  /// - Returns: as ``CommandPort/post(_:octets:)``.
  @discardableResult
  @inlinable package mutating func append(_ command: HostCommand, octets: Span<UInt8> = Span()) -> Bool {
    let admission = receiver.enqueue(command, octets: octets)
    if admission.wakesHost { wakesHost = true }
    return admission.isTaken
  }

  /// Appends a value of an attribute for some links. ``HostEvent/Server/updatesFinished(_:)`` counts it for each link,
  /// or ``HostEvent/Server/updateFinished(_:)`` follows, when it has left.
  @inlinable package mutating func appendUpdate(of attribute: AttributeID, octets: Span<UInt8>, to peers: [LinkID]) {
    if receiver.enqueueUpdate(of: attribute, octets: octets, to: peers).wakesHost { wakesHost = true }
  }
}

/// The other side of a ``CommandPort``: the queue of a host, a connection to a host that is not there yet, or a test.
package protocol CommandReceiver: AnyObject, Sendable {
  /// Appends a command to those that wait for the host.
  func enqueue(_ command: HostCommand, octets: Span<UInt8>) -> CommandAdmission
  /// Appends a value of an attribute for some links (``UpdateRun``).
  func enqueueUpdate(of attribute: AttributeID, octets: Span<UInt8>, to peers: [LinkID]) -> CommandAdmission
  /// Wakes the host for the commands that were enqueued.
  func wake()
}

/// The result of enqueueing a command.
package struct CommandAdmission: Sendable {
  /// False where the command is lost: the stack has ended, or too many commands wait already, which
  /// ``HostEvent/refused(_:)`` reports to their owner, too.
  package let isTaken: Bool
  /// Whether the host is to be woken.
  package let wakesHost: Bool

  @inlinable package init(isTaken: Bool, wakesHost: Bool) { (self.isTaken, self.wakesHost) = (isTaken, wakesHost) }
}
