internal import BLEHCI
internal import BLEHost
internal import BLELinux
internal import BLEWire

/// A machine with its output, and the trace of every packet that is received or sent.
///
/// It is what ``HostLoop`` passes to its transport as the handler of input.
struct TracedMachine<Machine: HostMachine>: ~Copyable {
  var machine: Machine
  var output = Machine.Output()
  /// The time of this round.
  var now: Instant
  /// The packets that were received.
  private(set) var receivedPackets: UInt64 = 0
  private var trace: PacketTrace?

  init(_ machine: Machine, tracedBy trace: consuming PacketTrace?, now: Instant) {
    self.machine = machine
    self.trace = trace
    self.now = now
  }

  /// Reports the end of the connection. Output for the old controller is dropped, because it is of no use to the next
  /// one.
  mutating func transportFailed(_ error: TransportError) {
    machine.transportFailed(error, now: now, into: &output)
    output.packets.removeAll()
    output.kernelCommands.removeAll()
  }

  mutating func report(_ report: LoopReport, to recipient: Recipient = .everyone) {
    output.events.append(AddressedEvent(Machine.event(report), to: recipient))
  }

  /// Writes the packets of the output to the trace.
  @inline(__always)
  mutating func traceOutput() {
    if trace != nil { recordOutput() }
  }

  private mutating func recordOutput() {
    for index in 0..<output.packets.count {
      let packet = output.packets[index]
      record(packet.span, .hostToController)
    }
    flushTrace()
  }
}

extension TracedMachine: PacketHandler {
  mutating func receive(_ packet: Span<UInt8>) {
    record(packet, .controllerToHost)
    flushTrace()
    receivedPackets &+= 1
    machine.receive(packet, now: now, into: &output)
  }

  mutating func receive(_ report: KernelReport) { machine.receive(report, now: now, into: &output) }

  mutating func record(sent command: Span<UInt8>) {
    record(command, .hostToController)
    flushTrace()
  }
}

/// The trace ends at its first error, with a line in the log. The stack continues.
extension TracedMachine {
  private mutating func record(_ packet: Span<UInt8>, _ direction: PacketTrace.Direction) {
    do throws(TransportError) {
      try trace?.record(packet, direction)
    } catch { endTrace(error) }
  }

  private mutating func flushTrace() {
    do throws(TransportError) {
      try trace?.flush()
    } catch { endTrace(error) }
  }

  private mutating func endTrace(_ error: TransportError) {
    trace = nil
    report(.notice("\(error)"))
  }
}
