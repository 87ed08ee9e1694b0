/// An address of this machine that a server listens on: `PORT` or `HOST:PORT`.
struct ListenAddress: Equatable, Sendable {
  /// Nil for every IPv4 address, which is written `_`.
  var host: String?
  /// 0 for a free port.
  var port: UInt16

  /// - Parameters:
  ///   - text: an IPv6 address has brackets, as in `[::1]:6053`.
  ///   - host: the host of a text that has none.
  /// - Returns: nil if the text is not an address.
  init?(_ text: String, defaultHost host: String) {
    var (host, digits) = (host[...], text[...])
    if let colon = text.lastIndex(of: ":") { (host, digits) = (text[..<colon], text[text.index(after: colon)...]) }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else {
      return nil
    }
    (self.host, self.port) = (host == "_" ? nil : String(host), port)
  }

  /// The host as it is written before a port.
  var hostText: String { host.map { $0.contains(":") ? "[\($0)]" : $0 } ?? "_" }
}
