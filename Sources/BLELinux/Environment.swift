internal import CLinux
internal import Glibc

/// The environment variables of the process.
package enum Environment {
  /// The value of a variable; nil where it is not set, or empty.
  package static func value(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }
}

/// The processes of the machine, from `/proc`.
package enum Processes {
  /// The path of the running program.
  package static var ownPath: String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe buffer.withUnsafeMutableBufferPointer { room in
      unsafe room.baseAddress.map { unsafe readlink("/proc/self/exe", $0, room.count) } ?? -1
    }
    return count > 0 ? String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
  }

  /// Whether a process of this name runs.
  package static func isRunning(_ name: String) -> Bool {
    guard let folder = unsafe opendir("/proc") else { return false }
    defer { _ = unsafe closedir(folder) }
    while let entry = unsafe readdir(folder) {
      let process = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard process.utf8.allSatisfy({ (48...57).contains($0) }) else { continue }
      if command(of: process) == name { return true }
    }
    return false
  }

  private static func command(of process: String) -> String? {
    guard let file = try? FileDescriptor.open("/proc/\(process)/comm", flags: O_RDONLY, through: .kernel) else {
      return nil
    }
    var buffer = [UInt8](repeating: 0, count: 64)
    let number = file.rawValue
    let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(number, $0.baseAddress, $0.count) }
    return count > 0 ? String(decoding: buffer[..<count].prefix { $0 != 0x0A }, as: UTF8.self) : nil
  }
}
