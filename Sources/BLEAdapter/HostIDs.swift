package import BLEGATT
package import BLEHost
import Synchronization

/// Makes the identifiers that commands of the host take, unique in the process: several managers share one host.
package enum HostIDs {
  private static let lastID = Atomic<UInt32>(0)
  private static let lastUpdate = Atomic<UInt64>(0)

  /// Never one of the highest numbers, which the stack uses itself; 2³¹ identifiers are enough for a process.
  package static func next32() -> UInt32 { lastID.wrappingAdd(1, ordering: .relaxed).newValue & 0x7FFF_FFFF }

  package static func service() -> ServiceID { ServiceID(rawValue: next32()) }
  package static func attribute() -> AttributeID { AttributeID(rawValue: next32()) }
  package static func advertising() -> AdvertisingID { AdvertisingID(rawValue: next32()) }
  package static func sync() -> SyncID { SyncID(rawValue: next32()) }
  package static func update() -> UpdateToken {
    UpdateToken(rawValue: lastUpdate.wrappingAdd(1, ordering: .relaxed).newValue)
  }
  package static func connect() -> ConnectID { ConnectID(rawValue: next32()) }
  package static func listen() -> ListenID { ListenID(rawValue: next32()) }
  package static func openChannel() -> OpenChannelID { OpenChannelID(rawValue: next32()) }
  /// A number that is used once in the process.
  package static func number() -> UInt64 { update().rawValue }
  package static func operation() -> GATTClient.OperationID { GATTClient.OperationID(rawValue: next32()) }
}
