public import BLEATT
public import BLEWire

/// Why the database refuses what the application describes; nothing was changed then.
public enum DatabaseError: Error, Equatable, Sendable {
  /// A service with this identifier is published already.
  case duplicateService(ServiceID)
  /// An attribute with this identifier is published already, or named twice in one service.
  case duplicateAttribute(AttributeID)
  /// The identifier is one that the stack keeps for itself (the two or one highest numbers).
  case reservedIdentifier(UInt32)
  /// A service is included that has not been published.
  case unknownInclude(ServiceID)
  case unknownService(ServiceID)
  case unknownAttribute(AttributeID)
  /// The service is still included by another, which must go first.
  case stillIncluded(ServiceID, by: ServiceID)
  /// No attribute value has more than 512 octets (Vol 3, Part F, 3.2.9).
  case valueTooLong(AttributeID, octets: Int)
  /// The value, or a bound of its length, does not agree with the lengths allowed.
  case lengthNotAllowed(AttributeID, octets: Int, allowed: ClosedRange<Int>)
  /// The value is not one that the stack keeps: it is fixed or dynamic.
  case notStored(AttributeID)
  /// 0x2900 and 0x2902 are made from the properties, and declarations from the definitions.
  case madeByTheStack(AttributeID, BluetoothUUID)
  /// So many handles in a row are not free.
  case handlesExhausted(needed: Int)
  /// A list of attributes with handles must be in ascending order, from 0x0001 on.
  case handlesNotAscending(AttributeHandle)
  /// The declaration with this handle does not hold what it declares: a service's holds a UUID of 2 or 16 octets.
  case malformedDeclaration(AttributeHandle)
}

extension DatabaseError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .duplicateService(let id):
      "\(id) is published already: remove it first, or give the new one its own identifier"
    case .duplicateAttribute(let id): "\(id) is named twice: give each characteristic and descriptor its own identifier"
    case .reservedIdentifier(let number): "the identifier \(number) is the stack's own: choose a smaller one"
    case .unknownInclude(let id): "\(id) is included but not published: add it before the service that includes it"
    case .unknownService(let id): "\(id) is not published"
    case .unknownAttribute(let id): "\(id) is not published"
    case .stillIncluded(let id, let by): "\(id) is included by \(by): remove that one first"
    case .valueTooLong(let id, let octets): "the value of \(id) has \(octets) octets; an attribute holds at most 512"
    case .lengthNotAllowed(let id, let octets, let allowed):
      "\(octets) octets for \(id), which takes \(allowed.lowerBound) to \(allowed.upperBound)"
    case .notStored(let id): "the value of \(id) is not kept by the stack: publish it as .stored to change it"
    case .madeByTheStack(let id, let uuid):
      "\(id) has the type \(uuid), which the stack makes from the properties: leave it out"
    case .handlesExhausted(let needed): "no \(needed) free handles in a row are left of 65,535"
    case .handlesNotAscending(let handle): "the handle \(handle) does not lie above the one before it"
    case .malformedDeclaration(let handle):
      "the service declaration \(handle) must hold a UUID of 2 or 16 octets, least significant first"
    }
  }
}
