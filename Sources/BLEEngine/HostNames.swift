import BLEGATT
import BLEHost
import Synchronization

/// Numbers for the host's names, unique in the process: several managers share one host.
enum HostNames {
  private static let lastName = Atomic<UInt32>(0)
  private static let lastUpdate = Atomic<UInt64>(0)

  /// Never one of the highest numbers, which are the stack's own; 2³¹ names are enough for a process.
  static func next32() -> UInt32 { lastName.wrappingAdd(1, ordering: .relaxed).newValue & 0x7FFF_FFFF }

  static func service() -> ServiceID { ServiceID(rawValue: next32()) }
  static func attribute() -> AttributeID { AttributeID(rawValue: next32()) }
  static func advertising() -> AdvertisingID { AdvertisingID(rawValue: next32()) }
  static func update() -> UpdateToken {
    UpdateToken(rawValue: lastUpdate.wrappingAdd(1, ordering: .relaxed).newValue)
  }
}
