import BLEGATT
import BLEL2CAP
import BLEWire

/// The link has no enhanced ATT bearers.
struct ServerBearers: Sendable {
  struct Bearer: Sendable {
    var gatt: GATTServer.Bearer
    var request: PendingAnswer?
  }

  var deadline: Instant? { nil }
}
