internal import CLinux
internal import Glibc

/// A numeric IP address.
package enum HostAddress: Hashable, Sendable {
  case ipv4([UInt8])
  case ipv6([UInt8])

  /// Reads `192.168.1.2`, `fd00::1` or `fe80::1%eth0`; nil for a name.
  package init?(_ text: String) {
    var four = in_addr()
    if unsafe inet_pton(AF_INET, text, &four) == 1 {
      self = .ipv4(unsafe withUnsafeBytes(of: four) { unsafe [UInt8]($0) })
      return
    }
    var six = in6_addr()
    guard unsafe inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &six) == 1 else { return nil }
    self = .ipv6(unsafe withUnsafeBytes(of: six) { unsafe [UInt8]($0) })
  }

  /// Whether the address is of this machine alone, of a private network (RFC 1918, RFC 4193) or of one link (RFC 3927,
  /// RFC 4291).
  package var isPrivate: Bool {
    switch self {
    case .ipv4(let octets):
      switch (octets[0], octets[1]) {
      case (127, _), (10, _), (192, 168), (172, 16...31), (169, 254): true
      default: false
      }
    case .ipv6(let octets):
      if octets[0] & 0xFE == 0xFC || (octets[0] == 0xFE && octets[1] & 0xC0 == 0x80) {
        true
      } else if octets.prefix(10).allSatisfy({ $0 == 0 }), octets[10] == 0xFF, octets[11] == 0xFF {
        HostAddress.ipv4(Array(octets[12...])).isPrivate
      } else {
        octets.dropLast().allSatisfy { $0 == 0 } && octets[15] == 1
      }
    }
  }
}

extension HostAddress {
  /// What one computer or household has: an IPv4 address, or the prefix of 64 bits of an IPv6 address, with zeros
  /// behind it.
  package var network: Self {
    guard case .ipv6(let octets) = self else { return self }
    if octets.prefix(10).allSatisfy({ $0 == 0 }), octets[10] == 0xFF, octets[11] == 0xFF {
      return .ipv4(Array(octets[12...]))
    }
    return .ipv6(octets.prefix(8) + [UInt8](repeating: 0, count: 8))
  }
}

/// The other end of a TCP connection.
package struct NetworkPeer: Sendable, CustomStringConvertible {
  package let host: HostAddress?
  /// With the port: `192.168.1.2:50412`, `[fd00::1]:50412`.
  package let description: String
}

extension ByteStream {
  /// The other end of a TCP connection; nil if there is none any more.
  package var peer: NetworkPeer? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let number = descriptor.rawValue
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let answer = unsafe withUnsafeMutablePointer(to: &storage) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard unsafe getpeername(number, address, &length) == 0 else { return Int32(-1) }
        return unsafe getnameinfo(
          address, length, &host, socklen_t(host.count), &service, socklen_t(service.count),
          NI_NUMERICHOST | NI_NUMERICSERV)
      }
    }
    guard answer == 0 else { return nil }
    let (name, port) = (Self.text(host), Self.text(service))
    return NetworkPeer(
      host: HostAddress(name), description: name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)")
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
