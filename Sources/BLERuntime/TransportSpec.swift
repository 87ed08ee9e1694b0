package import BLEKernel
package import BLELinux

/// The way to a controller, as a transport string names it.
///
/// | string | what it opens |
/// |---|---|
/// | `linux`, `linux:hci1`, `linux:F0:F1:F2:F3:F4:F5` | the kernel's Bluetooth stack: the first adapter, one by its name, one by its address |
/// | `hci-socket:0` | an adapter alone, past the kernel's stack (user channel) |
/// | `serial:/dev/ttyACM0,1000000,none` | a serial line; the baud rate is 1000000 and RTS/CTS is on unless they say otherwise |
/// | `pty:/tmp/hci` | a pseudo-terminal for another program, with a symbolic link to its end |
/// | `tcp-client:127.0.0.1:6402`, `tcp-server:_:6402` | TCP; `_` listens on every address |
/// | `unix-client:/tmp/hci.sock`, `unix-server:/tmp/hci.sock` | a Unix stream socket |
/// | `virtual`, `virtual:phone` | a controller of that name on the radio simulated in this process |
package enum TransportSpec: Hashable, Sendable {
  case linux(AdapterChoice)
  case hciSocket(index: UInt16)
  case stream(StreamEndpoint)
  /// An empty name is the controller of `virtual` alone.
  case virtual(name: String)
}

extension TransportSpec: CustomStringConvertible {
  /// The shortest string that means the same; `TransportSpec(parsing:)` gives it back.
  package var description: String {
    switch self {
    case .linux(.first): "linux"
    case .linux(.index(let index)): "linux:hci\(index)"
    case .linux(.address(let address)): "linux:\(address)"
    case .hciSocket(let index): "hci-socket:\(index)"
    case .stream(let endpoint): "\(endpoint)"
    case .virtual(let name): name.isEmpty ? "virtual" : "virtual:\(name)"
    }
  }
}
