import BLEATT
import BLEGATT
import BLESMP
import BLEWire

/// Signed writes, ours and those of peers (Vol 3, Part F, 3.4.5.4; Part H, 2.4.5).
extension HostCore {
  /// Gives a link's client what it signs with; counters come when it needs some.
  mutating func setSigningKey(_ index: Int) {
    guard let key = bonds[links[index].identity]?.ownCSRK, links[index].signing.key != key else { return }
    let toolbox = toolbox
    links[index].signing.key = key
    links[index].client.signing = GATTClient.Signing(counter: 0, limit: 0) { message, counter in
      let signature = (try? toolbox.signature(of: message[...], csrk: key.value, signCounter: counter)) ?? []
      return signature.dropFirst(4).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// A link's client needs counters: those that are stored as reserved at once, else when they are stored.
  mutating func allowSigning(_ index: Int, now: Instant, into output: inout HostOutput) {
    let identity = links[index].identity
    while links[index].client.awaitsSignCounter {
      switch withBonds(into: &output, { $0.takeCounters(of: identity, into: &$1) }) {
      case .counters(let counters): links[index].client.allowSigning(counters, now: now, into: &scratch.client)
      case .usedUp: links[index].client.allowSigning(.max..<(.max), now: now, into: &scratch.client)
      case .refused: links[index].client.rejectSignedWrites(now: now, into: &scratch.client)
      case .awaited:
        links[index].signing.ownDeadline = links[index].signing.ownDeadline ?? now + configuration.bondStorageTimeout
        return
      }
    }
    links[index].signing.ownDeadline = nil
  }

  /// The link is encrypted now, where a signed write is a Write Command and needs no counter (Vol 3, Part C, 10.4.1).
  mutating func stopAwaitingSignCounter(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard links[index].signing.ownDeadline != nil else { return }
    links[index].signing.ownDeadline = nil
    links[index].client.setCongested(links[index].client.isCongested, now: now, into: &scratch.client)
    drainClient(index, now: now, into: &output)
  }

  /// The link's client cannot sign any more: the bond of its key was removed or replaced.
  mutating func forgetSigningKey(_ index: Int) {
    links[index].signing.key = nil
    links[index].client.signing = nil
  }

  /// A link has ended: what it has not used is used by the next one.
  mutating func returnSignCounters(of link: Link) {
    guard let signing = link.client.signing, signing.counter < signing.limit else { return }
    bonds.counters.giveBack(signing.counter..<signing.limit, link.identity, key: link.signing.key)
  }

  /// A Signed Write Command: with a right signature and a new counter, by a bonded client on a link in the clear, it is a
  /// Write Command as soon as its counter is stored; otherwise it is passed over, as every command that may not be.
  mutating func receiveSignedWrite(
    _ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput
  ) {
    let link = links[index]
    guard link.security.level == .none, let bond = bonds[link.identity], let key = bond.peerCSRK else { return }
    let octets = [UInt8](copying: pdu)[...]
    guard let counter = (try? toolbox.verifiedSignCounter(of: octets, csrk: key.value)) ?? nil else {
      return report(.peer, "a signed write whose signature is wrong", peer: link.peer, into: &output)
    }
    guard counter >= bond.peerSignCounter, counter < .max else {
      return report(.peer, "a signed write that was sent before: a replay", peer: link.peer, into: &output)
    }
    var command = [UInt8](octets.dropLast(SecurityToolbox.signatureLength))
    guard command.count >= 3 else { return }
    command[0] = ATTOpcode.writeCommand.rawValue
    withBonds(into: &output) { $0.usePeerCounter(counter, of: link.identity, into: &$1) }
    enqueue(.signedWrite(command, counter: counter), on: index, into: &output)
    deliverPending(index, now: now, into: &output)
  }

  /// Keeps a PDU back behind a signed write that waits.
  mutating func enqueue(_ pdu: Span<UInt8>, on index: Int, into output: inout HostOutput) {
    enqueue(.pdu([UInt8](copying: pdu)), on: index, into: &output)
  }

  private mutating func enqueue(
    _ entry: PendingSignedWrites.Entry, on index: Int, into output: inout HostOutput
  ) {
    guard links[index].signing.entries.count < PendingSignedWrites.limit else {
      return report(
        .peer, "more ATT PDUs than are kept while a sign counter is stored: one was dropped", peer: links[index].peer,
        into: &output)
    }
    links[index].signing.entries.append(entry)
    if links[index].signing.entriesDeadline == nil {
      links[index].signing.entriesDeadline = time + configuration.bondStorageTimeout
    }
  }

  /// Hands the server what need not wait any more.
  private mutating func deliverPending(_ index: Int, now: Instant, into output: inout HostOutput) {
    while let entry = links[index].signing.entries.first {
      var octets: [UInt8]?
      switch entry {
      case .signedWrite(let command, let counter):
        if bonds.counters.isStored(counter, links[index].identity) {
          octets = command
        } else if !bonds.counters.isFailing {
          return
        } else {
          report(
            .peer, "a signed write was discarded: its counter could not be stored. Check the bond store",
            peer: links[index].peer, into: &output)
        }
      case .pdu(let pdu): octets = pdu
      }
      links[index].signing.entries.removeFirst()
      guard let octets else { continue }
      links[index].server.receive(
        octets.span, security: links[index].security, database: &services.database, now: now, into: &scratch.server)
      drainServer(index, now: now, into: &output)
    }
    links[index].signing.entriesDeadline = nil
  }

  /// The store has not answered in time: nothing waits for it until it answers again.
  mutating func signingTimedOut(_ index: Int, now: Instant, into output: inout HostOutput) {
    guard let deadline = links[index].signing.deadline, deadline <= now else { return }
    bonds.counters.isFailing = true
    if links[index].signing.ownDeadline.map({ $0 <= now }) ?? false {
      links[index].signing.ownDeadline = nil
      links[index].client.rejectSignedWrites(now: now, into: &scratch.client)
      drainClient(index, now: now, into: &output)
    }
    deliverPending(index, now: now, into: &output)
  }

  /// The store has bonds as they were reported.
  mutating func bondsStored(_ stored: [Bond], now: Instant, into output: inout HostOutput) {
    bonds.stored(stored)
    for peer in links.map(\.peer) {
      guard let index = index(of: peer) else { continue }
      if links[index].client.awaitsSignCounter { drainClient(index, now: now, into: &output) }
      if !links[index].signing.isEmpty { deliverPending(index, now: now, into: &output) }
    }
  }
}
