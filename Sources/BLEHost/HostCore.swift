package import BLEATT
package import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
package import BLEWire

/// The whole stack in user space, without I/O: packets, commands and time in; packets and events out.
///
/// It routes each input to the part that it concerns, and applies the effects of the part in order
/// (Docs/Decisions/host.md#a-router-and-parts). The parts keep one controller, any number of links, one attribute
/// database, and what the application has declared (advertising, scanning, connecting), which survives a reset of the
/// controller.
package struct HostCore: Sendable {
  var radio: Radio
  var links: HostLinks
  /// The session, the log and the output, which the parts write to.
  var context: HostContext

  // Not inlined: the stack of a firmware would have the parts twice.
  @inline(never)
  package init(configuration: HostConfiguration, cryptography: some Cryptography, random: RandomSource) {
    radio = Radio(configuration, SecurityToolbox(cryptography))
    links = HostLinks(configuration, cryptography)
    context = HostContext(configuration, random: random)
    lendAddresses()
  }

  package var state: AdapterState { context.session.state }
  package var controller: ControllerCapabilities { context.session.capabilities }
  /// Whether ``shutdown(now:into:)`` is complete.
  package var isShutDown: Bool { context.session.isShutDown }
  /// Whether the host has stopped trying to bring the controller up: it does not answer, or lacks something that the
  /// host needs.
  package var hasFailed: Bool { context.session.hasFailed }
  /// Our identity: the public address, or a static random one. Peers receive ``addressOnAir``.
  package var ownAddress: DeviceAddress { radio.identity }
  /// The address that advertising, scanning and connecting use: a private one if wanted, otherwise our identity.
  package var addressOnAir: DeviceAddress { radio.address }
  /// How many links are up.
  package var linkCount: Int { links.table.count }

  /// The type of an attribute of the server, and the characteristic that it belongs to.
  package func attribute(at handle: AttributeHandle) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)? {
    links.attribute(at: handle)
  }

  /// When ``tick(now:into:)`` next has work, if ever.
  package var deadline: Instant? {
    // Inlined: otherwise a program that has the host in a value copies it.
    @inline(__always) get {
      let own = Instant?.nearer(context.session.deadline, context.log.deadline)
      return .nearer(own, .nearer(radio.deadline, links.deadline))
    }
  }

  /// Handles one whole H4 packet from the controller.
  package mutating func receive(_ packet: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard !packet.isEmpty else { return }
    begin(now, &output)
    let contents = packet.extracting(1..<packet.count)
    switch HCIPacketType(rawValue: packet[0]) {
    case .aclData: links.receive(contents, &context)
    case .event: receiveEvent(contents)
    // The host requests no SCO or ISO links, and a controller sends no commands.
    case .command, .synchronousData, .isoData, nil:
      context.report(.controller, "a packet of the unexpected type 0x\(String(packet[0], radix: 16)) is dropped")
    }
    fulfilRequests()
    reviewRadio()
    end(&output)
  }

  /// Performs a command of one owner.
  ///
  /// - Parameter octets: the value of an answer to a read, or of an update, where the command has an empty one.
  package mutating func perform(
    _ command: HostCommand, _ octets: Span<UInt8> = Span(), from owner: OwnerID, now: Instant,
    into output: inout HostOutput
  ) {
    begin(now, &output)
    switch command {
    case .services(let command): links.perform(command, from: owner, &context)
    case .advertising(.transfer(let id, let peer, let serviceData)):
      transfer(SyncTransfer(subject: .advertisement(id), peer: peer, owner: owner), serviceData)
    case .advertising(let command):
      if case .start(_, let intent) = command, let name = intent.localName { links.advertises(as: name) }
      withRadio { $0.perform(command, from: owner, &$1) }
    case .scanning(let command): withRadio { $0.perform(command, from: owner, &$1) }
    case .synchronizing(.start(let id, let source, let parameters)):
      let link = if case .transfer(let peer) = source { links.handle(of: peer) } else { ConnectionHandle?.none }
      withRadio { $0.synchronize(id, source, on: link, parameters, from: owner, &$1) }
    case .synchronizing(.stop(let id)): withRadio { $0.stopSynchronizing(id, from: owner, &$1) }
    case .synchronizing(.transfer(let id, let peer, let serviceData)):
      transfer(SyncTransfer(subject: .synchronization(id), peer: peer, owner: owner), serviceData)
    case .initiating(.connect(let id, let address, let parameters, let scan)):
      connect(PendingConnection(id: id, owner: owner, device: address, parameters: parameters, scan: scan))
    case .initiating(.cancel(let id)): withRadio { $0.cancel(id, of: owner, &$1) }
    case .privacy(let settings): withRadio { $0.setPrivacy(settings, from: owner, &$1) }
    case .link(let peer, let command): links.perform(command, on: peer, from: owner, &context)
    case .security(let command): links.perform(command, from: owner, &context)
    case .channels(let command): links.perform(command, from: owner, &context)
    case .channel(let id, let command): links.perform(command, on: id, from: owner, &context)
    case .update(let token, let attribute, let value, let peers):
      let octets = value.isEmpty ? octets : value.span
      let run = UpdateRun(of: attribute, from: owner, to: peers, count: 1, octets: octets.count)
      let length: InlineArray<1, Int> = [octets.count]
      links.update(run, as: token, length.span, octets, &context)
    case .respond(let peer, let token, let answer):
      links.respond(OwnerAnswer(owner, answer, to: token), octets, of: peer, &context)
    case .reportCapabilities: withSession { $0.reportCapabilities(to: owner, into: &$2) }
    }
    reviewRadio()
    end(&output)
  }

  /// Notifies or indicates values of one attribute: `lengths` has the number of octets of each, and `octets` all of
  /// them.
  package mutating func update(
    _ run: UpdateRun, _ lengths: Span<Int>, _ octets: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {
    begin(now, &output)
    links.update(run, as: .counted, lengths, octets, &context)
    reviewRadio()
    end(&output)
  }

  /// Handles the timeouts of commands, transactions and links.
  package mutating func tick(now: Instant, into output: inout HostOutput) {
    begin(now, &output)
    withSession { $0.tick(now: now, packets: &$1, into: &$2) }
    if links.tick(&context) { linkEnded() }
    withRadio { $0.tick(&$1) }
    fulfilRequests()
    reviewRadio()
    links.tickBonds(&context)
    context.withLog { $0.tick(now: $1, into: &$2) }
    resetIfDue()
    checkShutdown()
    end(&output)
  }

  /// The transport is open: brings the controller up.
  package mutating func start(now: Instant, into output: inout HostOutput) {
    begin(now, &output)
    withSession { $0.start(into: &$2) }
    end(&output)
  }

  /// The transport is closed: links have ended. ``start(now:into:)`` restores what is declared when it is open again.
  ///
  /// - Parameter state: the state of the adapter: `resetting` while it is expected back, or worse.
  package mutating func transportFailed(
    _ error: HostError, state: AdapterState = .resetting, now: Instant, into output: inout HostOutput
  ) {
    begin(now, &output)
    withSession { $0.transportFailed(error, state: state, into: &$2) }
    end(&output)
  }

  /// Begins the shutdown: disables advertising and ends the links. ``isShutDown`` reports when it is complete.
  package mutating func shutdown(now: Instant, into output: inout HostOutput) {
    guard !context.session.isEnding else { return }
    begin(now, &output)
    links.shutdown(&context)
    withSession { $0.shutDown(now: now, into: &$2) }
    checkShutdown()
    end(&output)
  }

  /// Takes a report of the kernel.
  package mutating func receive(_ report: KernelReport, now: Instant, into output: inout HostOutput) {
    begin(now, &output)
    links.receive(report, &context)
    fulfilRequests()
    end(&output)
  }

  /// Reports the adapter's address and state and each link that is up to a new owner, and to no other one.
  ///
  /// The address is chosen, and reported to the owners that are attached, before the controller is ready.
  package mutating func attach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    if radio.identity.octets != BD_ADDR() { output.append(.address(radio.identity), to: owner.recipient) }
    if state != .unknown { output.append(.state(state, context.session.reason), to: owner.recipient) }
    output.events += links.events(for: owner)
  }

  /// Withdraws everything that an owner declared. No event answers: none has a recipient.
  ///
  /// Requests that wait for its answer get Unlikely Error; its services, advertisements, scan and pending connections
  /// are removed; the links that our central made end where no other owner uses them.
  package mutating func detach(_ owner: OwnerID, now: Instant, into output: inout HostOutput) {
    guard owner != .process else { return }
    begin(now, &output)
    context.session.detach(owner)
    links.detach(owner, &context)
    withRadio { $0.detach(owner, &$1) }
    links.release(by: owner, &context)
    reviewRadio()
    end(&output)
  }

  /// Events of the call come after those that the output has already.
  private mutating func begin(_ now: Instant, _ output: inout HostOutput) {
    context.now = now
    swap(&output, &context.output)
  }

  @inline(__always)
  private mutating func end(_ output: inout HostOutput) {
    links.noteStarvation(context.now)
    swap(&output, &context.output)
  }
}
