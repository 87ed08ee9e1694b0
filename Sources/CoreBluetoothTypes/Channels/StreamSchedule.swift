import CoreFoundation
import Dispatch
import Foundation

/// The run loops, with their modes, and the queue on which the events of a stream are delivered.
///
/// Each signal causes one or more calls of `deliver` on one of them. A run loop has an input source for the stream, so
/// that `run(mode:before:)` returns after an event, as with the streams of Foundation. The main run loop does not run
/// in a program that calls `dispatchMain()`: with the default or the common modes of the main run loop, the events also
/// come on the main queue.
///
/// The caller has a lock of its own around all calls.
final class StreamSchedule: @unchecked Sendable {
  private let source: CFRunLoopSource
  private let deliver: @Sendable () -> Void
  private var places: [Place] = []
  private(set) var queue: DispatchQueue?

  private struct Place {
    let loop: RunLoop
    let mode: RunLoop.Mode
    /// Nil until the thread of the run loop has added the source.
    var native: CFRunLoop?
  }

  /// The object that the source calls; Core Foundation retains it.
  private final class Callback {
    let deliver: @Sendable () -> Void
    init(_ deliver: @escaping @Sendable () -> Void) { self.deliver = deliver }
  }

  init(_ deliver: @escaping @Sendable () -> Void) {
    self.deliver = deliver
    var context = CFRunLoopSourceContext()
    context.info = Unmanaged.passRetained(Callback(deliver)).toOpaque()
    context.release = { info in
      if let info { Unmanaged<Callback>.fromOpaque(info).release() }
    }
    context.perform = { info in
      if let info { Unmanaged<Callback>.fromOpaque(info).takeUnretainedValue().deliver() }
    }
    source = CFRunLoopSourceCreate(nil, 0, &context)
  }

  deinit { CFRunLoopSourceInvalidate(source) }

  /// Adds a run loop in a mode. For a run loop other than the current one, `added` is called on its thread when it runs
  /// in this mode and the source can be added there; ``confirm(_:_:)`` then adds it.
  func add(_ loop: RunLoop, _ mode: RunLoop.Mode, added: @escaping @Sendable () -> Void) {
    guard !places.contains(where: { $0.loop === loop && $0.mode == mode }) else { return }
    let native: CFRunLoop? =
      if loop === RunLoop.current { CFRunLoopGetCurrent() } else if loop === RunLoop.main { CFRunLoopGetMain() } else {
        nil
      }
    places.append(Place(loop: loop, mode: mode, native: native))
    if let native { return CFRunLoopAddSource(native, source, mode.native) }
    // Foundation gives no access to the run loop of another thread. A timer runs there.
    loop.add(Timer(fire: Date(), interval: 0, repeats: false) { _ in added() }, forMode: mode)
  }

  /// Adds the source to the run loop of the current thread, in the modes in which it is scheduled.
  func confirmCurrent() {
    let current = RunLoop.current
    for index in places.indices where places[index].native == nil && places[index].loop === current {
      places[index].native = CFRunLoopGetCurrent()
      CFRunLoopAddSource(CFRunLoopGetCurrent(), source, places[index].mode.native)
    }
  }

  func remove(_ loop: RunLoop, _ mode: RunLoop.Mode) {
    for place in places where place.loop === loop && place.mode == mode { removeSource(place) }
    places.removeAll { $0.loop === loop && $0.mode == mode }
  }

  func removeAll() {
    for place in places { removeSource(place) }
    places = []
    queue = nil
  }

  func set(_ queue: DispatchQueue?) { self.queue = queue }

  private func removeSource(_ place: Place) {
    guard let native = place.native else { return }
    CFRunLoopRemoveSource(native, source, place.mode.native)
  }

  /// Causes a call of `deliver`.
  func signal() {
    if places.contains(where: { $0.native != nil }) {
      CFRunLoopSourceSignal(source)
      for place in places {
        if let native = place.native { CFRunLoopWakeUp(native) }
      }
      let main = RunLoop.main
      if places.contains(where: { $0.loop === main && ($0.mode == .default || $0.mode == .common) }) {
        DispatchQueue.main.async(execute: deliver)
      }
    }
    queue?.async(execute: deliver)
  }
}

extension RunLoop.Mode {
  /// The name as Core Foundation compares it: the common modes by the address of their name.
  fileprivate var native: CFString {
    switch self {
    case .default: kCFRunLoopDefaultMode
    case .common: kCFRunLoopCommonModes
    default: rawValue.withCString { CFStringCreateWithCString(nil, $0, CFStringBuiltInEncodings.UTF8.rawValue) }
    }
  }
}
