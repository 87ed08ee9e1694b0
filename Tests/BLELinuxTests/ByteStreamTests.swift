import BLELinux
import BLEWire
import Foundation
import Testing

@Suite struct ByteStreamTests {
  /// Octets that a terminal in cooked mode would eat or change: line ends, interrupt, flow control, end of file, 0xFF.
  static let delicate: [UInt8] = [0x0D, 0x0A, 0x03, 0x11, 0x13, 0x04, 0x1A, 0x7F, 0xFF, 0x00] + Array(0...255)

  @Test func tcpCarriesOctetsBothWays() throws {
    var server = StreamPort(.tcpServer(host: "127.0.0.1", port: 0))
    try server.open()
    let bound = server.port
    let port = try #require(bound)
    var client = StreamPort(.tcpClient(host: "127.0.0.1", port: port))
    try client.open()
    let near = try client.waitForStream()
    let far = try server.waitForStream()
    #expect(try near.write(Self.delicate.span) == Self.delicate.count)
    #expect(try far.readAll(Self.delicate.count) == Self.delicate)
    #expect(try far.write([1, 2, 3].span) == 3)
    #expect(try near.readAll(3) == [1, 2, 3])
  }

  @Test func triesEachAddressOfAName() throws {
    // localhost is ::1 first on many systems, and nobody listens there.
    var server = StreamPort(.tcpServer(host: "127.0.0.1", port: 0))
    try server.open()
    let bound = server.port
    var client = StreamPort(.tcpClient(host: "localhost", port: try #require(bound)))
    try client.open()
    let near = try client.waitForStream()
    #expect(try near.write([9].span) == 1)
    let far = try server.waitForStream()
    #expect(try far.readAll(1) == [9])
  }

  @Test func unixSocketsCarryOctetsBothWays() throws {
    let folder = try TemporaryFolder()
    var server = StreamPort(.unixServer(path: folder.file("hci")))
    try server.open()
    var client = StreamPort(.unixClient(path: folder.file("hci")))
    try client.open()
    let near = try client.waitForStream()
    let far = try server.waitForStream()
    #expect(try near.write(Self.delicate.span) == Self.delicate.count)
    #expect(try far.readAll(Self.delicate.count) == Self.delicate)
    #expect(try far.write([1, 2, 3].span) == 3)
    #expect(try near.readAll(3) == [1, 2, 3])
  }

  @Test func acceptsSeveralConnections() throws {
    let folder = try TemporaryFolder()
    var server = StreamPort(.unixServer(path: folder.file("hci")))
    try server.open()
    for number in 1...3 as ClosedRange<UInt8> {
      var client = StreamPort(.unixClient(path: folder.file("hci")))
      try client.open()
      let near = try client.waitForStream()
      let far = try server.waitForStream()
      #expect(try near.write([number].span) == 1)
      #expect(try far.readAll(1) == [number])
    }
  }

  /// A pseudo-terminal, and the serial opener on its other end.
  @Test(arguments: [SerialSettings.FlowControl.none, .rtscts])
  func terminalsPassEveryOctetUnchanged(_ flowControl: SerialSettings.FlowControl) throws {
    let folder = try TemporaryFolder()
    var terminal = StreamPort(.pseudoTerminal(path: folder.file("pty")))
    try terminal.open()
    #expect(try terminal.accept() == nil, "nobody has opened the other end")
    var line = StreamPort(
      .serial(path: folder.file("pty"), SerialSettings(baudRate: 4_000_000, flowControl: flowControl)))
    try line.open()
    let far = try line.waitForStream()
    let near = try terminal.waitForStream()
    #expect(try near.write(Self.delicate.span) == Self.delicate.count)
    #expect(try far.readAll(Self.delicate.count) == Self.delicate)
    #expect(try far.write(Self.delicate.span) == Self.delicate.count)
    #expect(try near.readAll(Self.delicate.count) == Self.delicate)
  }

  @Test func reportsTheEndOfEachMedium() throws {
    let folder = try TemporaryFolder()
    var server = StreamPort(.unixServer(path: folder.file("hci")))
    try server.open()
    var client = StreamPort(.unixClient(path: folder.file("hci")))
    try client.open()
    do {
      let near = try client.waitForStream()
      #expect(try near.write([1].span) == 1)
    }
    let far = try server.waitForStream()
    #expect(try far.readAll(2) == [1], "what came before the end is not lost")
    #expect(try far.isEnded())
    #expect(throws: SystemError(.send, EPIPE)) { try far.write([1].span) }

    var terminal = StreamPort(.pseudoTerminal(path: folder.file("pty")))
    try terminal.open()
    var line = StreamPort(.serial(path: folder.file("pty"), SerialSettings()))
    let near: ByteStream
    do {
      try line.open()
      let far = try line.waitForStream()
      near = try terminal.waitForStream()
      #expect(try far.write([7].span) == 1)
    }
    #expect(try near.readAll(2) == [7])
    #expect(try near.isEnded())

    // And again: the link leads to a new terminal.
    try terminal.open()
    try line.open()
    let again = try line.waitForStream()
    let anew = try terminal.waitForStream()
    #expect(try again.write([8].span) == 1)
    #expect(try anew.readAll(1) == [8])
  }

  @Test func writesNothingToAFullStream() throws {
    var far: ByteStream?
    let near = try ByteStream.joined { (end) in far = consume end }
    let block = [UInt8](repeating: 0xA5, count: 65_536)
    var taken = 0
    while case let count = try near.write(block.span), count > 0 { taken += count }
    #expect(try near.write(block.span) == 0)
    guard let reader = far.take() else { throw Missing() }
    #expect(try reader.readAll(taken).allSatisfy { $0 == 0xA5 })
    #expect(try near.write([1].span) == 1)
  }

  @Test func removesSocketFilesAndLinksWithTheirOwner() throws {
    let folder = try TemporaryFolder()
    do {
      var server = StreamPort(.unixServer(path: folder.file("hci")))
      var terminal = StreamPort(.pseudoTerminal(path: folder.file("pty")))
      try server.open()
      try terminal.open()
      #expect(folder.has("hci") && folder.has("pty"))
    }
    #expect(!folder.has("hci") && !folder.has("pty"))
  }

  @Test func keepsAFileThatReplacedItsOwn() throws {
    let folder = try TemporaryFolder()
    do {
      var server = StreamPort(.unixServer(path: folder.file("hci")))
      try server.open()
      try FileManager.default.removeItem(atPath: folder.file("hci"))
      try folder.write("mine", to: "hci")
    }
    #expect(folder.has("hci"))
  }

  @Test func replacesASocketFileWithoutAListener() throws {
    let folder = try TemporaryFolder()
    do {
      // Bound and closed without unlinking, as a crash leaves it.
      let left = try Listener(unixPath: folder.file("first"))
      try FileManager.default.linkItem(atPath: folder.file("first"), toPath: folder.file("hci"))
      _ = consume left
    }
    #expect(folder.has("hci"))
    var server = StreamPort(.unixServer(path: folder.file("hci")))
    try server.open()
    var client = StreamPort(.unixClient(path: folder.file("hci")))
    try client.open()
    _ = try client.waitForStream()
  }
}
