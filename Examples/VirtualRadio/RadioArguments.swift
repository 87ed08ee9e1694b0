import BLEHCI
import BLEVirtual
import BLEVirtualServer

/// The command line of `virtual-radio`.
struct RadioArguments {
  static let help = """
    virtual-radio: controllers on a simulated radio, one for each host that connects

      --tcp PORT                 listen for hosts on every address (0 takes a free port); 6402 if there is no other endpoint
      --unix PATH                listen on a Unix socket
      --pty PATH                 make a pseudo-terminal for one host, with a symbolic link at PATH
      --acl-length N             octets of an ACL packet, 27 to 65535 (251)
      --acl-count N              ACL packets that a controller holds, 1 to 255 (8)
      --rssi DBM                 signal strength with which each device is received, -127 to 20 (-50)
      --no-extended-advertising  controllers without extended advertising, as before Bluetooth 5.0
      --shortest-interval N      controllers of Bluetooth 6.2 with connection intervals from N times 125 us, 3 to 255
      --pace                     real timing: connection intervals, airtime, advertising intervals, scan windows;
                                 without it data moves at once and every scanner receives every advertisement
      --seed N                   what every random number follows from (0)
      --snoop FOLDER             one packet trace for each host, for Wireshark
    """

  var configuration = VirtualRadioServer.Configuration()
  var endpoints: [VirtualRadioServer.Endpoint] = []
  var wantsHelp = false

  struct Wrong: Error { let text: String }

  init(parsing arguments: some Sequence<String>) throws {
    var rest = Array(arguments)[...]
    func value(of option: String) throws -> String {
      guard let value = rest.popFirst() else { throw Wrong(text: "\(option) needs a value") }
      return value
    }
    func number<T: FixedWidthInteger>(of option: String, in range: ClosedRange<T>) throws -> T {
      let text = try value(of: option)
      guard let number = T(text), range.contains(number) else {
        throw Wrong(text: "\(option) takes a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
      }
      return number
    }
    while let option = rest.popFirst() {
      switch option {
      case "--tcp": endpoints.append(.tcp(host: nil, port: try number(of: option, in: 0...65_535)))
      case "--unix": endpoints.append(.unix(path: try value(of: option)))
      case "--pty": endpoints.append(.pseudoTerminal(path: try value(of: option)))
      case "--acl-length": configuration.controller.aclDataPacketLength = try number(of: option, in: 27...65_535)
      case "--acl-count": configuration.controller.totalNumACLDataPackets = try number(of: option, in: 1...255)
      case "--rssi": configuration.controller.rssi = try number(of: option, in: -127...20)
      case "--no-extended-advertising": configuration.controller.features.remove(.extendedAdvertising)
      case "--shortest-interval":
        configuration.controller.version = 16
        configuration.controller.connectionIntervals = .init(minimum: try number(of: option, in: 3...255))
      case "--pace": configuration.pacing = .airtime
      case "--seed": configuration.seed = try number(of: option, in: 0...UInt64.max)
      case "--snoop": configuration.traceFolder = try value(of: option)
      case "--help", "-h": wantsHelp = true
      default: throw Wrong(text: "'\(option)' is no option")
      }
    }
    if endpoints.isEmpty { endpoints = [.tcp(host: nil, port: 6402)] }
  }
}
