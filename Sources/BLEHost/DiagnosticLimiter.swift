import BLEWire

/// How many diagnostics a host lets through in a period, of one link and of all.
package struct DiagnosticLimits: Hashable, Sendable {
  package var ofLink = 8
  package var ofHost = 32
  package var period: Duration = .seconds(10)

  package init() {}
}

/// Lets a number of lines through in each period, and counts the others.
struct DiagnosticLimiter: Sendable {
  private var periodEnds: Instant?
  private var passed = 0
  /// Lines that were not let through since the last summary.
  private(set) var suppressed = 0

  /// When a summary is due.
  var deadline: Instant? { suppressed > 0 ? periodEnds : nil }

  /// Whether one more line is within the limit.
  mutating func admits(limit: Int, period: Duration, now: Instant) -> Bool {
    if periodEnds.map({ $0 <= now }) ?? true { (periodEnds, passed) = (now + period, 0) }
    guard passed < limit else {
      addSuppressed(1)
      return false
    }
    passed += 1
    return true
  }

  mutating func addSuppressed(_ count: Int) { suppressed &+= count }

  /// The number of lines that were left out, once.
  mutating func takeSuppressed() -> Int {
    defer { suppressed = 0 }
    return suppressed
  }
}

extension HostCore {
  /// Reports something for the log. What a peer or the controller can cause is limited in rate; a line with the number of
  /// those left out follows.
  mutating func report(
    _ origin: Diagnostic.Origin, _ text: String, peer: PeerID? = nil, into output: inout HostOutput
  ) {
    guard admitsDiagnostic(origin, peer) else { return }
    output.append(.diagnostic(Diagnostic(origin, text, peer: peer)))
  }

  /// Whether one more line about a link, or about none, is within the limits.
  mutating func admitsDiagnostic(_ origin: Diagnostic.Origin, _ peer: PeerID?) -> Bool {
    let limits = configuration.diagnosticLimits
    switch origin {
    case .application, .transport: return true
    case .controller:
      return controllerDiagnostics.admits(limit: limits.ofHost, period: limits.period, now: time)
    case .peer: break
    }
    if let index = peer.flatMap({ index(of: $0) }) {
      let isAdmitted = links[index].diagnostics.admits(limit: limits.ofLink, period: limits.period, now: time)
      guard isAdmitted else { return false }
    }
    return peerDiagnostics.admits(limit: limits.ofHost, period: limits.period, now: time)
  }

  /// Says how many lines were left out, where their period is over.
  mutating func summarizeDiagnostics(into output: inout HostOutput) {
    for index in links.indices where links[index].diagnostics.deadline.map({ $0 <= time }) ?? false {
      summarize(.peer, links[index].diagnostics.takeSuppressed(), peer: links[index].peer, into: &output)
    }
    if peerDiagnostics.deadline.map({ $0 <= time }) ?? false {
      summarize(.peer, peerDiagnostics.takeSuppressed(), into: &output)
    }
    if controllerDiagnostics.deadline.map({ $0 <= time }) ?? false {
      summarize(.controller, controllerDiagnostics.takeSuppressed(), into: &output)
    }
  }

  private func summarize(
    _ origin: Diagnostic.Origin, _ count: Int, peer: PeerID? = nil, into output: inout HostOutput
  ) {
    guard count > 0 else { return }
    output.append(.diagnostic(Diagnostic(origin, "\(count) more suppressed", peer: peer)))
  }
}
