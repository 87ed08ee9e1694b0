import BLEProfiles

/// The central: it pairs, writes the credentials, and waits until the device is in the network.
struct Provisioner: Sendable {
  let user: User
  let home = NetworkCredentials(name: "Home", password: "correct horse")

  func run(with adapter: Adapter) async throws {
    let requests = adapter.pairingRequests
    let questions = Task {
      for await request in requests { answer(request) }
    }
    defer { questions.cancel() }
    let scan = adapter.scan(ScanOptions(services: [ProvisioningService.service]))
    guard let found = try await scan.first(where: \.isConnectable) else { return }
    try await adapter.withConnection(to: found.address) { device in
      try await device.pair(level: .authenticated)
      print("paired: \(device.security.level), a key of \(device.security.keySize) octets")
      let states = try await device.values(of: ProvisioningService.state)
      var changes = try await states.subscribed()
      try await device.write(home, to: ProvisioningService.network)
      print("the device has the network \"\(home.name)\"")
      while let state = try await changes.next() {
        print("state \(state)")
        if state == .connected { break }
      }
      print("the device is in the network")
    }
  }

  private func answer(_ request: PairingRequest) {
    switch request.question {
    case .enterPasskey:
      if let passkey = user.digits() { request.reply.enter(passkey: passkey) } else { request.reply.reject() }
    case .compare(let number):
      print("the device shows \(number)")
      if user.confirms() { request.reply.accept() } else { request.reply.reject() }
    default: request.reply.reject()
    }
  }
}
