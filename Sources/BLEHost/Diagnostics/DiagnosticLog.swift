import BLEWire

/// How many diagnostics a host lets through in a period, of one link and of all.
package struct DiagnosticLimits: Hashable, Sendable {
  package var ofLink = 8
  package var ofHost = 32
  package var period: Duration = .seconds(10)

  package init() {}
}

/// The rate limits of the log: of each link, of all links together, and of the controller. A summary with the number of
/// lines that were left out follows at the end of each period.
///
/// Of the lines of all links, one is kept for each link that has had none in the period, up to half of them: a few
/// links that cause many lines do not hide the first one of another link.
///
/// Lines that the application or the transport causes are not limited.
struct DiagnosticLog: Sendable {
  private let limits: DiagnosticLimits
  /// The links that are up.
  private var up: Set<LinkID> = []
  /// Those of them that had a line.
  private var links: [LinkID: DiagnosticLimiter] = [:]
  /// Those of them that had a line in the period of ``peers``.
  private var reported: Set<LinkID> = []
  private var peers = DiagnosticLimiter()
  private var controller = DiagnosticLimiter()
  /// When a summary is due.
  private(set) var deadline: Instant?

  init(limits: DiagnosticLimits) { self.limits = limits }

  mutating func linkAdded(_ peer: LinkID) { up.insert(peer) }

  /// What was left out of a link that has ended is counted with that of all links.
  mutating func linkEnded(_ peer: LinkID) {
    up.remove(peer)
    reported.remove(peer)
    guard let link = links.removeValue(forKey: peer) else { return }
    peers.addSuppressed(link.suppressed)
    review()
  }

  /// Whether one more line is within the limits. A line that is not counts towards the summary.
  mutating func admits(_ origin: Diagnostic.Origin, peer: LinkID?, now: Instant) -> Bool {
    switch origin {
    case .application, .transport: return true
    case .controller: return passes(controller.admits(limit: limits.ofHost, period: limits.period, now: now))
    case .peer: break
    }
    if peers.isOver(now) { reported = [] }
    var isFirst = false
    if let peer, up.contains(peer) {
      guard links[peer, default: DiagnosticLimiter()].admits(limit: limits.ofLink, period: limits.period, now: now)
      else {
        return passes(false)
      }
      isFirst = reported.insert(peer).inserted
    }
    let kept = isFirst ? 0 : min(up.count - reported.count, limits.ofHost / 2)
    return passes(peers.admits(limit: limits.ofHost - kept, period: limits.period, now: now))
  }

  /// Reports one line, if it is within the limits.
  mutating func report(_ line: Diagnostic, now: Instant, into effects: inout [Effect<Never>]) {
    if admits(line.origin, peer: line.peer, now: now) { effects.append(.event(.diagnostic(line), to: .everyone)) }
  }

  /// Reports how many lines were left out, if their period is over.
  mutating func tick(now: Instant, into effects: inout [Effect<Never>]) {
    guard let deadline, deadline <= now else { return }
    for peer in links.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      let count = links[peer]?.takeSuppressed(now: now) ?? 0
      Self.summarize(.peer, count, peer: peer, into: &effects)
    }
    Self.summarize(.peer, peers.takeSuppressed(now: now), into: &effects)
    Self.summarize(.controller, controller.takeSuppressed(now: now), into: &effects)
    review()
  }

  private static func summarize(
    _ origin: Diagnostic.Origin, _ count: Int, peer: LinkID? = nil, into effects: inout [Effect<Never>]
  ) {
    guard count > 0 else { return }
    effects.append(.event(.diagnostic(Diagnostic(origin, "\(count) more suppressed", peer: peer)), to: .everyone))
  }

  private mutating func passes(_ isAdmitted: Bool) -> Bool {
    if !isAdmitted { review() }
    return isAdmitted
  }

  private mutating func review() {
    deadline = .nearer(peers.deadline, controller.deadline)
    for link in links.values { deadline = .nearer(deadline, link.deadline) }
  }
}

/// Lets a number of lines through in each period, and counts the others.
struct DiagnosticLimiter: Sendable {
  private var periodEnds: Instant?
  private var passed = 0
  /// Lines that were not let through since the last summary.
  private(set) var suppressed = 0

  /// When a summary is due.
  var deadline: Instant? { suppressed > 0 ? periodEnds : nil }

  /// Whether a line now begins a new period.
  func isOver(_ now: Instant) -> Bool { periodEnds.map { $0 <= now } ?? true }

  /// Whether one more line is within the limit.
  mutating func admits(limit: Int, period: Duration, now: Instant) -> Bool {
    if isOver(now) { (periodEnds, passed) = (now + period, 0) }
    guard passed < limit else {
      addSuppressed(1)
      return false
    }
    passed += 1
    return true
  }

  mutating func addSuppressed(_ count: Int) { suppressed &+= count }

  /// The number of lines that were left out, once, if their period is over.
  mutating func takeSuppressed(now: Instant) -> Int {
    guard let deadline, deadline <= now else { return 0 }
    defer { suppressed = 0 }
    return suppressed
  }
}
