import BLEATT
package import BLEGATT
package import BLEHCI
package import BLESMP
package import BLEWire

/// The configuration of a host, with all its limits.
package struct HostConfiguration: Sendable {
  /// The Device Name characteristic of the GAP service (Vol 3, Part C, 12.1).
  package var deviceName = "BluetoothLE"
  /// The Appearance characteristic (Vol 3, Part C, 12.2); 0 is unknown.
  package var appearance: UInt16 = 0
  /// A static random address to use instead of the controller's public one.
  package var staticAddress: BD_ADDR?
  /// Who else uses the controller.
  package var ownership = ControllerOwnership.exclusive
  /// What one client can make the server keep.
  package var serverLimits: GATTServer.Limits {
    get { sharedServerLimits.limits }
    set { sharedServerLimits = GATTServer.SharedLimits(newValue) }
  }
  private(set) var sharedServerLimits = GATTServer.SharedLimits(GATTServer.Limits())
  /// How long the controller may take over a command.
  package var commandTimeout: Duration = .seconds(2)
  /// How often a controller that does not answer is reset before it is given up.
  package var maximumBringUps = 3
  /// Values that may be on their way on one link at once: twelve managers with full windows of 32 each, and fewer
  /// frames than the link's queue takes (``linkQueue``), so that answers always find room beside them.
  package var maximumPendingUpdates = 384
  /// What may wait on one link; see Docs/Decisions/0008.
  package var linkQueue = ACLScheduler.Limits(frames: 512, octets: 1 << 18)
  /// Frames waiting on a link from which on its client sends no more commands, and below which it goes on.
  package var congestion = (from: 32, below: 8)
  /// The priority of each link that comes up; nil leaves links as they come up.
  package var priority: ConnectionPriority?
  /// Wishes to connect that may be pending at once.
  package var maximumPendingConnections = 16
  /// Advertisements that may be declared at once.
  package var maximumAdvertisements = 16
  /// The enhanced ATT bearers that our central requests of a server that has them, 0 to 5 (Vol 3, Part G, 5.3.2). Zero:
  /// none, and peers are not offered any. Where the system host has the controller there are none.
  package var enhancedBearers = 0
  /// How we pair; nil refuses every attempt. ``HostCommand/setPairing(_:)`` changes it.
  package var pairing: PairingSettings?
  /// The bonds of earlier runs.
  package var bonds: [Bond] = []
  /// Bonds kept; with one more the least recently used unprotected one is removed (Docs/Decisions/0054).
  package var maximumBonds = 128
  /// The least time between two reports of one bond whose client only changed its subscriptions.
  package var bondReportInterval: Duration = .seconds(10)
  /// Whether ``HostCommand/bondsStored(_:)`` says which bonds are stored. A sign counter is used, or accepted, only
  /// then; without it a bond counts as stored when it is reported (Docs/Decisions/0055).
  package var awaitsBondStorage = false
  /// How long a signed write waits for its counter to be stored.
  package var bondStorageTimeout: Duration = .seconds(5)
  /// Diagnostics that a peer or the controller can cause.
  package var diagnosticLimits = DiagnosticLimits()
  /// How long the encryption of a link to a bonded peripheral may take, from the connection on. The controller gives up
  /// after 40 s (Vol 6, Part B, 5.2), and should say so before this has passed.
  package var encryptionTimeout: Duration = .seconds(42)
  /// How long links are given to end when the host shuts down: a peripheral ends within two seconds after SIGTERM, also with a central that
  /// does not answer any more.
  package var shutdownTimeout: Duration = .milliseconds(1_500)

  package init() {}
}

extension HostConfiguration {
  /// The bearers that our central requests.
  var wantedBearers: Int { ownership == .exclusive ? max(0, min(enhancedBearers, LinkSignalling.maximumBearers)) : 0 }
  /// Whether peers may open enhanced bearers, and learn that they may.
  var usesEnhancedBearers: Bool { wantedBearers > 0 }
}

/// The owner of the controller.
package enum ControllerOwnership: Sendable {
  /// This host alone: it resets the controller, and sets everything about it.
  case exclusive
  /// A Bluetooth host of the operating system, such as the Linux kernel's: the controller is neither reset nor masked, answers
  /// to other programs' commands pass by, and the frames of its L2CAP and SMP never reach us. It pairs, too:
  /// ``SystemHostCommand`` and ``SystemHostReport`` are how.
  case sharedWithSystemHost
}
