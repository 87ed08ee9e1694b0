package import BLEHost
package import BLEKit
import BLEWire

/// The adapter of a peripheral that a description describes.
extension ServiceDescription {
  /// Sets what the description says about the adapter: name, MTU, address and pairing.
  ///
  /// - Parameter identity: a number from which the static address of the description is made; nil leaves the address to
  ///   the options.
  package func apply(to options: inout AdapterOptions, identity: UInt64?) {
    (options.deviceName, options.appearance) = (name, appearance ?? options.appearance)
    if let mtu { options.maximumMTU = Int(mtu) }
    options.pairing.fixedPasskey = passkey ?? options.pairing.fixedPasskey
    if passkey != nil { options.pairing.capability = .displayOnly }
    if let pairing {
      options.pairing.isEnabled = pairing.isEnabled
      options.pairing.isBonding = pairing.isBonding
      options.pairing.allowsSecureConnections = pairing.hasSecureConnections
      if let capability = pairing.capability { options.pairing.capability = capability.option }
    }
    guard let identity, options.address == .controller else { return }
    switch address {
    case .publicAddress, nil: break
    case .staticRandom: options.address = .staticRandom(identity)
    case .resolvable: options.privacy.usesPrivateAddress = true
    case .given(let address): options.address = .staticRandom(address.value)
    }
  }

  /// A number that stands for a text, such as the path of a description: FNV-1a. It is the same in each run, which the
  /// hash of the standard library is not.
  package static func identity(of text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  /// The advertisement as octets; nil if the description has none.
  package var advertisingIntent: AdvertisingIntent? {
    guard let advertising else { return nil }
    var intent = AdvertisingIntent(data: advertising.data, scanResponse: advertising.scanResponse)
    intent.isConnectable = advertising.isConnectable
    intent.usesExtendedPDUs = advertising.isExtended
    if let interval = advertising.interval {
      let units = UInt16(clamping: min(max(Int(interval) * 8 / 5, 0x20), 0x4000))
      intent.interval = units...units
    }
    intent.localName = name
    return intent
  }

  /// The advertisement with the name and the services.
  package var advertisement: Advertisement {
    let advertised = advertise ?? services.filter(\.isPrimary).map(\.uuid)
    return Advertisement(localName: name, serviceUUIDs: advertised)
  }

  /// Advertises until the task is cancelled.
  package func advertise(on adapter: Adapter) async throws(BLEError) {
    if let advertisingIntent {
      try await adapter.advertise(advertisingIntent)
    } else {
      try await adapter.advertise(advertisement)
    }
  }

  /// Sends the periodic advertising until the task is cancelled; ends at once where there is none.
  package func advertisePeriodically(on adapter: Adapter) async throws(BLEError) {
    guard let periodic else { return }
    var options = PeriodicAdvertisingOptions()
    options.interval = .milliseconds(periodic.interval)
    let train = try await adapter.startPeriodicAdvertising(periodic.data, options: options)
    defer { train.stop() }
    // It is sent for as long as the task is not cancelled.
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    defer { continuation.finish() }
    for await _ in stream {}
  }
}
