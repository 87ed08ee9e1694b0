public import Foundation

// An `NSError` with the domain of one of these types casts to it: `error as? CBError`, `catch let error as CBError`. On
// Apple's systems the domain alone allows that; Foundation for Linux needs this conformance, as for `String` and
// `NSString`. The requirements are Foundation's.

extension CBError: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSError {
    NSError(domain: CBErrorDomain, code: errorCode, userInfo: errorUserInfo)
  }

  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CBError?) {
    _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
  }

  public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CBError?) -> Bool {
    guard source.domain == CBErrorDomain else { return false }
    result = CBError(_nsError: source)
    return true
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CBError {
    CBError(_nsError: source ?? NSError(domain: CBErrorDomain, code: Code.unknown.rawValue))
  }
}

extension CBATTError: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSError {
    NSError(domain: CBATTErrorDomain, code: errorCode, userInfo: errorUserInfo)
  }

  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CBATTError?) {
    _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
  }

  public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CBATTError?) -> Bool {
    guard source.domain == CBATTErrorDomain else { return false }
    result = CBATTError(_nsError: source)
    return true
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CBATTError {
    CBATTError(_nsError: source ?? NSError(domain: CBATTErrorDomain, code: Code.unlikelyError.rawValue))
  }
}
