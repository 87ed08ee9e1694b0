import BLEProfiles

/// The central: it pairs, writes the credentials, and waits until the device is in the network.
struct Provisioner: Sendable {
  let settings: Settings

  init(_ settings: Settings) { self.settings = settings }

  func run(with adapter: Adapter) async throws {
    let questions = Task {
      for await request in adapter.pairingRequests { answer(request) }
    }
    defer { questions.cancel() }
    try await adapter.withDevice(advertising: ProvisioningService.service) { device in
      try await device.pair(level: .authenticated)
      say("paired: \(device.security.level), a key of \(device.security.keySize) octets")
      let states = try await device.values(of: ProvisioningService.state)
      try await within(.seconds(20), "the device to be in the network") {
        var changes = try await states.subscribed()
        try await device.write(settings.network, to: ProvisioningService.network)
        say("the device has the network \"\(settings.network.name)\"")
        while let state = try await changes.next() {
          say("state \(state)")
          if state == .connected { return }
        }
      }
      say("the device is in the network")
    }
  }

  private func answer(_ request: PairingRequest) {
    switch request.question {
    case .enterPasskey:
      if let passkey = settings.passkey { return request.reply.enter(passkey: passkey) }
      say("type the digits that the device shows:")
      guard let digits = readLine(), let passkey = UInt32(digits) else { return request.reply.reject() }
      request.reply.enter(passkey: passkey)
    case .compare(let number):
      say("the device shows \(number)")
      guard settings.isAlone else { return request.reply.accept() }
      say("are both the same? yes or no:")
      if readLine() == "yes" { request.reply.accept() } else { request.reply.reject() }
    default: request.reply.reject()
    }
  }
}
