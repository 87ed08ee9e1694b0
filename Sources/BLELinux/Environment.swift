internal import CLinux
internal import Glibc

/// The environment variables of the process.
package enum Environment {
  /// The value of a variable; nil if it is not set, or empty.
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

  /// Whether a process with this name runs.
  package static func isRunning(_ name: String) -> Bool {
    Files.names(in: "/proc").contains { process in
      process.utf8.allSatisfy { (48...57).contains($0) } && command(of: process) == name
    }
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
