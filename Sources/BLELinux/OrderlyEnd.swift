internal import CLinux
internal import Glibc
internal import Synchronization

/// The orderly end of the process: it calls `exit` or returns from `main`, or SIGINT, SIGTERM or SIGHUP ends it.
///
/// At an orderly end, some files are removed (``PrivateFolder/removeAtEnd(_:)``). A process that is killed, crashes or
/// calls `_exit` leaves them, so that such a file shows how its process ended. `exit` also waits for writes that have
/// begun (``holdExit()``).
///
/// A function can run before the process ends (``runAtEnd(_:)``): it ends the links of the process. It runs on a thread
/// of its own, because the thread that ends may hold any lock. `exit` waits for it, ``patience`` at most.
///
/// A signal is handled if its action is the default one when the first such file is named, or the function is. The
/// handler removes the files and raises the signal again with the default action, after the function, so that the
/// status of the process is the same as without a handler. A program that sets a handler of its own, before or later,
/// has no other one, and usually calls `exit`. Process 1 of a PID namespace gets no handler, because these signals do
/// not end it (pid_namespaces(7)).
///
/// The handler makes only async-signal-safe calls (signal-safety(7)), and takes no lock. `exit` does the same, because
/// programs call it in handlers of their own, where the interrupted thread may hold any lock.
package enum OrderlyEnd {
  /// Whether the end has begun. The files that it has removed are no longer written.
  package static var hasBegun: Bool { begun.load(ordering: .sequentiallyConsistent) }

  private static let begun = Atomic(false)
  /// The address of the first entry in the list; 0 means none.
  private static let first = Atomic<UInt>(0)
  /// The addresses of the entries that are not in use. Its lock also protects the list against other writers.
  private static let unused = Mutex<[UInt]>([])
  /// The process that the files belong to. A child process after `fork` and before `exec` has a copy of everything
  /// here.
  private static let process = Atomic<Int32>(0)
  private static let writes = Atomic<Int>(0)
  /// The longest time for which `exit` waits for writes, and for the function of the end, in milliseconds.
  private static let patience = 2_000
  /// The descriptor that wakes the thread of the function; -1 without one.
  private static let waker = Atomic<Int32>(-1)
  /// Whether the function has returned.
  private static let hasRun = Atomic(false)
  /// The signal that ends the process after the function; 0 for none.
  private static let signalAtEnd = Atomic<Int32>(0)

  /// A file in the list. An entry stays in the list and is reused for other files, because a handler may read it at any
  /// time.
  fileprivate struct Entry: ~Copyable {
    var folder: FileDescriptor?
    var name: UnsafeMutablePointer<CChar>?
    /// The name under which the file is written before it is renamed.
    var unfinishedName: UnsafeMutablePointer<CChar>?
    let isActive = Atomic(false)
    /// The address of the next entry.
    let next: UInt

    static func at(_ address: UInt) -> UnsafeMutablePointer<Entry>? { unsafe .init(bitPattern: address) }

    /// Removes the file; async-signal-safe.
    func unlink() {
      guard let name = unsafe name, let unfinishedName = unsafe unfinishedName else { return }
      switch folder {
      case .some(let folder):
        // In this order, an unfinished write cannot be renamed after the file has been removed.
        _ = unsafe unlinkat(folder.rawValue, unfinishedName, 0)
        _ = unsafe unlinkat(folder.rawValue, name, 0)
      case nil: break
      }
    }
  }

  /// - Returns: the address of the entry.
  fileprivate static func add(_ name: String, in folder: consuming FileDescriptor) -> UInt {
    _ = signals
    let address = unused.withLock { unused in
      if let address = unused.popLast() { return address }
      let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
      unsafe entry.initialize(to: Entry(next: first.load(ordering: .acquiring)))
      first.store(UInt(bitPattern: entry), ordering: .releasing)
      return UInt(bitPattern: entry)
    }
    guard let entry = unsafe Entry.at(address) else { return address }
    unsafe entry.pointee.folder = consume folder
    unsafe entry.pointee.name = strdup(name)
    unsafe entry.pointee.unfinishedName = strdup(PrivateFolder.unfinishedName(of: name))
    unsafe entry.pointee.isActive.store(true, ordering: .sequentiallyConsistent)
    return address
  }

  fileprivate static func remove(_ address: UInt) {
    guard let entry = unsafe Entry.at(address) else { return }
    unsafe entry.pointee.isActive.store(false, ordering: .sequentiallyConsistent)
    // Both threads see the later of this store and that of `begun`, so that memory that a handler may use is not
    // released.
    guard !hasBegun else { return }
    unsafe entry.pointee.folder = nil
    unsafe free(entry.pointee.name)
    unsafe free(entry.pointee.unfinishedName)
    unused.withLock { $0.append(address) }
  }

  /// Makes `exit` wait for a write, for at most two seconds. Call ``releaseExit()`` when the write is done.
  package static func holdExit() {
    _ = exitHandler
    writes.wrappingAdd(1, ordering: .sequentiallyConsistent)
  }

  package static func releaseExit() { writes.wrappingSubtract(1, ordering: .sequentiallyConsistent) }

  /// Runs a function before the process ends in an orderly way. The first one counts, and has to return in less than
  /// two seconds.
  ///
  /// - Throws: if there is no thread for it.
  package static func runAtEnd(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let event = eventfd(0, Int32(EFD_CLOEXEC))
    guard event >= 0 else { throw SystemError(.thread, errno) }
    guard waker.compareExchange(expected: -1, desired: event, ordering: .sequentiallyConsistent).exchanged else {
      close(event)
      return
    }
    do throws(SystemError) {
      try LoopThread.start {
        var count: UInt64 = 0
        while unsafe read(event, &count, 8) != 8 {}
        body()
        hasRun.store(true, ordering: .sequentiallyConsistent)
        let number = signalAtEnd.load(ordering: .sequentiallyConsistent)
        guard number != 0 else { return }
        signal(number, SIG_DFL)
        kill(getpid(), number)
      }
    } catch {
      waker.store(-1, ordering: .sequentiallyConsistent)
      close(event)
      throw error
    }
    _ = signals
  }

  /// Lets the function run; async-signal-safe.
  ///
  /// - Returns: false where there is none.
  private static func wakeFunction() -> Bool {
    let event = waker.load(ordering: .sequentiallyConsistent)
    guard event >= 0, getpid() == process.load(ordering: .acquiring) else { return false }
    var count: UInt64 = 1
    return unsafe write(event, &count, 8) == 8
  }

  private static let exitHandler: Void = {
    process.store(getpid(), ordering: .releasing)
    // A variable is initialized at its first use, which must not be in a handler.
    _ = (hasBegun, first.load(ordering: .acquiring), writes.load(ordering: .acquiring))
    _ = (waker.load(ordering: .acquiring), hasRun.load(ordering: .acquiring), signalAtEnd.load(ordering: .acquiring))
    atexit {
      OrderlyEnd.begin()
      if OrderlyEnd.wakeFunction() { OrderlyEnd.wait { OrderlyEnd.hasRun.load(ordering: .sequentiallyConsistent) } }
      OrderlyEnd.waitForWrites()
    }
  }()

  private static let signals: Void = {
    _ = exitHandler
    guard getpid() != 1 else { return }
    for number in [SIGINT, SIGTERM, SIGHUP] {
      var action = sigaction()
      guard unsafe sigaction(number, nil, &action) == 0, action.sa_flags & SA_SIGINFO == 0,
        unsafe action.__sigaction_handler.sa_handler == nil
      else { continue }
      action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = { number in
        OrderlyEnd.begin()
        // The thread of the function raises it again. Another signal until then changes nothing.
        _ = OrderlyEnd.signalAtEnd.compareExchange(expected: 0, desired: number, ordering: .sequentiallyConsistent)
        if OrderlyEnd.wakeFunction() { return }
        // The signal is blocked until the handler returns. It then ends the process.
        signal(number, SIG_DFL)
        raise(number)
      }
      _ = unsafe sigaction(number, &action, nil)
    }
  }()

  private static func begin() {
    guard getpid() == process.load(ordering: .acquiring) else { return }
    begun.store(true, ordering: .sequentiallyConsistent)
    var address = first.load(ordering: .acquiring)
    while let entry = unsafe Entry.at(address) {
      if unsafe entry.pointee.isActive.load(ordering: .sequentiallyConsistent) { unsafe entry.pointee.unlink() }
      address = unsafe entry.pointee.next
    }
  }

  private static func waitForWrites() {
    guard getpid() == process.load(ordering: .acquiring) else { return }
    wait { writes.load(ordering: .sequentiallyConsistent) == 0 }
  }

  private static func wait(until isDone: () -> Bool) {
    for _ in 0..<patience {
      if isDone() { return }
      _ = poll(nil, 0, 1)
    }
  }
}

/// A file that is removed at the orderly end of the process, while this object exists.
package final class FileAtEnd: Sendable {
  private let entry: UInt

  fileprivate init(_ name: String, in folder: consuming FileDescriptor) { entry = OrderlyEnd.add(name, in: folder) }

  deinit { OrderlyEnd.remove(entry) }

  /// Removes the file now.
  package func remove() { unsafe OrderlyEnd.Entry.at(entry)?.pointee.unlink() }
}

extension PrivateFolder {
  /// Removes a file of this name at the orderly end of the process (``OrderlyEnd``). The file may be written later.
  package func removeAtEnd(_ name: String) throws(FileRefusal) -> FileAtEnd { FileAtEnd(name, in: try duplicate()) }
}
