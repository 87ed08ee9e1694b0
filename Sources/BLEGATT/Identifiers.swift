/// The application's name for one of its services, unique in one ``AttributeDatabase``.
///
/// Handles change when services come and go; these do not.
public struct ServiceID: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The stack's own Generic Access service.
  public static let genericAccess = Self(rawValue: .max)
  /// The stack's own Generic Attribute service.
  public static let genericAttribute = Self(rawValue: .max - 1)

  @inlinable var isReserved: Bool { rawValue >= .max - 1 }
}

/// The application's name for one of its characteristic values or descriptors, unique in one ``AttributeDatabase``.
public struct AttributeID: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// What attributes of the stack's own are called: declarations, CCCDs, the GAP and GATT services.
  static let stack = Self(rawValue: .max)
}

extension ServiceID: CustomStringConvertible {
  public var description: String {
    switch self {
    case .genericAccess: "Generic Access"
    case .genericAttribute: "Generic Attribute"
    default: "service \(rawValue)"
    }
  }
}

extension AttributeID: CustomStringConvertible {
  public var description: String { self == .stack ? "the stack's attribute" : "attribute \(rawValue)" }
}
