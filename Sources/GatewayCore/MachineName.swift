extension GatewayConfiguration {
  /// The name of a gateway that is given none: that of the machine with six digits of its identity. Machines that run
  /// the same image have the same name.
  ///
  /// - Parameters:
  ///   - host: the name of the machine; what follows a dot is left out.
  ///   - identity: octets that only this machine has, and always, such as those of `/etc/machine-id`, which are not
  ///     published; empty if there are none.
  public static func identifier(host: String, identity: some Collection<UInt8>) -> String {
    let name = host.prefix { $0 != "." }.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    // A level of a topic, with the digits.
    let shown = name.isEmpty ? "gateway" : String(name.prefix(56))
    guard !identity.isEmpty else { return shown }
    // FNV-1a, 64 bits.
    let hash = identity.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let digits = String((hash ^ hash >> 24 ^ hash >> 48) & 0xFF_FFFF, radix: 16)
    return "\(shown)-\(String(repeating: "0", count: 6 - digits.count))\(digits)"
  }
}
