internal import CBluetoothLinux
internal import Glibc

/// A new file that is written from its beginning to its end.
package struct OutputFile: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Makes the file, or empties one that is there; readable and writable for its owner alone.
  package init(at path: String, through system: SystemCalls = .kernel) throws(SystemError) {
    descriptor = try Descriptor.open(path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600, through: system)
  }

  /// Appends all of `octets`.
  package func write(_ octets: Span<UInt8>, through system: SystemCalls = .kernel) throws(SystemError) {
    var written = 0
    while written < octets.count {
      let rest = octets.extracting(written...)
      let number = descriptor.rawValue
      var count = 0
      try system(.write) {
        count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
        return Int32(clamping: count)
      }
      written += count
    }
  }
}
