public import BLEATT

extension GATTServer {
  /// What one client can make the server keep, and how long the server waits.
  public struct Limits: Hashable, Sendable {
    /// The largest ATT_MTU offered; 23 to 517 make sense, others are brought into that range.
    public var maximumMTU: Int
    /// Prepared writes of one client; one more is answered Prepare Queue Full (0x09).
    public var maximumPreparedWrites: Int
    /// Octets in all prepared writes of one client; more are answered Prepare Queue Full (0x09).
    public var maximumPreparedOctets: Int
    /// PDUs kept while the application answers a request; the next one is dropped, with ``GATTServer/Event/pduDropped``.
    public var maximumWaitingPDUs: Int
    /// Indications waiting for the confirmation of the one before.
    public var maximumQueuedIndications: Int
    /// How long the application may take over a request before the client is answered Unlikely Error (0x0E): just under
    /// the 30 seconds after which the client gives the link up.
    public var applicationTimeout: Duration
    /// How long the client may take to confirm an indication (Vol 3, Part F, 3.3.3).
    public var indicationTimeout: Duration

    public init(
      maximumMTU: Int = ATT.maximumMTU, maximumPreparedWrites: Int = 64, maximumPreparedOctets: Int = 4096,
      maximumWaitingPDUs: Int = 32, maximumQueuedIndications: Int = 16, applicationTimeout: Duration = .seconds(29),
      indicationTimeout: Duration = ATT.transactionTimeout
    ) {
      self.maximumMTU = min(max(maximumMTU, ATT.defaultMTU), ATT.maximumMTU)
      self.maximumPreparedWrites = max(0, maximumPreparedWrites)
      self.maximumPreparedOctets = max(0, maximumPreparedOctets)
      self.maximumWaitingPDUs = max(0, maximumWaitingPDUs)
      self.maximumQueuedIndications = max(0, maximumQueuedIndications)
      self.applicationTimeout = applicationTimeout
      self.indicationTimeout = indicationTimeout
    }
  }
}
