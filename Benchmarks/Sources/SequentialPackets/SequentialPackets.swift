import Glibc

/// Sockets on which one packet is one ATT PDU, as on the kernel's L2CAP sockets.
public enum SequentialPackets {
  /// Connects to the socket at `path`; nil where that fails.
  public static func connect(to path: String) -> Int32? {
    withSocket(at: path) { Glibc.connect($0, $1, $2) }
  }

  /// Listens at `path`; nil where that fails.
  public static func listen(at path: String) -> Int32? {
    withSocket(at: path) { bind($0, $1, $2) == 0 ? Glibc.listen($0, 16) : -1 }
  }

  private static func withSocket(
    at path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let octets = Array(path.utf8)
    guard octets.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: octets) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}

/// What every server of the benchmark is told: `--path PATH --services S --chars C --conns N`.
public struct ServerOptions {
  public var path = ""
  public var services = 5
  public var characteristics = 4
  public var connections = 1

  public init(_ arguments: [String]) {
    for index in stride(from: 1, to: arguments.count - 1, by: 2) {
      let value = arguments[index + 1]
      switch arguments[index] {
      case "--path": path = value
      case "--services": services = Int(value) ?? services
      case "--chars": characteristics = Int(value) ?? characteristics
      case "--conns": connections = Int(value) ?? connections
      default: print("unknown option \(arguments[index])")
      }
    }
  }
}
