import BLELinux
import BLEWire
import Foundation
import Synchronization
import Testing

@testable import ble

/// The socket by which persons answer the questions of a proxy.
@Suite struct AnswerServerTests {
  /// A connection that reads lines; nil at the end.
  private struct Client: ~Copyable {
    let stream: ByteStream
    private var waiting: [UInt8] = []

    private init(_ stream: consuming ByteStream) { self.stream = stream }

    static func open(_ path: String) throws -> Self {
      var port = StreamPort(.unixClient(path: path))
      try port.open()
      guard let stream = try port.accept() else { throw CancellationError() }
      return Self(stream)
    }

    mutating func next() throws -> AnswerNotice? {
      var poller = try Poller()
      try poller.watch(stream.descriptor, token: 0, for: .reading)
      var buffer = [UInt8](repeating: 0, count: 1024)
      while true {
        if let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
          let line = Array(waiting[..<end])
          waiting.removeFirst(end + 1)
          guard let notice = AnswerNotice(line: line) else { throw CancellationError() }
          return notice
        }
        switch try stream.read(into: &buffer) {
        case .octets(let count): waiting += buffer[..<count]
        case .end: return nil
        case .nothing: try poller.wait(until: nil, on: MonotonicClock())
        }
      }
    }
  }

  private final class Record: Sendable {
    private let states = Mutex<[Bool]>([])
    func add(_ state: Bool) { states.withLock { $0.append(state) } }
    var all: [Bool] { states.withLock { $0 } }
  }

  private func withServer(_ body: (_ path: String, Record) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "answers-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (path, record) = (folder.appending(path: "answers").path, Record())
    let server = try AnswerServer(
      Listener(unixPath: path, isPrivate: true), proxy: "attic", log: { _ in }, failed: { _ in },
      isAttended: { record.add($0) })
    try body(path, record)
    server.end()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func onlyTheUserCanConnect() throws {
    try withServer { path, _ in
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test func theProxyKnowsWhetherSomebodyIsThere() throws {
    try withServer { path, record in
      do {
        var person = try Client.open(path)
        #expect(try person.next() == .greeting(proxy: "attic"))
        #expect(record.all == [true])
        var other = try Client.open(path)
        #expect(try other.next() == .greeting(proxy: "attic"))
        let line = Array("hello\n".utf8)
        #expect(try other.stream.write(line.span) == line.count)
        guard case .refusal? = try other.next() else {
          Issue.record("no reason")
          return
        }
        #expect(try other.next() == nil)
        #expect(record.all == [true])
        let answer = AnswerLine(id: 9, answer: .accept).line
        #expect(try person.stream.write(answer.span) == answer.count)
        #expect(try person.next() == .ended(id: 9, .over))
      }
      // The end of the first one is read before the next one is accepted, or afterwards.
      var next = try Client.open(path)
      #expect(try next.next() == .greeting(proxy: "attic"))
      #expect([[true], [true, false, true]].contains(record.all))
    }
  }

  @Test func aPersonIsToldTheEndOfTheProxy() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "answers-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (path, record) = (folder.appending(path: "answers").path, Record())
    let server = try AnswerServer(
      Listener(unixPath: path, isPrivate: true), proxy: "attic", log: { _ in }, failed: { _ in },
      isAttended: { record.add($0) })
    var person = try Client.open(path)
    #expect(try person.next() == .greeting(proxy: "attic"))
    server.end()
    #expect(try person.next() == nil)
    #expect(record.all == [true, false])
  }
}
