internal import BLELinux
internal import BLEVirtual
internal import BLEWire

/// The radio's thread: packets of every guest in, time on, packets for every guest out.
struct RadioLoop: ~Copyable {
  /// A host that has a controller here.
  private final class Guest {
    let controller: ControllerID
    let name: String
    let token: UInt64
    /// The door it came by, where nobody else can come by it meanwhile.
    let door: Door?
    var stream: H4Stream
    var trace: PacketTrace?
    var outgoing = PacketBuffer()
    var isLeaving = false

    init(
      _ stream: consuming H4Stream, _ controller: ControllerID, name: String, token: UInt64, door: Door?,
      trace: consuming PacketTrace?
    ) {
      self.stream = stream
      self.controller = controller
      self.name = name
      self.token = token
      self.door = door
      self.trace = trace
    }
  }

  /// A place where hosts come in.
  private final class Door {
    let name: String
    let token: UInt64
    var port: StreamPort
    /// When to look again, where nothing tells.
    var nextLook: Instant?

    init(_ port: consuming StreamPort, name: String, token: UInt64) {
      self.port = port
      self.name = name
      self.token = token
    }
  }

  private let mailbox: RadioDesk
  private let settings: RadioService.Settings
  private let clock = MonotonicClock()
  private var poller: Poller
  private var radio: VirtualRadio
  private var output = VirtualRadioOutput()
  private var guests: [UInt64: Guest] = [:]
  private var guestsByController: [ControllerID: Guest] = [:]
  private var doors: [UInt64: Door] = [:]
  private var lastToken: UInt64 = 0
  private var guestNumber = 0
  private var isEnding = false

  private init(_ mailbox: RadioDesk, _ settings: RadioService.Settings) throws(SystemError) {
    self.mailbox = mailbox
    self.settings = settings
    radio = VirtualRadio(seed: settings.seed, pacing: settings.pacing)
    poller = try Poller()
  }

  /// Runs until the mailbox is asked to end.
  static func run(_ mailbox: RadioDesk, _ settings: RadioService.Settings) {
    defer { mailbox.ended.open() }
    do throws(SystemError) {
      var loop = try RadioLoop(mailbox, settings)
      try loop.run()
    } catch { settings.log("the radio ended: \(error)") }
  }

  private mutating func run() throws(SystemError) {
    try poller.watch(mailbox.waker.descriptor, token: 0, for: .reading)
    while !isEnding {
      var deadline = radio.deadline
      for door in doors.values { deadline = .nearer(deadline, door.nextLook) }
      let count = try poller.wait(until: deadline, on: clock)
      let now = clock.now()
      for index in 0..<count { try handle(poller[index], now) }
      for door in doors.values where door.nextLook.map({ $0 <= now }) ?? false { try look(at: door, now) }
      radio.tick(now: now, into: &output)
      try deliver(now)
    }
  }

  private mutating func handle(_ ready: Poller.Ready, _ now: Instant) throws(SystemError) {
    if ready.token == 0 {
      mailbox.waker.drain()
      for wish in mailbox.take() { try fulfil(wish, now) }
    } else if let door = doors[ready.token] {
      try look(at: door, now)
    } else if let guest = guests[ready.token] {
      if ready.canWrite { flush(guest) }
      if ready.canRead || ready.hasEnded { receive(from: guest, now) }
    }
  }

  private mutating func fulfil(_ wish: RadioDesk.Wish, _ now: Instant) throws(SystemError) {
    switch wish {
    case .admit(let stream, let name):
      guard let stream = stream.take() else { return }
      try admit(stream, at: .inProcess("virtual:\(name)"), name: name, door: nil, now)
    case .open(let port, let name):
      guard let port = port.take() else { return }
      lastToken += 1
      let door = Door(port, name: name, token: lastToken)
      doors[door.token] = door
      try watch(door, now)
    case .end: isEnding = true
    }
  }
}

/// Coming.
extension RadioLoop {
  private func watch(_ door: Door, _ now: Instant) throws(SystemError) {
    door.nextLook = try door.port.watch(on: poller, token: door.token).map { now + $0 }
  }

