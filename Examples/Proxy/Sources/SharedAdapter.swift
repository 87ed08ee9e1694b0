import BLEProfiles
import BLEProxy

/// One adapter for two clients: the first one lists the devices in range, the second one reads a thermometer. Each
/// scans and connects as if the adapter were its own.
@main struct SharedAdapter {
  static func main() async {
    await Adapter.runProgram {
      switch CommandLine.arguments.dropFirst().first {
      case "clients": try await share(.open())
      case "sensor": try await serveSensor(on: .open())
      case nil:
        // Both in this process, on the simulated radio. The sensor ends with this scope.
        async let _ = serveSensor(on: .open(AdapterOptions(transport: "virtual:sensor")))
        try await share(.open(AdapterOptions(transport: "virtual:clients")))
      default: print("usage: proxy [clients | sensor] [--transport SPEC]")
      }
    }
  }

  /// Lists devices and prints the values of a thermometer, until Control-C, or until the link to the thermometer ends.
  static func share(_ adapter: Adapter) async {
    let proxy = Proxy([adapter])
    await withTaskGroup { group in
      group.addTask { await proxy.run() }
      group.addTask { await listDevices(Client(of: proxy)) }
      await readThermometer(Client(of: proxy))
      // Ends both clients, with their connections.
      group.cancelAll()
    }
  }

  static func listDevices(_ client: Client) async {
    client.proxyClient.scan(ProxyScan())
    var listed: Set<DeviceAddress> = []
    var output = ProxyOutput()
    for await _ in client.ready {
      client.proxyClient.take(into: &output)
      for advertisement in output.advertisements where listed.insert(advertisement.address).inserted {
        print("in range: \(advertisement.address), \(advertisement.rssi.map { "\($0) dBm" } ?? "of unknown strength")")
      }
    }
  }

  /// Connects to the first thermometer in range, and prints its values until the link ends.
  static func readThermometer(_ client: Client) async {
    client.proxyClient.scan(ProxyScan())
    var isFound = false
    var output = ProxyOutput()
    for await _ in client.ready {
      client.proxyClient.take(into: &output)
      for advertisement in output.advertisements where !isFound && advertisement.isThermometer {
        isFound = true
        client.proxyClient.scan(nil)
        client.proxyClient.connect(to: advertisement.address)
      }
      for event in output.events {
        switch event {
        case .connected(let address, _): client.proxyClient.perform(.discoverServices, on: address)
        case .finished(let address, .discoverServices, .success(.services(let services))):
          client.subscribe(services, on: address)
        case .finished(let address, let operation, .failure(let error)):
          print("\(operation) failed: \(error)")
          client.proxyClient.disconnect(from: address)
        case .value(_, _, let octets):
          guard let value = EnvironmentalValue<Temperature>(octets: octets) else { continue }
          print("received \(value)")
        case .disconnected(_, let error):
          if let error { print("the thermometer: \(error)") }
          return
        case .closed(let error): return print(error)
        case .slots(let slots): print("connections: \(slots.allocated.count) of \(slots.limit)")
        case .finished, .scanner: break
        }
      }
    }
  }

  static func serveSensor(on adapter: Adapter) async throws {
    let sensor = EnvironmentalSensing.sensor(Temperature.self) { subscriber in
      for number in 0... {
        try await subscriber.send(EnvironmentalValue<Temperature>(20 + Double(number % 100) / 10))
        try await Task.sleep(for: .milliseconds(200))
      }
    } read: {
      EnvironmentalValue(20)
    }
    print("advertises as \"Sensor\"")
    try await adapter.serve([EnvironmentalSensing.localService([sensor])], advertisingAs: "Sensor")
  }
}

/// A client of the proxy, and a signal for each time that something waits for it.
struct Client {
  let proxyClient: ProxyClient
  let ready: AsyncStream<Void>

  init(of proxy: Proxy) {
    let (ready, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.ready = ready
    proxyClient = proxy.makeClient { _ in signal.yield() }
  }

  /// Requests the values of the temperature. A client of a proxy writes the descriptor itself.
  func subscribe(_ services: [ProxyService], on address: DeviceAddress) {
    let characteristics = services.flatMap(\.characteristics)
    guard let temperature = characteristics.first(where: { $0.uuid == EnvironmentalSensing.temperature.uuid }),
      let configuration = temperature.descriptors.first(where: { $0.uuid == "2902" })
    else { return proxyClient.disconnect(from: address) }
    proxyClient.perform(.startNotifying(temperature.handle), on: address)
    proxyClient.perform(.write(configuration.handle, [1, 0], withResponse: true), on: address)
  }
}

extension ReceivedAdvertisement {
  /// Whether a device advertises that it has Environmental Sensing, and accepts connections.
  var isThermometer: Bool {
    let content = AdvertisedData(advertisingData: data[...])
    return isConnectable && content.serviceUUIDs.contains(EnvironmentalSensing.service)
  }
}
