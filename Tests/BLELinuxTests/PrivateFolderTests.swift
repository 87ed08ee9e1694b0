import BLELinux
import Foundation
import Glibc
import Testing

/// Files of secrets, and what other users and failing disks may do to them.
@Suite struct PrivateFolderTests {
  private func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    #expect(chmod(folder.path, 0o700) == 0)
    return folder
  }

  private func open(_ path: String, user: UInt32? = nil, through system: SystemCalls = .kernel) throws -> PrivateFolder
  {
    guard let folder = try PrivateFolder.open(path, user: user, through: system) else {
      throw CocoaError(.fileNoSuchFile)
    }
    return folder
  }

  /// Wherever the system refuses, the old file is there and nothing beside it.
  @Test(arguments: [SystemCall.openIn, .setPermissions, .write, .flush, .rename])
  func aRefusedCallLeavesTheOldFile(call: SystemCall) throws {
    let folder = try folder()
    try open(folder.path).replace("f", with: [1, 2, 3])
    let failing = try open(folder.path, through: SystemCalls { $0 == call ? EIO : nil })
    #expect(throws: FileRefusal.failed(SystemError(call, EIO))) { try failing.replace("f", with: [4]) }
    #expect(try open(folder.path).read("f") == [1, 2, 3])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["f"])
  }

  @Test func aFailureToReadIsNoMissingFile() throws {
    let folder = try folder()
    try open(folder.path).replace("f", with: [1])
    for (call, number) in [(SystemCall.openIn, EACCES), (.openIn, EMFILE), (.stat, EIO), (.read, EIO)] {
      let system = SystemCalls { $0 == call ? number : nil }
      #expect(throws: FileRefusal.failed(SystemError(call, number))) {
        _ = try PrivateFolder.open(folder.path, through: system)?.read("f")
      }
    }
    #expect(try open(folder.path).read("g") == nil)
    let missing = try PrivateFolder.open(folder.file("missing"))
    if missing != nil { Issue.record("a folder that is not there was opened") }
  }

  @Test func aLongFileIsReadWholeAndOnePastTheLimitNot() throws {
    let folder = try folder()
    let octets = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    let opened = try open(folder.path)
    try opened.replace("f", with: octets)
    #expect(try opened.read("f") == octets)
    #expect(truncate(folder.file("f"), PrivateFolder.lengthLimit) == 0)
    #expect(try opened.read("f")?.count == PrivateFolder.lengthLimit)
    #expect(truncate(folder.file("f"), PrivateFolder.lengthLimit + 1) == 0)
    #expect(throws: FileRefusal.isTooLong) { _ = try opened.read("f") }
  }

  /// The descriptor stays with the folder that was checked.
  @Test func anotherFolderUnderThatNameChangesNothing() throws {
    let folder = try folder()
    let (path, aside) = (folder.file("a"), folder.file("b"))
    #expect(mkdir(path, 0o700) == 0)
    let opened = try open(path)
    try opened.replace("f", with: [1])
    #expect(rename(path, aside) == 0 && mkdir(path, 0o777) == 0)
    try folder.write("planted", to: "a/f")
    #expect(try opened.read("f") == [1])
    try opened.replace("f", with: [2])
    #expect(FileManager.default.contents(atPath: aside + "/f") == Data([2]))
  }

  @Test func aFolderOrFileOfAnotherUserIsRefused() throws {
    let folder = try folder()
    try open(folder.path).replace("f", with: [1])
    // As the program of another user, to whom a folder of root is as good as an own one.
    let stranger = geteuid() + 1
    if geteuid() == 0 {
      #expect(throws: FileRefusal.isOwned(by: 0)) { _ = try PrivateFolder.open(folder.path, user: stranger)?.read("f") }
    } else {
      #expect(throws: FileRefusal.folderIsOwned(by: geteuid())) {
        _ = try PrivateFolder.open(folder.path, user: stranger)
      }
    }
  }

  @Test func setAsideTakesTheFirstFreeNameAndEndsAtItsLimit() throws {
    let folder = try folder()
    let opened = try open(folder.path)
    for number in 1...3 {
      try opened.replace("f", with: [UInt8(number)])
      #expect(opened.setAside("f") == "f.corrupt-\(number)")
    }
    #expect(opened.setAside("f") == nil, "there is none")
    for number in 4...PrivateFolder.setAsideLimit { try folder.write("", to: "f.corrupt-\(number)") }
    try opened.replace("f", with: [4])
    #expect(opened.setAside("f") == nil && folder.has("f"))
  }

  @Test func aLockHoldsUntilItIsReleased() throws {
    let folder = try folder()
    let opened = try open(folder.path)
    let lock = try opened.lock("f", waiting: .zero)
    #expect(throws: FileRefusal.isLocked) { _ = try opened.lock("f", waiting: .zero) }
    lock.release()
    _ = try opened.lock("f", waiting: .zero)
    _ = try opened.lock("f", waiting: .zero)
    // A child process has copies of all descriptors until it calls `exec`: the end of a lock is the end for them, too.
    let copied = try opened.lock("f", waiting: .zero)
    let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    let copies = numbers.filter {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == folder.file("f.lock")
    }.map { dup($0) }
    #expect(copies.count == 1)
    copied.release()
    _ = try opened.lock("f", waiting: .zero)
    for copy in copies { close(copy) }
    // A file system without locks is used without.
    let held = try opened.lock("f", waiting: .zero)
    _ = try open(folder.path, through: SystemCalls { $0 == .lock ? ENOLCK : nil }).lock("f", waiting: .zero)
    held.release()
  }
}
