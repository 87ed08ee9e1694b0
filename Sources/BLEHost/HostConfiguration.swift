import BLEATT
package import BLEGATT
package import BLEHCI
package import BLESMP
package import BLEWire

/// The configuration of a host, with all its limits.
package struct HostConfiguration: Sendable {
  /// The Device Name characteristic of the GAP service (Vol 3, Part C, 12.1). Nil takes the name of each advertisement
  /// that is started with one, until a command sets another name; before, it is "BluetoothLE".
  package var deviceName: String?
  /// The Appearance characteristic (Vol 3, Part C, 12.2); 0 is unknown.
  package var appearance: UInt16 = 0
  /// A static random address to use instead of the controller's public one.
  package var staticAddress: BD_ADDR?
  /// Who else uses the controller.
  package var ownership = ControllerOwnership.exclusive
  /// The limits of what the server stores for one client.
  package var serverLimits: GATTServer.Limits {
    get { sharedServerLimits.limits }
    set { sharedServerLimits = GATTServer.SharedLimits(newValue) }
  }
  private(set) var sharedServerLimits = GATTServer.SharedLimits(GATTServer.Limits())
  /// How long the controller may take to answer a command.
  package var commandTimeout: Duration = .seconds(2)
  /// How many times a controller that does not answer is reset before the host stops trying.
  package var maximumBringUps = 3
  /// Values that may be on their way on one link at once: twelve managers with full windows of 32 each, and fewer
  /// frames than the link's queue takes (``linkQueue``), so that answers always find room beside them.
  package var maximumPendingUpdates = 384
  /// The limits of the queue of one link; see Docs/Decisions/links-and-channels.md#a-full-queue-ends-its-link.
  package var linkQueue = ACLScheduler.Limits(frames: 512, octets: 1 << 18)
  /// The number of frames waiting on a link at which its client stops sending commands, and below which it continues.
  package var congestion = (from: 32, below: 8)
  /// The links that memory is reserved for when the first one comes up; more are possible. Where memory is virtual,
  /// that takes address space only; a firmware sets the number of its links.
  package var expectedLinks = 64
  /// Whether queues and tables take the memory for all that their limits permit when they are made, so that the heap of
  /// a firmware does not grow.
  package var reservesMemory = false
  /// The priority of each link that comes up; nil leaves links as they come up.
  package var priority: ConnectionPriority?
  /// Connection requests that may be pending at once.
  package var maximumPendingConnections = 16
  /// Advertisements that may be declared at once.
  package var maximumAdvertisements = 16
  /// Requests to receive periodic advertising trains at once.
  package var maximumSynchronizations = 32
  /// The enhanced ATT bearers that our central requests of a server that has them, 0 to 5 (Vol 3, Part G, 5.3.2). Zero:
  /// none, and peers are not offered any. Where the kernel has the controller there are none.
  package var enhancedBearers = 0
  /// How we pair; nil refuses every attempt. ``HostCommand/Security/setPairing(_:)`` changes it.
  package var pairing: PairingSettings?
  /// The bonds of earlier runs.
  package var bonds: [Bond] = []
  /// The maximum number of bonds; one more removes the least recently used unprotected one
  /// (Docs/Decisions/pairing-and-bonds.md#which-bond-is-removed).
  package var maximumBonds = 128
  /// The least time between two reports of one bond whose client only changed its subscriptions.
  package var bondReportInterval: Duration = .seconds(10)
  /// Whether ``HostCommand/Security/bondsStored(_:)`` reports which bonds are stored. A sign counter is then accepted
  /// only after it was stored; otherwise a bond counts as stored when it is reported
  /// (Docs/Decisions/pairing-and-bonds.md#storage-of-bonds).
  package var awaitsBondStorage = false
  /// How long a signed write waits for its counter to be stored.
  package var bondStorageTimeout: Duration = .seconds(5)
  /// Diagnostics that a peer or the controller can cause.
  package var diagnosticLimits = DiagnosticLimits()
  /// How long a procedure of the link layer may take: an encryption, a change of the timing or of the PHY, the exchange
  /// of features. The controllers give up after 40 s (Vol 6, Part B, 5.2), and ours should report that before this time
  /// has passed.
  package var procedureTimeout: Duration = .seconds(42)
  /// How long the controller may take to end a link that was asked to end. Then the link has ended for its owners, and
  /// the controller ends it when it can.
  package var disconnectionTimeout: Duration = .seconds(1)
  /// How long links are given to end when the host shuts down: a program ends within two seconds after SIGTERM, even
  /// with a central that no longer answers.
  package var shutdownTimeout: Duration = .milliseconds(1_500)
  /// How long a controller without links is given to answer the last commands when the host shuts down.
  package var shutdownCommandTimeout: Duration = .milliseconds(800)

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
  /// A Bluetooth host of the operating system, such as the Linux kernel's. This host neither resets the controller nor
  /// masks its events. It ignores the answers to other programs' commands, and never receives the frames of the system
  /// host's L2CAP and SMP. The kernel also pairs: see ``KernelCommand`` and ``KernelReport``.
  case sharedWithKernel
}
