import BLEHost
import BLEKernel
import BLELinux
import BLEWire
import Foundation
import Testing

@testable import BLERuntime

/// Ours, not Foundation's.
typealias Host = BLERuntime.Host

/// The real stack on the real loop; the test plays the controller, or the simulated radio does.
@Suite struct HostTests {
  static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]

  /// Which states a host went through.
  final class States: Sendable {
    private let log = EventLog<String>()

    var sink: @Sendable ([HostEvent]) -> Void {
      let sink = log.sink
      return { events in
        sink(events.map { if case .state(let state, _) = $0 { "\(state)" } else { "…" } })
      }
    }

    func wait(for state: AdapterState) { log.wait(for: "\(state)") }
  }

  @Test func givesOneHostForOneTransport() throws {
    let folder = try TemporaryFolder()
    let server = try Listener(unixPath: folder.file("hci"))
    let spec = try TransportSpec(parsing: "unix-client:\(folder.file("hci"))")
    var first: Host? = try Host.shared(spec)
    #expect(try Host.shared(spec) === first)
    guard let far = try server.accept() else { throw Missing() }
    #expect(try far.readAll(4) == Self.reset, "one host, one bring-up")
    let running = first?.mailbox
    let mailbox = try #require(running)
    first = nil
    #expect(mailbox.waitUntilEnded(atMost: patience), "nobody holds it: it ends")
    #expect(try far.isEnded())
    let second = try Host.shared(spec)
    #expect(second.mailbox !== mailbox)
    second.shutDown()
    #expect(second.waitUntilEnded(atMost: patience))
    let third = try Host.shared(spec)
    #expect(third !== second, "one that was shut down is not given out again")
  }

  @Test func givesOneHostToConcurrentRequests() throws {
    let folder = try TemporaryFolder()
    let server = try Listener(unixPath: folder.file("hci"))
    let spec = try TransportSpec(parsing: "unix-client:\(folder.file("hci"))")
    let hosts = EventLog<ObjectIdentifier>()
    let (sink, done) = (hosts.sink, try Latch())
    for _ in 0..<8 {
      try LoopThread.start {
        // Held until all have asked.
        guard let host = try? Host.shared(spec) else { return }
        sink([ObjectIdentifier(host)])
        done.wait(atMost: patience)
        _ = host
      }
    }
    hosts.wait { $0.count == 8 }
    #expect(Set(hosts.events).count == 1)
    guard let far = try server.accept() else { throw Missing() }
    let another = try server.accept() != nil
    #expect(!another, "one connection")
    done.open()
    #expect(try far.readAll(4) == Self.reset)
    #expect(try far.isEnded())
  }

  @Test func attachmentsKeepTheirHost() throws {
    let folder = try TemporaryFolder()
    let server = try Listener(unixPath: folder.file("hci"))
    let spec = try TransportSpec(parsing: "unix-client:\(folder.file("hci"))")
    var host: Host? = try Host.shared(spec)
    let running = host?.mailbox
    let mailbox = try #require(running)
    var attachment = host?.attach { _ in }
    host = nil
    #expect(!mailbox.isEnding)
    attachment?.consumed(0)
    attachment = nil
    #expect(mailbox.waitUntilEnded(atMost: patience))
    _ = consume server
  }

  @Test func throwsWhereATransportCannotBeOpened() throws {
    let folder = try TemporaryFolder()
    let spec = try TransportSpec(parsing: "unix-client:\(folder.file("nobody"))")
    let error = try #require(throws: TransportError.self) { _ = try Host.shared(spec) }
    #expect(error.kind == .unavailable)
    let kernel = try #require(throws: TransportError.self) { _ = try Host.shared(.linux(.first)) }
    #expect(kernel.place == "linux")
    // And once somebody listens, it can.
    let server = try Listener(unixPath: folder.file("nobody"))
    _ = try Host.shared(spec)
    _ = consume server
  }

  @Test func serversWaitForTheirController() throws {
    let host = try Host.shared(TransportSpec(parsing: "tcp-server:127.0.0.1:0"))
    let port = try #require(host.listeningPort)
    var controller = StreamPort(.tcpClient(host: "127.0.0.1", port: port))
    try controller.open()
    let far = try controller.waitForStream()
    #expect(try far.readAll(4) == Self.reset)
  }

  @Test func aSilentProgramDoesNotKeepTheNextOneFromAServer() throws {
    var options = HostOptions()
    options.configuration.commandTimeout = .milliseconds(20)
    // Another address than that of other tests, which would share the host.
    let host = try Host.shared(TransportSpec(parsing: "tcp-server:127.0.0.2:0"), options)
    let endpoint = StreamEndpoint.tcpClient(host: "127.0.0.2", port: try #require(host.listeningPort))
    var stranger = StreamPort(endpoint)
    var controller = StreamPort(endpoint)
    try stranger.open()
    let silent = try stranger.waitForStream()
    try controller.open()
    let resets = try silent.readAll(4 * options.configuration.maximumBringUps)
    #expect(resets == Array(repeating: Self.reset, count: options.configuration.maximumBringUps).flatMap { $0 })
    #expect(try silent.isEnded())
    let far = try controller.waitForStream()
    #expect(try far.readAll(4) == Self.reset)
  }

  @Test func aRadioOfTheProcessMayBeLate() {
    let options = HostOptions()
    #expect(options.configuration(on: .virtual(name: "")).commandTimeout == .seconds(30))
    #expect(options.configuration(on: .hciSocket(index: 0)).commandTimeout == .seconds(2))
    #expect(options.configuration(on: .linux(.first)).ownership == .sharedWithKernel)
  }

  @Test func bringsUpAndTracesAVirtualController() throws {
    let folder = try TemporaryFolder()
    var options = HostOptions()
    options.trace = folder.file("t.btsnoop")
    let host = try Host.shared(.virtual(name: folder.path), options)
    #expect(host.tracePath == folder.file("t.btsnoop"))
    let states = States()
    let attachment = host.attach(states.sink)
    states.wait(for: .poweredOn)
    host.shutDown()
    #expect(host.waitUntilEnded(atMost: patience))
    let file = try TraceReader(folder.file("t.btsnoop"))
    #expect(file.records.first?.octets == Self.reset)
    #expect(file.records.dropFirst().first?.octets == [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
    #expect(file.rest == 0)
    _ = attachment
  }

  /// In a process of its own, because it ends every host there is.
  @Test func shutsDownAllHostsAndClosesEveryDescriptor() async {
    await #expect(processExitsWith: .success) {
      func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      }
      let folder = try TemporaryFolder()
      func round() throws {
        let server = try Listener(unixPath: folder.file("hci"))
        let real = try Host.shared(TransportSpec(parsing: "unix-client:\(folder.file("hci"))"))
        let simulated = try Host.shared(.virtual(name: "a"))
        let states = States()
        let attachment = simulated.attach(states.sink)
        states.wait(for: .poweredOn)
        try #require(Host.shutDownAll(atMost: patience))
        try #require(!real.post(.scanning(.stop)) && !simulated.post(.scanning(.stop)))
        _ = attachment
        _ = consume server
      }
      try round()
      let before = try openDescriptors()
      for _ in 0..<200 { try round() }
      // The radio's thread may not have noticed the last guest's going yet: one descriptor.
      try #require(try openDescriptors() <= before + 1)
    }
  }
}
