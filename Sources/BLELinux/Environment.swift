internal import CLinux

/// The variables that the process was started with.
package enum Environment {
  /// The value of a variable, or nil where it is not set or empty.
  package static func value(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }
}
