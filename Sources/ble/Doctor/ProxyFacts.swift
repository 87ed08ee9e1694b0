import BLELinux
import ToolCore

/// What `ble proxy` needs beside an adapter.
struct ProxyFacts: Sendable {
  /// The key file, and why it is refused; nil where none was named.
  var key: (path: String, refusal: String?)?
  var port: UInt16
  /// Why nothing can listen on the port; nil where it is free.
  var portFailure: TransportError?
  /// The services of Avahi that announce a proxy.
  var announcements: [String]

  static func current(keyFile: String?) -> Self {
    var facts = Self(port: ProxyCommand.defaultPort, announcements: [])
    if let keyFile {
      do throws(ToolError) {
        _ = try ProxyKeyFile.read(keyFile)
        facts.key = (keyFile, nil)
      } catch { facts.key = (keyFile, error.description) }
    }
    do throws(TransportError) { _ = try Listener(tcpHost: nil, port: facts.port) } catch { facts.portFailure = error }
    let folder = "/etc/avahi/services"
    for name in Files.names(in: folder) where name.hasSuffix(".service") {
      guard let octets = try? Files.octets(of: "\(folder)/\(name)", atMost: 65_536) else { continue }
      if String(decoding: octets, as: UTF8.self).contains("_esphomelib._tcp") { facts.announcements.append(name) }
    }
    return facts
  }

  var checks: [Check] {
    var checks: [Check] = []
    if let key {
      checks.append(
        key.refusal.map { Diagnosis.failure($0, name: "proxy key") }
          ?? Check(name: "proxy key", verdict: .good, finding: key.path))
    }
    if let portFailure {
      let isBusy = portFailure.kind == .busy
      checks.append(
        Check(
          name: "proxy port", verdict: isBusy ? .information : .warning,
          finding: isBusy
            ? "port \(port) is in use, by a proxy or by another program" : "port \(port): \(portFailure)",
          remedy: isBusy ? "To see by which one: ss -ltnp 'sport = :\(port)'" : nil))
    } else {
      checks.append(Check(name: "proxy port", verdict: .good, finding: "port \(port) is free"))
    }
    checks.append(
      announcements.isEmpty
        ? Check(
          name: "proxy announcement", verdict: .information, finding: "Avahi announces none",
          remedy:
            "Give Home Assistant the address, or run: ble proxy --announce /etc/avahi/services/ble-proxy.service …")
        : Check(name: "proxy announcement", verdict: .good, finding: announcements.joined(separator: ", ")))
    return checks
  }
}
