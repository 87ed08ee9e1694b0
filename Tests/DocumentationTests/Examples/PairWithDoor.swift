import BluetoothLE

/// The adapter of a program whose user types digits, and sees some.
func readerOptions() -> AdapterOptions {
  var options = AdapterOptions()
  options.pairing.capability = .keyboardDisplay
  return options
}

/// Pairs with a device, up to a key that is protected against a device in the middle. A device with such a bond is asked nothing.
///
/// - Parameter passkey: asks the user for the six digits that the device displays; nil ends the pairing.
func pairAuthenticated(
  with device: RemoteDevice, on adapter: Adapter, passkey: @escaping @Sendable () async -> UInt32?
) async throws {
  let requests = adapter.pairingRequests
  let questions = Task {
    for await request in requests where request.device == device {
      switch request.question {
      case .enterPasskey:
        if let digits = await passkey() { request.reply.enter(passkey: digits) } else { request.reply.reject() }
      // Nobody compares numbers here, so nobody can say that they are equal.
      default: request.reply.reject()
      }
    }
  }
  defer { questions.cancel() }
  try await device.pair(level: .authenticated)
}
