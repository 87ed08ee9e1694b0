import BLEKit
import BLETesting
import CoreBluetooth
import Foundation
import Synchronization
import Testing

/// Sessions of centrals in virtual time: recorded, and repeated against the same program and against others.
struct ReplayTests {
  /// A folder for the traces of one test.
  final class Folder: Sendable {
    let path: String

    init() throws {
      path = FileManager.default.temporaryDirectory.appendingPathComponent("replay-\(UUID())").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ device: String) -> String { "\(path)/\(device).btsnoop" }
  }

  /// The program under test: a value, a control point that answers by notifications, and a long value.
  final class Oven: Sendable {
    let name: String
    let answers: [[UInt8]]
    let limit: Int
    let delay: Duration
    let security: RequiredSecurity
    let hasBattery: Bool
    private let subscribers = Mutex<[Subscriber]>([])

    init(
      name: String = "Kitchen", answers: [[UInt8]] = [[1], [2]], limit: Int = 20, delay: Duration = .seconds(3),
      security: RequiredSecurity = .none, hasBattery: Bool = false
    ) {
      (self.name, self.answers, self.limit, self.delay) = (name, answers, limit, delay)
      (self.security, self.hasBattery) = (security, hasBattery)
    }

    private func services(_ clock: TestClock) -> [LocalService] {
      let control = LocalCharacteristic("FFE2").write(kinds: [.withResponse, .withoutResponse]) { value, _ in
        guard value.count <= self.limit else { throw ATTErrorCode.invalidAttributeValueLength }
        try await clock.sleep(for: self.delay)
        for subscriber in self.subscribers.withLock({ $0 }) {
          for answer in self.answers { try await subscriber.send(answer) }
        }
      }
      let answers = LocalCharacteristic("FFE3").notify { subscriber in
        self.subscribers.withLock { $0.append(subscriber) }
        defer { self.subscribers.withLock { $0.removeAll() } }
        try await clock.sleep(for: .seconds(86_400))
      }
      let long = LocalCharacteristic("FFE4").read(security: security) { _ in [UInt8](repeating: 7, count: 300) }
      let oven = LocalService("FFE0", [LocalCharacteristic("2A00").read { _ in self.name }, control, answers, long])
      let battery = LocalService("180F", [LocalCharacteristic("2A19").read { _ in UInt8(80) }])
      return hasBattery ? [battery, oven] : [oven]
    }

    /// Runs the program on a device until the test ends.
    func start(on device: TestDevice, of radio: TestRadio) async throws -> Task<Void, any Error> {
      let adapter = try await device.adapter()
      return Task(executorPreference: radio.executor) {
        try await adapter.serve(self.services(radio.clock), advertisingAs: "Oven")
      }
    }
  }

  private static let justWorks: AdapterOptions = {
    var options = AdapterOptions()
    options.pairing.capability = .none
    return options
  }()

  /// Records a session of a central with an oven: `phone.btsnoop` and `oven.btsnoop`.
  private func record(
    _ oven: Oven, in folder: Folder, _ session: @escaping @Sendable (RemoteDevice, TestRadio) async throws -> Void
  ) async throws {
    try await TestRadio.run(traces: folder.path) { radio in
      let device = try await radio.device("oven", Self.justWorks)
      let program = try await oven.start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone", Self.justWorks).adapter()
      try await phone.withConnection(to: device.address) { try await session($0, radio) }
      try await radio.clock.sleep(for: .seconds(2))
    }
  }

  private func replay(
    _ file: String, against oven: Oven, ignoring: Set<BluetoothUUID> = [], seed: UInt64 = 9
  ) async throws -> ReplayReport {
    try await TestRadio.run(seed: seed) { radio in
      let device = try await radio.device("oven", Self.justWorks)
      let program = try await oven.start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone", Self.justWorks)
      return try await radio.replay(file, from: phone, against: device, ignoring: ignoring)
    }
  }

