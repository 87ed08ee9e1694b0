import BLEHCI
import BLEHost
import BLELinux
import BLEWire
import Foundation
import Testing

@testable import BLERuntime

@Suite struct RadioServiceTests {
  static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
  static let complete: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]

  /// A radio whose log a test can wait on.
  func radio(_ change: (inout RadioService.Settings) -> Void = { _ in }) -> (RadioService, EventLog<String>) {
    let log = EventLog<String>()
    var settings = RadioService.Settings()
    let sink = log.sink
    settings.log = { sink([$0]) }
    change(&settings)
    return (RadioService(settings), log)
  }

  @Test func givesEachConnectionAController() throws {
    let folder = try TemporaryFolder()
    let (radio, log) = radio()
    let port = try #require(try radio.listen(on: .tcpServer(host: "127.0.0.1", port: 0)))
    try radio.listen(on: .unixServer(path: folder.file("hci")))
    try radio.listen(on: .pseudoTerminal(path: folder.file("pty")))
    let ways: [StreamEndpoint] = [
      .tcpClient(host: "127.0.0.1", port: port), .unixClient(path: folder.file("hci")),
      .serial(path: folder.file("pty"), SerialSettings()), .tcpClient(host: "127.0.0.1", port: port),
      // The terminal is made anew when its host has gone.
      .serial(path: folder.file("pty"), SerialSettings()),
    ]
    var terminalsGone = 0
    for way in ways {
      var host = StreamPort(way)
      try host.open()
      let near = try host.waitForStream()
      #expect(try near.write(Self.reset.span) == 4)
      #expect(try near.readAll(7) == Self.complete, "\(way)")
      if case .serial = way {
        _ = consume near
        terminalsGone += 1
        let expected = terminalsGone
        log.wait { $0.count { $0.contains("-pty: disconnected") } == expected }
      }
    }
    radio.end()
    #expect(!folder.has("hci") && !folder.has("pty"))
  }

  @Test func disconnectsOneClientForMalformedInput() throws {
    let (radio, log) = radio()
    let good = try radio.attach(named: "good")
    let bad = try radio.attach(named: "bad")
    #expect(try bad.write([0x99].span) == 1)
    #expect(try bad.isEnded())
    log.wait { $0.contains { $0.hasPrefix("2-bad: disconnected") && $0.contains("0x99") } }
    do {
      let left = try radio.attach(named: "left")
      #expect(try left.write([0x01, 0x03].span) == 2)
    }
    log.wait { $0.contains { $0.hasPrefix("3-left: disconnected") } }
    #expect(log.events.contains("3-left: disconnected: the host closed the connection 2 octets into a packet"))
    #expect(try good.write(Self.reset.span) == 4)
    #expect(try good.readAll(7) == Self.complete)
    radio.end()
    #expect(try good.isEnded())
  }

  @Test func requestsWaitForTheThreadUpToTheLimit() throws {
    let mailbox = try RadioLoop.Mailbox(commandLimit: RadioLoop.requestLimit, eventBacklogLimit: 1)
    func post() -> Bool {
      mailbox.post(.addListener(OneShot(StreamPort(.tcpServer(host: nil, port: 0))), name: "tcp"))
    }
    for _ in 0..<RadioLoop.requestLimit { #expect(post()) }
    #expect(!post())
  }

  @Test func rejectsClientsPastTheLimit() throws {
    let (radio, log) = radio { $0.clientLimit = 2 }
    let first = try radio.attach(named: "a")
    let second = try radio.attach(named: "b")
    let third = try radio.attach(named: "c")
    #expect(try third.isEnded())
    log.wait { $0.contains { $0.contains("c: rejected") } }
    #expect(try second.write(Self.reset.span) == 4)
    #expect(try second.readAll(7) == Self.complete)
    _ = consume first
    log.wait { $0.contains { $0.hasPrefix("1-a: disconnected") } }
    let fourth = try radio.attach(named: "d")
    #expect(try fourth.write(Self.reset.span) == 4)
    #expect(try fourth.readAll(7) == Self.complete, "there is room again")
    radio.end()
  }

  /// A bond names the address of the other device: it is of use in the next run where that one has its address again.
  @Test func aHostThatConnectsAgainHasItsAddressAgain() throws {
    let folder = try TemporaryFolder()
    let readAddress: [UInt8] = [0x01, 0x09, 0x10, 0x00]
    /// The addresses of two hosts of the socket that are connected at once, of the first one when it is back, and of
    /// one by name.
    func addresses() throws -> [[UInt8]] {
      let (radio, log) = radio()
      try radio.listen(on: .unixServer(path: folder.file("hci")))
      func connected() throws -> ByteStream {
        var host = StreamPort(.unixClient(path: folder.file("hci")))
        try host.open()
        return try host.waitForStream()
      }
      func address(_ host: borrowing ByteStream) throws -> [UInt8] {
        #expect(try host.write(readAddress.span) == 4)
        let answer = try host.readAll(13)
        #expect(answer.starts(with: [0x04, 0x0E, 0x0A, 0x01, 0x09, 0x10, 0x00]))
        return Array(answer.suffix(6))
      }
      let first = try connected()
      var found = [try address(first)]
      let second = try connected()
      found.append(try address(second))
      _ = consume first
      log.wait { $0.contains { $0.hasPrefix("1-unix: disconnected") } }
      let again = try connected()
      found.append(try address(again))
      let named = try radio.attach(named: "lamp")
      found.append(try address(named))
      radio.end()
      return found
    }
    let found = try addresses()
    #expect(found[2] == found[0] && Set(found).count == 3)
    #expect(try addresses() == found, "another run of the radio")
    // Administered locally, of one device (IEEE 802); the most significant octet is the last one.
    #expect(found.allSatisfy { $0[5] & 0x03 == 0x02 })
  }

  @Test func tracesEachClient() throws {
    let folder = try TemporaryFolder()
    let (radio, _) = radio { $0.traceFolder = folder.path }
    for name in ["a", "b"] {
      let host = try radio.attach(named: name)
      #expect(try host.write(Self.reset.span) == 4)
      #expect(try host.readAll(7) == Self.complete)
    }
    radio.end()
    for name in ["1-a", "2-b"] {
      let file = try TraceReader(folder.file("\(name).btsnoop"))
      #expect(file.records.map(\.octets) == [Self.reset, Self.complete])
      #expect(file.records.map(\.flags) == [2, 3])
    }
  }

  @Test func doesNotListenOnClients() {
    let (radio, _) = radio()
    let error = #expect(throws: TransportError.self) { try radio.listen(on: .unixClient(path: "/tmp/x")) }
    #expect(error?.kind == .malformed)
  }

  /// Two whole stacks in one process: the one advertises, the other hears it and connects.
  @Test func connectsTwoHosts() throws {
    let unique = UUID().uuidString.prefix(8)
    let peripheral = try Host.shared(.virtual(name: "p\(unique)"))
    let central = try Host.shared(.virtual(name: "c\(unique)"))
    let (atPeripheral, atCentral) = (EventLog<String>(), EventLog<String>())
    let name = Array("Radio \(unique)".utf8)
    let data: [UInt8] = [0x02, 0x01, 0x06, UInt8(name.count + 1), 0x09] + name
    let (tellPeripheral, tellCentral) = (atPeripheral.sink, atCentral.sink)
    let one = peripheral.attach { events in
      for event in events {
        switch event {
        case .state(.poweredOn, _):
          peripheral.post(
            .advertising(.start(AdvertisingID(rawValue: 1), AdvertisingIntent(data: data, scanResponse: []))))
        case .connected(let connection): tellPeripheral(["connected as \(connection.role)"])
        case .link(_, .disconnected): tellPeripheral(["disconnected"])
        default: break
        }
      }
    }
    let other = central.attach { events in
      for event in events {
        switch event {
        case .state(.poweredOn, _): central.post(.scanning(.start(ScanParameters())))
        case .scanning(.discovered(let found)):
          guard let discovery = found.first(where: { $0.data == data }) else { continue }
          central.post(.initiating(.connect(ConnectID(rawValue: 1), discovery.address, ConnectionParameters())))
        case .connected(let connection):
          tellCentral(["connected as \(connection.role)"])
          central.post(.link(connection.peer, .disconnect(.remoteUserTerminatedConnection)))
        case .link(_, .disconnected): tellCentral(["disconnected"])
        default: break
        }
      }
    }
    atCentral.wait(for: "disconnected")
    atPeripheral.wait(for: "disconnected")
    #expect(atCentral.events == ["connected as central", "disconnected"])
    #expect(atPeripheral.events == ["connected as peripheral", "disconnected"])
    for host in [peripheral, central] { host.shutDown() }
    for host in [peripheral, central] { #expect(host.waitUntilEnded(atMost: patience)) }
    _ = (one, other)
  }
}
