import BLEHCI
import BLEWire

/// The request of one owner to receive a train.
struct SyncRequest: Sendable {
  enum State: Equatable, Sendable {
    /// The controller is to find the train.
    case searching
    /// The device of a link is to transfer its synchronization.
    case expecting(LinkID, ConnectionHandle)
    /// The controller receives the train with this sync handle.
    case synchronized(UInt16)
  }

  let id: SyncID
  let owner: OwnerID
  let parameters: SyncParameters
  var state: State
  /// The train; nil while a transfer is awaited.
  var train: TrainID?
  /// Whether the controller has received the train for the request.
  var wasSynchronized = false

  var isSearching: Bool { state == .searching }
  var expectedLink: LinkID? { if case .expecting(let peer, _) = state { peer } else { nil } }

  func event(_ event: HostEvent.Synchronizing) -> Effect<SynchronizerEffect> {
    .event(.synchronizing(id, event), to: owner.recipient)
  }
}

/// A train that the controller receives.
struct ReceivedTrain: Sendable {
  let handle: UInt16
  let contents: SynchronizedTrain
  /// Whether the controller leaves out reports with the data of the one before.
  var isFiltered: Bool
  var assembler = TrainReportAssembler()
  /// The last one with data.
  var lastReport: TrainReport?
  /// When the controller reported something last.
  var lastReception: Instant
  /// After which time without a report the train is lost, even if the controller does not say so.
  let patience: Duration

  /// How much later than its timeout the controller may report the loss.
  static let margin = Duration.seconds(1)

  init(
    _ contents: SynchronizedTrain, handle: UInt16, isFiltered: Bool, timeout: UInt16, now: Instant
  ) {
    (self.contents, self.handle, self.isFiltered, lastReception) = (contents, handle, isFiltered, now)
    patience = .milliseconds(10 * Int64(timeout)) + .microseconds(1250 * Int64(contents.interval)) + Self.margin
  }

  /// When nothing will have been received for too long. With the filter of the controller that says nothing.
  var overdue: Instant? { isFiltered ? nil : lastReception + patience }
}