  /// Everything that an oven has.
  private static let use: @Sendable (RemoteDevice, TestRadio) async throws -> Void = { device, radio in
    #expect(try await device.services().count > 2)
    #expect(try await device.read("2A00", in: "FFE0", as: String.self) == "Kitchen")
    var answers = try await device.values(of: "FFE3", in: "FFE0").subscribed()
    try await device.write([9], to: "FFE2", in: "FFE0")
    #expect(try await answers.next() == [1])
    #expect(try await answers.next() == [2])
    #expect(try await device.read("FFE4", in: "FFE0").count == 300)
    await #expect(throws: BLEError.self) {
      try await device.write([UInt8](repeating: 0, count: 21), to: "FFE2", in: "FFE0")
    }
    try await device.writeWithoutResponse([8], to: "FFE2", in: "FFE0")
    #expect(try await answers.next() == [1])
    #expect(try await answers.next() == [2])
  }

  @Test(arguments: ["phone", "oven"]) func theSameProgramAnswersInTheSameWay(trace: String) async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let report = try await replay(folder.file(trace), against: Oven())
    #expect(report.differences.isEmpty, "\(report)")
    #expect(report.notes.isEmpty, "\(report)")
    #expect(report.requestCount > 15 && report.valueCount == 4, "\(report)")
    #expect(report.description.contains("no difference"))
  }

  @Test(arguments: ["phone", "oven"]) func anotherValueIsNamed(trace: String) async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let report = try await replay(folder.file(trace), against: Oven(name: "Kitchem"))
    #expect(report.differences.count == 1, "\(report)")
    let line = try #require(report.differences.first)
    #expect(line.hasPrefix("packet "))
    #expect(line.contains("Read Request of 0x") && line.contains("Device Name"))
    #expect(line.contains("recorded \"Kitchen\", now \"Kitchem\""), "\(line)")
    // The number is the one of the packet with the recorded value.
    let number = try #require(Int(line.dropFirst("packet ".count).prefix { $0.isNumber }))
    #expect(number > 10)
    let ignored = try await replay(folder.file(trace), against: Oven(name: "Kitchem"), ignoring: ["2A00"])
    #expect(ignored.differences.isEmpty, "\(ignored)")
  }

  @Test func anAttributeThatIsNotInTheTraceIsNotIgnoredSilently() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let report = try await replay(folder.file("phone"), against: Oven(), ignoring: ["2A37"])
    #expect(report.notes.contains { $0.hasPrefix("not ignored: values of 2A37") }, "\(report)")
  }

  @Test func anErrorInTheirPlaceIsADifference() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let report = try await replay(folder.file("phone"), against: Oven(limit: 30))
    #expect(report.differences.contains { $0.contains("recorded Invalid Attribute Value Length") }, "\(report)")
    // The write has succeeded, and was answered.
    #expect(
      report.differences.contains { $0.contains("value sent of") && $0.contains("recorded nothing") }, "\(report)")
  }

  @Test func valuesThatAreMissingOrOthersOrMoreAreDifferences() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let missing = try await replay(folder.file("phone"), against: Oven(answers: [[2]]))
    #expect(missing.differences.count == 2, "\(missing)")
    #expect(missing.differences.allSatisfy { $0.contains("recorded 01, now nothing") }, "\(missing)")
    let others = try await replay(folder.file("phone"), against: Oven(answers: [[1], [3]]))
    #expect(others.differences.count == 2, "\(others)")
    #expect(others.differences.allSatisfy { $0.contains("recorded 02, now 03") }, "\(others)")
    let more = try await replay(folder.file("phone"), against: Oven(answers: [[1], [2], [3]]))
    #expect(more.differences.contains { $0.contains("recorded nothing, now 03") }, "\(more)")
    let ignored = try await replay(folder.file("phone"), against: Oven(answers: [[5]]), ignoring: ["FFE3"])
    #expect(ignored.differences.isEmpty && ignored.valueCount == 0, "\(ignored)")
  }

  @Test func otherAttributesAreExplained() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let report = try await replay(folder.file("phone"), against: Oven(hasBattery: true))
    #expect(!report.differences.isEmpty)
    #expect(report.notes.contains { $0.contains("finds other attributes than in the trace") }, "\(report)")
  }

  /// The program answers each request after some seconds of the trace; the pauses of the central are kept.
  @Test func thePausesOfTheCentralAreKept() async throws {
    let folder = try Folder()
    let clock = Mutex<[Duration]>([])
    try await record(Oven(delay: .zero), in: folder) { device, radio in
      _ = try await device.read("2A00", in: "FFE0")
      try await radio.clock.sleep(for: .seconds(40))
      _ = try await device.read("2A00", in: "FFE0")
    }
    let report = try await TestRadio.run { radio in
      let device = try await radio.device("oven")
      let adapter = try await device.adapter()
      let name = LocalCharacteristic("2A00").read { _ in
        clock.withLock { $0.append(radio.clock.now.sinceStart) }
        return "Kitchen"
      }
      async let _ = adapter.serve([LocalService("FFE0", [name])], advertisingAs: "Oven")
      let phone = try await radio.device("phone")
      return try await radio.replay(folder.file("phone"), from: phone, against: device)
    }
    let times = clock.withLock { $0 }
    try #require(times.count == 2, "\(report)")
    #expect(abs((times[1] - times[0]) / .seconds(1) - 40) < 1, "\(times)")
  }

  // MARK: Security

  @Test func aPairingIsRepeatedInItsPlace() async throws {
    let folder = try Folder()
    try await record(Oven(security: .encrypted), in: folder) { device, _ in
      _ = try await device.services()
      #expect(try await device.read("2A00", in: "FFE0", as: String.self) == "Kitchen")
      // The device demands a pairing, and the request is repeated after it.
      #expect(try await device.read("FFE4", in: "FFE0").count == 300)
    }
    for trace in ["phone", "oven"] {
      let report = try await replay(folder.file(trace), against: Oven(security: .encrypted))
      #expect(report.differences.isEmpty, "\(report)")
    }
    let open = try await replay(folder.file("phone"), against: Oven())
    #expect(open.differences.count == 1, "\(open)")
    #expect(open.differences.first?.contains("recorded Insufficient Authentication") == true, "\(open)")
    let strict = try await replay(folder.file("phone"), against: Oven(security: .authenticated))
    #expect(strict.differences.contains { $0.contains("Insufficient Authentication") }, "\(strict)")
  }

  /// The passkey of the oven is fixed; the user of the phone enters it.
  @Test func aPairingWithAPasskeyIsRepeatedWithItsQuestion() async throws {
    let folder = try Folder()
    var (display, keyboard) = (AdapterOptions(), AdapterOptions())
    display.pairing.capability = .displayOnly
    display.pairing.fixedPasskey = 123_456
    keyboard.pairing.capability = .keyboardOnly
    let questions = Mutex(0)
    let enter: @Sendable (Adapter) async -> Void = { adapter in
      for await request in adapter.pairingRequests {
        guard case .enterPasskey = request.question else { continue }
        questions.withLock { $0 += 1 }
        request.reply.enter(passkey: 123_456)
      }
    }
    let oven = Oven(security: .authenticated)
    try await TestRadio.run(traces: folder.path) { [display, keyboard] radio in
      let device = try await radio.device("oven", display)
      let program = try await oven.start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone", keyboard).adapter()
      async let _ = enter(phone)
      try await phone.withConnection(to: device.address) { device in
        try await device.pair(level: .authenticated)
        #expect(try await device.read("FFE4", in: "FFE0").count == 300)
      }
      try await radio.clock.sleep(for: .seconds(2))
    }
    #expect(questions.withLock { $0 } == 1)
    try await TestRadio.run { [display, keyboard] radio in
      let device = try await radio.device("oven", display)
      let program = try await oven.start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone", keyboard)
      let adapter = try await phone.adapter()
      async let _ = enter(adapter)
      for round in 1...2 {
        let report = try await radio.replay(folder.file("phone"), from: phone, against: device)
        #expect(report.differences.isEmpty, "\(report)")
        // The second time with the key of the bond.
        #expect(questions.withLock { $0 } == 2, "\(round)")
        #expect(
          report.notes.contains { $0.contains("the bond, which is older than the replay") } == (round == 2), "\(report)"
        )
      }
    }
    // Without a user there is no authentication.
    let report = try await replay(folder.file("phone"), against: oven)
    #expect(report.differences.first?.contains("recorded encrypted, authenticated, now") == true, "\(report)")
    #expect(report.notes.contains { $0.contains("requests and commands after packet") }, "\(report)")
  }

  // MARK: Faults

  /// A device that ends the link instead of answering: the fault of a report is repeated, and its correction is seen.
  @Test func aRequestThatEndsTheLinkIsRepeated() async throws {
    let folder = try Folder()
    let fails: @Sendable (Adapter, TestClock) -> [LocalService] = { adapter, clock in
      let value = LocalCharacteristic("FFE1").read { device -> [UInt8] in
        await device.disconnect()
        try await clock.sleep(for: .seconds(60))
        return [1]
      }
      return [LocalService("FFE0", [value])]
    }
    try await TestRadio.run(traces: folder.path) { radio in
      let device = try await radio.device("oven")
      let adapter = try await device.adapter()
      async let _ = adapter.serve(fails(adapter, radio.clock), advertisingAs: "Oven")
      let phone = try await radio.device("phone").adapter()
      let link = try await phone.connect(to: device.address)
      await #expect(throws: BLEError.self) { try await link.read("FFE1", in: "FFE0") }
      try await radio.clock.sleep(for: .seconds(2))
    }
    for trace in ["phone", "oven"] {
      try await TestRadio.run { radio in
        let phone = try await radio.device("phone")
        let (old, new) = (try await radio.device("old"), try await radio.device("new"))
        let (oldAdapter, newAdapter) = (try await old.adapter(), try await new.adapter())
        async let _ = oldAdapter.serve(fails(oldAdapter, radio.clock), advertisingAs: "Oven")
        let value = LocalCharacteristic("FFE1").read { _ in [1] as [UInt8] }
        async let _ = newAdapter.serve([LocalService("FFE0", [value])], advertisingAs: "Oven")
        let same = try await radio.replay(folder.file(trace), from: phone, against: old)
        #expect(same.differences.isEmpty, "\(same)")
        #expect(same.notes.contains { $0.contains("has no answer, as in the trace") }, "\(same)")
        let corrected = try await radio.replay(folder.file(trace), from: phone, against: new)
        #expect(corrected.differences.count == 2, "\(corrected)")
        #expect(corrected.differences.first?.contains("recorded no answer, now 01") == true, "\(corrected)")
        #expect(corrected.differences.last?.contains("recorded the device ended it") == true, "\(corrected)")
      }
    }
  }

  // MARK: Links

  @Test func aDeviceThatEndsTheLinkIsFollowed() async throws {
    let folder = try Folder()
    try await TestRadio.run(traces: folder.path) { radio in
      let device = try await radio.device("oven")
      let program = try await Oven().start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone").adapter()
      let adapter = try await device.adapter()
      async let central = adapter.connections.first { _ in true }
      let link = try await phone.connect(to: device.address)
      _ = try await link.read("2A00", in: "FFE0")
      await central?.disconnect()
      try await link.waitUntilDisconnected()
      try await radio.clock.sleep(for: .seconds(2))
    }
    for trace in ["phone", "oven"] {
      let report = try await replay(folder.file(trace), against: Oven())
      #expect(report.differences.count == 1, "\(report)")
      #expect(report.differences.first?.contains("the device ended it") == true, "\(report)")
    }
  }

  @Test func aDeviceThatLeavesEndsTheReplay() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let report = try await TestRadio.run { radio in
      let device = try await radio.device("oven")
      let program = try await Oven().start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone")
      async let report = radio.replay(folder.file("phone"), from: phone, against: device)
      try await radio.clock.sleep(for: .seconds(2))
      try await device.moveOutOfRange()
      return try await report
    }
    #expect(report.differences.contains { $0.contains("now the link ended") }, "\(report)")
    #expect(report.notes.contains { $0.contains("requests and commands after packet") }, "\(report)")
  }

  @Test func aLinkInUseIsRejected() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    try await TestRadio.run { radio in
      let device = try await radio.device("oven")
      let program = try await Oven().start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone")
      let other = try await phone.newAdapter()
      try await other.waitUntilPoweredOn()
      let link = try await other.connect(to: device.address)
      let error = await #expect(throws: (any Error).self) {
        try await radio.replay(folder.file("phone"), from: phone, against: device)
      }
      let text = "\(try #require(error))"
      #expect(text.contains("end it before the replay"), "\(text)")
      #expect(link.isConnected)
    }
  }

  // MARK: Managers

  /// A program with managers of CoreBluetooth.
  final class Door: NSObject, CBPeripheralManagerDelegate {
    let state: String
    init(_ state: String) { self.state = state }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
      guard peripheral.state == .poweredOn else { return }
      let state = CBMutableCharacteristic(
        type: CBUUID(string: "FFF1"), properties: .read, value: Data(state.utf8), permissions: .readable)
      let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
      service.characteristics = [state]
      peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
      peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
  }

  @Test func aProgramWithManagersIsCompared() async throws {
    let folder = try Folder()
    try await TestRadio.run(traces: folder.path) { radio in
      let door = Door("open")
      let device = try await radio.device("door")
      let manager = try await device.peripheralManager(delegate: door)
      let phone = try await radio.device("phone").adapter()
      let value = try await phone.withConnection(to: device.address) { try await $0.read("FFF1", in: "FFF0") }
      #expect(value == Array("open".utf8))
      #expect(manager.isAdvertising)
    }
    for (state, differences) in [("open", []), ("shut", ["recorded 6f 70 65 6e \"open\", now 73 68 75 74 \"shut\""])] {
      let report = try await TestRadio.run { radio in
        let door = Door(state)
        let device = try await radio.device("door")
        let manager = try await device.peripheralManager(delegate: door)
        let phone = try await radio.device("phone")
        let report = try await radio.replay(folder.file("phone"), from: phone, against: device)
        #expect(manager.isAdvertising)
        return report
      }
      #expect(report.differences.count == differences.count, "\(report)")
      for (line, end) in zip(report.differences, differences) { #expect(line.hasSuffix(end), "\(line)") }
    }
  }

  // MARK: Files

  @Test func aFileWithoutASessionIsRejected() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.file("phone")))
    let files: [(String, Data, String)] = [
      ("empty", Data(), "the file is empty"),
      ("other", Data(repeating: 0x41, count: 64), "this is not a packet trace"),
      ("header", whole.prefix(16), "the trace has no link"),
      ("short", whole.prefix(800), "the trace has no link"),
    ]
    for (name, octets, reason) in files {
      try octets.write(to: URL(fileURLWithPath: folder.file(name)))
      let error = await #expect(throws: TestRadioError.self) { try await replay(folder.file(name), against: Oven()) }
      #expect("\(try #require(error))".contains(reason), "\(name)")
    }
    let missing = await #expect(throws: TestRadioError.self) { try await replay(folder.file("none"), against: Oven()) }
    #expect("\(try #require(missing))".contains("cannot be read"))
  }

  /// The end of the trace is missing: what it has is compared.
  @Test func aTraceThatBreaksOffIsRepeatedAsFarAsItGoes() async throws {
    let folder = try Folder()
    try await record(Oven(), in: folder, Self.use)
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.file("phone")))
    try whole.prefix(whole.count * 7 / 10).write(to: URL(fileURLWithPath: folder.file("part")))
    let report = try await replay(folder.file("part"), against: Oven())
    #expect(report.differences.isEmpty && report.requestCount > 3, "\(report)")
  }

  @Test func oneOfSeveralLinksIsChosen() async throws {
    let folder = try Folder()
    try await TestRadio.run(traces: folder.path) { radio in
      let device = try await radio.device("oven")
      let program = try await Oven().start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone").adapter()
      for _ in 1...2 {
        try await phone.withConnection(to: device.address) { _ = try await $0.read("2A00", in: "FFE0") }
        try await radio.clock.sleep(for: .seconds(1))
      }
    }
    let error = await #expect(throws: TestRadioError.self) { try await replay(folder.file("phone"), against: Oven()) }
    let text = "\(try #require(error))"
    #expect(text.contains("several links of the trace have requests: choose one by its number"), "\(text)")
    #expect(text.contains("1: link 0x") && text.contains("2: link 0x"), "\(text)")
    try await TestRadio.run { radio in
      let device = try await radio.device("oven")
      let program = try await Oven().start(on: device, of: radio)
      defer { program.cancel() }
      let phone = try await radio.device("phone")
      for number in 1...2 {
        let report = try await radio.replay(folder.file("phone"), session: number, from: phone, against: device)
        #expect(report.differences.isEmpty, "\(report)")
        #expect(report.description.hasPrefix("link \(number) of the trace"))
      }
      let error = await #expect(throws: TestRadioError.self) {
        try await radio.replay(folder.file("phone"), session: 3, from: phone, against: device)
      }
      #expect("\(try #require(error))".contains("the trace has no link 3"))
    }
  }
}