  private mutating func look(at door: Door, _ now: Instant) throws(SystemError) {
    door.nextLook = nil
    let endpoint = door.port.endpoint
    let newcomer: ByteStream?
    do throws(TransportError) {
      newcomer = try door.port.accept()
    } catch {
      // For want of descriptors, most likely: whoever waits goes on waiting for a while.
      settings.log("\(error)")
      door.port.unwatch(on: poller)
      door.nextLook = now + .seconds(1)
      return
    }
    guard let newcomer else { return try watch(door, now) }
    if case .pseudoTerminal = endpoint {
      try admit(newcomer, at: .endpoint(endpoint), name: door.name, door: door, now)
    } else {
      try admit(newcomer, at: .endpoint(endpoint), name: door.name, door: nil, now)
      try watch(door, now)
    }
  }

  private mutating func admit(
    _ stream: consuming ByteStream, at place: TransportLabel, name: String, door: Door?, _ now: Instant
  ) throws(SystemError) {
    guard guests.count < settings.guestLimit else {
      return settings.log("a host (\(name)) was turned away: \(settings.guestLimit) are here")
    }
    guestNumber += 1
    lastToken += 1
    var trace: PacketTrace?
    if let folder = settings.traceFolder {
      do throws(TransportError) {
        trace = try PacketTrace(at: "\(folder)/\(guestNumber)-\(name).btsnoop", keepingKeys: settings.traceKeepsKeys)
      } catch { settings.log("\(error)") }
    }
    let controller = radio.attach(settings.controller, now: now)
    let guest = Guest(
      H4Stream(stream, at: place), controller, name: "\(guestNumber)-\(name)", token: lastToken, door: door,
      trace: trace)
    guests[guest.token] = guest
    guestsByController[controller] = guest
    try poller.watch(guest.stream.stream.descriptor, token: guest.token, for: .reading)
    settings.log("\(guest.name) is here")
  }
}

/// Talking and going.
extension RadioLoop {
  private mutating func receive(from guest: Guest, _ now: Instant) {
    do throws(TransportError) {
      try Self.pump(guest, &radio, &output, now)
    } catch { dismiss(guest, error, now) }
  }

  private static func pump(
    _ guest: Guest, _ radio: inout VirtualRadio, _ output: inout VirtualRadioOutput, _ now: Instant
  ) throws(TransportError) {
    let controller = guest.controller
    try guest.stream.receive { packet in
      try? guest.trace?.record(packet, .hostToController)
      radio.receive(packet, from: controller, now: now, into: &output)
    }
  }

  /// Takes what the controllers said to their hosts.
  private mutating func deliver(_ now: Instant) throws(SystemError) {
    guard !output.isEmpty else { return }
    let directory = guestsByController
    output.forEach { (controller, packet) in
      guard let guest = directory[controller] else { return }
      try? guest.trace?.record(packet, .controllerToHost)
      guest.outgoing.append { $0.append(copying: packet) }
    }
    output.removeAll()
    for guest in guests.values where !guest.outgoing.isEmpty {
      defer { guest.outgoing.removeAll() }
      try? guest.trace?.flush()
      do throws(TransportError) {
        try guest.stream.send(guest.outgoing)
      } catch {
        dismiss(guest, error, now)
        continue
      }
      if guest.stream.hasBacklog {
        try poller.watch(guest.stream.stream.descriptor, token: guest.token, for: [.reading, .writing])
      }
    }
  }

  private mutating func flush(_ guest: Guest) {
    do throws(TransportError) {
      try guest.stream.flush()
      if !guest.stream.hasBacklog {
        try? poller.watch(guest.stream.stream.descriptor, token: guest.token, for: .reading)
      }
    } catch { dismiss(guest, error, clock.now()) }
  }

  private mutating func dismiss(_ guest: Guest, _ error: TransportError, _ now: Instant) {
    guard guests.removeValue(forKey: guest.token) != nil else { return }
    guestsByController[guest.controller] = nil
    radio.detach(guest.controller, now: now)
    try? guest.trace?.flush()
    if let door = guest.door {
      do throws(TransportError) {
        try door.port.open()
        door.nextLook = now
      } catch { settings.log("\(error)") }
    }
    settings.log("\(guest.name) went: \(error.what)")
  }
}
