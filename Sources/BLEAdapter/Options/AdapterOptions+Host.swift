import BLEATT
import BLEGATT
package import BLEHost
package import BLELinux
package import BLERuntime
import BLEWire

extension AdapterOptions {
  /// The host of the adapter, which all users of its transport share.
  package func host() throws(TransportError) -> BLERuntime.Host {
    var options = HostOptions()
    options.trace = try LaunchOptions.trace(code: snoop)
    options.traceKeepsKeys = LaunchOptions.traceKeepsKeys()
    options.configuration = hostConfiguration
    let transport = try LaunchOptions.transport(code: transport)
    if case .linux = transport, address != .controller {
      throw TransportError(
        .unsupported, at: "\(transport)", "the kernel chooses the adapter's address",
        remedy: "Take the adapter from the kernel with hci-socket:N, or leave address at .controller.")
    }
    if case .linux = transport, privacy.usesPrivateAddress {
      throw TransportError(
        .unsupported, at: "\(transport)",
        "the kernel chooses the adapter's address, so a private address of this host is not possible",
        remedy: "Take the adapter from the kernel with hci-socket:N, or leave privacy.usesPrivateAddress off.")
    }
    return try BLERuntime.Host.shared(transport, options)
  }

  /// The part of the host's configuration that these options determine.
  package var hostConfiguration: HostConfiguration {
    var configuration = HostConfiguration()
    configuration.awaitsBondStorage = true
    if let deviceName { configuration.deviceName = deviceName }
    configuration.enhancedBearers = enhancedATTBearers
    configuration.priority = connectionPriority
    if let appearance { configuration.appearance = appearance }
    // A value that a manager has taken must find room: as many indications may wait on a link as values in the host.
    configuration.serverLimits = GATTServer.Limits(
      maximumMTU: maximumMTU ?? ATT.maximumMTU, maximumQueuedIndications: configuration.maximumPendingUpdates)
    switch address {
    case .controller: break
    case .random:
      var random = SystemRandomNumberGenerator()
      configuration.staticAddress = BD_ADDR(random.next() & 0xFFFF_FFFF_FFFF)
    case .staticRandom(let address): configuration.staticAddress = BD_ADDR(address & 0xFFFF_FFFF_FFFF)
    }
    return configuration
  }
}
