import BLELinux
import Foundation
import Testing

/// Files that hold no secrets, in a folder of each test.
@Suite struct FilesTests {
  @Test func aFileIsReadAsItWasWritten() throws {
    let folder = try TemporaryFolder()
    let octets = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    try Files.write(octets, to: "\(folder.path)/a")
    #expect(try Files.octets(of: "\(folder.path)/a") == octets)
    // A shorter content replaces all of it.
    try Files.write([1, 2], to: "\(folder.path)/a")
    #expect(try Files.octets(of: "\(folder.path)/a") == [1, 2])
  }

  @Test func aFileAsLongAsTheLimitIsRead() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/a"
    try Files.write([1, 2, 3], to: file)
    #expect(try Files.octets(of: file, atMost: 3) == [1, 2, 3])
    #expect(throws: SystemError(.read, EFBIG)) { try Files.octets(of: file, atMost: 2) }
  }

  @Test func aFailureHasItsErrorNumber() throws {
    let folder = try TemporaryFolder()
    #expect(throws: SystemError(.open, ENOENT)) { try Files.octets(of: "\(folder.path)/nowhere") }
    #expect(throws: SystemError(.read, EISDIR)) { try Files.octets(of: folder.path) }
    #expect(throws: SystemError(.open, ENOENT)) { try Files.write([1], to: "\(folder.path)/nowhere/a") }
    let full = SystemCalls { $0 == .write ? ENOSPC : nil }
    #expect(throws: SystemError(.write, ENOSPC)) { try Files.write([1], to: "\(folder.path)/a", through: full) }
  }

  @Test func aFileOfAnotherKindIsNotReplaced() throws {
    let folder = try TemporaryFolder()
    let (file, target) = (folder.file("a"), folder.file("target"))
    func create() throws { try Files.create([1, 2], at: file) { $0.first == 1 } }
    try create()
    #expect(try Files.octets(of: file) == [1, 2])
    // One that says that it is ours.
    try Files.write([1, 3], to: file)
    try create()
    #expect(try Files.octets(of: file) == [1, 2])
    try Files.write([7], to: file)
    #expect(throws: SystemError(.link, EEXIST)) { try create() }
    #expect(try Files.octets(of: file) == [7])
    try FileManager.default.removeItem(atPath: file)
    try Files.write([1, 9], to: target)
    #expect(symlink(target, file) == 0)
    #expect(throws: SystemError(.link, EEXIST)) { try create() }
    #expect(try Files.octets(of: target) == [1, 9])
    let full = SystemCalls { $0 == .write ? ENOSPC : nil }
    #expect(throws: SystemError(.write, ENOSPC)) {
      try Files.create([1], at: folder.file("b"), replacing: { _ in true }, through: full)
    }
    #expect(Files.names(in: folder.path) == ["a", "target"], "nothing is left behind")
  }

  @Test func theNamesInAFolderAreInOrder() throws {
    let folder = try TemporaryFolder()
    for name in ["b", "a", ".c"] { try Files.write([], to: "\(folder.path)/\(name)") }
    #expect(Files.names(in: folder.path) == [".c", "a", "b"])
    #expect(Files.names(in: "\(folder.path)/nowhere").isEmpty)
  }

  @Test func missingFoldersAreMade() throws {
    let folder = try TemporaryFolder()
    for _ in 0..<2 {
      try Files.makeFolder("\(folder.path)/a/b/c")
      #expect(Files.names(in: "\(folder.path)/a/b") == ["c"])
    }
    try Files.write([], to: "\(folder.path)/file")
    #expect(throws: SystemError(.makeFolder, ENOTDIR)) { try Files.makeFolder("\(folder.path)/file/a") }
  }

  @Test func theModificationTimeIsThatOfTheContent() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/a"
    #expect(Files.modificationTime(of: file) == nil)
    try Files.write([1], to: file)
    var times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 250_000_000)]
    #expect(utimensat(AT_FDCWD, file, &times, 0) == 0)
    #expect(Files.modificationTime(of: file) == .seconds(1_700_000_000) + .milliseconds(250))
  }
}
