/// The Nordic UART Service: octets in both directions, as over a serial line (nRF Connect SDK, Nordic UART Service).
///
/// ```swift
/// let echo = NordicUART.localService { octets, device in
///   print("\(device): \(String(decoding: octets, as: UTF8.self))")
/// } connected: { subscriber in
///   try await NordicUART.send(Array("hello\n".utf8), to: subscriber)
/// }
/// try await device.sendUART(Array("hello\n".utf8))
/// ```
public enum NordicUART {
  /// The service, 6E400001-B5A3-F393-E0A9-E50E24DCCA9E.
  public static let service: BluetoothUUID = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
  /// RX: octets that the central sends, with or without response.
  public static let receive = ProfileCharacteristic<[UInt8]>("6E400002-B5A3-F393-E0A9-E50E24DCCA9E", in: service)
  /// TX: octets that the peripheral sends, by notifications.
  public static let transmit = ProfileCharacteristic<[UInt8]>("6E400003-B5A3-F393-E0A9-E50E24DCCA9E", in: service)

  /// The service of a peripheral.
  ///
  /// - Parameters:
  ///   - security: the security that the link must have.
  ///   - received: receives the octets of each write, in order.
  ///   - connected: runs for each central that subscribes to TX, until it unsubscribes.
  public static func localService(
    security: RequiredSecurity = .none, received: @escaping @Sendable ([UInt8], RemoteDevice) async throws -> Void,
    connected: (@Sendable (Subscriber) async throws -> Void)? = nil
  ) -> LocalService {
    LocalService(
      service,
      [
        LocalCharacteristic(receive)
          .write(kinds: [.withResponse, .withoutResponse], security: security) { try await received($0, $1) },
        LocalCharacteristic(transmit).notify(security: security, connected),
      ])
  }

  /// Sends octets to a subscriber, in notifications of the largest length that the link allows. It returns when the
  /// last one has been handed to the controller.
  public static func send(_ octets: [UInt8], to subscriber: Subscriber) async throws(BLEError) {
    var rest = octets[...]
    while !rest.isEmpty {
      let part = rest.prefix(max(1, subscriber.maximumLength))
      try await subscriber.send(Array(part))
      rest = rest.dropFirst(part.count)
    }
  }
}

extension RemoteDevice {
  /// Sends octets to the Nordic UART Service of the device, in writes without response of the largest length that the
  /// link allows. It returns when the last one has been handed to the controller.
  public func sendUART(_ octets: [UInt8]) async throws(BLEError) {
    let receive = try await characteristic(NordicUART.receive.uuid, in: NordicUART.service)
    var rest = octets[...]
    while !rest.isEmpty {
      let part = rest.prefix(max(1, min(mtu - 3, 512)))
      try await writeWithoutResponse(Array(part), to: receive)
      rest = rest.dropFirst(part.count)
    }
  }
}
