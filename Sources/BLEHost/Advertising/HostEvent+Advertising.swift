package import BLEHCI

extension HostEvent {
  /// An event of one advertisement. ``Advertiser`` reports it.
  package enum Advertising: Sendable {
    indirect case started(Result<Void, HostError>)
    /// Advertising is paused by a connection or by the controller, and resumes automatically.
    case paused(HCIErrorCode?)
    case resumed
    /// The controller does not send an advertisement that has started, and will not: the host has given it up.
    indirect case ended(HostError)
    /// The controller sends the new data, or cannot; the train goes on with the old data then.
    indirect case trainUpdated(UpdateToken, Result<Void, HostError>)
    indirect case transferred(LinkID, Result<Void, HostError>)
  }
}
