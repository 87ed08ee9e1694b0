internal import BLEKernel
internal import BLELinux

extension Pipe {
  /// Opens the way to a controller; a client's connection is waited for.
  static func open(_ transport: TransportSpec, patience: Duration) throws(TransportError) -> Pipe {
    switch transport {
    case .stream(let endpoint):
      var pipe = try Pipe(opening: endpoint)
      if !endpoint.isServer { try pipe.waitForConnection(atMost: patience) }
      return pipe
    case .virtual(let name):
      return Pipe(try RadioService.shared.attach(named: name), named: "\(transport)")
    case .linux(let adapter):
      return Pipe(try KernelPort.open(.shared(adapter), named: "\(transport)"))
    case .hciSocket(let index):
      return Pipe(try KernelPort.open(.userChannel(index: index), named: "\(transport)"))
    }
  }
}
