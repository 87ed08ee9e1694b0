package import BLEGATT

extension HostCommand {
  /// A command about the attribute database (Vol 3, Part G). ``ServiceRegistry`` performs it.
  package enum Services: Sendable {
    /// ``HostEvent/Services/added(_:_:)`` answers.
    indirect case add(ServiceDefinition)
    /// Replaces the database, Generic Access and Generic Attribute included, by attributes with given handles: a copy
    /// of another server's. It is removed as a service with this identifier, which brings the two generic services
    /// back. ``HostEvent/Services/added(_:_:)`` answers.
    indirect case replaceAll(ServiceID, [AttributeDefinition])
    /// ``HostEvent/Services/removed(_:_:)`` answers.
    case remove(ServiceID)
    /// Changes a value that the stack keeps (``ValueSource/stored(_:length:)``) without updating clients.
    case setValue(AttributeID, [UInt8])
    /// The Device Name and Appearance characteristics of the GAP service (Vol 3, Part C, 12.1 and 12.2).
    indirect case setIdentity(name: String?, appearance: UInt16?)
    /// Whether the owner receives ``HostEvent/Server/stored(_:_:)``, which it does by default. Without it a write never
    /// leaves the host.
    case reportStoredWrites(Bool)
  }
}
