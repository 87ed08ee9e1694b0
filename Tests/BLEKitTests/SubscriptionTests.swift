import AdapterFixtures
import BLEKit
import Testing

/// Notifications and indications, over the simulated radio.
@Suite(.usesRadio) struct SubscriptionTests {
  /// GATT/SR/GAN/BV-01-C, GATT/CL/GAN/BV-01-C.
  @Test func aSubscriberGetsEveryValueInOrder() async throws {
    let air = try await OnTheAir()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      for value in 0..<500 { try await subscriber.send(UInt16(value)) }
    }
    let service = air.service
    let values = try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A37", in: service)
      var values: [UInt16] = []
      for try await value in device.values(of: found, as: UInt16.self) {
        values.append(value)
        if values.count == 500 { break }
      }
      return values
    }
    #expect(values == Array(0..<500))
  }

  /// A sequence of values, of which 16 are on their way at a time.
  @Test(arguments: [0, 1, 2, 17, 500]) func aSubscriberGetsASequenceInOrder(count: Int) async throws {
    let air = try await OnTheAir()
    let notes = Notes<Int>()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      try await subscriber.send(contentsOf: (0..<count).map { UInt16($0) })
      notes.note(count)
      try await subscriber.send(UInt16.max)
    }
    let service = air.service
    let values = try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A37", in: service)
      var values: [UInt16] = []
      for try await value in device.values(of: found, as: UInt16.self) {
        if value == .max { break }
        values.append(value)
      }
      return values
    }
    #expect(values == (0..<count).map { UInt16($0) })
    #expect(try await notes.next() == count)
  }

  /// A sequence without an end stops with the subscription.
  @Test func anEndlessSequenceEndsWithTheSubscription() async throws {
    let air = try await OnTheAir()
    let notes = Notes<String>()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      do throws(BLEError) {
        try await subscriber.send(contentsOf: sequence(first: UInt8(7)) { $0 })
      } catch {
        notes.note("\(error.kind)")
      }
    }
    let service = air.service
    try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A37", in: service)
      var count = 0
      for try await _ in device.values(of: found, as: UInt8.self) {
        count += 1
        if count == 100 { break }
      }
    }
    #expect(["cancelled", "disconnected"].contains(try await notes.next()))
  }

  /// GATT/SR/GAI/BV-01-C: an indication is sent when the one before it was confirmed.
  @Test func anIndicationIsConfirmedBeforeTheNext() async throws {
    let air = try await OnTheAir()
    let characteristic = LocalCharacteristic("2A1C").indicate { subscriber in
      for value in 0..<50 { try await subscriber.send(UInt8(value)) }
    }
    let service = air.service
    let values = try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A1C", in: service)
      var values: [UInt8] = []
      for try await value in device.values(of: found, as: UInt8.self) {
        values.append(value)
        if values.count == 50 { break }
      }
      return values
    }
    #expect(values == Array(0..<50))
  }

  @Test func aSubscribedIteratorIsSubscribedBeforeItsFirstElement() async throws {
    let air = try await OnTheAir()
    let notes = Notes<String>()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      notes.note("begins")
      try await subscriber.send(UInt8(7))
    }
    let service = air.service
    try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A37", in: service)
      var values = try await device.values(of: found, as: UInt8.self).subscribed()
      #expect(try await notes.next() == "begins")
      #expect(try await values.next() == 7)
    }
  }

  /// A bonded device keeps its subscriptions (Vol 3, Part G, 3.3.3.3). The end of a sequence reaches it although the
  /// program ends the link next; after a link that was lost it sends before the program has subscribed.
  @Test func aBondedCentralHasTheFirstValueOfEachLink() async throws {
    let air = try await OnTheAir()
    let sent = Notes<Bool>()
    let measurement = LocalCharacteristic("2A37").notify(security: .encrypted) { subscriber in
      try await subscriber.send(UInt8(7))
      sent.note(true)
    }
    let services = [LocalService(air.service, [measurement, LocalCharacteristic("2A38").value(UInt8(1))])]
    let server = Task { try await air.peripheral.serve(services, advertisingAs: "Kit") }
    defer { server.cancel() }
    let (address, service) = (try await air.find(), air.service)
    try await air.central.withConnection(to: address, timeout: OnTheAir.patience) { device in
      try await device.pair()
      for try await value in device.values(of: "2A37", in: service, as: UInt8.self) {
        #expect(value == 7)
        break
      }
    }
    _ = try await sent.next()
    try await air.central.withConnection(to: address, timeout: OnTheAir.patience) { device in
      var values = try await device.values(of: "2A37", in: service, as: UInt8.self).subscribed()
      #expect(try await values.next() == 7)
      _ = try await sent.next()
      // One value for this link: the subscription had ended with the last one.
      #expect(sent.all.count == 2)
      await device.disconnect()
      await expectThrows(.disconnected) { _ = try await device.readRSSI() }
      withExtendedLifetime(values) {}
    }
    try await air.central.withConnection(to: address, timeout: OnTheAir.patience) { device in
      _ = try await sent.next()
      // Its response arrives after the value.
      #expect(try await device.read("2A38", in: service, as: UInt8.self) == 1)
      for try await value in device.values(of: "2A37", in: service, as: UInt8.self) {
        #expect(value == 7)
        break
      }
      #expect(sent.all.count == 3)
    }
  }

  @Test func leavingTheSequenceEndsTheSubscriptionAndItsHandler() async throws {
    let air = try await OnTheAir()
    let notes = Notes<String>()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      notes.note("begins")
      do {
        // It waits where the window of the subscription is full.
        while true { try await subscriber.send(UInt8(1)) }
      } catch {
        notes.note("ends")
        throw error
      }
    }
    let service = air.service
    try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A37", in: service)
      for _ in 0..<2 {
        for try await _ in device.values(of: found) { break }
        #expect(try await notes.next() == "begins")
        #expect(try await notes.next() == "ends")
      }
    }
  }

  @Test func theEndOfTheLinkEndsTheHandlerAndTheSequence() async throws {
    let air = try await OnTheAir()
    let notes = Notes<String>()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      try await subscriber.send(UInt8(1))
      do {
        try await untilCancelled()
      } catch {
        notes.note("cancelled")
      }
    }
    let service = air.service
    try await air.meet(characteristic) { device in
      let found = try await device.characteristic("2A37", in: service)
      await expectThrows(.disconnected) {
        for try await _ in device.values(of: found) { await device.disconnect() }
      }
      #expect(try await notes.next() == "cancelled")
      #expect(!device.isConnected)
      await expectThrows(.disconnected) { _ = try await device.read(found) }
    }
  }

  @Test func aPublicationSendsToAllItsSubscribers() async throws {
    let air = try await OnTheAir()
    let publication = try await air.peripheral.publish([LocalService("180D", [LocalCharacteristic("2A37").notify()])])
    let subscriptions = publication.subscriptions
    try await air.meet { device in
      let found = try await device.characteristic("2A37", in: "180D")
      let reader = Task {
        for try await value in device.values(of: found, as: UInt8.self) { return value }
        return 0
      }
      for await subscriber in subscriptions {
        #expect(subscriber.characteristic == "2A37" && subscriber.maximumLength == min(512, subscriber.device.mtu - 3))
        break
      }
      try await publication.send(UInt8(42), for: "2A37")
      #expect(try await reader.value == 42)
    }
    await expectThrows(.notFound) { try await publication.send(UInt8(1), for: "2A38") }
  }

  @Test func aValueCannotBeSentWithoutNotifyAndIndicate() async throws {
    let air = try await OnTheAir()
    let publication = try await air.peripheral.publish([
      LocalService(
        "180D", [LocalCharacteristic("2A38").value(UInt8(1)), LocalCharacteristic("2A39").read { _ in [1] }])
    ])
    for uuid in ["2A38", "2A39"] as [BluetoothUUID] {
      await expectThrows(.notFound) { try await publication.send(UInt8(1), for: uuid) }
    }
  }

  @Test func aWithdrawnServiceEndsItsHandlersAndIsNotFound() async throws {
    let air = try await OnTheAir()
    let notes = Notes<String>()
    let characteristic = LocalCharacteristic("2A37").notify { _ in
      do { try await untilCancelled() } catch { notes.note("cancelled") }
    }
    let publication = try await air.peripheral.publish([LocalService("180D", [characteristic])])
    let subscriptions = publication.subscriptions
    try await air.meet { device in
      let found = try await device.characteristic("2A37", in: "180D")
      let reader = Task { for try await _ in device.values(of: found) {} }
      for await _ in subscriptions { break }
      await publication.remove()
      #expect(try await notes.next() == "cancelled")
      reader.cancel()
      _ = await reader.result
      // The old handles are used until Service Changed has arrived.
      await expectThrows(.notFound) {
        while true {
          do throws(BLEError) {
            _ = try await device.read("2A37", in: "180D")
          } catch {
            guard error.kind == .att(.invalidHandle) else { throw error }
            await Task.yield()
          }
        }
      }
    }
  }
}
