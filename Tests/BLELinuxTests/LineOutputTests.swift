import Dispatch
import Glibc
import Synchronization
import Testing

@testable import BLELinux

@Suite struct LineOutputTests {
  /// A pipe that nobody has read yet.
  private final class Pipe: Sendable {
    let (reading, writing): (Int32, Int32)

    /// - Parameter isFull: whether it has no room for another octet.
    init(flags: Int32 = 0, isFull: Bool) {
      var ends: [Int32] = [0, 0]
      #expect(pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
      #expect(fcntl(writing, F_SETFL, O_NONBLOCK) == 0)
      let octets = [UInt8](repeating: 0x20, count: 4_096)
      while isFull, write(writing, octets, octets.count) > 0 {}
      #expect(fcntl(writing, F_SETFL, flags) == 0)
    }

    deinit {
      close(reading)
      close(writing)
    }

    /// What is read until a text arrives.
    func text(upTo end: String) -> String {
      var octets: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 65_536)
      while !String(decoding: octets, as: UTF8.self).hasSuffix(end) {
        let count = read(reading, &part, part.count)
        guard count > 0 else { break }
        octets += part.prefix(count)
      }
      return String(decoding: octets, as: UTF8.self).filter { $0 != " " }
    }
  }

  /// Waits until the thread has taken everything.
  private func waitUntilTaken(_ output: LineOutput) { while output.waitingOctets > 0 { sched_yield() } }

  /// The queue at its limit, and one line beyond it: that is dropped, and the next line that has room says so.
  @Test(arguments: [0, O_NONBLOCK]) func aFullQueueDropsLinesAndCountsThem(flags: Int32) {
    let pipe = Pipe(flags: flags, isFull: true)
    let output = LineOutput(pipe.writing, limit: 30)
    output.write("first\n")
    waitUntilTaken(output)
    for number in 1...3 { output.write("line----\(number)\n") }
    #expect(output.waitingOctets == 30)
    output.write("x")
    output.write("y")
    #expect(output.waitingOctets == 30)
    #expect(!output.flush())
    let dropped = "[BluetoothLE]2lineswereleftouthere:theywerenotreadintime\n"
    #expect(pipe.text(upTo: "in time\n") == "first\nline----1\nline----2\nline----3\n" + dropped)
    #expect(output.flush())
    output.write("last\n")
    #expect(pipe.text(upTo: "last\n") == "last\n")
  }

  /// Several threads, and a reader that is slower than they: each line is whole, and in the order of its thread.
  @Test(arguments: [0, O_NONBLOCK]) func linesAreWholeAndInOrder(flags: Int32) async {
    let pipe = Pipe(flags: flags, isFull: false)
    let output = LineOutput(pipe.writing)
    let lines = (0..<4).map { thread in (0..<200).map { "\(thread)-\($0)-" + String(repeating: "x", count: 200) } }
    await withTaskGroup { group in
      for lines in lines { group.addTask { for line in lines { output.write(line + "\n") } } }
    }
    output.write("end\n")
    let read = pipe.text(upTo: "end\n").split(separator: "\n").map(String.init)
    #expect(read.count == 801 && read.last == "end")
    for thread in 0..<4 { #expect(read.filter { $0.hasPrefix("\(thread)-") } == lines[thread]) }
  }

  /// Neither a reader that has gone nor a descriptor that is closed ends anything.
  @Test func aClosedOutputDropsItsLines() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    let output = LineOutput(ends[1], limit: 10)
    for _ in 1...100 {
      output.write("0123456\n")
      #expect(output.flush())
    }
    close(ends[1])
    let closed = LineOutput(.max, limit: 10)
    closed.write("0123456\n")
    #expect(closed.flush())
  }
}
