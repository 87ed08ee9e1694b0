package import BLEATT
package import BLEGATT

extension HostEvent {
  /// The result of a command about the services of our server. ``ServiceRegistry`` reports it.
  package enum Services: Sendable {
    indirect case added(ServiceID, Result<ServiceHandles, DatabaseError>)
    indirect case removed(ServiceID, Result<ClosedRange<AttributeHandle>, DatabaseError>)
  }
}
