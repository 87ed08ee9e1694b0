import AdapterFixtures
import BLEATT
import BLEKit
import Synchronization
import Testing

/// What a newcomer types first does what the words say.
@Suite(.usesRadio) struct FirstNameTests {
  /// Serves characteristics under a name of its own: all tests share one radio.
  private func serve(
    _ air: OnTheAir, _ name: String, _ characteristics: LocalCharacteristic...
  ) -> Task<Void, any Error> {
    let services = [LocalService(air.service, characteristics)]
    return Task { try await air.peripheral.serve(services, advertisingAs: name) }
  }

  @Test func aDeviceHasTheNameOfItsScanResultAlsoAfterTheEndOfTheLink() async throws {
    let air = try await OnTheAir()
    let server = serve(air, "Kit result")
    defer { server.cancel() }
    let result = try await air.central.findDevice(named: "Kit result", timeout: OnTheAir.patience)
    #expect(result.name == "Kit result")
    let device = try await air.central.connect(to: result, timeout: OnTheAir.patience)
    #expect(device.name == "Kit result")
    await device.disconnect()
    #expect(!device.isConnected && device.name == "Kit result")
  }

  @Test func aDeviceHasTheNameThatASearchFound() async throws {
    let air = try await OnTheAir()
    let server = serve(air, "Kit search")
    defer { server.cancel() }
    let name = try await air.central.withConnection(to: .named("Kit search"), timeout: OnTheAir.patience) { $0.name }
    #expect(name == "Kit search")
  }

  /// Neither a device that was connected to by its address nor a central has advertised to this one.
  @Test func aDeviceWithoutAnAdvertisementHasNoName() async throws {
    let air = try await OnTheAir()
    var centrals = air.peripheral.connections.makeAsyncIterator()
    let server = serve(air, "Kit address")
    defer { server.cancel() }
    let address = try await air.find()
    let device = try await air.central.connect(to: address, timeout: OnTheAir.patience)
    #expect(device.name == nil)
    let central = try #require(await centrals.next())
    #expect(central.isCentral && central.name == nil)
    // The name is a value of the device.
    #expect(try await device.read("2A00", in: "1800", as: String.self).isEmpty == false)
    await device.disconnect()
  }

  @Test func theTextOfAnAddressFindsTheDeviceOfEitherKind() async throws {
    let air = try await OnTheAir()
    let server = serve(air, "Kit text")
    defer { server.cancel() }
    let address = try await air.find()
    let text = "\(address.octets)"
    #expect(try await air.central.findDevice(at: text, timeout: OnTheAir.patience).address == address)
    #expect(try await air.central.findDevice(at: text.lowercased(), timeout: OnTheAir.patience).address == address)
    let found = try await air.central.withConnection(to: .at(text), timeout: OnTheAir.patience) { $0.address }
    #expect(found == address)
  }

