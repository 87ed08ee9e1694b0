public import BLEAdapter
public import Foundation

extension AdapterError: LocalizedError {
  public var errorDescription: String? { text }
}

extension PairingError: LocalizedError {
  public var errorDescription: String? { description }
}

extension BondLostError: LocalizedError {
  public var errorDescription: String? { description }
}

extension BondStoreError: LocalizedError {
  public var errorDescription: String? { description }
}
