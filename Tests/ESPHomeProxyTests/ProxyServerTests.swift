import BLELinux
import BLEWire
import ESPHomeAPI
import Glibc
import Synchronization
import Testing

@testable import BLEKit
@testable import BLEProxy
@testable import ESPHomeProxy

/// The server with a proxy without adapters, on sockets of this machine.
@Suite("ESPHome: the server of a proxy") struct ProxyServerTests {
  /// Lines of the server, for tests that wait for one.
  private final class Lines: Sendable {
    let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    init() { (stream, continuation) = AsyncStream.makeStream() }
    func append(_ line: String) { continuation.yield(line) }
    func first(with text: String) async -> String? { await stream.first { $0.contains(text) } }
  }

  /// A socket that is closed with its owner; reads block.
  private final class Socket {
    let number: Int32

    /// - Parameter source: the last octet of an address of this machine.
    init(port: UInt16, from source: UInt32 = 1) throws {
      number = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let (number, size) = (number, socklen_t(MemoryLayout<sockaddr_in>.size))
      var own = address
      (own.sin_port, own.sin_addr.s_addr) = (0, UInt32(0x7F00_0000 | source).bigEndian)
      let bound = unsafe withUnsafePointer(to: &own) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(number, $0, size) }
      }
      try #require(bound == 0)
      let answer = unsafe withUnsafePointer(to: &address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(number, $0, size) }
      }
      try #require(answer == 0)
    }

    deinit { close(number) }

    func send(_ octets: [UInt8]) {
      _ = unsafe octets.withUnsafeBytes { unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Nil at the end.
    func receive() -> [UInt8]? {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
      return count > 0 ? Array(buffer.prefix(count)) : nil
    }
  }

  private func withServer(
    _ change: (inout ProxyServer.Settings) -> Void = { _ in },
    _ body: (Proxy, _ port: UInt16, Lines) async throws -> Void
  ) async throws {
    let (proxy, lines) = (Proxy([]), Lines())
    var settings = ProxyServer.Settings(identity: ProxySessionTests.identity, key: nil)
    settings.log = { lines.append($0) }
    change(&settings)
    let listener = try Listener(tcpHost: "127.0.0.1", port: 0)
    guard let port = listener.port else { throw CancellationError() }
    let server = try ProxyServer(proxy, settings, listener: listener)
    try await body(proxy, port, lines)
    server.end()
  }

  /// Reads until a message of a type has come.
  private func wait(for type: UInt16, on socket: Socket, _ client: inout PlainClient) throws {
    while true {
      let octets = try #require(socket.receive())
      if client.receive(octets).contains(where: { $0.type == type }) { return }
    }
  }

  @Test func severalClientsAreServedAndSaidGoodbyeTo() async throws {
    try await withServer { proxy, port, lines in
      let (one, other) = (try Socket(port: port), try Socket(port: port))
      var (first, second) = (PlainClient(), PlainClient())
      one.send(PlainClient.hello + PlainClient.frame(SubscribeBluetoothLEAdvertisementsRequest()))
      other.send(PlainClient.hello + PlainClient.frame(PingRequest()))
      try wait(for: 126, on: one, &first)
      try wait(for: 8, on: other, &second)
      proxy.receive([Advertisement.received(1, data: [2, 1, 6])], of: 0)
      try wait(for: 93, on: one, &first)
      one.send(PlainClient.frame(DisconnectRequest()))
      #expect(await lines.first(with: "as agreed") != nil)
    }
  }

  @Test func theClientAfterTheLastIsRejected() async throws {
    try await withServer {
      $0.places.clients = 1
    } _: { _, port, lines in
      let one = try Socket(port: port)
      var client = PlainClient()
      one.send(PlainClient.hello)
      try wait(for: 2, on: one, &client)
      let other = try Socket(port: port)
      #expect(other.receive() == nil)
      #expect(await lines.first(with: "rejected, because 1 clients are connected") != nil)
    }
  }

  @Test func aStrangerMakesRoomForAClient() async throws {
    try await withServer {
      $0.places.clients = 1
    } _: { _, port, lines in
      let stranger = try Socket(port: port)
      let socket = try Socket(port: port)
      var client = PlainClient()
      socket.send(PlainClient.hello)
      try wait(for: 2, on: socket, &client)
      #expect(stranger.receive() == nil)
      #expect(await lines.first(with: "refused: it has not proven the key") != nil)
    }
  }

  @Test func aFloodFromOneAddressLeavesThePlacesOfOthers() async throws {
    try await withServer {
      $0.places.clients = 3
    } _: { _, port, _ in
      let home = try Socket(port: port)
      let strangers = try (0..<20).map { _ in try Socket(port: port, from: 9) }
      // All but the last two of them have lost their places.
      for stranger in strangers.dropLast(2) { #expect(stranger.receive() == nil) }
      var client = PlainClient()
      home.send(PlainClient.hello)
      try wait(for: 2, on: home, &client)
    }
  }

  @Test func anAddressOpensALimitedNumberOfConnections() async throws {
    try await withServer {
      ($0.places.burst, $0.places.perSecond) = (2, 0)
    } _: { _, port, lines in
      let (one, other) = (try Socket(port: port, from: 9), try Socket(port: port, from: 9))
      let third = try Socket(port: port, from: 9)
      #expect(third.receive() == nil)
      #expect(await lines.first(with: "rejected, because its network opens too many connections") != nil)
      var clients = [PlainClient(), PlainClient()]
      for (index, socket) in [one, other].enumerated() {
        socket.send(PlainClient.hello)
        try wait(for: 2, on: socket, &clients[index])
      }
      let home = try Socket(port: port)
      var client = PlainClient()
      home.send(PlainClient.hello)
      try wait(for: 2, on: home, &client)
    }
  }

  @Test func linesThatAClientCausesAreLimited() async throws {
    try await withServer { _, port, lines in
      let socket = try Socket(port: port)
      var request = BluetoothGATTReadRequest()
      (request.address, request.handle) = (7, 3)
      let octets = (0..<100).flatMap { _ in PlainClient.frame(request) }
      // They arrive at once.
      socket.send(PlainClient.hello + octets)
      var client = PlainClient()
      var answers = 0
      while answers < 100 { answers += client.receive(try #require(socket.receive())).count { $0.type == 82 } }
      socket.send(PlainClient.frame(DisconnectRequest()))
      var count = 0
      for await line in lines.stream {
        if line.contains("as agreed") { break }
        if line.contains("is not connected to this client") { count += 1 }
      }
      #expect(count < 100 && count >= LogLimiter.lineLimit)
    }
  }

  @Test func linesAboutStrangersAreLimited() async throws {
    try await withServer {
      $0.complaintTime = .seconds(3600)
    } _: { _, port, lines in
      for _ in 0..<20 {
        let stranger = try Socket(port: port)
        stranger.send([7, 7, 7])
        while stranger.receive() != nil {}
      }
      let socket = try Socket(port: port)
      socket.send(PlainClient.hello + PlainClient.frame(DisconnectRequest()))
      var refused = 0
      for await line in lines.stream {
        if line.contains("as agreed") { break }
        if line.contains("refused") { refused += 1 }
      }
      #expect(refused == 8)
    }
  }

  @Test func aClientThatDoesNotReadLosesAdvertisements() async throws {
    try await withServer {
      $0.outputLimit = 65_536
    } _: { proxy, port, lines in
      var client = PlainClient()
      do {
        let socket = try Socket(port: port)
        socket.send(PlainClient.hello + PlainClient.frame(SubscribeBluetoothLEAdvertisementsRequest()))
        try wait(for: 126, on: socket, &client)
        // More than the socket buffers of the kernel hold.
        let batch = (0..<256).map { Advertisement.received($0, data: [UInt8](repeating: 1, count: 1650)) }
        while proxy.lostAdvertisements < 50_000 { proxy.receive(batch, of: 0) }
      }
      #expect(await lines.first(with: "advertisements were dropped for it") != nil)
    }
  }

  @Test func aClientThatDoesNotReadItsValuesIsDisconnected() async throws {
    try await withServer {
      $0.outputLimit = 65_536
    } _: { proxy, port, lines in
      let socket = try Socket(port: port)
      var client = PlainClient()
      socket.send(PlainClient.hello + PlainClient.frame(SubscribeBluetoothConnectionsFreeRequest()))
      try wait(for: 81, on: socket, &client)
      let address = DeviceAddress(octets: BD_ADDR(7), kind: .public)
      let value = [UInt8](repeating: 1, count: 512)
      // 32 MiB: more than the buffers of both sockets and the limit hold.
      for _ in 0..<65_536 { proxy.tell(.value(address, 5, value)) }
      #expect(await lines.first(with: "disconnected")?.contains("the client has not taken") == true)
    }
  }
}
