public import BLEKit
public import Foundation

extension BLEError: LocalizedError {
  /// The text of the error, which `localizedDescription` has, too.
  public var errorDescription: String? { description }
}