  @Test(arguments: ["", "Lamp", "C0:11:22:33:44", "C0:11:22:33:44:55:66", "C0-11-22-33-44-55", "C0:11:22:33:44:5G"])
  func anotherTextIsNoAddress(_ text: String) async throws {
    let air = try await OnTheAir()
    await expectThrows(.invalidArgument) { _ = try await air.central.findDevice(at: text, timeout: nil) }
    await expectThrows(.invalidArgument) { _ = try await air.central.connect(to: .at(text), timeout: nil) }
    do throws(BLEError) {
      _ = try await air.central.findDevice(at: text, timeout: nil)
    } catch {
      #expect(
        error.description == "'\(text)' is not a device address: write six octets, such as C0:11:22:33:44:55")
    }
  }

  @Test func valuesOfATypeAreDiscoveredAndSubscribedTo() async throws {
    let air = try await OnTheAir()
    let characteristic = LocalCharacteristic("2A37").notify { subscriber in
      for value in 0..<3 { try await subscriber.send(UInt16(value)) }
    }
    let service = air.service
    let values = try await air.meet(characteristic) { device in
      var values: [UInt16] = []
      for try await value in device.values(of: "2A37", in: service, as: UInt16.self) {
        values.append(value)
        if values.count == 3 { break }
      }
      return values
    }
    #expect(values == [0, 1, 2])
  }

  @Test func valuesOfATypeThatIsNotThereEndWithNotFound() async throws {
    let air = try await OnTheAir()
    let service = air.service
    try await air.meet(LocalCharacteristic("2A37").notify()) { device in
      var absent = device.values(of: "2A38", in: service).makeAsyncIterator()
      await expectThrows(.notFound) { _ = try await absent.next() }
      await expectThrows(.notFound) { _ = try await device.values(of: "2A37", in: "1815").subscribed() }
    }
  }

  @Test func aWriteWithoutResponseFindsItsCharacteristic() async throws {
    let air = try await OnTheAir()
    let written = Notes<[UInt8]>()
    let characteristic = LocalCharacteristic("2A39").write(kinds: .withoutResponse) { value, _ in written.note(value) }
    let service = air.service
    try await air.meet(characteristic) { device in
      try await device.writeWithoutResponse([1, 2], to: "2A39", in: service)
      #expect(try await written.next() == [1, 2])
      await expectThrows(.notFound) { try await device.writeWithoutResponse([1], to: "2A3A", in: service) }
    }
  }

  @Test func aReadHasTheTypeThatItsResultHas() async throws {
    let air = try await OnTheAir()
    let service = air.service
    try await air.meet(
      LocalCharacteristic("2A39").value(Float(1.5)), LocalCharacteristic("2A3A").value(-2.25),
      LocalCharacteristic("2A3B").value(UInt16(0x0201))
    ) { device in
      let single: Float = try await device.read("2A39", in: service)
      let double: Double = try await device.read(try await device.characteristic("2A3A", in: service))
      let number: UInt16 = try await device.read("2A3B", in: service)
      let octets = try await device.read("2A3B", in: service)
      #expect(single == 1.5 && double == -2.25 && number == 0x0201 && octets == [1, 2])
      await expectThrows(.invalidValue) { let _: Double = try await device.read("2A39", in: service) }
    }
  }

  /// An error of the other API.
  private struct Refusal: ATTErrorCodeConvertible {
    let attErrorCode: ATTErrorCode
  }

  /// An Error Response has a code and no text (Vol 3, Part F, 3.4.1.1): the client has the name of the code.
  @Test(arguments: [
    (ATTErrorCode.valueNotAllowed as any Error, "Value Not Allowed (0x13)"),
    (ATTErrorCode(rawValue: 0x80), "application error 0x80"),
    (Refusal(attErrorCode: .insufficientResources), "Insufficient Resources (0x11)"),
    (CancellationError(), "Unlikely Error (0x0E)"),
  ])
  func theClientHasTheNameOfTheCodeThatAHandlerThrows(_ error: any Error, _ text: String) async throws {
    let air = try await OnTheAir()
    let service = air.service
    try await air.meet(
      LocalCharacteristic("2A39").read { _ -> UInt8 in throw error },
      LocalCharacteristic("2A3A").readSynchronously { _ -> UInt8 in throw error },
      LocalCharacteristic("2A3B").write { _, _ in throw error },
      LocalCharacteristic("2A3C").writeSynchronously { _, _ in throw error }
    ) { device in
      for uuid in ["2A39", "2A3A"] as [BluetoothUUID] {
        do throws(BLEError) {
          _ = try await device.read(uuid, in: service)
          Issue.record("no error")
        } catch {
          #expect(error.description == "Read Request (0x0A) for characteristic \(uuid) rejected by the server: \(text)")
        }
      }
      for uuid in ["2A3B", "2A3C"] as [BluetoothUUID] {
        do throws(BLEError) {
          try await device.write([1], to: uuid, in: service)
          Issue.record("no error")
        } catch {
          #expect(
            error.description == "Write Request (0x12) for characteristic \(uuid) rejected by the server: \(text)")
        }
      }
    }
  }
}
