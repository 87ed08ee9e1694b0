import BLEProxy

/// Reads the first characteristic of each service of a device, and prints it.
func printValues(of address: DeviceAddress, with client: ProxyClient, _ ready: AsyncStream<Void>) async {
  client.connect(to: address)
  var output = ProxyOutput()
  for await _ in ready {
    client.take(into: &output)
    for event in output.events {
      switch event {
      case .connected: client.perform(.discoverServices, on: address)
      case .finished(_, .discoverServices, .success(.services(let services))):
        for service in services {
          if let first = service.characteristics.first { client.perform(.read(first.handle), on: address) }
        }
      case .finished(_, .read(let handle), let result): print(handle, result)
      case .disconnected, .closed: return
      default: break
      }
    }
  }
}
