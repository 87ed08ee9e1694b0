public import BLEKit
public import Foundation

extension Data: GATTValue {
  /// The octets as they are.
  public init?(octets: [UInt8]) { self.init(octets) }
  /// The octets in order.
  public var octets: [UInt8] { [UInt8](self) }
}
