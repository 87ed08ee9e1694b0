import BLELinux
import Foundation
import Glibc
import Testing

/// Files whose content is for one user.
@Suite struct OutputFileTests {
  private func permissions(_ path: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
  }

  private func expectRefusal(_ refusal: FileRefusal, _ path: String, _ location: SourceLocation = #_sourceLocation) {
    #expect(throws: refusal, sourceLocation: location) { _ = try OutputFile(at: path) }
  }

  @Test(arguments: [nil, 0o644, 0o666, 0o400 | 0o200, 0o777]) func isForItsOwnerWhateverItWas(before: Int?) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("t")
    if let before {
      try folder.write("others could read this", to: "t")
      #expect(chmod(path, mode_t(before)) == 0)
    }
    let file = try OutputFile(at: path)
    try file.write([1, 2].span)
    #expect(permissions(path) == 0o600 && FileManager.default.contents(atPath: path) == Data([1, 2]))
  }

  @Test func doesNotFollowALink() throws {
    let folder = try TemporaryFolder()
    try folder.write("precious", to: "target")
    #expect(symlink(folder.file("target"), folder.file("link")) == 0)
    #expect(symlink(folder.file("nowhere"), folder.file("dangling")) == 0)
    #expect(link(folder.file("target"), folder.file("second")) == 0)
    expectRefusal(.isSymbolicLink, folder.file("link"))
    expectRefusal(.isSymbolicLink, folder.file("dangling"))
    expectRefusal(.hasSeveralNames, folder.file("second"))
    #expect(FileManager.default.contents(atPath: folder.file("target")) == Data("precious".utf8))
    #expect(!folder.has("nowhere"))
  }

  @Test func refusesFoldersAndSockets() throws {
    let folder = try TemporaryFolder()
    expectRefusal(.isNotRegular, folder.path)
    var server = StreamPort(.unixServer(path: folder.file("socket")))
    try server.open()
    expectRefusal(.failed(SystemError(.open, ENXIO)), folder.file("socket"))
  }

  @Test(.enabled(if: geteuid() == 0, "only root gives files away")) func refusesTheFileOfAnotherUser() throws {
    let folder = try TemporaryFolder()
    try folder.write("theirs", to: "t")
    #expect(chown(folder.file("t"), 65534, 65534) == 0 && chmod(folder.file("t"), 0o666) == 0)
    expectRefusal(.isOwned(by: 65534), folder.file("t"))
    #expect(FileManager.default.contents(atPath: folder.file("t")) == Data("theirs".utf8))
    #expect(permissions(folder.file("t")) == 0o666)
  }

  /// Wireshark reads a pipe while it is written; a device is written as it is.
  @Test func pipesAndDevicesAreWritten() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("pipe")
    #expect(mkfifo(path, 0o644) == 0)
    #expect(throws: FileRefusal.failed(SystemError(.open, ENXIO)), "no program reads it") {
      _ = try OutputFile(at: path)
    }
    let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    let pipe = try OutputFile(at: path)
    try pipe.write([7, 8].span)
    var octets = [UInt8](repeating: 0, count: 8)
    #expect(read(reader, &octets, 8) == 2 && octets[..<2] == [7, 8] && permissions(path) == 0o600)
    let device = permissions("/dev/null")
    try OutputFile(at: "/dev/null").write([1].span)
    #expect(permissions("/dev/null") == device)
  }

  /// Who opened it chose who reads it: nothing is emptied, no permission changes.
  @Test func aDescriptorOfThisProcessIsAppendedTo() throws {
    let folder = try TemporaryFolder()
    try folder.write("before ", to: "t")
    #expect(chmod(folder.file("t"), 0o644) == 0)
    let number = open(folder.file("t"), O_WRONLY | O_CLOEXEC)
    defer { close(number) }
    for path in ["/dev/fd/\(number)", "/proc/self/fd/\(number)"] {
      try OutputFile(at: path).write(Array("x".utf8).span)
    }
    #expect(FileManager.default.contents(atPath: folder.file("t")) == Data("before xx".utf8))
    #expect(permissions(folder.file("t")) == 0o644)
    // Not `exe`: QEMU's emulation of a process opens the program itself there, and this would empty it.
    expectRefusal(.isSymbolicLink, "/proc/self/cwd")
  }
}
